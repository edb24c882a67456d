/* strips.cu - kernels whose threads run in strips of eight (OOMPROOF_SIM_STRIPS): what they leave
 * is what they leave thread after thread, where lanes part, wrap, collide or fail, and while a
 * kernel is compiled for it beside the program. */
extern "C" {
#include "case.h"
#include "simdev.h"
}
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define OK(call) ck_assert_int_eq((int)(call), 0)
enum { N = 4096 };

/* Writes before and behind the place where lanes part: what runs twice shows. */
__global__ void part(const int *x, int *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] += 1;
    if (x[i] % 3 == 0)
        y[i] *= 5;
    else if (x[i] & 1)
        y[i] += x[i];
    y[i] += 100;
}

__global__ void count_down(const int *x, int *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = 0;
    if (i >= n) return;
    for (int left = x[i] & 63; left > 0; left -= 1 + (left & 1)) {
        k += left;
        y[i] ^= k;
    }
    y[i] += k;
}

/* Indices that pass the largest int within a strip. */
__global__ void wrap(long long *y, int from)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = (long long)(int)((unsigned)i + (unsigned)from) * 8;
}

__global__ void far(const char *x, char *y, unsigned from)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[(unsigned long long)(i + from) - from];
}

struct large {
    double a[20];
    int n;
};
__constant__ float table[8] = {1, 2, 4, 8, 16, 32, 64, 128};
__device__ unsigned total;

__global__ void places(struct large p, double *y)
{
    unsigned i = ((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) +
                 blockIdx.x * blockDim.x * blockDim.y * blockDim.z;
    y[i] = p.a[i % 20] * table[i & 7] + (threadIdx.y ? 0.5 : 0.25) + p.n;
    if (i % 4 == 0) atomicAdd(&total, i); /* the sum of its values is not asked for */
}

__global__ void collide(int *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i / 16] = i;
}

__global__ void reach(const float *x, float *y, int bad)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 1;
    y[i] += x[i == bad ? 1 << 30 : i];
}

__global__ void past(const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i + 1] * 2;
}

static int tried(const void *kernel, unsigned *left)
{
    unsigned n;
    sim_runs_in_strips(kernel, &n, left);
    return (int)n;
}

static void *device(const void *from, size_t bytes)
{
    void *p = NULL;
    OK(cudaMalloc(&p, bytes));
    if (from)
        OK(cudaMemcpy(p, from, bytes, cudaMemcpyHostToDevice));
    else
        OK(cudaMemset(p, 0, bytes));
    return p;
}

static void draw(int *x)
{
    unsigned long long s = 88172645463325252u;
    for (int i = 0; i < N; i++) {
        s ^= s << 13, s ^= s >> 7, s ^= s << 17;
        x[i] = (int)(s >> 33);
    }
}

START_TEST(lanes_that_part_are_ended_one_by_one)
{
    static int x[N], y[N];
    draw(x);
    static const int sizes[] = {1, 7, 8, 9, 31, 32, 100, 256, 1000};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int b = sizes[k], n = N - 5;
        int *dx = (int *)device(x, sizeof x), *dy = (int *)device(NULL, sizeof y);
        part<<<(N + b - 1) / b, b>>>(dx, dy, n);
        OK(cudaMemcpy(y, dy, sizeof y, cudaMemcpyDeviceToHost));
        for (int i = 0; i < N; i++) {
            int w = i >= n ? 0 : x[i] % 3 == 0 ? 105 : x[i] & 1 ? 101 + x[i] : 101;
            ck_assert_msg(y[i] == w, "blocks of %d, thread %d: %d, not %d", b, i, y[i], w);
        }
        OK(cudaFree(dx));
        OK(cudaFree(dy));
    }
    unsigned left;
    ck_assert_int_gt(tried((const void *)part, &left), 0);
    ck_assert_uint_gt(left, 0);
}
END_TEST

START_TEST(loops_of_different_lengths)
{
    static int x[N], y[N];
    draw(x);
    for (int same = 0; same < 2; same++) {
        for (int i = 0; same && i < N; i++) x[i] = 37 + i / 64;
        int *dx = (int *)device(x, sizeof x), *dy = (int *)device(NULL, sizeof y);
        count_down<<<N / 128, 128>>>(dx, dy, N);
        OK(cudaMemcpy(y, dy, sizeof y, cudaMemcpyDeviceToHost));
        for (int i = 0; i < N; i++) {
            int k = 0, w = 0;
            for (int l = x[i] & 63; l > 0; l -= 1 + (l & 1)) k += l, w ^= k;
            ck_assert_int_eq(y[i], w + k);
        }
    }
}
END_TEST

