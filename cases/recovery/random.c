/* random.c - the recovery against properties, over random batches and random devices: what fits by
 * a threshold, by chance, or once not. A batch that breaks a property is made smaller as long as it
 * still breaks one, and printed. OOMPROOF_RANDOM_SEED=N runs only seed N; OOMPROOF_RANDOM_RUNS=N
 * more of them. */
#include "case.h"
#include "fake.h"
#include "shapes.h"

enum { SCENES = 6 };

typedef struct batch {
    uint64_t seed;
    int scenes;
    int64_t points[SCENES];
    shape_kind kind[SCENES];
    pt_split_mode mode;
    int64_t capacity;
    int fail_percent, fail_attempt;
} batch;

static uint64_t state;
static int64_t below(int64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

static batch make(uint64_t seed)
{
    static const int64_t edge[] = {1, 2, 499, 500, 501, 502, 1000, 1001, 1002, 1003, 1503};
    batch b = {.seed = seed, .mode = seed % 2 ? PT_SPLIT_AUTO : PT_SPLIT_ALTERNATE, .capacity = -1};
    state = seed * 0x9e3779b97f4a7c15u + 1;
    b.scenes = 1 + (int)below(SCENES);
    for (int s = 0; s < b.scenes; s++) {
        b.points[s] = below(3) ? 1 + below(4000) : edge[below(11)];
        b.kind[s] = (shape_kind)below(SHAPE_KINDS);
    }
    switch (below(4)) {
    case 0: b.capacity = below(6000); break;
    case 1: b.fail_percent = 1 + (int)below(99); break;
    case 2: b.fail_attempt = 1 + (int)below(4); break;
    default: b.capacity = 300 + below(2000), b.fail_percent = (int)below(30);
    }
    return b;
}

typedef struct outcome {
    pt_recover_stats stats;
    int64_t trained, dropped, total, largest, commits, own_committed, stages;
    double order;
} outcome;

/* What is wrong with this run, NULL: nothing. */
static const char *once(const batch *b, outcome *o)
{
    static char why[200];
    pt_scene scene[SCENES];
    pt_ledger ledger;
    fake f = {.capacity = b->capacity,
              .fail_percent = b->fail_percent,
              .fail_attempt = b->fail_attempt,
              .seed = b->seed};
    memset(o, 0, sizeof *o);
    for (int s = 0; s < b->scenes; s++) {
        scene[s] = shape_make(b->kind[s], b->points[s], 4, b->seed + (uint64_t)s);
        o->total += b->points[s];
        if (b->points[s] > o->largest) o->largest = b->points[s];
    }
    pt_status st = fake_batch(&f, scene, b->scenes, b->mode, PT_FLOOR_DROP, &ledger, &o->stats);
    o->trained = ledger.count[PT_FATE_TRAINED];
    o->dropped = pt_ledger_dropped(&ledger);
    o->commits = f.commits, o->own_committed = f.own_committed, o->stages = f.stages;
    o->order = f.order;
    *why = 0;
#define WANT(condition, ...) \
    if (!*why && !(condition)) snprintf(why, sizeof why, __VA_ARGS__)
    WANT(st == PT_OK, "the batch failed: %.150s", pt_error_last()->message);
    WANT(ledger.count[PT_FATE_OPEN] == 0, "%lld points are in no fragment",
         (long long)ledger.count[PT_FATE_OPEN]);
    WANT(o->trained + o->dropped == o->total, "%lld trained and %lld dropped of %lld points",
         (long long)o->trained, (long long)o->dropped, (long long)o->total);
    WANT(o->stats.attempts <= o->stats.bound, "%lld attempts, the bound is %lld",
         (long long)o->stats.attempts, (long long)o->stats.bound);
    WANT(o->stats.attempts == f.attempts, "counted %lld attempts, made %d",
         (long long)o->stats.attempts, f.attempts);
    WANT(o->own_committed == o->trained, "committed %lld own points, the ledger has %lld",
         (long long)o->own_committed, (long long)o->trained);
    WANT(o->stats.fragments == o->commits, "%lld fragments, %lld commits",
         (long long)o->stats.fragments, (long long)o->commits);
    /* every failed attempt is staged, then released, and its last error cleared */
    int64_t failed = o->stats.attempts - o->commits;
    WANT(f.stages == failed && f.releases >= failed && f.clears >= failed,
         "%lld attempts failed; staged %d, released %d, cleared %d", (long long)failed, f.stages,
         f.releases, f.clears);
    int certain = b->fail_percent == 0 && b->fail_attempt == 0;
    WANT(!(certain && (b->capacity < 0 || b->capacity >= o->total)) || o->stats.attempts == 1,
         "everything fits, and took %lld attempts", (long long)o->stats.attempts);
    WANT(!(certain && b->capacity >= o->largest) || o->dropped == 0,
         "every scene fits alone, and %lld points were dropped", (long long)o->dropped);
    WANT(!(b->fail_attempt && b->capacity < 0) ||
             (o->dropped == 0 && o->stats.splits_space == 0 && o->stats.splits_scene == 0),
         "one transient failure split or dropped something");
    WANT(!(certain && b->capacity == 0) || o->trained == 0, "nothing fits, and %lld were trained",
         (long long)o->trained);
    pt_ledger_close(&ledger);
    for (int s = 0; s < b->scenes; s++) pt_scene_free(&scene[s]);
    return *why ? why : NULL;
}

static const char *check(const batch *b)
{
    outcome first, again;
    const char *why = once(b, &first);
    if (why) return why;
    if ((why = once(b, &again))) return why;
    return first.order == again.order && first.stats.attempts == again.stats.attempts
               ? NULL
               : "the same batch went another way the second time";
}

/* Fewer scenes, fewer points, simpler shapes, as long as something is wrong. */
static batch shrink(batch b)
{
    for (int smaller = 1; smaller;) {
        smaller = 0;
        for (int s = 0; s < b.scenes && b.scenes > 1; s++) {
            batch c = b;
            c.scenes--;
            memmove(c.points + s, c.points + s + 1, sizeof *c.points * (size_t)(b.scenes - s - 1));
            memmove(c.kind + s, c.kind + s + 1, sizeof *c.kind * (size_t)(b.scenes - s - 1));
            if (check(&c)) b = c, smaller = 1;
        }
        for (int s = 0; s < b.scenes; s++)
            for (int64_t cut = b.points[s] / 2; cut > 0; cut /= 2) {
                batch c = b;
                c.points[s] -= cut;
                if (c.points[s] > 0 && check(&c)) b = c, smaller = 1;
            }
        for (int s = 0; s < b.scenes; s++) {
            batch c = b;
            c.kind[s] = SHAPE_ROOM;
            if (b.kind[s] != SHAPE_ROOM && check(&c)) b = c, smaller = 1;
        }
    }
    return b;
}

static void run(uint64_t from, uint64_t runs)
{
    for (uint64_t seed = from; seed < from + runs; seed++) {
        batch b = make(seed);
        if (!check(&b)) continue;
        b = shrink(b);
        char text[400] = "";
        for (int s = 0; s < b.scenes; s++)
            snprintf(text + strlen(text), sizeof text - strlen(text), " %lld(%s)",
                     (long long)b.points[s], shape_name(b.kind[s]));
        ck_abort_msg(
            "seed %llu: %s; smallest: points%s, %s, capacity %lld, %d %% unlucky, attempt %d "
            "fails. repeat: OOMPROOF_RANDOM_SEED=%llu build/cases/case_random",
            (unsigned long long)seed, check(&b), text,
            b.mode == PT_SPLIT_AUTO ? "auto" : "alternate", (long long)b.capacity, b.fail_percent,
            b.fail_attempt, (unsigned long long)seed);
    }
}

START_TEST(random_batches_keep_every_property)
{
    const char *seed = getenv("OOMPROOF_RANDOM_SEED"), *runs = getenv("OOMPROOF_RANDOM_RUNS");
    run(seed ? strtoull(seed, NULL, 10) : 1, seed ? 1 : runs ? strtoull(runs, NULL, 10) : 300);
}
END_TEST

START_TEST(many_more_random_batches)
{
    run(1000000, 20000);
}
END_TEST

static const case_entry cases[] = {
#include "random.def"
};
CASE_MAIN("random")
