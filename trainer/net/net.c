/* net.c - parameters: names, places in the flat buffers, initial values; commit of an attempt. */
#include "net/net.h"
#include "kernels/kernels.h"
#include "net/layers.h"
#include "probe.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add_tensor(pt_net *n, const char *block, const char *part, size_t count, int decay)
{
    pt_tensor *t = &n->tensor[n->ntensors];
    snprintf(t->name, sizeof t->name, "%s.%s", block, part);
    t->offset = n->nparams;
    t->count = count;
    t->decay = decay;
    n->nparams += count;
    return n->ntensors++;
}

static void lay_out(pt_net *n)
{
    struct pt_net_layers *l = n->layers;
    l->nblocks = pt_describe(&n->options, l->block);
    for (int b = 0; b < l->nblocks; b++) {
        pt_block *k = &l->block[b];
        size_t offsets = k->kind == PT_CONV3 ? 27 : 8;
        k->weight = add_tensor(n, k->name, "weight", offsets * (size_t)k->cin * (size_t)k->cout, 1);
        k->gamma = add_tensor(n, k->name, "gamma", (size_t)k->cout, 0);
        k->beta = add_tensor(n, k->name, "beta", (size_t)k->cout, 0);
        if (n->options.norm != PT_NORM_LAYER) {
            k->running = n->nrunning;
            n->nrunning += 2 * (size_t)k->cout;
        }
        if (n->options.norm == PT_NORM_BATCH) {
            k->moments = n->nmoments;
            n->nmoments += pt_moments_size(k->cout);
        }
    }
    l->head_weight = add_tensor(n, "head", "weight",
                                (size_t)n->options.width[0] * (size_t)n->options.classes, 1);
    l->head_bias = add_tensor(n, "head", "bias", (size_t)n->options.classes, 0);
}

/* splitmix64 (Steele, Lea, Flood 2014), a hash of (seed, place): the same in every build. */
static double uniform(uint64_t seed, uint64_t at)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15u + at * 0xd1342543de82ef95u + 0x632be59bd9b4e019u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (double)((x ^ (x >> 31)) >> 11) / 9007199254740992.0;
}

/* He et al. 2015, uniform: variance 2 / fan-in. A voxel has about a third of its 27 neighbours.
 * Values are rounded to float in both builds, so that they start from the same point. */
static void initial(const pt_net *n, real *host)
{
    const struct pt_net_layers *l = n->layers;
    for (int b = 0; b < l->nblocks; b++) {
        const pt_block *k = &l->block[b];
        const pt_tensor *w = &n->tensor[k->weight];
        double fan = k->cin * (k->kind == PT_CONV3       ? 9.0
                               : k->kind == PT_CONV_DOWN ? 3.0
                                                         : 1.0),
               a = sqrt(6 / fan);
        for (size_t i = 0; i < w->count; i++)
            host[w->offset + i] = (float)(a * (2 * uniform(n->options.seed, w->offset + i) - 1));
        for (size_t i = 0; i < (size_t)k->cout; i++) host[n->tensor[k->gamma].offset + i] = 1;
    }
    const pt_tensor *h = &n->tensor[l->head_weight];
    double a = sqrt(3.0 / n->options.width[0]);
    for (size_t i = 0; i < h->count; i++)
        host[h->offset + i] = (float)(a * (2 * uniform(n->options.seed, h->offset + i) - 1));
}

static pt_status fill(pt_net *n)
{
    pt_status st = PT_OK;
    real *host = calloc(n->nparams + n->nrunning + 1, sizeof *host);
    uint8_t *decays = calloc(n->nparams, 1);
    if (!host || !decays) {
        st = pt_fail(PT_ERR_HOST, "no host memory for %zu parameters", n->nparams);
        goto done;
    }
    initial(n, host);
    TRY(pt_copy_up(n->device, n->param, host, n->nparams * sizeof *host));
    for (int t = 0; t < n->ntensors; t++)
        memset(decays + n->tensor[t].offset, n->tensor[t].decay, n->tensor[t].count);
    TRY(pt_copy_up(n->device, n->layers->decays, decays, n->nparams));
    TRY(pt_zero(n->device, n->grad, n->nparams * sizeof *host));
    TRY(pt_zero(n->device, n->scratch, n->nparams * sizeof *host));
    if (n->nrunning) { /* mean 0, variance 1 */
        memset(host, 0, n->nrunning * sizeof *host);
        for (int b = 0; b < n->layers->nblocks; b++)
            for (int c = 0; c < n->layers->block[b].cout; c++)
                host[n->layers->block[b].running + (size_t)(n->layers->block[b].cout + c)] = 1;
        TRY(pt_copy_up(n->device, n->running, host, n->nrunning * sizeof *host));
    }
    TRY(pt_device_sync(n->device));
done:
    free(host);
    free(decays);
    return st;
}

