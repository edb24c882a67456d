/* scan.cu - exclusive sums, and sums in a fixed order: each thread takes a run of items, then the
 * runs' sums are scanned in the same way. No barrier, so it costs no switch on the simulated
 * device. */
#include "kernels/launch.cuh"

#define RUN 128

__global__ void run_sums_kernel(int64_t runs, int64_t n, const int32_t *in, int32_t *sums)
{
    int64_t r = pt_item();
    if (r >= runs) return;
    int32_t s = 0;
    for (int64_t i = r * RUN, end = i + RUN < n ? i + RUN : n; i < end; i++) s += in[i];
    sums[r] = s;
}

/* out may be one longer than in: out[n] is the total */
__global__ void run_scan_kernel(int64_t runs, int64_t n, const int32_t *in, const int32_t *start,
                                int32_t *out)
{
    int64_t r = pt_item();
    if (r >= runs) return;
    int32_t s = start ? start[r] : 0;
    int64_t end = (r + 1) * RUN < n ? (r + 1) * RUN : n;
    for (int64_t i = r * RUN; i < end; i++) {
        int32_t x = in[i];
        out[i] = s;
        s += x;
    }
    if (end == n) out[n] = s;
}

static int64_t runs_of(int64_t n)
{
    return (n + RUN - 1) / RUN;
}

extern "C" size_t pt_k_scan_room(int64_t n)
{
    size_t room = 1;
    while (n > RUN) {
        n = runs_of(n);
        room += 2 * (size_t)n + 2;
    }
    return room;
}

extern "C" pt_status pt_k_scan(pt_device *d, int64_t n, const int32_t *in, int32_t *out,
                               int32_t *tmp)
{
    int64_t runs = runs_of(n);
    if (n == 0) return pt_zero(d, out, sizeof *out);
    if (runs == 1) return LAUNCH(run_scan_kernel, runs, n, in, (const int32_t *)NULL, out);
    int32_t *sums = tmp, *starts = tmp + runs, *rest = tmp + 2 * runs + 2;
    pt_status st = LAUNCH(run_sums_kernel, runs, n, in, sums);
    if (st == PT_OK) st = pt_k_scan(d, runs, sums, starts, rest);
    if (st == PT_OK) st = LAUNCH(run_scan_kernel, runs, n, in, (const int32_t *)starts, out);
    return st;
}

__global__ void sum_kernel(int64_t runs, int64_t n, const double *x, double *sums)
{
    int64_t r = pt_item();
    if (r >= runs) return;
    double s = 0;
    for (int64_t i = r * RUN, end = i + RUN < n ? i + RUN : n; i < end; i++) s += x[i];
    sums[r] = s;
}

__global__ void square_kernel(int64_t runs, int64_t n, const real *x, double *sums)
{
    int64_t r = pt_item();
    if (r >= runs) return;
    double s = 0;
    for (int64_t i = r * RUN, end = i + RUN < n ? i + RUN : n; i < end; i++)
        s += (double)x[i] * (double)x[i];
    sums[r] = s;
}

extern "C" size_t pt_k_sum_room(int64_t n)
{
    size_t room = 1;
    do {
        n = runs_of(n);
        room += (size_t)n + 1;
    } while (n > 1);
    return room;
}

extern "C" pt_status pt_k_sum(pt_device *d, int64_t n, const double *x, double *out, double *tmp)
{
    if (n == 0) return pt_zero(d, out, sizeof *out);
    for (;;) {
        int64_t runs = runs_of(n);
        pt_status st = LAUNCH(sum_kernel, runs, n, x, runs == 1 ? out : tmp);
        if (st != PT_OK || runs == 1) return st;
        x = tmp;
        tmp += runs + 1;
        n = runs;
    }
}

extern "C" pt_status pt_k_sum_squares(pt_device *d, int64_t n, const real *x, double *out,
                                      double *tmp)
{
    int64_t runs = runs_of(n);
    pt_status st = LAUNCH(square_kernel, runs, n, x, tmp);
    return st == PT_OK ? pt_k_sum(d, runs, tmp, out, tmp + runs + 1) : st;
}
