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
        int known = sim_memory_is_device((void *)(uintptr_t)device);
        sim_say("kernel %s: illegal access at %#llx: %s, %s", w->running->name,
                (unsigned long long)(known ? device : a),
                known ? sim_memory_describe(device) : "neither device, shared nor local memory",
                sim_where(w));
        sim_stop(w, SIM_ILLEGAL_ADDRESS);
    }
    if (sig == SIGSEGV && sim_memory_is_device(info->si_addr)) {
        static const char text[] =
            "simulated device: host code follows a device pointer; copy with cudaMemcpy first\n";
        if (write(2, text, sizeof text - 1) < 0) {
        }
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

void sim_faults_start(void)
{
    static int done;
    static __thread char *alternate;
    if (!alternate && (alternate = malloc(64 * 1024))) {
        stack_t now = {0}, mine = {.ss_sp = alternate, .ss_size = 64 * 1024};
        if (sigaltstack(NULL, &now) == 0 && now.ss_flags & SS_DISABLE) sigaltstack(&mine, NULL);
    }
    if (done) return;
    done = 1;
    struct sigaction a = {.sa_sigaction = on_fault,
                          .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigaction(SIGSEGV, &a, &before_segv);
    sigaction(SIGBUS, &a, &before_bus);
}
