/* textbook_graph.cu - graphs: breadth first, components, shortest ways, ranks, lists, triangles. */
#include "book.h"
#include <queue>

/* Edges in both directions, sorted by where they start. */
struct graph {
    int n;
    std::vector<int> start, to, weight;
};

static graph random_graph(int n, int edges)
{
    std::vector<std::vector<std::pair<int, int>>> of(n);
    for (int e = 0; e < edges; e++) {
        int a = (int)(scramble(2 * e) % n), b = (int)(scramble(2 * e + 1) % n);
        int w = 1 + (int)(scramble(e + 999) % 20);
        if (a == b) continue;
        of[a].push_back({b, w});
        of[b].push_back({a, w});
    }
    graph g = {n, {0}, {}, {}};
    for (auto &list : of) {
        for (auto &e : list) g.to.push_back(e.first), g.weight.push_back(e.second);
        g.start.push_back((int)g.to.size());
    }
    return g;
}

static const int sizes[][2] = {{1, 0}, {64, 40}, {500, 900}, {1000, 700}};

/* ---- breadth first: a frontier is a list, filled by an atomic counter ---- */
__global__ void expand(const int *start, const int *to, const int *frontier, int count, int *level,
                       int next_level, int *next, int *next_count)
{
    __shared__ int mine[256], used, base;
    if (threadIdx.x == 0) used = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        for (int k = start[frontier[i]]; k < start[frontier[i] + 1]; k++)
            if (atomicCAS(&level[to[k]], -1, next_level) == -1) {
                int at = atomicAdd(&used, 1);
                if (at < 256)
                    mine[at] = to[k];
                else /* the block's list is full */
                    next[atomicAdd(next_count, 1)] = to[k];
            }
    __syncthreads();
    if (threadIdx.x == 0) base = atomicAdd(next_count, used = min(used, 256));
    __syncthreads();
    for (int k = threadIdx.x; k < used; k += blockDim.x) next[base + k] = mine[k];
}

START_TEST(breadth_first_search_by_frontiers)
{
    for (auto &s : sizes) {
        graph g = random_graph(s[0], s[1]);
        std::vector<int> want(g.n, -1), first(g.n, -1);
        std::queue<int> q;
        want[0] = first[0] = 0;
        for (q.push(0); !q.empty(); q.pop())
            for (int k = g.start[q.front()]; k < g.start[q.front() + 1]; k++)
                if (want[g.to[k]] < 0) want[g.to[k]] = want[q.front()] + 1, q.push(g.to[k]);
        device<int> start(g.start), to(g.to), level(first), a(g.n), b(g.n), count(1);
        int *from = a, *next = b;
        for (int n = 1, l = 1; n > 0; l++) {
            OK(cudaMemset(count, 0, sizeof(int)));
            RUN(blocks_for(n, 64), 64, expand, start, to, from, n, level, l, next, count);
            n = count.one();
            std::swap(from, next);
        }
        same(level.host(), want, "levels");
    }
}
END_TEST

/* ---- components: union by the smaller root, with halving of the way ---- */
__device__ int root_of(int *parent, int x)
{
    while (parent[x] != x) {
        int up = parent[parent[x]];
        parent[x] = up;
        x = up;
    }
    return x;
}

__global__ void unite(int *parent, const int *start, const int *to, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= n) return;
    for (int k = start[x]; k < start[x + 1]; k++)
        for (int a = x, b = to[k];;) {
            a = root_of(parent, a);
            b = root_of(parent, b);
            if (a == b) break;
            if (a < b) {
                int swap = a;
                a = b;
                b = swap;
            }
            if (atomicCAS(&parent[a], a, b) == a) break;
        }
}

__global__ void flatten(int *parent, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < n) parent[x] = root_of(parent, x);
}

/* The same by labels: the smallest one spreads until nothing changes. */
__global__ void spread_labels(int *label, const int *start, const int *to, int n, int *changed)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= n) return;
    int low = label[x];
    for (int k = start[x]; k < start[x + 1]; k++) low = min(low, label[to[k]]);
    if (low < label[x]) {
        label[x] = low;
        *changed = 1;
    }
}

static std::vector<int> components(const graph &g)
{
    std::vector<int> label(g.n, -1), stack;
    for (int i = 0; i < g.n; i++) {
        if (label[i] >= 0) continue;
        stack.push_back(i);
        label[i] = i;
        while (!stack.empty()) {
            int x = stack.back();
            stack.pop_back();
            for (int k = g.start[x]; k < g.start[x + 1]; k++)
                if (label[g.to[k]] < 0) label[g.to[k]] = i, stack.push_back(g.to[k]);
        }
    }
    return label;
}

