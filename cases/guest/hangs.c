/* hangs.c - a program of several threads that never ends, each in a function of its own; with an
 * argument, as a session of its own. */
#include <pthread.h>
#include <unistd.h>

static pthread_barrier_t all_here;

__attribute__((noinline)) static void hangs_in_the_second_thread(void)
{
    pthread_barrier_wait(&all_here);
    for (;;) pause();
}

static void *second(void *none)
{
    hangs_in_the_second_thread();
    return none;
}

int main(int argc, char **argv)
{
    pthread_t t;
    (void)argv;
    if (argc > 1) setsid();
    pthread_barrier_init(&all_here, NULL, 2);
    if (pthread_create(&t, NULL, second, NULL) != 0) return 1;
    pthread_barrier_wait(&all_here);
    return pthread_join(t, NULL);
}
