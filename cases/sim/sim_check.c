/* sim_check.c - OOMPROOF_SIM_CHECK=1: room around every block, addresses that are not given twice,
 * and what the messages say of what was touched. What is counted stays as it is without. */
#define _GNU_SOURCE
#include "rig.h"
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MEBI = 1 << 20 };

static void check_on(void)
{
    setenv("OOMPROOF_SIM_CHECK", "1", 1);
}

/* A store at a byte offset from p, which must be found and said; the device is as new again. */
static void found(void *p, long long offset, const char *what, const char *more)
{
    int v = 1;
    char *at = (char *)p + offset;
    long long first = 0;
    listen_to(2);
    cudaError_t launched = launch((const void *)store, 1, 1, 0, ARGS(&at, &first, &v));
    cudaError_t e = cudaDeviceSynchronize();
    char *said = heard();
    ck_assert_msg(launched == cudaSuccess && e == cudaErrorIllegalAddress,
                  "%lld bytes from the block: launch %d, wait %d, not 700; said: %s", offset,
                  (int)launched, (int)e, said);
    ck_assert_msg(strstr(said, "kernel store") && strstr(said, what) && strstr(said, more),
                  "'%s' and '%s' are not in: %s", what, more, said);
    free(said);
    OK(cudaDeviceReset());
}

typedef void *(*maker)(size_t bytes);

static void *plain(size_t bytes)
{
    void *p = NULL;
    OK(cudaMalloc(&p, bytes));
    return p;
}
static void *ordered(size_t bytes)
{
    void *p = NULL;
    OK(cudaMallocAsync(&p, bytes, NULL));
    return p;
}
static void *in_rows(size_t bytes)
{
    void *p = NULL;
    size_t pitch = 0;
    OK(cudaMallocPitch(&p, &pitch, 512, bytes / 512));
    ck_assert_uint_eq(pitch, 512);
    return p;
}
static void *managed(size_t bytes)
{
    void *p = NULL;
    OK(cudaMallocManaged(&p, bytes, cudaMemAttachGlobal));
    return p;
}
static void *pinned(size_t bytes)
{
    void *p = NULL;
    OK(cudaMallocHost(&p, bytes));
    return p;
}
static const maker makers[] = {plain, ordered, in_rows, managed, pinned};

/* Sizes that fill granules and pages: what lies behind the last byte is nobody's. */
START_TEST(under_check_every_block_has_room_on_both_sides)
{
    static const size_t sizes[] = {512, 4096, 2 * MEBI, 4 * MEBI};
    check_on();
    for (int m = 0; m < COUNT(makers); m++)
        for (int i = 0; i < COUNT(sizes); i++)
            for (int side = 0; side < 4; side++) {
                char text[100], *p[3];
                for (int k = 0; k < 3; k++) p[k] = makers[m](sizes[i]);
                /* the nearest byte, and one that is further off than a page of 2 MiB is not far */
                long long off = side == 0   ? (long long)sizes[i]
                                : side == 1 ? -4
                                : side == 2 ? (long long)sizes[i] + 65536
                                            : -65536;
                snprintf(text, sizeof text,
                         side % 2 ? "%lld bytes before" : "%lld bytes past the end",
                         side % 2 ? -off : off - (long long)sizes[i]);
                found(p[1], off, text, "made at ");
            }
}
END_TEST

START_TEST(under_check_variables_of_a_module_have_room_too)
{
    int *counter = NULL, *out;
    check_on();
    for (int side = 0; side < 2; side++) {
        out = device(NULL, 64);
        OK(launch((const void *)where_variables_are, 1, 1, 0, ARGS(&out)));
        fetch(&counter, out, sizeof counter);
        found(counter, side ? -4 : 4,
              side ? "4 bytes before the variable counter of 4 bytes"
                   : "0 bytes past the end of the variable counter of 4 bytes",
              "");
    }
}
END_TEST

/* What was freed stays away, though the same memory has been lent again. */
START_TEST(under_check_freed_memory_is_known_after_it_was_lent_again)
{
    static const size_t sizes[] = {400, MEBI, 4 * MEBI};
    check_on();
    for (int m = 0; m < COUNT(makers); m++)
        for (int i = 0; i < COUNT(sizes); i++) {
            if (makers[m] == in_rows && sizes[i] < 512) continue;
            char text[100], *stale = makers[m](sizes[i]), *again;
            if (makers[m] == pinned)
                OK(cudaFreeHost(stale));
            else if (makers[m] == ordered)
                OK(cudaFreeAsync(stale, NULL));
            else
                OK(cudaFree(stale));
            for (int k = 0; k < 3; k++) {
                again = makers[m](sizes[i]);
                ck_assert_msg(again != stale, "kind %d, %zu bytes: the same address", m, sizes[i]);
            }
            snprintf(text, sizeof text, "was freed (%zu bytes, made at ", sizes[i]);
            found(stale, 4, text, ", freed at ");
        }
}
END_TEST

