/* textbook_sync.cu - how threads wait for each other: barriers with threads gone, locks, flags,
 * tickets, fences, queues in shared memory. */
#include "book.h"

/* ---- threads that leave before a barrier ---- */
__global__ void leave_early(const int *in, int n, int *out)
{
    __shared__ int cell[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    cell[threadIdx.x] = in[i];
    __syncthreads();
    int last = min(n - (int)blockIdx.x * 256, 256) - 1;
    out[i] = cell[last - threadIdx.x];
}

START_TEST(a_barrier_does_not_wait_for_threads_that_left)
{
    for (int n : {1, 33, 255, 300, 1000}) {
        std::vector<int> in = numbers<int>(n, 1000), want(n);
        for (int i = 0; i < n; i++) {
            int base = i / 256 * 256, last = (n < base + 256 ? n : base + 256) - 1;
            want[i] = in[last - (i - base)];
        }
        device<int> a(in), o(n);
        RUN(blocks_for(n, 256), 256, leave_early, a, n, o);
        same(o.host(), want, "reversed blocks");
    }
}
END_TEST

/* ---- a spin lock taken by one lane of each warp ---- */
struct account {
    int lock, entries;
    long long sum;
};

__global__ void spin_lock(account *a, int rounds)
{
    for (int r = 0; r < rounds; r++) {
        if (threadIdx.x % 32 == 0) {
            while (atomicCAS(&a->lock, 0, 1) != 0) __nanosleep(20);
            __threadfence();
            volatile account *v = a;
            v->entries = v->entries + 1;
            v->sum = v->sum + blockIdx.x * 100 + threadIdx.x / 32;
            __threadfence();
            atomicExch(&a->lock, 0);
        }
        __syncwarp();
    }
}

START_TEST(a_spin_lock_lets_one_warp_in)
{
    for (int threads : {32, 100, 512}) {
        int warps = (threads + 31) / 32;
        long long want = 0;
        for (int b = 0; b < 3; b++)
            for (int w = 0; w < warps; w++) want += 5 * (b * 100 + w);
        device<account> a(1);
        RUN(3, threads, spin_lock, a, 5);
        account got = a.one();
        ck_assert_msg(got.entries == 15 * warps && got.sum == want && !got.lock,
                      "%d threads: %d entries, sum %lld, not %d, %lld", threads, got.entries,
                      got.sum, 15 * warps, want);
    }
}
END_TEST

/* Every lane takes it: who has the lock works and gives it back within one turn of the loop. */
__global__ void lock_of_each_lane(account *a, int buckets)
{
    account *mine = &a[threadIdx.x % buckets];
    for (bool done = false; !done;)
        if (atomicCAS(&mine->lock, 0, 1) == 0) {
            volatile account *v = mine;
            v->sum = v->sum * 2 % 1000003 + threadIdx.x;
            v->entries = v->entries + 1;
            __threadfence();
            atomicExch(&mine->lock, 0);
            done = true;
        }
}

START_TEST(each_lane_can_hold_a_lock)
{
    for (int threads : {1, 40, 320})
        for (int buckets : {1, 7}) {
            device<account> a(buckets);
            RUN(2, threads, lock_of_each_lane, a, buckets);
            int entries = 0;
            for (account x : a.host()) {
                ck_assert_int_eq(x.lock, 0);
                entries += x.entries;
            }
            ck_assert_int_eq(entries, 2 * threads);
        }
}
END_TEST

/* ---- a ticket lock serves in the order of arrival ---- */
__global__ void ticket_lock(unsigned *next, volatile unsigned *serving, unsigned *order)
{
    unsigned mine = atomicAdd(next, 1);
    while (*serving != mine) {
    }
    __threadfence();
    order[mine] = blockIdx.x * blockDim.x + threadIdx.x;
    __threadfence();
    *serving = mine + 1;
}

START_TEST(a_ticket_lock_serves_everyone_once)
{
    for (int n : {1, 31, 64, 300}) {
        device<unsigned> next(1), serving(1), order(2 * n);
        RUN(2, n, ticket_lock, next, serving, order);
        std::vector<int> seen(2 * n);
        for (unsigned x : order.host()) seen[x]++;
        same(seen, std::vector<int>(2 * n, 1), "turns");
        ck_assert_int_eq(serving.one(), 2 * n);
    }
}
END_TEST

/* ---- a flag handed from block to block: each waits for the one that took the number before ----
 */
__global__ void relay(int *ticket, volatile int *flag, volatile long long *value, int threads)
{
    __shared__ int mine;
    if (threadIdx.x == 0) {
        mine = atomicAdd(ticket, 1);
        while (flag[mine] == 0) {
        }
        __threadfence();
    }
    __syncthreads();
    if ((int)threadIdx.x == threads - 1) {
        value[mine + 1] = value[mine] * 3 + mine;
        __threadfence();
        flag[mine + 1] = 1;
    }
}

START_TEST(a_flag_is_handed_from_block_to_block)
{
    for (int blocks : {1, 5, 40}) {
        std::vector<int> first(blocks + 1);
        std::vector<long long> start(blocks + 1), want(blocks + 1);
        first[0] = 1;
        want[0] = start[0] = 4;
        for (int b = 0; b < blocks; b++)
            want[b + 1] = (long long)((unsigned long long)want[b] * 3 + b);
        device<int> ticket(1), flag(first);
        device<long long> value(start);
        RUN(blocks, 50, relay, ticket, flag, value, 50);
        same(value.host(), want, "values handed on");
    }
}
END_TEST

/* ---- warps of a block as a pipeline: a ring in shared memory with counts of puts and takes ----
 */
__global__ void ring(const int *in, int n, int *out)
{
    __shared__ volatile int slot[4], put, taken;
    if (threadIdx.x == 0) put = taken = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < n; i++) {
            while (put - taken == 4) {
            }
            slot[i % 4] = in[i] * 2;
            __threadfence_block();
            put = i + 1;
        }
    } else if (threadIdx.x == 32) {
        for (int i = 0; i < n; i++) {
            while (put <= i) {
            }
            __threadfence_block();
            out[i] = slot[i % 4] + 1;
            taken = i + 1;
        }
    }
}

