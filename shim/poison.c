/* poison.c - a result overwritten with NaN or infinity, after the call and in stream order. */
#define _GNU_SOURCE
#include "state.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- asking the runtime, without a trace in the program's last error ---- */
int op_capturing(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    int before = op_error_before();
    op_within within;
    op_enter(&within);
    int captured = REAL(cudaStreamIsCapturing)(stream, &status) != cudaSuccess ||
                   status != cudaStreamCaptureStatusNone;
    op_leave(&within);
    op_error_after(before);
    return captured;
}

static int on_device(const void *p)
{
    struct cudaPointerAttributes about = {0};
    if (!p) return 1; /* a symbol */
    return REAL(cudaPointerGetAttributes)(&about, p) == cudaSuccess &&
           (about.type == cudaMemoryTypeDevice || about.type == cudaMemoryTypeManaged);
}

op_kind op_direction(const void *to, const void *from)
{
    int before = op_error_before();
    op_within within;
    op_enter(&within);
    int device = on_device(to), of_device = on_device(from);
    op_leave(&within);
    op_error_after(before);
    return of_device ? device ? OP_D2D : OP_D2H : device ? OP_H2D : OP_H2H;
}

/* ---- */
static int nothing(const op_rule *r, const char *why, ...) __attribute__((format(printf, 2, 3)));
static int nothing(const op_rule *r, const char *why, ...)
{
    char text[160];
    va_list a;
    va_start(a, why);
    vsnprintf(text, sizeof text, why, a);
    va_end(a);
    if (op_not_acted(r))
        fprintf(stderr, "oomproof: rule '%s': %s; nothing was poisoned\n", r->text, text);
    return 0;
}

/* The first `count` values, row by row; 0, or the code of the copy that failed. */
static int write_values(op_area a, const void *values, size_t count, size_t size, int on_host,
                        cudaStream_t stream)
{
    cudaError_t e = cudaSuccess;
    size_t in_row = a.width / size;
    for (size_t i = 0; count && e == cudaSuccess; i++) {
        size_t n = count < in_row ? count : in_row;
        char *row = (char *)a.to + i / a.rows * a.slice + i % a.rows * a.pitch;
        if (on_host)
            memcpy(row, values, n * size);
        else
            e = REAL(cudaMemcpyAsync)(row, values, n * size, cudaMemcpyDefault, stream);
        count -= n;
    }
    if (!on_host && e == cudaSuccess) e = REAL(cudaStreamSynchronize)(stream);
    return (int)e;
}

int op_poison_area(const op_rule *r, op_area a, int on_host, cudaStream_t stream, int result)
{
    double d = r->infinite ? INFINITY : NAN;
    float f = (float)d;
    size_t count = (size_t)r->count;
    /* not said: doubles, where the result is as many of them */
    const int wide = r->f64 > 0 || (r->f64 == 0 && op_area_bytes(a) == count * sizeof d);
    const size_t size = wide ? sizeof d : sizeof f;
    size_t room = a.width / size * a.rows * a.slices;
    if (result) return nothing(r, "the call itself returned %d", result);
    if (!room)
        return nothing(r, "a result of %zu bytes has no room for a value of %zu", op_area_bytes(a),
                       size);
    if (op_capturing(stream))
        return nothing(r, "its stream is being captured, and there is no result yet");
    if (count > room) {
        if (*r->text)
            fprintf(stderr, "oomproof: rule '%s': %zu of its %zu values have room in the result\n",
                    r->text, room, count);
        count = room;
    }
    char *values = malloc(count * size);
    if (!values) return nothing(r, "no memory for %zu values", count);
    for (size_t i = 0; i < count; i++)
        memcpy(values + i * size, wide ? (void *)&d : (void *)&f, size);
    /* another stream may be captured, in a mode that forbids what we do */
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    int before = op_error_before();
    op_within within;
    op_enter(&within);
    REAL(cudaThreadExchangeStreamCaptureMode)(&mode);
    int e = (int)REAL(cudaStreamSynchronize)(stream); /* what the call queued has happened */
    if (!e) e = write_values(a, values, count, size, on_host, stream);
    REAL(cudaThreadExchangeStreamCaptureMode)(&mode);
    op_leave(&within);
    op_error_after(before);
    free(values);
    return e ? nothing(r, "the device returned %d", e) : 1;
}

/* Bytes of this process that may not be there: an argument's number is only a rule's word. */
static int peek(void *to, const void *from, size_t n)
{
    struct iovec local = {to, n}, remote = {(void *)(uintptr_t)from, n};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)n;
}

int op_poison_argument(const op_rule *r, void **values, cudaStream_t stream, int result)
{
    void *value, *p = NULL;
    size_t n = (size_t)r->count * (r->f64 > 0 ? 8 : 4);
    if (result) return nothing(r, "the call itself returned %d", result);
    if (values && peek(&value, values + r->arg, sizeof value) && peek(&p, value, sizeof p) &&
        op_is_live(p, n))
        return op_poison_area(r, LINE(p, n), 0, stream, 0);
    return nothing(r, "argument %d of the launch is no device buffer of %zu bytes", r->arg, n);
}
