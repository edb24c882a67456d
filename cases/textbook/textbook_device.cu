/* textbook_device.cu - CUB's algorithms for a whole array, as programs call them: a first call
 * asks for the workspace, a second one works. */
#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include "book.h"

static const int sizes[] = {1, 1000, 20011};

struct odd {
    __host__ __device__ bool operator()(int x) const { return x & 1; }
};

/* call: with the workspace's address and size */
template <class F> static void in_two_calls(F call)
{
    size_t bytes = 0;
    OK(call(nullptr, bytes));
    device<char> work(bytes);
    OK(call(work.p, bytes));
    OK(cudaDeviceSynchronize());
}

START_TEST(a_device_wide_scan)
{
    for (int n : sizes) {
        std::vector<int> in = numbers<int>(n, 100, -40), want(n);
        for (int i = 1; i < n; i++) want[i] = want[i - 1] + in[i - 1];
        device<int> a(in), o(n);
        in_two_calls([&](void *work, size_t &bytes) {
            return cub::DeviceScan::ExclusiveSum(work, bytes, a.p, o.p, n);
        });
        same(o.host(), want, "scan");
    }
}
END_TEST

START_TEST(a_device_wide_selection)
{
    for (int n : sizes) {
        std::vector<int> in = numbers<int>(n, 1000), want;
        for (int x : in)
            if (x & 1) want.push_back(x);
        int count = (int)want.size();
        want.resize(n);
        device<int> a(in), o(n), k(1);
        in_two_calls([&](void *work, size_t &bytes) {
            return cub::DeviceSelect::If(work, bytes, a.p, o.p, k.p, n, odd());
        });
        ck_assert_int_eq(k.one(), count);
        same(o.host(), want, "selection");
    }
}
END_TEST

START_TEST(a_device_wide_reduction)
{
    for (int n : sizes) {
        std::vector<int> in = numbers<int>(n, 2000, -1000);
        device<int> a(in), sum(1), least(1);
        int want = 0;
        for (int x : in) want += x;
        in_two_calls([&](void *work, size_t &bytes) {
            return cub::DeviceReduce::Sum(work, bytes, a.p, sum.p, n);
        });
        in_two_calls([&](void *work, size_t &bytes) {
            return cub::DeviceReduce::Min(work, bytes, a.p, least.p, n);
        });
        ck_assert_int_eq(sum.one(), want);
        ck_assert_int_eq(least.one(), *std::min_element(in.begin(), in.end()));
    }
}
END_TEST

/* Pairs keep the order of equal keys. */
START_TEST(a_device_wide_sort)
{
    for (int n : sizes) {
        std::vector<int> keys = numbers<int>(n, 300, -100), places(n), want(n);
        for (int i = 0; i < n; i++) places[i] = want[i] = i;
        std::stable_sort(want.begin(), want.end(), [&](int x, int y) { return keys[x] < keys[y]; });
        device<int> k(keys), v(places), ko(n), vo(n);
        in_two_calls([&](void *work, size_t &bytes) {
            return cub::DeviceRadixSort::SortPairs(work, bytes, k.p, ko.p, v.p, vo.p, n);
        });
        same(vo.host(), want, "places");
        std::sort(keys.begin(), keys.end());
        same(ko.host(), keys, "keys");
    }
}
END_TEST

static const case_entry cases[] = {
#include "textbook_device.def"
};
CASE_MAIN("textbook_device")