START_TEST(a_ring_in_shared_memory_joins_two_warps)
{
    for (int n : {1, 4, 5, 500}) {
        std::vector<int> in = numbers<int>(n, 1000), want(in);
        for (int &x : want) x = 2 * x + 1;
        device<int> a(in), o(n);
        RUN(1, 64, ring, a, n, o);
        same(o.host(), want, "ring");
    }
}
END_TEST

/* ---- named barriers: two halves of a block meet apart from each other ---- */
__device__ void barrier_of(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__global__ void two_halves(int *out)
{
    __shared__ int cell[128];
    int t = threadIdx.x, half = t / 64, in = t % 64;
    cell[t] = 0;
    /* the halves make different numbers of rounds */
    for (int round = 0; round < (half ? 7 : 3); round++) {
        int x = cell[half * 64 + (in + 1) % 64];
        barrier_of(1 + half, 64);
        cell[t] = x + 1;
        barrier_of(1 + half, 64);
    }
    __syncthreads();
    out[t] = cell[127 - t];
}

START_TEST(named_barriers_join_parts_of_a_block)
{
    std::vector<int> want(128);
    for (int t = 0; t < 128; t++) want[t] = 127 - t >= 64 ? 7 : 3;
    device<int> o(128);
    RUN(1, 128, two_halves, o);
    same(o.host(), want, "rounds");
}
END_TEST

/* A producer that arrives without waiting, a consumer that waits for it. */
__global__ void arrive_and_wait(int rounds, int *out)
{
    __shared__ int cell[32];
    int w = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int r = 0; r < rounds; r++) {
        if (w == 0) {
            asm volatile("bar.sync 2, 64;" ::: "memory"); /* the cell is free */
            cell[lane] = r * 32 + lane;
            __threadfence_block();
            asm volatile("bar.arrive 1, 64;" ::: "memory");
        } else {
            asm volatile("bar.arrive 2, 64;" ::: "memory");
            asm volatile("bar.sync 1, 64;" ::: "memory");
            out[r * 32 + lane] = cell[lane ^ 5];
        }
    }
}