static pt_status check(const pt_net_options *o)
{
    if (o->classes < 1 || o->classes > PT_MAX_CLASSES)
        return pt_fail(PT_ERR_INPUT, "%d classes: 1 to %d are possible", o->classes,
                       PT_MAX_CLASSES);
    if (o->amp != PT_AMP_OFF && sizeof(real) != 4)
        return pt_fail(PT_ERR_INPUT, "--amp is of the float build; this one is in double");
    if (o->convs < 1 || o->convs > 2)
        return pt_fail(PT_ERR_INPUT, "%d convolutions a level: 1 or 2", o->convs);
    for (int l = 0; l < PT_LEVELS; l++)
        if (o->width[l] < 1 || o->width[l] > 1024)
            return pt_fail(PT_ERR_INPUT, "a width of %d channels", o->width[l]);
    return PT_OK;
}

#define NEW(pointer, count, type, tag)                           \
    do {                                                         \
        void *new_;                                              \
        TRY(pt_mem_alloc(d, (count), sizeof(type), tag, &new_)); \
        pointer = new_;                                          \
    } while (0)

pt_status pt_net_create(pt_device *d, const pt_net_options *o, pt_net **out)
{
    pt_status st = check(o);
    *out = NULL;
    if (st != PT_OK) return st;
    pt_net *n = calloc(1, sizeof *n);
    if (!n || !(n->layers = calloc(1, sizeof *n->layers)) ||
        !(n->tensor = calloc(3 * PT_MAX_BLOCKS + 2, sizeof *n->tensor))) {
        if (n) free(n->layers);
        free(n);
        return pt_fail(PT_ERR_HOST, "no host memory for the net");
    }
    n->device = d;
    n->options = *o;
    lay_out(n);
    NEW(n->param, n->nparams, real, "net/param");
    NEW(n->grad, n->nparams, real, "net/grad");
    NEW(n->scratch, n->nparams, real, "net/scratch");
    if (o->amp != PT_AMP_OFF) NEW(n->narrow, n->nparams, uint16_t, "net/narrow");
    NEW(n->layers->decays, n->nparams, uint8_t, "net/decays");
    NEW(n->layers->norm_tmp, pt_k_sum_room((int64_t)n->nparams), double, "net/norm_tmp");
    NEW(n->layers->norm_out, 1, double, "net/norm_out");
    if (n->nrunning) NEW(n->running, n->nrunning, real, "net/running");
    if (n->nmoments) {
        NEW(n->moments_device, n->nmoments, double, "net/moments");
        if (!(n->moments = calloc(n->nmoments, sizeof *n->moments))) {
            st = pt_fail(PT_ERR_HOST, "no host memory for the statistics of the norms");
            goto done;
        }
    }
    /* what a retry overwrites before it reads it */
    pt_probe_buffer("net/scratch", n->scratch, n->nparams * sizeof(real), 1, 's', 0);
    if (n->narrow)
        pt_probe_buffer("net/narrow", n->narrow, n->nparams * sizeof *n->narrow, 1, 's', 0);
    pt_probe_buffer("net/norm_tmp", n->layers->norm_tmp,
                    pt_k_sum_room((int64_t)n->nparams) * sizeof(double), 1, 's', 0);
    pt_probe_buffer("net/norm_out", n->layers->norm_out, sizeof(double), 1, 's', 0);
    if (n->nmoments)
        pt_probe_buffer("net/moments", n->moments_device, n->nmoments * sizeof(double), 1, 's', 0);
    TRY(fill(n));
    *out = n;
done:
    if (st != PT_OK) pt_net_free(n);
    return st;
}

void pt_net_free(pt_net *n)
{
    if (!n) return;
    pt_mem_free(n->device, n->param);
    pt_mem_free(n->device, n->grad);
    pt_mem_free(n->device, n->scratch);
    pt_mem_free(n->device, n->accum);
    pt_mem_free(n->device, n->narrow);
    pt_mem_free(n->device, n->running);
    pt_mem_free(n->device, n->moments_device);
    pt_mem_free(n->device, n->layers->decays);
    pt_mem_free(n->device, n->layers->norm_tmp);
    pt_mem_free(n->device, n->layers->norm_out);
    free(n->moments);
    free(n->layers);
    free(n->tensor);
    free(n);
}

pt_status pt_net_zero_grad(pt_net *n)
{
    return pt_zero(n->device, n->grad, n->nparams * sizeof(real));
}

/* One launch, which either failed or will happen, as far as anything still does: a commit that is
 * repeated must not count the gradient twice. */
pt_status pt_net_commit(pt_net *n)
{
    pt_status st = PT_OK;
    if (!n->added) {
        TRY(pt_k_add(n->device, (int64_t)n->nparams, n->scratch, n->grad));
        n->added = 1;
    }
done:
    return st;
}

pt_status pt_net_moments(const pt_net *n, pt_moments *out)
{
    int channels[PT_MAX_BLOCKS];
    for (int b = 0; b < n->layers->nblocks; b++) channels[b] = n->layers->block[b].cout;
    return pt_moments_open(out, n->layers->nblocks, channels);
}

pt_status pt_augment_points(pt_device *d, const pt_augment *a, uint32_t scene_key, int64_t point0,
                            int64_t n, float voxel, float *coord, real *feature)
{
    return a->strength > 0 || a->elastic > 0 || a->colour_drop > 0
               ? pt_k_augment(d, n, a->seed, a->step, scene_key, point0, a->strength, voxel, coord,
                              feature, a->elastic, a->colour_drop)
               : PT_OK;
}
