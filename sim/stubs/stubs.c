/* stubs.c - a stand-in for each exported function that nothing here implements: says its name once
 * and returns its library's "not supported". Compiled into each library with STUBS, the library's
 * list. A stub is a weak definition, so that a real one takes its place at the link, and so that
 * `oomproof doctor` can tell from a library's symbols what is only a stub. Arguments are not
 * declared: a callee of the x86-64 and AArch64 conventions may leave them alone. */
#include <complex.h>
#include <stddef.h>
#include <stdio.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* The numbers of the headers, which declare the functions themselves and so cannot be included. */
enum { NOT_SUPPORTED_CUDA = 801, NOT_SUPPORTED_CUBLAS = 15, NOT_SUPPORTED_CUDNN = 3000 };
#define cudart   1
#define cublas   2
#define cublasLt 3
#define cudnn    4
#if LIBRARY == cudart
int sim_stub_status(void); /* also makes it the thread's last error */
#define STATUS sim_stub_status()
#elif LIBRARY == cudnn
#define STATUS NOT_SUPPORTED_CUDNN
#else
#define STATUS NOT_SUPPORTED_CUBLAS
#endif

struct format {
    int x, y, z, w, f; /* cudaChannelFormatDesc */
};

#define TYPE_status         int
#define TYPE_none           void
#define TYPE_text           const char *
#define TYPE_size           size_t
#define TYPE_number         unsigned
#define TYPE_real           float
#define TYPE_double_real    double
#define TYPE_complex        float _Complex
#define TYPE_double_complex double _Complex
#define TYPE_format         struct format

#define RESULT_status         STATUS
#define RESULT_none           (void)0
#define RESULT_text           "not supported by the simulated device"
#define RESULT_size           0
#define RESULT_number         0
#define RESULT_real           0
#define RESULT_double_real    0
#define RESULT_complex        0
#define RESULT_double_complex 0
#define RESULT_format \
    (struct format)   \
    {                 \
        0             \
    }

static void told(const char *name, int *once)
{
    if (!__atomic_exchange_n(once, 1, __ATOMIC_RELAXED))
        fprintf(stderr, "simulated device: %s is not implemented: \"not supported\"\n", name);
}

#define STUB(kind, name)                                                 \
    __attribute__((weak, visibility("default"))) TYPE_##kind name(void); \
    TYPE_##kind name(void)                                               \
    {                                                                    \
        static int once;                                                 \
        told(#name, &once);                                              \
        return RESULT_##kind;                                            \
    }
#include STUBS
