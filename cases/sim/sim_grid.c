/* sim_grid.c - what a grid computes: barriers, warps, shared memory, indices, atomics, printf. */
#include "rig.h"

START_TEST(block_reduce_adds_every_element)
{
    enum { N = 5000, BLOCKS = 3 };
    int in[N], n = N;
    long long out[BLOCKS], sum = 0, want = 0;
    for (int i = 0; i < N; i++) want += in[i] = i * 7 - 3;
    void *a = device(in, sizeof in), *o = device(NULL, sizeof out);
    run(block_reduce, BLOCKS, REDUCE_THREADS, ARGS(&a, &n, &o));
    fetch(out, o, sizeof out);
    for (int i = 0; i < BLOCKS; i++) sum += out[i];
    ck_assert_msg(sum == want, "the blocks' sums add up to %lld, not %lld", sum, want);
}
END_TEST

START_TEST(threads_that_ended_do_not_hold_a_barrier_up)
{
    static const int live[] = {1, 31, 33, 255, 1024};
    int out[1024];
    void *o = device(NULL, sizeof out);
    for (int k = 0; k < COUNT(live); k++) {
        int n = live[k];
        run(early_exit, 2, 1024, ARGS(&n, &o));
        fetch(out, o, sizeof out);
        for (int i = 0; i < n; i++)
            ck_assert_msg(out[i] == (i + 2) % n, "%d of 1024 live: thread %d has %d, not %d", n, i,
                          out[i], (i + 2) % n);
    }
}
END_TEST

START_TEST(block_wide_votes_count_every_thread)
{
    enum { N = 100 }; /* the last warp is not full */
    static const int set[] = {0, 1, 99, 100};
    int in[N], out[3];
    void *o = device(NULL, sizeof out), *a = device(NULL, sizeof in);
    for (int k = 0; k < COUNT(set); k++) {
        for (int i = 0; i < N; i++) in[i] = i < set[k] ? i + 1 : 0;
        OK(cudaMemcpy(a, in, sizeof in, cudaMemcpyHostToDevice));
        run(block_votes, 1, N, ARGS(&a, &o));
        fetch(out, o, sizeof out);
        ck_assert_msg(out[0] == set[k] && out[1] == (set[k] == N) && out[2] == (set[k] > 0),
                      "%d of %d: count %d, and %d, or %d", set[k], N, out[0], out[1], out[2]);
    }
}
END_TEST

/* What lane l of a full warp gets in each row, by the definition of the intrinsic. */
static unsigned warp_wants(int row, unsigned t)
{
    unsigned l = t & 31, w = t - l, v = 100, third = 0;
    for (unsigned k = 0; k < 32; k += 3) third |= 1u << k;
    switch (row) {
    case 0: return v + w + 7;
    case 1: return v + (l < 3 ? t : t - 3);
    case 2: return v + (l + 5 > 31 ? t : t + 5);
    case 3: return v + (t ^ 12);
    case 4: return v + (t & ~7u) + 1;
    case 5: return third;
    case 6: return 1;
    case 7: return 0;
    case 8: return l < 10 ? 0x3ffu : l < 20 ? 0xffc00u : l < 30 ? 0x3ff00000u : 0xc0000000u;
    case 9: return l & 1 ? v + (t ^ 2) : 0x55u;
    default: return v + (l == 31 ? t : t + 1);
    }
}

START_TEST(warp_operations_exchange_lanes)
{
    enum { N = 64 };
    unsigned out[WARP_ROWS * N];
    void *o = device(NULL, sizeof out);
    run(warp_operations, 1, N, ARGS(&o));
    fetch(out, o, sizeof out);
    for (int row = 0; row < WARP_ROWS; row++)
        for (unsigned t = 0; t < N; t++)
            ck_assert_msg(out[row * N + (int)t] == warp_wants(row, t),
                          "operation %d, thread %u: %#x, not %#x", row, t, out[row * N + (int)t],
                          warp_wants(row, t));
}
END_TEST

START_TEST(lanes_that_ended_leave_the_ballot)
{
    unsigned out[32];
    void *o = device(NULL, sizeof out);
    run(warp_after_exit, 1, 32, ARGS(&o));
    fetch(out, o, sizeof out);
    for (int i = 0; i < 32; i++)
        ck_assert_msg(out[i] == (i < 20 ? 0xfffffu : 0), "lane %d: %#x", i, out[i]);
}
END_TEST

