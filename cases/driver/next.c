/* next.c - a library that asks for the next definition of a name that it defines itself: what it
 * gets depends on who is taken for the caller. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

int whose(void);
int whose(void)
{
    return 1;
}
int next_whose(void);
int next_whose(void)
{
    int (*f)(void);
    *(void **)&f = dlsym(RTLD_NEXT, "whose");
    return f ? f() : 0;
}
