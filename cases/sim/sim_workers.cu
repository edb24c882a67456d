/* sim_workers.cu - grids on several host threads (OOMPROOF_SIM_THREADS): the same bits for kernels
 * that are deterministic on a card, one error for a grid that fails, and threads again after a
 * fork.
 */
extern "C" {
#include "case.h"
}
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define OK(call) ck_assert_int_eq((int)(call), 0)
enum { N = 3000 };

__global__ void attract(const float *x, float *force)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    float f = 0;
    for (int j = 0; j < N; j++) {
        float d = x[j] - x[i];
        f += d * rsqrtf(d * d + 1e-3f);
    }
    force[i] = f;
}

__global__ void sum_blocks(const float *x, float *out)
{
    __shared__ float part[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    part[threadIdx.x] = i < N ? x[i] : 0;
    __syncthreads();
    for (int k = 64; k; k /= 2) {
        if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
        __syncthreads();
    }
    if (!threadIdx.x) out[blockIdx.x] = part[0];
}

__global__ void count(const float *x, unsigned *bins, unsigned long long *most, unsigned *places)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    unsigned b = (unsigned)(x[i] * 16) & 15;
    atomicAdd(&bins[b], 1u);
    atomicMax(most, (unsigned long long)__float_as_uint(x[i]) << 32 | i);
    atomicXor(&places[b], (unsigned)i);
}

__global__ void fail_in(int block)
{
    if (blockIdx.x == block && threadIdx.x == 7) __trap();
}

__global__ void meet(volatile int *flag)
{
    if (threadIdx.x) return;
    if (blockIdx.x == gridDim.x - 1)
        *flag = 1;
    else if (blockIdx.x == 0)
        while (!*flag) {
        }
}

/* All results of the deterministic kernels. */
typedef struct results {
    float force[N], sums[24];
    unsigned bins[16], places[16];
    unsigned long long most;
} results;

static void compute(results *r)
{
    float x[N], *dx;
    results *d;
    for (int i = 0; i < N; i++) x[i] = (float)((i * 2654435761u) >> 8) / (1 << 24);
    OK(cudaMalloc(&dx, sizeof x));
    OK(cudaMalloc(&d, sizeof *d));
    OK(cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice));
    OK(cudaMemset(d, 0, sizeof *d));
    attract<<<(N + 63) / 64, 64>>>(dx, d->force);
    sum_blocks<<<24, 128>>>(dx, d->sums);
    count<<<(N + 31) / 32, 32>>>(dx, d->bins, &d->most, d->places);
    OK(cudaMemcpy(r, d, sizeof *r, cudaMemcpyDeviceToHost));
}

/* fn's answer in a process of its own, with so many host threads. */
static int in_process(const char *threads, int (*fn)(void *), void *arg)
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        setenv("OOMPROOF_SIM_THREADS", threads, 1);
        _exit(fn(arg));
    }
    ck_assert(pid > 0 && waitpid(pid, &status, 0) == pid);
    ck_assert_msg(WIFEXITED(status), "with %s threads: signal %d", threads, WTERMSIG(status));
    return WEXITSTATUS(status);
}

static int store_results(void *r)
{
    compute((results *)r);
    return 0;
}

START_TEST(any_number_of_host_threads_gives_the_same_bits)
{
    results *r = (results *)mmap(NULL, 4 * sizeof *r, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    static const char *const threads[] = {"1", "2", "3", "16"};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(in_process(threads[i], store_results, &r[i]), 0);
        ck_assert_msg(!memcmp(&r[0], &r[i], sizeof *r), "%s threads give other bits", threads[i]);
    }
    ck_assert(r[0].bins[3] > 0 && r[0].force[5] != 0);
}
END_TEST

static int fail_and_report(void *block)
{
    fail_in<<<200, 64>>>(*(int *)block);
    if (cudaGetLastError() != cudaSuccess) return 1;
    return cudaDeviceSynchronize() == cudaErrorLaunchFailure ? 42 : 2;
}

START_TEST(a_block_that_fails_ends_the_grid_whoever_runs_it)
{
    static const char *const threads[] = {"1", "2", "5"};
    for (int i = 0; i < 3; i++)
        for (int block = 0; block < 200; block += 199)
            ck_assert_int_eq(in_process(threads[i], fail_and_report, &block), 42);
}
END_TEST

static int meet_in_a_grid(void *unused)
{
    int *flag;
    (void)unused;
    if (cudaMalloc(&flag, 4) || cudaMemset(flag, 0, 4)) return 1;
    meet<<<2, 512>>>(flag);
    return (int)cudaDeviceSynchronize() & 255;
}

/* A card holds both blocks at once. */
START_TEST(blocks_that_run_at_once_may_wait_for_each_other)
{
    static const char *const threads[] = {"1", "2"};
    setenv("OOMPROOF_SIM_STEPS", "1000000000", 1); /* red soon, not at the time limit */
    for (int i = 0; i < 2; i++) ck_assert_int_eq(in_process(threads[i], meet_in_a_grid, NULL), 0);
}
END_TEST

static int forks(void *unused)
{
    static results before, after;
    (void)unused;
    compute(&before);
    pid_t pid = fork();
    if (pid == 0) {
        compute(&after);
        _exit(memcmp(&before, &after, sizeof after) ? 3 : 42);
    }
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return 4;
    compute(&after); /* and the parent goes on */
    return memcmp(&before, &after, sizeof after) ? 5 : WEXITSTATUS(status);
}

START_TEST(a_child_of_a_fork_has_host_threads_of_its_own)
{
    ck_assert_int_eq(in_process("3", forks, NULL), 42);
}
END_TEST

static const case_entry cases[] = {
#include "sim_workers.def"
};
CASE_MAIN("sim_workers")