START_TEST(dynamic_shared_memory_has_the_size_asked_for)
{
    enum { MANY = 50 * 1024 / 4 };
    static int io[MANY];
    int n = 12288; /* 48 KiB: the most without asking */
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < n; i++) io[i] = i;
        void *d = device(io, sizeof *io * (size_t)n);
        OK(launch(reverse_dynamic, 1, 128, sizeof *io * (size_t)n, ARGS(&d, &n)));
        fetch(io, d, sizeof *io * (size_t)n);
        for (int i = 0; i < n; i++)
            ck_assert_msg(io[i] == n - 1 - i, "element %d is %d, not %d", i, io[i], n - 1 - i);
        n = MANY; /* more only after the attribute is set */
        OK(cudaFuncSetAttribute((const void *)reverse_dynamic,
                                cudaFuncAttributeMaxDynamicSharedMemorySize, 50 * 1024));
    }
}
END_TEST

START_TEST(every_thread_of_a_3d_grid_runs_once_with_its_indices)
{
    const struct dim3 g = {3, 2, 4}, b = {5, 3, 2};
    enum { N = 3 * 2 * 4 * 5 * 3 * 2 };
    unsigned out[N], i = 0;
    void *o = device(NULL, sizeof out);
    OK(cudaLaunchKernel((const void *)indices, g, b, ARGS(&o), 0, NULL));
    fetch(out, o, sizeof out);
    for (unsigned bz = 0; bz < g.z; bz++)
        for (unsigned by = 0; by < g.y; by++)
            for (unsigned bx = 0; bx < g.x; bx++)
                for (unsigned z = 0; z < b.z; z++)
                    for (unsigned y = 0; y < b.y; y++)
                        for (unsigned x = 0; x < b.x; x++, i++) {
                            unsigned want =
                                x | y << 4 | z << 8 | bx << 12 | by << 16 | bz << 20 | 1u << 24;
                            ck_assert_msg(out[i] == want, "thread %u: %#x, not %#x", i, out[i],
                                          want);
                        }
}
END_TEST

START_TEST(integer_atomics_lose_nothing)
{
    enum { BLOCKS = 5, THREADS = 96, N = BLOCKS * THREADS };
    const int start[INT_ATOMICS] = {0, 1000, -1, -1, 0, 0, 0, 0, 0};
    int io[INT_ATOMICS], want[INT_ATOMICS] = {0, 0, N - 1, -1, 0, 0, N % 10, -2 * N, THREADS};
    for (int v = 0; v < N; v++) {
        want[0] += v;
        want[3] &= ~(1 << v % 7);
        want[4] |= 1 << v % 31;
        want[5] ^= v;
    }
    void *d = device(start, sizeof start);
    run(atomics_int, BLOCKS, THREADS, ARGS(&d));
    fetch(io, d, sizeof io);
    for (int i = 0; i < INT_ATOMICS; i++)
        ck_assert_msg(io[i] == want[i], "atomic %d left %d, not %d", i, io[i], want[i]);
}
END_TEST

START_TEST(float_atomics_sum_to_the_same_bits_each_time)
{
    enum { BLOCKS = 7, THREADS = 64 };
    float f[2];
    double d[2], want = 0;
    for (int v = 0; v < BLOCKS * THREADS; v++) want += 1.0 / (1 + v);
    for (int i = 0; i < 2; i++) {
        void *a = device(NULL, sizeof *f), *b = device(NULL, sizeof *d);
        run(atomics_float, BLOCKS, THREADS, ARGS(&a, &b));
        fetch(&f[i], a, sizeof *f);
        fetch(&d[i], b, sizeof *d);
    }
    ck_assert_msg(f[0] - want < 1e-4 && want - f[0] < 1e-4, "float sum %.9g, not %.9g", f[0], want);
    ck_assert_msg(d[0] - want < 1e-12 && want - d[0] < 1e-12, "double sum %.17g, not %.17g", d[0],
                  want);
    ck_assert_msg(!memcmp(&f[0], &f[1], sizeof *f) && !memcmp(&d[0], &d[1], sizeof *d),
                  "the same launch gave %.9g and %.9g, %.17g and %.17g", f[0], f[1], d[0], d[1]);
}
END_TEST

START_TEST(compare_and_swap_loops_see_every_write)
{
    unsigned long long io = 1, want = 1;
    for (int i = 0; i < 40; i++) want *= 3;
    void *d = device(&io, sizeof io);
    run(multiply_by_cas, 1, 40, ARGS(&d));
    fetch(&io, d, sizeof io);
    ck_assert_msg(io == want, "%llu, not 3^40 = %llu", io, want);
}
END_TEST

START_TEST(a_thread_may_wait_for_one_that_comes_later)
{
    enum { N = 70 };
    int out[N];
    void *flag = device(NULL, 4), *o = device(NULL, sizeof out);
    setenv("OOMPROOF_SIM_STEPS", "100000000", 1); /* red soon, not at the time limit */
    run(wait_for_later_thread, 1, N, ARGS(&flag, &o));
    fetch(out, o, sizeof out);
    for (int i = 0; i < N; i++) ck_assert_msg(out[i] == 5, "thread %d saw %d", i, out[i]);
}
END_TEST

