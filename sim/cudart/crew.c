/* crew.c - the host threads that work beside the one that launches a grid, or calls a library
 * (OOMPROOF_SIM_THREADS). */
#define _GNU_SOURCE
#include "simdev.h"
#include "worker.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* Helpers wait for `round` to change. After a fork there are none: they are started again. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t begin, end;
    _Atomic uint64_t round;
    _Atomic int busy;
    int wanted, started;
    void (*work)(int i);
    pid_t of;
} crew = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .begin = PTHREAD_COND_INITIALIZER,
          .end = PTHREAD_COND_INITIALIZER};

/* Work comes launch by launch: who has none looks for some microseconds before it sleeps, since to
 * wake a thread costs as many. */
enum { LOOKS = 2000 };
static void pause_a_moment(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

static void *help(void *arg)
{
    int me = (int)(intptr_t)arg;
    uint64_t seen = 0;
    pthread_setname_np(pthread_self(), "oomproof-sim"); /* known to a sweep, which forks */
    pthread_mutex_lock(&crew.lock);
    for (;;) {
        if (crew.round == seen) {
            pthread_mutex_unlock(&crew.lock);
            for (int i = 0; i < LOOKS && crew.round == seen; i++) pause_a_moment();
            pthread_mutex_lock(&crew.lock);
        }
        while (crew.round == seen) pthread_cond_wait(&crew.begin, &crew.lock);
        seen = crew.round;
        if (me >= crew.wanted) continue;
        pthread_mutex_unlock(&crew.lock);
        crew.work(me);
        pthread_mutex_lock(&crew.lock);
        if (--crew.busy == 0) pthread_cond_signal(&crew.end);
    }
    return NULL;
}

/* OOMPROOF_SIM_THREADS: how many host threads may run a grid; 1 unless set. */
int sim_crew_most(void)
{
    static int most;
    const char *s = getenv("OOMPROOF_SIM_THREADS");
    if (most) return most;
    most = s && *s ? atoi(s) : 1;
    if (most < 1 || most > SIM_HOSTS) {
        sim_say("OOMPROOF_SIM_THREADS=%s: expected 1 to %d; 1 is taken", s, SIM_HOSTS);
        most = 1;
    }
    return most;
}

/* The helpers that can be had, up to n - 1. */
int sim_crew_gather(int n)
{
    if (crew.of != getpid()) {
        crew.of = getpid();
        crew.started = 0;
        crew.round = 0;
        pthread_mutex_init(&crew.lock, NULL);
        pthread_cond_init(&crew.begin, NULL);
        pthread_cond_init(&crew.end, NULL);
    }
    while (crew.started < n - 1) {
        pthread_t thread;
        pthread_attr_t detached;
        int i = crew.started + 1;
        if (!sim_host_new(i) || pthread_attr_init(&detached) != 0) break;
        pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
        int ok = pthread_create(&thread, &detached, help, (void *)(intptr_t)i) == 0;
        pthread_attr_destroy(&detached);
        if (!ok) break;
        crew.started++;
    }
    return n - 1 < crew.started ? n : crew.started + 1;
}

void sim_crew_begin(int n, void (*work)(int i))
{
    pthread_mutex_lock(&crew.lock);
    crew.wanted = n;
    crew.work = work;
    crew.busy = n - 1;
    crew.round++;
    pthread_cond_broadcast(&crew.begin);
    pthread_mutex_unlock(&crew.lock);
}

void sim_crew_wait(void)
{
    for (int i = 0; i < LOOKS && crew.busy; i++) pause_a_moment();
    pthread_mutex_lock(&crew.lock);
    while (crew.busy) pthread_cond_wait(&crew.end, &crew.lock);
    pthread_mutex_unlock(&crew.lock);
}

static struct {
    void (*part)(void *arg, int i);
    void *arg;
    int parts;
    atomic_int next;
} shared;

static void take_parts(int me)
{
    (void)me;
    for (int i; (i = atomic_fetch_add(&shared.next, 1)) < shared.parts;) shared.part(shared.arg, i);
}

API void sim_device_share(void (*part)(void *arg, int i), void *arg, int parts)
{
    int n = sim_crew_most();
    if (n > parts) n = parts;
    if (n < 2 || sim_enter() != cudaSuccess) {
        for (int i = 0; i < parts; i++) part(arg, i);
        return;
    }
    n = sim_crew_gather(n);
    shared.part = part;
    shared.arg = arg;
    shared.parts = parts;
    atomic_store(&shared.next, 0);
    if (n > 1) sim_crew_begin(n, take_parts);
    take_parts(0);
    if (n > 1) sim_crew_wait();
    sim_leave();
}
