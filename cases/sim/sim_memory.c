/* sim_memory.c - device memory: how much there is, who may touch it, what misuse says. */
#define _GNU_SOURCE
#include "rig.h"
#include "simdev.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KIB = 1024, MEBI = 1024 * KIB };

static size_t free_now(void)
{
    size_t free_bytes = 0, total;
    OK(cudaMemGetInfo(&free_bytes, &total));
    return free_bytes;
}

/* The card's size is read once a process: a child for each. Gives fn's answer, or minus the signal.
 */
static int in_child(int (*fn)(void *), void *arg)
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) _exit(fn(arg));
    ck_assert_msg(pid > 0 && waitpid(pid, &status, 0) == pid, "no child");
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

START_TEST(a_card_holds_its_capacity_and_no_more)
{
    size_t free_bytes, total;
    void *p[5];
    setenv("OOMPROOF_SIM_MEMORY", "8MiB", 1);
    OK(cudaMemGetInfo(&free_bytes, &total));
    ck_assert_msg(free_bytes == 8 * MEBI && total == 8 * MEBI, "%zu free of %zu", free_bytes,
                  total);
    for (int i = 0; i < 4; i++) OK(cudaMalloc(&p[i], 2 * MEBI));
    IS(cudaMalloc(&p[4], 1), cudaErrorMemoryAllocation);
    ck_assert_uint_eq(free_now(), 0);
    OK(cudaFree(p[2]));
    OK(cudaMalloc(&p[4], 2 * MEBI));
}
END_TEST

static int size_in_mib(void *text)
{
    size_t free_bytes, total;
    setenv("OOMPROOF_SIM_MEMORY", text, 1);
    cudaError_t e = cudaMemGetInfo(&free_bytes, &total);
    if (e == cudaErrorInitializationError) return 3;
    return e == cudaSuccess ? (int)(total / MEBI) : 255;
}

START_TEST(sizes_are_read_with_their_unit_or_refused)
{
    static const struct {
        const char *text;
        int want;
    } rows[] = {{"64MiB", 64}, {"64M", 64},   {"65536K", 64}, {"67108864", 64}, {"67108864B", 64},
                {"5MiB", 4},   {"lots", 3},   {"-64MiB", 3},  {"64MiBs", 3},    {"1MiB", 3},
                {"0", 3},      {"64 MiB", 3}, {"1e30G", 3},   {"9999TiB", 3}};
    for (int i = 0; i < COUNT(rows); i++) {
        listen_to(2);
        int got = in_child(size_in_mib, (void *)(uintptr_t)rows[i].text);
        char *text = heard();
        ck_assert_msg(got == rows[i].want, "OOMPROOF_SIM_MEMORY=%s: %d, not %d", rows[i].text, got,
                      rows[i].want);
        ck_assert_msg(got != 3 || strstr(text, rows[i].text), "%s not named in: %s", rows[i].text,
                      text);
        free(text);
    }
}
END_TEST

START_TEST(free_bytes_come_back_with_the_last_block)
{
    enum { N = 200 };
    void *p[N];
    size_t start = free_now(), held = 0, bytes[N];
    unsigned seed = 1;
    for (int i = 0; i < N; i++) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = 1 + (seed >> 8) % (i % 9 ? 20 * KIB : 5 * MEBI);
        OK(cudaMalloc(&p[i], bytes[i]));
        ck_assert_msg((uintptr_t)p[i] % 256 == 0, "block %d lies at %p", i, p[i]);
        held += bytes[i];
        ck_assert_msg(free_now() + held <= start, "%zu free with %zu of %zu given", free_now(),
                      held, start);
    }
    for (int i = 0; i < N; i++) /* in another order than they came */
        OK(cudaFree(p[i * 77 % N]));
    ck_assert_msg(free_now() == start, "%zu free at the end, %zu at the start", free_now(), start);
}
END_TEST

START_TEST(blocks_do_not_share_bytes)
{
    enum { N = 64, BYTES = 700 };
    char *p[N], seen[BYTES];
    for (int i = 0; i < N; i++) {
        p[i] = device(NULL, BYTES);
        OK(cudaMemset(p[i], i + 1, BYTES));
    }
    for (int i = 0; i < N; i += 2) OK(cudaFree(p[i]));
    for (int i = 0; i < N; i += 2) {
        p[i] = device(NULL, BYTES);
        OK(cudaMemset(p[i], i + 1, BYTES));
    }
    for (int i = 0; i < N; i++) {
        fetch(seen, p[i], BYTES);
        for (int k = 0; k < BYTES; k++)
            ck_assert_msg(seen[k] == i + 1, "block %d, byte %d is %d", i, k, seen[k]);
    }
}
END_TEST