START_TEST(components_by_union_and_by_labels)
{
    for (auto &s : sizes) {
        graph g = random_graph(s[0], s[1]);
        std::vector<int> self(g.n), want = components(g);
        for (int i = 0; i < g.n; i++) self[i] = i;
        device<int> start(g.start), to(g.to), parent(self), label(self), changed(1);
        RUN(blocks_for(g.n, 96), 96, unite, parent, start, to, g.n);
        RUN(blocks_for(g.n, 96), 96, flatten, parent, g.n);
        same(parent.host(), want, "union-find");
        do {
            OK(cudaMemset(changed, 0, sizeof(int)));
            RUN(blocks_for(g.n, 64), 64, spread_labels, label, start, to, g.n, changed);
        } while (changed.one());
        same(label.host(), want, "labels");
    }
}
END_TEST

/* ---- shortest ways: relaxation by atomicMin; all pairs in blocks ---- */
__global__ void relax(const int *start, const int *to, const int *weight, int n, int *distance,
                      bool *changed)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= n || distance[x] == INT_MAX) return;
    for (int k = start[x]; k < start[x + 1]; k++) {
        int d = distance[x] + weight[k];
        if (atomicMin(&distance[to[k]], d) > d) *changed = true;
    }
}

static std::vector<int> shortest(const graph &g, int from)
{
    std::vector<int> d(g.n, INT_MAX);
    d[from] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (int x = 0; x < g.n; x++)
            for (int k = g.start[x]; k < g.start[x + 1] && d[x] != INT_MAX; k++)
                if (d[x] + g.weight[k] < d[g.to[k]])
                    d[g.to[k]] = d[x] + g.weight[k], changed = true;
    }
    return d;
}

START_TEST(shortest_ways_by_relaxation)
{
    for (auto &s : sizes) {
        graph g = random_graph(s[0], s[1]);
        std::vector<int> first(g.n, INT_MAX);
        first[0] = 0;
        device<int> start(g.start), to(g.to), weight(g.weight), d(first);
        device<unsigned char> changed(1); /* a vector of bool has no elements */
        do {
            OK(cudaMemset(changed, 0, 1));
            RUN(blocks_for(g.n, 64), 64, relax, start, to, weight, g.n, d,
                reinterpret_cast<bool *>(changed.p));
        } while (changed.one());
        same(d.host(), shortest(g, 0), "distances");
    }
}
END_TEST

enum { TILE = 16, FAR = 1 << 28 };

/* Floyd and Warshall in tiles: the one on the diagonal, then its row and column, then the rest. */
__global__ void all_pairs(int *d, int n, int k, int phase)
{
    __shared__ int a[TILE][TILE], b[TILE][TILE];
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    bool diagonal = bx == k && by == k, cross = bx == k || by == k;
    if (phase != (diagonal ? 0 : cross ? 1 : 2)) return;
    int *mine = &d[(by * TILE + ty) * n + bx * TILE + tx], best = *mine;
    a[ty][tx] = d[(by * TILE + ty) * n + k * TILE + tx];
    b[ty][tx] = d[(k * TILE + ty) * n + bx * TILE + tx];
    __syncthreads();
    for (int i = 0; i < TILE; i++) {
        best = min(best, a[ty][i] + b[i][tx]);
        __syncthreads();
        if (bx == k) a[ty][tx] = best;
        if (by == k) b[ty][tx] = best;
        __syncthreads();
    }
    *mine = best;
}

START_TEST(all_pairs_of_shortest_ways_by_tiles)
{
    for (int n : {16, 48, 80}) {
        graph g = random_graph(n - 3, 2 * n);
        std::vector<int> first(n * n, FAR), want(n * n, FAR);
        for (int i = 0; i < n; i++) first[i * n + i] = want[i * n + i] = 0;
        for (int x = 0; x < g.n; x++) {
            std::vector<int> d = shortest(g, x);
            for (int y = 0; y < g.n; y++)
                if (d[y] != INT_MAX) want[x * n + y] = d[y];
            for (int k = g.start[x]; k < g.start[x + 1]; k++)
                first[x * n + g.to[k]] = std::min(first[x * n + g.to[k]], g.weight[k]);
        }
        device<int> d(first);
        for (int k = 0; k < n / TILE; k++)
            for (int phase = 0; phase < 3; phase++)
                RUN(dim3(n / TILE, n / TILE), dim3(TILE, TILE), all_pairs, d, n, k, phase);
        same(d.host(), want, "all pairs");
    }
}
END_TEST

/* ---- ranks of pages: whoever has no link gives to all ---- */
__global__ void give(const int *start, const int *to, int n, const double *rank, double *next,
                     double *lost)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= n) return;
    int links = start[x + 1] - start[x];
    if (links == 0) atomicAdd(lost, rank[x]);
    for (int k = start[x]; k < start[x + 1]; k++) atomicAdd(&next[to[k]], rank[x] / links);
}

