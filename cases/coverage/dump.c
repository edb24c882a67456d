/* dump.c - the counters of a program that is stopped from outside: a watchdog's signal writes them
 * before it ends the process. A normal end, and __gcov_dump before _exit, need nothing of this. */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

__attribute__((weak)) void __gcov_dump(void);

static void write_counters(int s)
{
    if (__gcov_dump) __gcov_dump();
    raise(s); /* the handler is gone (SA_RESETHAND): the process ends as it would have */
}

static void watch(void)
{
    static const int stop[] = {SIGTERM, SIGINT, SIGALRM, SIGXCPU, SIGABRT, SIGSEGV, SIGBUS, SIGFPE};
    struct sigaction a = {.sa_handler = write_counters, .sa_flags = (int)SA_RESETHAND | SA_NODEFER};
    for (size_t i = 0; i < sizeof stop / sizeof *stop; i++) sigaction(stop[i], &a, NULL);
}

/* Again in every child: Check handles SIGTERM and SIGINT in its own way, which a case inherits. */
static void __attribute__((constructor)) start(void)
{
    watch();
    pthread_atfork(NULL, NULL, watch);
}
