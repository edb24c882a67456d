/* cub.cu - NVIDIA's CUB and Thrust on the device: sort, scan, reduce and select, by key and by
 * order. */
#include <algorithm>
#include <cstdio>
#include <cub/cub.cuh>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <vector>

#define CHECK(call)                                                        \
    do {                                                                   \
        cudaError_t e_ = (call);                                           \
        if (e_ != cudaSuccess) {                                           \
            printf("%s: %d %s\n", #call, (int)e_, cudaGetErrorString(e_)); \
            exit(1);                                                       \
        }                                                                  \
    } while (0)
/* CUB's way: asked once for its temporary memory, called once more with it. */
#define TWICE(fn, ...)                            \
    do {                                          \
        void *temporary = nullptr;                \
        size_t bytes = 0;                         \
        CHECK(fn(temporary, bytes, __VA_ARGS__)); \
        CHECK(cudaMalloc(&temporary, bytes + 1)); \
        CHECK(fn(temporary, bytes, __VA_ARGS__)); \
        CHECK(cudaFree(temporary));               \
    } while (0)

struct down {
    __host__ __device__ bool operator()(int a, int b) const { return a > b; }
};

struct item {
    int key;
    double weight;
};
struct lighter {
    __host__ __device__ bool operator()(const item &a, const item &b) const
    {
        return a.weight < b.weight;
    }
};

struct odd {
    __device__ bool operator()(int x) const { return x & 1; }
};

template <class T> std::vector<T> fetched(const T *d, size_t n)
{
    std::vector<T> h(n);
    CHECK(cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost));
    return h;
}

static int failures;
static void test(const char *what, bool good)
{
    printf("%s: %s\n", what, good ? "right" : "WRONG");
    failures += !good;
}

static void run(int n)
{
    std::vector<int> h(n), want;
    for (int i = 0; i < n; i++) h[i] = (int)(((unsigned)i * 2654435761u) >> 8) % 1000 - 500;
    int *in, *out, *found;
    CHECK(cudaMalloc(&in, n * sizeof(int)));
    CHECK(cudaMalloc(&out, n * sizeof(int)));
    CHECK(cudaMalloc(&found, sizeof(int)));
    CHECK(cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));

    TWICE(cub::DeviceRadixSort::SortKeys, in, out, n);
    want = h;
    std::sort(want.begin(), want.end());
    test("sort", fetched(out, n) == want);

    TWICE(cub::DeviceScan::InclusiveSum, in, out, n);
    want = h;
    for (int i = 1; i < n; i++) want[i] += want[i - 1];
    test("scan", fetched(out, n) == want);

    TWICE(cub::DeviceReduce::Sum, in, out, n);
    test("reduce", fetched(out, 1)[0] == want[n - 1]);

    TWICE(cub::DeviceSelect::If, in, out, found, n, odd());
    want.clear();
    for (int x : h)
        if (x & 1) want.push_back(x);
    int k = fetched(found, 1)[0];
    test("select", k == (int)want.size() && fetched(out, k) == want);

    TWICE(cub::DeviceMergeSort::SortKeysCopy, in, out, n, down());
    want = h;
    std::sort(want.begin(), want.end(), down());
    test("merge sort", fetched(out, n) == want);
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    CHECK(cudaFree(found));
}

/* Thrust allocates for itself, and throws. */
static void run_thrust(int n)
{
    std::vector<item> items(n);
    for (int i = 0; i < n; i++) items[i] = {i / 3, (double)((unsigned)i * 2654435761u >> 4)};
    thrust::device_vector<item> on_device(items.begin(), items.end());
    thrust::sort(on_device.begin(), on_device.end(), lighter());
    std::sort(items.begin(), items.end(), lighter());
    std::vector<item> got(n);
    thrust::copy(on_device.begin(), on_device.end(), got.begin());
    bool same = true;
    for (int i = 0; i < n; i++) same = same && got[i].key == items[i].key;
    test("sort of structs", same);

    thrust::device_vector<int> keys(n), values(n), sums(n), which(n);
    std::vector<int> k(n), v(n); /* runs of three */
    for (int i = 0; i < n; i++) k[i] = i / 3, v[i] = i;
    thrust::copy(k.begin(), k.end(), keys.begin());
    thrust::copy(v.begin(), v.end(), values.begin());
    auto end = thrust::reduce_by_key(keys.begin(), keys.end(), values.begin(), which.begin(),
                                     sums.begin());
    int runs = (int)(end.first - which.begin());
    std::vector<int> sum(n);
    thrust::copy(sums.begin(), sums.end(), sum.begin());
    same = runs == (n + 2) / 3;
    for (int i = 0; same && i < n / 3; i++) same = sum[i] == 9 * i + 3;
    test("sums by key", same);
}

int main()
{
    run(100);
    run(10007);
    run_thrust(3000);
    printf(failures ? "FAILED\n" : "PASSED\n");
    return failures != 0;
}