START_TEST(a_producer_arrives_and_a_consumer_waits)
{
    for (int rounds : {1, 2, 9}) {
        std::vector<int> want(rounds * 32);
        for (int i = 0; i < rounds * 32; i++) want[i] = i ^ 5;
        device<int> o(rounds * 32);
        RUN(1, 64, arrive_and_wait, rounds, o);
        same(o.host(), want, "handed over");
    }
}
END_TEST

/* ---- barriers in a divergent loop: the number of rounds is the block's, not the thread's ---- */
__global__ void until_nobody_changes(int *io, int n)
{
    __shared__ int changed;
    int t = threadIdx.x;
    do {
        __syncthreads();
        if (t == 0) changed = 0;
        __syncthreads();
        int x = t + 1 < n ? io[t + 1] : INT_MIN;
        __syncthreads();
        if (t < n && x > io[t]) {
            io[t] = x;
            changed = 1;
        }
        __syncthreads();
    } while (changed);
}

START_TEST(a_block_repeats_until_nobody_changes)
{
    for (int n : {1, 40, 200}) {
        std::vector<int> in = numbers<int>(n, 1000), want(in);
        for (int i = n - 2; i >= 0; i--) want[i] = want[i] > want[i + 1] ? want[i] : want[i + 1];
        device<int> io(in);
        RUN(1, 224, until_nobody_changes, io, n);
        same(io.host(), want, "largest behind");
    }
}
END_TEST

/* ---- votes of a block decide the way of all its threads ---- */
__global__ void vote(const int *in, int n, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, x = i < n ? in[i] : 0;
    int count = __syncthreads_count(x > 0);
    if (__syncthreads_or(x > 990))
        count = -count;
    else if (__syncthreads_and(x < 900))
        count += 1000;
    if (i < n) out[i] = count;
}

START_TEST(votes_decide_for_a_block)
{
    for (int n : {1, 96, 1000}) {
        std::vector<int> in = numbers<int>(n, 1000, -1), want(n);
        for (int base = 0; base < n; base += 96) {
            int count = 0, high = 0, low = 1, end = n < base + 96 ? n : base + 96;
            for (int i = base; i < end; i++)
                count += in[i] > 0, high |= in[i] > 990, low &= in[i] < 900;
            for (int i = base; i < end; i++) want[i] = high ? -count : low ? count + 1000 : count;
        }
        device<int> a(in), o(n);
        RUN(blocks_for(n, 96), 96, vote, a, n, o);
        same(o.host(), want, "votes");
    }
}
END_TEST

/* ---- work is taken from a counter until none is left ---- */
__global__ void persistent(int *next, int n, int *out)
{
    __shared__ int item;
    for (;;) {
        if (threadIdx.x == 0) item = atomicAdd(next, 1);
        __syncthreads();
        int mine = item;
        __syncthreads();
        if (mine >= n) return;
        atomicAdd(&out[mine], (int)threadIdx.x * (mine + 1));
    }
}

START_TEST(persistent_blocks_take_work_from_a_counter)
{
    for (int n : {1, 17, 200}) {
        std::vector<int> want(n);
        for (int i = 0; i < n; i++) want[i] = 64 * 63 / 2 * (i + 1);
        device<int> next(1), o(n);
        RUN(4, 64, persistent, next, n, o);
        same(o.host(), want, "items");
        ck_assert_int_eq(next.one(), n + 4);
    }
}
END_TEST

static const case_entry cases[] = {
#include "textbook_sync.def"
};
CASE_MAIN("textbook_sync")