START_TEST(under_check_copies_from_freed_pinned_memory_are_refused)
{
    check_on();
    char *p = plain(4096), *stale = pinned(4096), *again;
    OK(cudaFreeHost(stale));
    again = pinned(4096);
    OK(cudaMemcpy(p, again, 4096, cudaMemcpyHostToDevice));
    listen_to(2);
    IS(cudaMemcpy(p, stale, 4096, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    char *said = heard();
    ck_assert_msg(strstr(said, "memory of the host that was freed (4096 bytes, made at"),
                  "said: %s", said);
    free(said);
    IS(cudaMemcpy(again, p, 4097, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    p = plain(400); /* what lies behind the end of a freed block is told too */
    OK(cudaFree(p));
    found(p, 404, "beside an allocation that was freed (400 bytes", "freed at");
}
END_TEST

/* Requests, frees and refusals of a card that gets full: free bytes and codes. */
enum { TRACE = 3000 };
static void play(uint64_t *trace)
{
    enum { HELD = 64 };
    void *held[HELD] = {0};
    unsigned seed = 7;
    setenv("OOMPROOF_SIM_MEMORY", "24MiB", 1);
    for (int i = 0; i < TRACE; i++) {
        size_t free_bytes = 0, total = 0;
        seed = seed * 1664525 + 1013904223;
        int at = seed >> 8 & (HELD - 1), async = seed >> 20 & 1;
        size_t bytes = 1 + (seed >> 4) % (i % 5 ? 700000 : 6 * MEBI);
        cudaError_t e = cudaSuccess;
        if (held[at]) e = async ? cudaFreeAsync(held[at], NULL) : cudaFree(held[at]);
        held[at] = NULL;
        if (i % 3)
            e = async ? cudaMallocAsync(&held[at], bytes, NULL) : cudaMalloc(&held[at], bytes);
        if (e != cudaSuccess) held[at] = NULL;
        OK(cudaMemGetInfo(&free_bytes, &total));
        trace[i] = free_bytes << 8 | (unsigned)e;
    }
}

START_TEST(under_check_the_same_memory_is_counted)
{
    uint64_t *trace = mmap(NULL, 2 * TRACE * sizeof *trace, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int refused = 0, status;
    for (int check = 0; check < 2; check++) {
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            setenv("OOMPROOF_SIM_CHECK", check ? "1" : "0", 1);
            play(trace + check * TRACE);
            _exit(0);
        }
        ck_assert(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    }
    for (int i = 0; i < TRACE; i++) {
        refused += (trace[i] & 255) == cudaErrorMemoryAllocation;
        ck_assert_msg(trace[i] == trace[TRACE + i], "step %d: free %llu code %d, checked %llu %d",
                      i, (unsigned long long)trace[i] >> 8, (int)(trace[i] & 255),
                      (unsigned long long)trace[TRACE + i] >> 8, (int)(trace[TRACE + i] & 255));
    }
    ck_assert_msg(refused > 20 && refused < TRACE / 2, "%d requests were refused", refused);
}
END_TEST

static long resident(void)
{
    long pages = 0, now = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    ck_assert(f && fscanf(f, "%ld %ld", &pages, &now) == 2);
    fclose(f);
    return now / 256; /* MiB */
}

START_TEST(under_check_memory_of_the_host_comes_back)
{
    check_on();
    setenv("OOMPROOF_SIM_MEMORY", "64MiB", 1);
    long before = 0;
    for (int i = 0; i < 1500; i++) {
        void *big, *small, *shared, *async;
        OK(cudaMalloc(&big, 4 * MEBI));
        OK(cudaMalloc(&small, 1000));
        OK(cudaMallocManaged(&shared, MEBI, cudaMemAttachGlobal));
        OK(cudaMallocAsync(&async, 3 * MEBI, NULL));
        OK(cudaMemset(big, 1, 4 * MEBI));
        OK(cudaMemset(small, 1, 1000));
        OK(cudaMemset(async, 1, 3 * MEBI));
        memset(shared, 1, MEBI);
        OK(cudaFree(big));
        OK(cudaFree(small));
        OK(cudaFree(shared));
        OK(cudaFreeAsync(async, NULL));
        if (i == 50) before = resident();
    }
    long after = resident();
    ck_assert_msg(after <= before + 8, "%ld MiB after 50 rounds, %ld after 1500", before, after);
}
END_TEST

/* Work that was queued before a free has the memory until it is done. */
START_TEST(under_check_queued_work_uses_what_is_freed_behind_it)
{
    int *p, *q, v = 5, back = 0;
    long long at = 99;
    check_on();
    setenv("OOMPROOF_SIM_STREAMS", "lazy", 1);
    OK(cudaMallocAsync((void **)&p, 400, NULL));
    OK(launch((const void *)store, 1, 1, 0, ARGS(&p, &at, &v)));
    OK(cudaFreeAsync(p, NULL));
    OK(cudaMallocAsync((void **)&q, 400, NULL)); /* the same memory, in stream order */
    ck_assert_ptr_ne(p, q);
    OK(cudaMemcpyAsync(&back, q + 99, 4, cudaMemcpyDeviceToHost, NULL));
    OK(cudaDeviceSynchronize());
    ck_assert_int_eq(back, 5);
    found(p, 0, "was freed (400 bytes", "freed at ");
}
END_TEST

static int touch(void *p)
{
    return *(volatile char *)p;
}

START_TEST(under_check_host_code_that_uses_freed_managed_memory_faults)
{
    char *p, *again;
    check_on();
    p = managed(4096);
    run((const void *)store, 1, 1, ARGS(&p, &(long long){0}, &(int){1}));
    OK(cudaFree(p));
    again = managed(4096);
    *again = 1;
    listen_to(2);
    fflush(NULL);
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        _exit(touch(p));
    }
    ck_assert(pid > 0 && waitpid(pid, &status, 0) == pid);
    char *said = heard();
    ck_assert_msg(status != 0 && strstr(said, "managed memory that was freed"),
                  "status %d, said: %s", status, said);
    free(said);
}
END_TEST

/* The call of the program, not the toolkit's cudaMalloc<int> between it and the library. */
START_TEST(under_check_a_call_site_is_the_programs_own)
{
    int *p = NULL;
    check_on();
    allocate_by_type(&p, 400);
    found(p, 400, "made at allocate_by_type in ", "case_sim_check+0x");
}
END_TEST

static void says(const char *wanted)
{
    char *said = heard();
    ck_assert_msg(strstr(said, wanted) != NULL, "wanted '%s', said: %s", wanted, said);
    free(said);
}

START_TEST(a_free_is_reported_by_its_name)
{
    void *p = ordered(400);
    OK(cudaFreeAsync(p, NULL));
    listen_to(2);
    IS(cudaFreeAsync(p, NULL), cudaErrorInvalidValue);
    says("cudaFreeAsync(0x");
    p = plain(400);
    OK(cudaFree(p));
    listen_to(2);
    IS(cudaFree(p), cudaErrorInvalidValue);
    says("cudaFree(0x");
}
END_TEST

/* With and without the check. */
START_TEST(addresses_that_are_no_blocks_are_told_apart)
{
    static int of_the_host[100];
    int *heap = malloc(400);
    for (int check = 0; check < 2; check++) {
        int status = 0;
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            setenv("OOMPROOF_SIM_CHECK", check ? "1" : "0", 1);
            found(plain(400), -4, "4 bytes before an allocation of 400 bytes", "");
            if (check)
                found(plain(400), 400, "0 bytes past the end of an allocation of 400 bytes", "");
            found(of_the_host, 0, "memory of the host, which a kernel reaches only where", "");
            found(heap, 0, "memory of the host", "pinned, registered or managed");
            found(&status, 0, "memory of the host", "");
            found(NULL, 8, "the null pointer", "");
            found((void *)((uintptr_t)1 << 60), 0, "not a device address, nor one of the host", "");
            _exit(0);
        }
        ck_assert(pid > 0 && waitpid(pid, &status, 0) == pid);
        ck_assert_msg(status == 0, "check %d: status %d", check, status);
    }
    free(heap);
}
END_TEST

START_TEST(a_second_free_in_a_kernel_names_its_line)
{
    int *out, line = 0;
    check_on();
    out = device(NULL, 4);
    listen_to(2);
    OK(launch((const void *)free_twice, 1, 1, 0, ARGS(&out)));
    IS(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    char *said = heard(), *at = strstr(said, "PTX line ");
    ck_assert_msg(at && sscanf(at, "PTX line %d", &line) == 1 && line > 0 &&
                      strstr(said, "was freed (400 bytes)"),
                  "said: %s", said);
    free(said);
}
END_TEST

static const case_entry cases[] = {
#include "sim_check.def"
};
CASE_MAIN("sim_check")
