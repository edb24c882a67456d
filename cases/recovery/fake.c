/* fake.c - see fake.h */
#include "fake.h"
#include "check.h"
#include "shapes.h"
#include <stdlib.h>

static pt_status failure(const fake *f, int code, const char *call)
{
    return pt_check_at(__FILE__, __LINE__, f->lib ? f->lib : PT_LIB_CUDA, code ? code : 2,
                       f->call ? f->call : call, "fake/site", 0);
}

static pt_status later_failure(const fake *f, const char *call)
{
    return failure(f, f->later_code ? f->later_code : f->code, call);
}

static pt_status attempt(void *user, pt_fragment *g, pt_attempt *out)
{
    fake *f = user;
    f->attempts++;
    f->last_gather = g->gather_rows;
    f->small_gathers += g->gather_rows > 0;
    int unlucky = f->fail_percent &&
                  100 * shape_random(f->seed, (uint64_t)f->attempts) < (double)f->fail_percent;
    if (unlucky || f->attempts == f->fail_attempt ||
        (f->capacity >= 0 && g->shape.points > f->capacity)) {
        out->forward = 1;
        if (f->load_fails && f->attempts > f->load_fails) g->augmented = 1;
        return failure(f, f->code, "cudaMalloc");
    }
    g->augmented = 1;
    out->position = malloc(sizeof(int32_t) * (size_t)(g->shape.own + f->claim + 1));
    out->point = malloc(sizeof(int32_t) * (size_t)(g->shape.own + f->claim + 1));
    if (!out->position || !out->point)
        return pt_fail(PT_ERR_HOST, "no host memory for the receipt of the fake");
    for (int64_t i = 0; i < g->shape.points; i++) {
        if (!g->host.own[i]) continue;
        out->position[out->n] = g->host.scene[g->host.slot[i]];
        out->point[out->n++] = g->host.point[i];
    }
    for (; f->claim > 0; f->claim--) {
        out->position[out->n] = f->last_scene;
        out->point[out->n++] = (int32_t)(f->claimed - f->claim);
    }
    return PT_OK;
}

static pt_status commit(void *user, pt_fragment *g)
{
    fake *f = user;
    if (f->fail_commit > 0) {
        f->fail_commit--;
        return later_failure(f, "cudaLaunchKernel");
    }
    f->commits++;
    f->own_committed += g->shape.own;
    f->order = f->order * 3 + (double)g->shape.own;
    return PT_OK;
}

static pt_status stage(void *user, pt_fragment *g)
{
    fake *f = user;
    f->stages++;
    if (f->forget) g->tried = 0;
    if (f->fail_stage <= 0) return PT_OK;
    f->fail_stage--;
    return later_failure(f, "cudaMemcpyAsync");
}

static pt_status augment(void *user, pt_fragment *g)
{
    fake *f = user;
    f->augments++;
    if (f->fail_augment > 0) {
        f->fail_augment--;
        return later_failure(f, "cudaMalloc");
    }
    g->augmented = 1;
    return PT_OK;
}

static void discard(void *user, pt_fragment *g)
{
    ((fake *)user)->discards++;
    (void)g;
}

static pt_status release(void *user)
{
    fake *f = user;
    f->releases++;
    if (f->fail_release <= 0 || f->releases <= f->skip_release) return PT_OK;
    f->fail_release--;
    return later_failure(f, "cudaFree");
}

static size_t held(void *user)
{
    fake *f = user;
    return 1000 + (f->stages ? f->leak : 0);
}

static void clear(void *user)
{
    ((fake *)user)->clears++;
}
static int alive(void *user)
{
    return !((fake *)user)->dead;
}

pt_recover_ops fake_ops(fake *f)
{
    return (pt_recover_ops){f,       attempt, commit, stage, augment, discard,
                            release, held,    clear,  alive, NULL};
}

pt_status fake_batch(fake *f, const pt_scene *scenes, int n, pt_split_mode mode,
                     pt_on_floor on_floor, pt_ledger *ledger, pt_recover_stats *stats)
{
    pt_recover_ops ops = fake_ops(f);
    pt_recover_options o = {
        .split = {mode, 14, 0.9}, .on_floor = on_floor, .gather_small = 256, .baseline = 1000};
    pt_fragment *whole;
    uint32_t keys[64];
    int64_t sizes[64];
    for (int s = 0; s < n; s++) {
        keys[s] = (uint32_t)s;
        sizes[s] = scenes[s].n;
    }
    f->last_scene = n - 1;
    ck_assert_int_eq(pt_ledger_open(ledger, sizes, n), PT_OK);
    ck_assert_int_eq(pt_fragment_join(scenes, keys, n, 4, NULL, &whole), PT_OK);
    return pt_recover_batch(&ops, &o, whole, ledger, stats);
}
