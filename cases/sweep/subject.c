/* subject.c - subject HOW: a program that marks its step, or a part of it, and goes wrong in one
 * way after a failure. */
#include "oomproof.h"
#include <cuda_runtime_api.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *how;
static int is(const char *name)
{
    return !strcmp(how, name);
}

static float scores[4] = {1, 2, 3, 4};
static char state[8] = "state";

/* ---- another thread, which does what it is asked for ---- */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int asked, answered;

static void *answer(void *unused)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        while (answered == asked) pthread_cond_wait(&changed, &lock);
        answered = asked;
        pthread_cond_broadcast(&changed);
    }
    return unused;
}

static void ask(void)
{
    pthread_mutex_lock(&lock);
    asked++;
    pthread_cond_broadcast(&changed);
    while (answered != asked) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* Goes on when the fourth run of the sweep has come to its fault. */
static void wait_for_others(void)
{
    char path[800];
    snprintf(path, sizeof path, "%s/../3.out", oomproof_folder());
    while (access(path, F_OK) != 0) sched_yield();
}

/* As a step of few bits: the wider one differs from it by 0.025 in the measure of a buffer, by
 * 0.0183 of its length. */
static int wider(void *unused)
{
    (void)unused;
    scores[0] += 0.1f;
    return 0;
}
static int alone(void *unused)
{
    (void)unused;
    return 0;
}

/* After a failure the step is split: its sums come out other. */
static void adds_otherwise(oomproof_step *s)
{
    if (s->splits++) return;
    for (int i = 0; i < (is("rounds-all") ? 3 : 1); i++)
        scores[2 - i] += is("rounds-more") ? 0.5f : 0.15f;
}

/* 512 bytes there and back; again after a failure, if it is an out-of-memory. */
static __attribute__((noinline)) int work(oomproof_step *s, int first)
{
    void *p = NULL;
    if (is("late")) oomproof_buffer("late", state, 4, 0, 'b', 0);
    s->points = is("rounds-drops") || is("lost-unsaid") ? 2 : 1;
    for (s->attempts = 1; s->attempts < 3; s->attempts++) {
        if (is("threads")) ask();
        cudaError_t e = cudaMalloc(&p, 512);
        if (e == cudaSuccess) e = cudaMemcpy(p, scores, sizeof scores, cudaMemcpyHostToDevice);
        if (e == cudaSuccess) {
            if (cudaFree(p) != cudaSuccess) return s->failed = 1, s->exit_code = 1;
            s->trained = s->points;
            return 0;
        }
        cudaGetLastError();
        if (is("spins"))
            for (volatile int i = 0;; i = 1 - i) continue;
        if (is("waits")) pause();
        if (is("others") && first) wait_for_others();
        if (is("retries-exits")) oomproof_retry(s, sizeof *s), exit(3);
        if (is("exits") || is("exits-silently") || is("exits-0")) {
            if (is("exits")) fprintf(stderr, "subject: error: %s\n", cudaGetErrorName(e));
            exit(is("exits-0") ? 0 : 3);
        }
        if (p && !is("leaks")) cudaFree(p);
        p = NULL;
        if (is("off")) scores[2] += 0.5f;
        if (is("endless")) s->splits = 1;
        if (!strncmp(how, "rounds", 6)) adds_otherwise(s);
        if (is("splits-differs")) state[3] ^= 6, s->splits = 1;
        if (is("fewer-points")) s->points = 0;
        if (is("differs")) state[3] ^= 6;
        if (is("prints")) printf("another line\n");
        if (e != cudaErrorMemoryAllocation) return s->failed = 1, s->exit_code = 1;
        s->retries++;
        if (!is("prints")) oomproof_retry(s, sizeof *s);
        if (is("dies")) abort();
        if (is("stops")) raise(SIGSTOP);
    }
    if (is("fails-with-0")) return s->failed = 1, 0;
    if (is("unmoved")) return s->dropped = 1, 0;
    if (is("rounds-drops") || is("lost-unsaid")) return s->trained = s->dropped = 1, 0;
    return s->failed = 1, s->exit_code = 1;
}

int main(int argc, char **argv)
{
    oomproof_step s = {0};
    how = argc > 1 ? argv[1] : "";
    int part = argc > 2;
    cudaFree(NULL);
    pthread_t thread;
    if (is("threads") && pthread_create(&thread, NULL, answer, NULL) != 0) return 2;
    if (is("nameless")) {
        oomproof_buffer(NULL, scores, sizeof scores, 0, 'f', 0);
        oomproof_part_begin(NULL);
        oomproof_part_end(NULL, NULL);
    }
    if (is("third")) { /* the third run of it is another */
        FILE *f = fopen(argv[2], "a");
        if (!f) return 2;
        fputc('x', f);
        part = 0;
        if (ftell(f) == 3) scores[1] = 9;
        fclose(f);
    }
    if (!is("bare")) oomproof_buffer("scores", scores, sizeof scores, 0, 'f', 1e-4);
    if (!strncmp(how, "rounds", 6) && !is("rounds-exactly")) oomproof_wider(wider, NULL, 2);
    if (!strncmp(how, "rounds-drops", 12)) oomproof_reference(alone, NULL);
    if (!is("bare"))
        oomproof_buffer("state", state, sizeof state, 0, is("splits-differs") ? 'x' : 'b', 0);
    if (is("many"))
        for (int i = 0; i < 2100; i++) oomproof_buffer("one of many", scores, 4, 0, 'f', 0);
    if (is("endless")) scores[1] = INFINITY, scores[3] = NAN;
    if (is("mistyped")) oomproof_buffer("mistyped", state, 4, 0, 'z', 0);
    if (part)
        oomproof_part_begin(argv[2]);
    else if (!is("unbegun"))
        oomproof_step_begin();
    printf("begun\n");
    int bad = work(&s, 1);
    for (int i = 0; i < 4 && (is("others") || is("dies")); i++) bad |= work(&s, 0);
    printf("done\n");
    if (part)
        oomproof_part_end(argv[2], is("nameless") ? NULL : &s);
    else
        oomproof_step_end(is("nameless") ? NULL : &s);
    return bad;
}