START_TEST(nothing_can_be_allocated_and_freed)
{
    void *p = &p;
    OK(cudaMalloc(&p, 0));
    ck_assert_ptr_null(p);
    OK(cudaFree(NULL));
    OK(cudaGetLastError());
}
END_TEST

static void refused(cudaError_t got, cudaError_t want, const char *what)
{
    ck_assert_msg(got == want, "%s gave %d, not %d", what, got, want);
    IS(cudaGetLastError(), want);
    OK(cudaDeviceSynchronize()); /* and the context lives */
}

START_TEST(a_bad_free_is_1_and_frees_nothing)
{
    char host, *p = device(NULL, 4096), *q = device(NULL, 4096);
    OK(cudaMemset(q, 3, 4096));
    OK(cudaFree(p));
    size_t before = free_now();
    refused(cudaFree(p), cudaErrorInvalidValue, "a second free");
    refused(cudaFree(&host), cudaErrorInvalidValue, "freeing host memory");
    refused(cudaFree(q + 512), cudaErrorInvalidValue, "freeing the middle of a block");
    ck_assert_uint_eq(free_now(), before);
    OK(cudaMemcpy(&host, q + 4095, 1, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(host, 3);
    OK(cudaFree(q));
}
END_TEST

static void store_at(int *p, long long i, cudaError_t want)
{
    int v = 1;
    OK(launch((const void *)store, 1, 1, 0, ARGS(&p, &i, &v)));
    IS(cudaDeviceSynchronize(), want);
}

START_TEST(a_kernel_that_uses_freed_pages_is_700)
{
    int *p = device(NULL, 4 * MEBI);
    store_at(p, 0, cudaSuccess);
    OK(cudaFree(p));
    store_at(p, 0, cudaErrorIllegalAddress);
}
END_TEST

START_TEST(under_check_a_freed_small_block_is_700)
{
    setenv("OOMPROOF_SIM_CHECK", "1", 1);
    int *p = device(NULL, 4096), *neighbour = device(NULL, 4096);
    store_at(p, 1023, cudaSuccess);
    OK(cudaFree(p));
    store_at(neighbour, 0, cudaSuccess); /* the page is still there */
    store_at(p, 0, cudaErrorIllegalAddress);
}
END_TEST

START_TEST(under_check_one_element_past_the_end_is_700)
{
    setenv("OOMPROOF_SIM_CHECK", "1", 1);
    int *p = device(NULL, 1000);
    store_at(p, 249, cudaSuccess);
    store_at(p, 250, cudaErrorIllegalAddress);
}
END_TEST

/* One instruction goes through several blocks: what it found last must not stand in for a look. */
START_TEST(under_check_one_store_is_held_to_each_block_that_it_reaches)
{
    setenv("OOMPROOF_SIM_CHECK", "1", 1);
    char *a = device(NULL, 1004), *b = device(NULL, 4096), *last[] = {a + 992, b, a, a + 1000};
    for (int bad = 0; bad < 2; bad++) {
        void *list = device(last, sizeof last);
        int n = 3 + bad;
        OK(launch((const void *)store_each, 1, 1, 0, ARGS(&list, &n)));
        IS(cudaDeviceSynchronize(), bad ? cudaErrorIllegalAddress : cudaSuccess);
    }
}
END_TEST

START_TEST(under_check_a_block_of_the_device_heap_is_gone_once_it_was_freed)
{
    setenv("OOMPROOF_SIM_CHECK", "1", 1);
    for (int after = 0; after < 2; after++) {
        int *out = device(NULL, sizeof *out);
        OK(launch((const void *)store_after_free, 1, 1, 0, ARGS(&after, &out)));
        IS(cudaDeviceSynchronize(), after ? cudaErrorIllegalAddress : cudaSuccess);
    }
}
END_TEST

START_TEST(copies_and_sets_must_lie_in_one_block)
{
    char host[2048] = "as before", *p = device(NULL, 1000), *gone = device(NULL, 1000);
    OK(cudaFree(gone));
    refused(cudaMemcpy(host, p, 1001, cudaMemcpyDeviceToHost), 1, "a copy from past the end");
    refused(cudaMemcpy(p + 1, host, 1000, cudaMemcpyHostToDevice), 1, "a copy past the end");
    refused(cudaMemcpy(host, gone, 8, cudaMemcpyDeviceToHost), 1, "a copy from a freed block");
    refused(cudaMemcpy(p, gone, 8, cudaMemcpyDeviceToDevice), 1, "a copy between, one freed");
    refused(cudaMemcpyAsync(gone, host, 8, cudaMemcpyHostToDevice, NULL), 1, "an async copy");
    refused(cudaMemset(p, 1, 1001), 1, "a set past the end");
    refused(cudaMemset(gone, 1, 1), 1, "a set of a freed block");
    refused(cudaMemsetAsync(p + 1000, 1, 1, NULL), 1, "a set behind the end");
    refused(cudaMemset(p, 1, (size_t)-1), 1, "a set of every byte there is");
    refused(cudaMemset(p + 8, 1, (size_t)-8), 1, "a set that wraps around");
    ck_assert_str_eq(host, "as before");
    OK(cudaMemset(p, 1, 1000));
    OK(cudaMemcpy(host, gone, 0, cudaMemcpyDeviceToHost));
}
END_TEST

START_TEST(the_direction_of_a_copy_must_be_true)
{
    char host[64] = "host", other[64] = "other", *p = device(NULL, 64);
    refused(cudaMemcpy(host, p, 64, (enum cudaMemcpyKind)99), 21, "direction 99");
    refused(cudaMemcpy(host, other, 64, cudaMemcpyDeviceToHost), 1, "host called device");
    refused(cudaMemcpy(host, p, 64, cudaMemcpyHostToHost), 1, "device called host");
    OK(cudaMemcpy(p, host, 64, cudaMemcpyDefault));
    OK(cudaMemcpy(other, p, 64, cudaMemcpyDefault));
    ck_assert_str_eq(other, "host");
}
END_TEST

START_TEST(rows_with_a_pitch_are_copied_and_the_gaps_left)
{
    enum { W = 5, H = 3, DP = 16 };
    char in[H * W], out[H * 8], all[H * DP], *d = device(NULL, sizeof all);
    for (int i = 0; i < H * W; i++) in[i] = (char)(i + 1);
    memset(out, 99, sizeof out);
    OK(cudaMemset(d, 77, sizeof all));
    OK(cudaMemcpy2D(d, DP, in, W, W, H, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(out, 8, d, DP, W, H, cudaMemcpyDeviceToHost));
    fetch(all, d, sizeof all);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < DP; x++) {
            int want = x < W ? y * W + x + 1 : 77;
            ck_assert_msg(all[y * DP + x] == want, "device row %d column %d", y, x);
            if (x < 8)
                ck_assert_msg(out[y * 8 + x] == (x < W ? want : 99), "host row %d column %d", y, x);
        }
    refused(cudaMemcpy2D(d, 4, in, W, W, H, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue,
            "a pitch below the width");
    OK(cudaMemset(d, 77, sizeof all));
    refused(cudaMemcpy2D(d, DP, in, W, W, H + 1, cudaMemcpyHostToDevice), 1, "a row too many");
    fetch(all, d, sizeof all);
    ck_assert_msg(all[0] == 77, "the copy that was refused has begun: %d", all[0]);
}
END_TEST

START_TEST(small_leftovers_can_fail_a_request_that_would_fit)
{
    enum { N = 16, PIECE = 512 * KIB };
    void *p[N], *big;
    setenv("OOMPROOF_SIM_MEMORY", "8MiB", 1);
    for (int i = 0; i < N; i++) OK(cudaMalloc(&p[i], PIECE));
    for (int i = 0; i < N; i++)
        if (i % 4) OK(cudaFree(p[i])); /* 6 MiB of the 8 are not in use, in four pages */
    IS(cudaMalloc(&big, 2 * MEBI), cudaErrorMemoryAllocation);
    for (int i = 0; i < N; i++)
        if (i % 4) OK(cudaMalloc(&p[i], PIECE)); /* what fits the holes is given */
    for (int i = 0; i < N; i++) OK(cudaFree(p[i]));
    OK(cudaMalloc(&big, 8 * MEBI));
}
END_TEST

START_TEST(a_card_of_80_gib_takes_host_memory_only_where_it_is_touched)
{
    const size_t gib = (size_t)1 << 30;
    char *p, *q, last = 0;
    long pages = 0, resident = 0;
    setenv("OOMPROOF_SIM_MEMORY", "80GiB", 1);
    OK(cudaMalloc((void **)&p, 60 * gib));
    IS(cudaMalloc((void **)&q, 20 * gib), cudaErrorMemoryAllocation); /* the context holds some */
    OK(cudaMalloc((void **)&q, 19 * gib));
    OK(cudaMemset(p, 1, 4096));
    OK(cudaMemset(p + 60 * gib - 4096, 2, 4096));
    OK(cudaMemcpy(&last, p + 60 * gib - 1, 1, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(last, 2);
    FILE *f = fopen("/proc/self/statm", "r");
    ck_assert(f && fscanf(f, "%ld %ld", &pages, &resident) == 2);
    fclose(f);
    ck_assert_msg(resident < 200 * 256, "%ld pages of host memory are in use", resident);
    OK(cudaFree(p));
    OK(cudaMalloc((void **)&p, 60 * gib));
}
END_TEST

static int follow(void *p)
{
    return *(volatile char *)p;
}

START_TEST(host_code_that_follows_a_device_pointer_faults)
{
    int *p = device(NULL, 4096);
    signal(SIGSEGV, SIG_DFL); /* nobody else's, as a sanitizer's is */
    ck_assert_int_eq(in_child(follow, p), -SIGSEGV);
    store_at(p, 0, cudaSuccess); /* from the first launch on the fault is explained */
    listen_to(2);
    int got = in_child(follow, p);
    char *text = heard();
    ck_assert_int_eq(got, -SIGSEGV);
    ck_assert_msg(strstr(text, "host code follows a device pointer") != NULL, "said: %s", text);
    free(text);
}
END_TEST

START_TEST(pinned_memory_is_memory_of_the_host)
{
    char *h = NULL, *p = device(NULL, 64);
    struct cudaPointerAttributes a;
    OK(cudaMallocHost((void **)&h, 64));
    memset(h, 5, 64);
    OK(cudaMemcpy(p, h, 64, cudaMemcpyHostToDevice));
    OK(cudaPointerGetAttributes(&a, p));
    ck_assert_int_eq(a.type, cudaMemoryTypeDevice);
    OK(cudaFreeHost(h));
    OK(cudaFreeHost(NULL));
}
END_TEST

#ifndef OOMPROOF_GPU /* what NVIDIA's libraries do not have */
START_TEST(library_memory_counts_but_sets_no_error)
{
    void *p = NULL;
    sim_memory_figures m;
    setenv("OOMPROOF_SIM_MEMORY", "8MiB", 1);
    size_t before = free_now();
    ck_assert_int_eq(sim_device_alloc(&p, 4 * MEBI), 0);
    sim_memory_read(&m);
    ck_assert_uint_eq(before - free_now(), 4 * MEBI);
    ck_assert_msg(m.private_bytes == 4 * MEBI && m.runtime_bytes == 0, "private %llu, runtime %llu",
                  (unsigned long long)m.private_bytes, (unsigned long long)m.runtime_bytes);
    ck_assert_int_eq(sim_device_alloc(&p, 6 * MEBI), cudaErrorMemoryAllocation);
    OK(cudaPeekAtLastError());
    ck_assert_int_eq(sim_device_free(p), 0);
    ck_assert_uint_eq(free_now(), before);
}
END_TEST

START_TEST(a_library_call_on_bad_memory_is_700_at_the_next_wait)
{
    char *p = device(NULL, 64);
    ck_assert_ptr_nonnull(sim_device_range(p, 64, 1));
    ck_assert_ptr_nonnull(sim_device_range(NULL, 0, 1));
    OK(cudaDeviceSynchronize());
    ck_assert_ptr_null(sim_device_range(p, 65, 1));
    OK(cudaPeekAtLastError());
    IS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}
END_TEST
#endif

static const case_entry cases[] = {
#include "sim_memory.def"
};
CASE_MAIN("sim_memory")