/* All of them are there at once, as on a card; the first ones wait. */
static void wait_for_each_other(void)
{
    enum { BLOCKS = 40, THREADS = 64, N = BLOCKS * THREADS, ROUNDS = 3 };
    static int out[N], io[(ROUNDS + 1) * N];
    void *flag = device(NULL, BLOCKS * 4), *o = device(NULL, sizeof out);
    run(wait_for_next_block, BLOCKS, THREADS, ARGS(&flag, &o));
    fetch(out, o, sizeof out);
    for (int i = 0; i < N; i++)
        ck_assert_msg(out[i] == BLOCKS - 1 - i / THREADS, "thread %d of all saw %d", i, out[i]);
    int rounds = ROUNDS;
    void *arrived = device(NULL, 4), *d = device(NULL, sizeof io);
    run(meet_by_hand, BLOCKS, THREADS, ARGS(&arrived, &rounds, &d));
    fetch(io, d, sizeof io);
    for (int i = 0; i < N; i++)
        ck_assert_msg(io[ROUNDS * N + i] == ROUNDS, "thread %d of all has %d", i,
                      io[ROUNDS * N + i]);
}

START_TEST(blocks_may_wait_for_those_that_come_later)
{
    setenv("OOMPROOF_SIM_STEPS", "1000000000", 1); /* red soon, not at the time limit */
    wait_for_each_other();
}
END_TEST

START_TEST(blocks_may_wait_for_each_other_on_two_host_threads)
{
    setenv("OOMPROOF_SIM_STEPS", "1000000000", 1);
    setenv("OOMPROOF_SIM_THREADS", "2", 1);
    wait_for_each_other();
}
END_TEST

/* One thread of each of two blocks: too few for a second host thread. */
START_TEST(a_block_of_one_thread_may_wait_for_the_next)
{
    int out[2];
    void *flag = device(NULL, 8), *o = device(NULL, sizeof out);
    setenv("OOMPROOF_SIM_STEPS", "100000000", 1);
    run(wait_for_next_block, 2, 1, ARGS(&flag, &o));
    fetch(out, o, sizeof out);
    ck_assert_int_eq(out[0], 1);
    ck_assert_int_eq(out[1], 0);
}
END_TEST

START_TEST(printf_formats_as_c_does)
{
    int i = 42;
    double d = 2.5;
    listen_to(1);
    cudaError_t e = launch(say, 1, 2, 0, ARGS(&i, &d));
    cudaError_t after = cudaDeviceSynchronize();
    char *text = heard();
    OK(e);
    OK(after);
    const char *want = "words 42  2.50 1099511627776 ff z 100%\n"
                       "words 41  2.50 1099511627776 ff z 100%\n";
    ck_assert_msg(!strcmp(text, want), "printed\n%swanted\n%s", text, want);
    free(text);
}
END_TEST

START_TEST(each_thread_has_local_arrays_of_its_own)
{
    enum { N = 40, K = 3 };
    int out[N], k = K;
    void *o = device(NULL, sizeof out);
    run(local_array, 1, N, ARGS(&k, &o));
    fetch(out, o, sizeof out);
    for (int t = 0; t < N; t++) {
        unsigned at = (unsigned)t & 15, h = at;
        for (unsigned i = 0; i < 16; i++) h = h * 31 + (i * 7 + at) % 16 * K + (unsigned)t;
        ck_assert_msg(out[t] == (int)h, "thread %d: %d, not %d", t, out[t], (int)h);
    }
}
END_TEST

START_TEST(module_variables_start_initialised_and_keep_what_is_stored)
{
    static const int table[] = {2, 3, 5, 7};
    int out[8];
    void *o = device(NULL, sizeof out);
    for (int round = 0; round < 3; round++) {
        run(use_variables, 1, 8, ARGS(&o));
        fetch(out, o, sizeof out);
        for (int i = 0; i < 8; i++)
            ck_assert_msg(out[i] == table[i & 3] * (11 + round), "round %d, thread %d: %d, not %d",
                          round, i, out[i], table[i & 3] * (11 + round));
    }
}
END_TEST

static void spaces_are_told_apart(const char *check)
{
    int out[3];
    setenv("OOMPROOF_SIM_CHECK", check, 1);
    void *o = device(NULL, sizeof out);
    run(spaces, 1, 1, ARGS(&o, &o));
    fetch(out, o, sizeof out);
    for (int i = 0; i < 3; i++)
        ck_assert_msg(out[i] == 4 >> i, "OOMPROOF_SIM_CHECK=%s: pointer %d is of spaces %#x", check,
                      i, out[i]);
}

START_TEST(a_pointer_tells_its_space)
{
    spaces_are_told_apart("0");
}
END_TEST

START_TEST(a_pointer_tells_its_space_under_check)
{
    spaces_are_told_apart("1");
}
END_TEST

static const case_entry cases[] = {
#include "sim_grid.def"
};
CASE_MAIN("sim_grid")