START_TEST(indices_that_wrap_within_a_strip)
{
    static long long y[64];
    long long *dy = (long long *)device(NULL, sizeof y);
    static const int from[] = {0, INT32_MAX - 3, INT32_MAX - 40, INT32_MIN, -5, -64};
    for (size_t k = 0; k < sizeof from / sizeof *from; k++) {
        wrap<<<2, 32>>>(dy, from[k]);
        OK(cudaMemcpy(y, dy, sizeof y, cudaMemcpyDeviceToHost));
        for (int i = 0; i < 64; i++)
            ck_assert_int_eq(y[i], (long long)(int)((unsigned)i + (unsigned)from[k]) * 8);
    }
    char bytes[64], got[64];
    for (int i = 0; i < 64; i++) bytes[i] = (char)(i * 3);
    char *dx = (char *)device(bytes, 64), *dz = (char *)device(NULL, 64);
    far<<<1, 64>>>(dx, dz, 77);
    OK(cudaMemcpy(got, dz, 64, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(memcmp(bytes, got, 64), 0);
    unsigned left;
    ck_assert_int_gt(tried((const void *)wrap, &left), 0);
}
END_TEST

START_TEST(blocks_of_three_dimensions_large_parameters_constants)
{
    static const dim3 shapes[] = {{8, 8, 4}, {16, 3, 2}, {9, 5, 2},
                                  {3, 8, 8}, {1, 1, 1},  {64, 1, 1}};
    struct large p;
    for (int i = 0; i < 20; i++) p.a[i] = i * 0.125;
    p.n = 3;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        dim3 b = shapes[k];
        unsigned n = b.x * b.y * b.z * 3, sum = 0, got;
        double *y = (double *)malloc(n * 8), *dy = (double *)device(NULL, n * 8);
        OK(cudaMemcpyToSymbol(total, &sum, sizeof sum));
        places<<<3, b>>>(p, dy);
        OK(cudaMemcpy(y, dy, n * 8, cudaMemcpyDeviceToHost));
        OK(cudaMemcpyFromSymbol(&got, total, sizeof got));
        for (unsigned i = 0; i < n; i++) {
            double w = p.a[i % 20] * (1 << (i & 7)) + (i / b.x % b.y ? 0.5 : 0.25) + p.n;
            ck_assert_msg(y[i] == w, "shape %zu, thread %u: %g, not %g", k, i, y[i], w);
            sum += i % 4 ? 0 : i;
        }
        ck_assert_uint_eq(got, sum);
        free(y);
    }
}
END_TEST

START_TEST(of_threads_that_write_to_one_place_the_last_stays)
{
    static int y[N / 16];
    int *dy = (int *)device(NULL, sizeof y);
    collide<<<N / 128, 128>>>(dy);
    OK(cudaMemcpy(y, dy, sizeof y, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N / 16; i++) ck_assert_int_eq(y[i], i * 16 + 15);
}
END_TEST

/* The text of descriptor 2 while a kernel with a bad thread runs. */
static void fails(int bad, int want, char *text, size_t room)
{
    int ear = memfd_create("heard", 0), before = dup(2);
    static float x[256];
    float *dx = (float *)device(x, sizeof x), *dy = (float *)device(NULL, sizeof x);
    fflush(NULL);
    dup2(ear, 2);
    if (bad >= 0)
        reach<<<2, 128>>>(dx, dy, bad);
    else
        past<<<1, 128>>>((float *)device(x, 1000) + 250 - 128, dy);
    cudaError_t e = cudaDeviceSynchronize();
    fflush(NULL);
    dup2(before, 2);
    ck_assert_int_eq((int)e, want);
    ssize_t n = pread(ear, text, room - 1, 0);
    text[n > 0 ? n : 0] = 0;
}

START_TEST(an_access_that_faults_names_the_threads_of_its_strip)
{
    char text[2000];
    fails(128 + 45, 700, text, sizeof text);
    ck_assert_msg(strstr(text, "block (1,0,0) thread (40 to 47,0,0)") != NULL, "%s", text);
}
END_TEST

START_TEST(under_check_one_element_too_far_is_found_and_named)
{
    char text[2000];
    setenv("OOMPROOF_SIM_CHECK", "1", 1);
    fails(-1, 700, text, sizeof text);
    ck_assert_msg(strstr(text, "thread (127,0,0)") != NULL, "%s", text);
}
END_TEST

START_TEST(under_check_strips_go_on_behind_the_first_look)
{
    static int x[N], y[N];
    setenv("OOMPROOF_SIM_CHECK", "1", 1);
    for (int i = 0; i < N; i++) x[i] = 6 * i; /* lanes do not part */
    int *dx = (int *)device(x, sizeof x), *dy = (int *)device(NULL, sizeof y);
    part<<<N / 256, 256>>>(dx, dy, N);
    OK(cudaMemcpy(y, dy, sizeof y, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) ck_assert_int_eq(y[i], 105);
    unsigned left;
    int n = tried((const void *)part, &left);
    ck_assert_int_eq(n, N / 8);
    ck_assert_msg(left > 0 && left < 10, "%u of %d strips ended early", left, n);
}
END_TEST

START_TEST(where_lanes_always_part_strips_are_given_up)
{
    static int x[N];
    draw(x);
    int *dx = (int *)device(x, sizeof x), *dy = (int *)device(NULL, sizeof x);
    part<<<N / 64, 64>>>(dx, dy, N);
    OK(cudaDeviceSynchronize());
    unsigned left;
    ck_assert_int_lt(tried((const void *)part, &left), N / 8 / 2);
}
END_TEST

static int files_beside(const char *folder)
{
    int n = 0;
    DIR *d = opendir(folder);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *x; (x = readdir(d));) n += strstr(x->d_name, "beside") != NULL;
    closedir(d);
    return n;
}

/* A cache of its own, empty. */
static char *own_cache()
{
    static char folder[] = "/tmp/oomproof-strips-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    setenv("OOMPROOF_SIM_CACHE", folder, 1);
    unsetenv("OOMPROOF_SIM_STRIPS");
    return folder;
}

static void remove_cache(const char *folder)
{
    char command[200];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(a_kernel_that_runs_often_is_compiled_beside_the_program)
{
    static int y[N / 16];
    char *folder = own_cache();
    int *dy = (int *)device(NULL, sizeof y), begun = 0, launches = 0;
    unsigned left;
    while (!tried((const void *)collide, &left)) {
        collide<<<N / 128, 128>>>(dy);
        OK(cudaDeviceSynchronize());
        launches++;
        if (begun || !files_beside(folder)) continue;
        begun = 1; /* nobody who waits for his children meets the compiler */
        ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
        ck_assert_int_eq(errno, ECHILD);
    }
    ck_assert_msg(begun && launches > 1000, "after %d launches", launches);
    OK(cudaMemcpy(y, dy, sizeof y, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N / 16; i++) ck_assert_int_eq(y[i], i * 16 + 15);
    ck_assert_int_eq(files_beside(folder), 0);
    remove_cache(folder);
}
END_TEST

static __global__ void move_vectors(const int *row, const float4 *from, float4 *to)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 a = from[row[i / 8] * 8 + i % 8];
    to[i] = a;
}

/* As a row of features: it moves whole vectors already. */
START_TEST(a_kernel_that_only_moves_vectors_is_left_as_it_is)
{
    enum { THREADS = 1 << 16 };
    char *folder = own_cache();
    static int row[THREADS / 8];
    for (int i = 0; i < THREADS / 8; i++) row[i] = THREADS / 8 - 1 - i;
    int *at = (int *)device(row, sizeof row), *dy = (int *)device(NULL, N / 16 * 4);
    float4 *from = (float4 *)device(NULL, THREADS * 16), *to = (float4 *)device(NULL, THREADS * 16);
    for (int i = 0; i < (1 << 23) / THREADS; i++) {
        move_vectors<<<THREADS / 128, 128>>>(at, from, to);
        ck_assert_int_eq(files_beside(folder), 0);
    }
    while (!files_beside(folder)) collide<<<N / 128, 128>>>(dy); /* which gains */
    OK(cudaDeviceSynchronize());
    remove_cache(folder);
}
END_TEST

START_TEST(a_program_that_ends_first_leaves_no_compiler_and_no_file)
{
    char *folder = own_cache();
    pid_t child = fork();
    if (!child) {
        int *dy = (int *)device(NULL, N / 16 * 4);
        while (!files_beside(folder)) collide<<<N / 128, 128>>>(dy);
        exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", (unsigned)status);
    ck_assert_int_eq(files_beside(folder), 0);
    remove_cache(folder);
}
END_TEST

START_TEST(a_forked_process_starts_no_compiler)
{
    char *folder = own_cache();
    int *dy = (int *)device(NULL, N / 16 * 4);
    collide<<<1, 128>>>(dy);
    OK(cudaDeviceSynchronize());
    pid_t child = fork();
    if (!child) {
        for (int i = 0; i < 1100; i++) collide<<<N / 128, 128>>>(dy);
        _exit(files_beside(folder));
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", (unsigned)status);
    remove_cache(folder);
}
END_TEST

static const case_entry cases[] = {
#include "strips.def"
};

int main(int argc, char **argv)
{
    setenv("OOMPROOF_SIM_STRIPS", "1", 0);
    return case_main("strips", cases, (int)(sizeof cases / sizeof *cases), argc, argv);
}
