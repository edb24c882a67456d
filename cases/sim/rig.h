/* rig.h - short forms for the cases of the simulated runtime. */
#ifndef SIM_RIG_H
#define SIM_RIG_H
#include "case.h"
#include "kernels.h"
#include <cuda_runtime_api.h>

/* The call gives this error number. */
#define IS(call, want)                                                                  \
    do {                                                                                \
        cudaError_t got_ = (call);                                                      \
        ck_assert_msg(got_ == (want), "%s gave %d (%s), not %d (%s)", #call, (int)got_, \
                      cudaGetErrorName(got_), (int)(want), cudaGetErrorName(want));     \
    } while (0)
#define OK(call) IS(call, cudaSuccess)

#ifdef OOMPROOF_GPU
enum { ON_A_CARD = 1 }; /* what the simulated device says on stderr is not said there */
#else
enum { ON_A_CARD = 0 };
#endif

#define ARGS(...) ((void *[]){__VA_ARGS__})
#define COUNT(a)  ((int)(sizeof(a) / sizeof *(a)))

/* One row of blocks of one row of threads; the result of the launch alone, nothing is waited for */
cudaError_t launch(const void *kernel, unsigned blocks, unsigned threads, size_t shared,
                   void **args);
/* The same, which must succeed, and its work too. */
void run(const void *kernel, unsigned blocks, unsigned threads, void **args);

void *device(const void *from, size_t bytes); /* a copy on the device; from NULL: zeros */
void fetch(void *to, const void *from, size_t bytes);

/* What is written to descriptor fd between the two; the text is the caller's. */
void listen_to(int fd);
char *heard(void);

#endif
