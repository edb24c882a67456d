/* hostmem.c - see hostmem.h */
#include "hostmem.h"
#include <stddef.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void __wrap_free(void *p);

static int at, later, seen, failed;
static long blocks;

void host_fail(int nth, int and_later)
{
    at = nth;
    later = and_later;
    seen = failed = 0;
}

int host_ended(void)
{
    at = 0;
    return failed;
}

long host_blocks(void)
{
    return blocks;
}

static int refuse(void)
{
    if (!at) return 0;
    int now = ++seen == at || (later && seen > at);
    failed += now;
    return now;
}

static void *counted(void *p)
{
    blocks += p != NULL;
    return p;
}

void *__wrap_malloc(size_t n)
{
    return refuse() ? NULL : counted(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return refuse() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t n)
{
    if (refuse()) return NULL;
    void *q = __real_realloc(p, n);
    blocks += !p && q;
    return q;
}

void __wrap_free(void *p)
{
    blocks -= p != NULL;
    __real_free(p);
}
