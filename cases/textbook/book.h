/* book.h - short forms for the textbook kernels: arrays on the device, launches, comparison. */
#ifndef TEXTBOOK_BOOK_H
#define TEXTBOOK_BOOK_H
#include <climits>
#include <cmath>
#include <cstdint>
#include <cuda_runtime.h>
#include <vector>
extern "C" {
#include "case.h"
}

#define OK(call)                                                           \
    do {                                                                   \
        cudaError_t got_ = (call);                                         \
        ck_assert_msg(got_ == cudaSuccess, "%s gave %d (%s)", #call, got_, \
                      cudaGetErrorName(got_));                             \
    } while (0)

/* A launch that must succeed, and its work too. The kernel and its arguments come last. */
#define RUN_SHARED(blocks, threads, shared, kernel, ...)        \
    do {                                                        \
        kernel<<<(blocks), (threads), (shared)>>>(__VA_ARGS__); \
        OK(cudaGetLastError());                                 \
        OK(cudaDeviceSynchronize());                            \
    } while (0)
#define RUN(blocks, threads, ...) RUN_SHARED(blocks, threads, 0, __VA_ARGS__)

/* An array on the device: zeros, or a copy. It is freed with its scope. */
template <class T> struct device {
    T *p;
    size_t n;
    explicit device(size_t count) : p(nullptr), n(count)
    {
        OK(cudaMalloc(&p, (n ? n : 1) * sizeof(T)));
        OK(cudaMemset(p, 0, (n ? n : 1) * sizeof(T)));
    }
    explicit device(const std::vector<T> &from) : device(from.size())
    {
        OK(cudaMemcpy(p, from.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    }
    device(const device &) = delete;
    ~device() { cudaFree(p); }
    operator T *() const { return p; }
    std::vector<T> host() const
    {
        std::vector<T> to(n);
        OK(cudaMemcpy(to.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
        return to;
    }
    T one() const { return host()[0]; }
};

template <class T>
void same(const std::vector<T> &got, const std::vector<T> &want, const char *what)
{
    ck_assert_msg(got.size() == want.size(), "%s: %zu elements, not %zu", what, got.size(),
                  want.size());
    for (size_t i = 0; i < want.size(); i++)
        ck_assert_msg(got[i] == want[i], "%s of %zu: element %zu is %.17g, not %.17g", what,
                      want.size(), i, (double)got[i], (double)want[i]);
}

/* |got - want| within `relative` of what is compared, or of 1 where that is smaller. */
template <class T>
void near(const std::vector<T> &got, const std::vector<double> &want, double relative,
          const char *what)
{
    ck_assert_msg(got.size() == want.size(), "%s: %zu elements, not %zu", what, got.size(),
                  want.size());
    for (size_t i = 0; i < want.size(); i++)
        ck_assert_msg(fabs((double)got[i] - want[i]) <= relative * fmax(1, fabs(want[i])),
                      "%s of %zu: element %zu is %.17g, not %.17g", what, want.size(), i,
                      (double)got[i], want[i]);
}

/* A number that looks random and is the same each time. */
__host__ __device__ inline unsigned scramble(unsigned x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

/* n such numbers from low on, below low + range. */
template <class T> std::vector<T> numbers(size_t n, unsigned range, int low = 0, unsigned seed = 1)
{
    std::vector<T> v(n);
    for (size_t i = 0; i < n; i++)
        v[i] = (T)((int)(scramble((unsigned)i + seed * 7919u) % range) + low);
    return v;
}

inline int blocks_for(size_t n, int threads)
{
    return (int)((n + (size_t)threads - 1) / (size_t)threads);
}

#endif
