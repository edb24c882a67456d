/* poison.c - a result overwritten with NaN or infinity, after the call and in stream order. */
#include "state.h"
#include <math.h>
#include <string.h>

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
    op_inside++;
    REAL(cudaStreamSynchronize)(stream); /* what the call queued has happened */
    if (on_host)
        fill(r, to, bytes);
    else if (REAL(cudaMemcpy)(pattern, to, n, cudaMemcpyDeviceToHost) == cudaSuccess) {
        fill(r, pattern, n);
        REAL(cudaMemcpy)(to, pattern, n, cudaMemcpyHostToDevice);
    }
    op_inside--;
}

void op_poison_argument(const op_rule *r, void **values, cudaStream_t stream)
{
    void *p;
    memcpy(&p, values[r->arg], sizeof p);
    op_poison_buffer(r, p, (size_t)r->count * (r->f64 ? 8 : 4), 0, stream);
}
