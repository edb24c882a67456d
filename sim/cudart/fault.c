/* fault.c - a kernel, or host code, that touches what it must not. */
#define _GNU_SOURCE
#include "worker.h"
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static struct sigaction before_segv, before_bus;

static void on_fault(int sig, siginfo_t *info, void *context)
{
    worker *w = sim_worker;
    if (w) {
        uint64_t a = (uint64_t)(uintptr_t)info->si_addr;
        uint64_t device = a - (uint64_t)w->ctx.delta;
        int mine = sim_memory_is_device((void *)(uintptr_t)device);
        sim_say("kernel %s: illegal access at %#llx: %s, %s", w->running->name,
                (unsigned long long)(mine ? device : a),
                mine ? sim_memory_describe(device) : "neither device, shared nor local memory",
                sim_where(w));
        sim_stop(w, SIM_ILLEGAL_ADDRESS);
    }
    static const char device[] =
        "simulated device: host code follows a device pointer; copy with cudaMemcpy first\n";
    static const char shared[] = "simulated device: host code uses pinned or managed memory that "
                                 "was freed, or reaches beyond its end\n";
    int known = sig != SIGSEGV                        ? 0
                : sim_memory_is_device(info->si_addr) ? 1
                : sim_host_was_shared(info->si_addr)  ? 2
                                                      : 0;
    if (known && write(2, known == 1 ? device : shared,
                       (known == 1 ? sizeof device : sizeof shared) - 1) < 0) {
    }
    const struct sigaction *old = sig == SIGSEGV ? &before_segv : &before_bus;
    if (old->sa_flags & SA_SIGINFO)
        old->sa_sigaction(sig, info, context);
    else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN)
        old->sa_handler(sig);
    else {
        signal(sig, SIG_DFL);
        raise(sig);
    }
}

/* The stack on which a thread's faults are handled: given back when the thread ends. */
enum { FAULT_STACK = 64 * 1024 };
static pthread_key_t stack_key;
static pthread_once_t stack_once = PTHREAD_ONCE_INIT;

static void give_stack_back(void *stack)
{
    stack_t now = {0}, none = {.ss_flags = SS_DISABLE};
    if (sigaltstack(NULL, &now) == 0 && now.ss_sp == stack) sigaltstack(&none, NULL);
    free(stack);
}

static void make_stack_key(void)
{
    pthread_key_create(&stack_key, give_stack_back);
}

static void need_stack(void)
{
    static __thread int has;
    stack_t now = {0};
    if (has++) return;
    pthread_once(&stack_once, make_stack_key);
    if (sigaltstack(NULL, &now) != 0 || !(now.ss_flags & SS_DISABLE))
        return; /* the program's own */
    stack_t mine = {.ss_sp = malloc(FAULT_STACK), .ss_size = FAULT_STACK};
    if (mine.ss_sp && sigaltstack(&mine, NULL) == 0)
        pthread_setspecific(stack_key, mine.ss_sp);
    else
        free(mine.ss_sp);
}

void sim_faults_start(void)
{
    static int done;
    need_stack();
    if (__atomic_exchange_n(&done, 1, __ATOMIC_ACQ_REL)) return;
    struct sigaction a = {.sa_sigaction = on_fault,
                          .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigaction(SIGSEGV, &a, &before_segv);
    sigaction(SIGBUS, &a, &before_bus);
}