__global__ void damp(double *next, const double *lost, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < n) next[x] = 0.15 / n + 0.85 * (next[x] + *lost / n);
}

START_TEST(ranks_flow_along_links)
{
    for (auto &s : sizes) {
        graph g = random_graph(s[0], s[1]);
        std::vector<double> rank(g.n, 1. / g.n), next;
        device<double> a(rank), b(g.n), lost(1);
        double *from = a, *to = b;
        device<int> start(g.start), link(g.to);
        for (int step = 0; step < 4; step++) {
            double gone = 0;
            next.assign(g.n, 0);
            for (int x = 0; x < g.n; x++) {
                int links = g.start[x + 1] - g.start[x];
                if (!links) gone += rank[x];
                for (int k = g.start[x]; k < g.start[x + 1]; k++) next[g.to[k]] += rank[x] / links;
            }
            for (int x = 0; x < g.n; x++) rank[x] = 0.15 / g.n + 0.85 * (next[x] + gone / g.n);
            OK(cudaMemset(to, 0, g.n * sizeof(double)));
            OK(cudaMemset(lost, 0, sizeof(double)));
            RUN(blocks_for(g.n, 64), 64, give, start, link, g.n, from, to, lost);
            RUN(blocks_for(g.n, 64), 64, damp, to, lost, g.n);
            std::swap(from, to);
        }
        near(a.host(), rank, 1e-14, "ranks"); /* doubles below 1; the order of sums is free */
    }
}
END_TEST

/* ---- a linked list: every element jumps over those before it, twice as far each time ---- */
__global__ void jump(const int *next, const int *rank, int n, int *next_out, int *rank_out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int to = next[i];
    rank_out[i] = rank[i] + (to >= 0 ? rank[to] : 0);
    next_out[i] = to >= 0 ? next[to] : -1;
}

START_TEST(pointers_jump_along_a_list)
{
    for (int n : {1, 2, 100, 777}) {
        std::vector<int> order(n), next(n, -1), rank(n, 1), want(n);
        for (int i = 0; i < n; i++) order[i] = i;
        for (int i = n - 1; i > 0; i--) std::swap(order[i], order[scramble(i) % (i + 1)]);
        for (int i = 0; i + 1 < n; i++) next[order[i]] = order[i + 1];
        for (int i = 0; i < n; i++) want[order[i]] = n - i;
        device<int> a(next), b(n), r(rank), q(n);
        int *from = a, *to = b, *old = r, *fresh = q;
        for (int far = 1; far < n; far *= 2) {
            RUN(blocks_for(n, 128), 128, jump, from, old, n, to, fresh);
            std::swap(from, to);
            std::swap(old, fresh);
        }
        std::vector<int> got(n);
        OK(cudaMemcpy(got.data(), old, n * sizeof(int), cudaMemcpyDeviceToHost));
        same(got, want, "places from the end");
    }
}
END_TEST

/* ---- triangles: rows of the adjacency as bits, a warp per vertex ---- */
__global__ void triangles(const unsigned *bits, int n, int words, unsigned long long *count)
{
    int x = blockIdx.x, lane = threadIdx.x;
    unsigned long long sum = 0;
    for (int y = 0; y < x; y++) {
        if (!(bits[x * words + y / 32] >> y % 32 & 1)) continue;
        for (int w = lane; w < words; w += 32)
            sum += __popc(bits[x * words + w] & bits[y * words + w]);
    }
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0) atomicAdd(count, sum);
}

START_TEST(triangles_are_counted_by_bits)
{
    for (int n : {3, 40, 150}) {
        graph g = random_graph(n, 6 * n);
        int words = (n + 31) / 32, want = 0;
        std::vector<unsigned> bits(n * words);
        auto linked = [&](int x, int y) { return bits[x * words + y / 32] >> y % 32 & 1; };
        for (int x = 0; x < n; x++)
            for (int k = g.start[x]; k < g.start[x + 1]; k++)
                bits[x * words + g.to[k] / 32] |= 1u << g.to[k] % 32;
        for (int x = 0; x < n; x++)
            for (int y = 0; y < x; y++)
                for (int z = 0; z < y; z++) want += linked(x, y) && linked(y, z) && linked(x, z);
        device<unsigned> b(bits);
        device<unsigned long long> count(1);
        RUN(n, 32, triangles, b, n, words, count);
        ck_assert_int_eq(count.one(), 3 * want);
    }
}
END_TEST

static const case_entry cases[] = {
#include "textbook_graph.def"
};
CASE_MAIN("textbook_graph")
