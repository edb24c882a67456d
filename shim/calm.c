/* calm.c - see calm.h. */
#define _GNU_SOURCE
#include "calm.h"
#include <errno.h>
#include <pthread.h>
#include <time.h>

static int is_pending(void)
{
    sigset_t s;
    return sigpending(&s) == 0 && sigismember(&s, SIGXFSZ) == 1;
}

void op_calm_begin(op_calm *c)
{
    sigset_t s;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &c->cancel);
    sigemptyset(&s);
    sigaddset(&s, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &s, &c->mask);
    c->pending = is_pending();
}

void op_calm_end(const op_calm *c)
{
    int why = errno;
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGXFSZ);
    if (!c->pending && is_pending()) /* ours: the kernel sends it to the thread that wrote */
        while (sigtimedwait(&s, NULL, &(struct timespec){0}) < 0 && errno == EINTR) {
        }
    pthread_sigmask(SIG_SETMASK, &c->mask, NULL);
    pthread_setcancelstate(c->cancel, NULL);
    errno = why;
}
