/* poison.c - a result overwritten with NaN or infinity, after the call and in stream order. */
#define _GNU_SOURCE
#include "state.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static void fill(const op_rule *r, void *to, size_t bytes)
{
    double d = r->infinite ? INFINITY : NAN;
    float f = (float)d;
    size_t size = r->f64 ? sizeof d : sizeof f;
    for (size_t i = 0; i < (size_t)r->count && (i + 1) * size <= bytes; i++)
        memcpy((char *)to + i * size, r->f64 ? (void *)&d : (void *)&f, size);
}

void op_poison_buffer(const op_rule *r, void *to, size_t bytes, int on_host, cudaStream_t stream)
{
    char pattern[4096];
    size_t n = bytes < sizeof pattern ? bytes : sizeof pattern;
    op_within within;
    op_enter(&within);
    REAL(cudaStreamSynchronize)(stream); /* what the call queued has happened */
    if (on_host)
        fill(r, to, bytes);
    else if (REAL(cudaMemcpy)(pattern, to, n, cudaMemcpyDeviceToHost) == cudaSuccess) {
        fill(r, pattern, n);
        REAL(cudaMemcpy)(to, pattern, n, cudaMemcpyHostToDevice);
    }
    op_leave(&within);
}

/* Bytes of this process that may not be there: an argument's number is only a rule's word. */
static int peek(void *to, const void *from, size_t n)
{
    struct iovec local = {to, n}, remote = {(void *)(uintptr_t)from, n};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)n;
}

void op_poison_argument(const op_rule *r, void **values, cudaStream_t stream)
{
    void *value, *p = NULL;
    size_t n = (size_t)r->count * (r->f64 ? 8 : 4);
    if (values && peek(&value, values + r->arg, sizeof value) && peek(&p, value, sizeof p) &&
        op_is_live(p, n)) {
        op_poison_buffer(r, p, n, 0, stream);
        return;
    }
    fprintf(stderr,
            "oomproof: rule '%s': argument %d of the launch is no device buffer of %zu bytes; "
            "nothing was poisoned\n",
            r->text, r->arg, n);
    op_not_acted(r);
}
