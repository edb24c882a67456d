/* ledger.c - one byte a point. */
#include "ledger.h"
#include <stdlib.h>
#include <string.h>

const char *pt_fate_name(pt_fate f)
{
    static const char *const name[PT_FATES] = {"open",       "trained",      "floor",   "no_gain",
                                               "no_augment", "batch_failed", "overflow"};
    return name[f];
}

pt_status pt_ledger_open(pt_ledger *l, const int64_t *points, int scenes)
{
    *l = (pt_ledger){.scenes = scenes};
    l->points = calloc((size_t)scenes, sizeof *l->points);
    l->fate = calloc((size_t)scenes, sizeof *l->fate);
    if (!l->points || !l->fate) goto short_of_memory;
    for (int s = 0; s < scenes; s++) {
        l->points[s] = points[s];
        l->count[PT_FATE_OPEN] += points[s];
        if (!(l->fate[s] = calloc((size_t)points[s] + 1, 1))) goto short_of_memory;
    }
    return PT_OK;
short_of_memory:
    pt_ledger_close(l);
    return pt_fail(PT_ERR_HOST, "no host memory for the ledger of a batch of %d scenes", scenes);
}

void pt_ledger_close(pt_ledger *l)
{
    for (int s = 0; l->fate && s < l->scenes; s++) free(l->fate[s]);
    free(l->fate);
    free(l->points);
    *l = (pt_ledger){0};
}

pt_status pt_ledger_mark(pt_ledger *l, int scene, int64_t point, pt_fate fate)
{
    if (scene < 0 || scene >= l->scenes || point < 0 || point >= l->points[scene])
        return pt_fail(PT_ERR_INTERNAL, "point %lld of scene %d is not in the batch",
                       (long long)point, scene);
    uint8_t *was = &l->fate[scene][point];
    if (*was != PT_FATE_OPEN)
        return pt_fail(PT_ERR_INTERNAL,
                       "point %lld of scene %d is in the ledger as %s and again as %s",
                       (long long)point, scene, pt_fate_name((pt_fate)*was), pt_fate_name(fate));
    *was = (uint8_t)fate;
    l->count[PT_FATE_OPEN]--;
    l->count[fate]++;
    return PT_OK;
}

void pt_ledger_rest(pt_ledger *l, pt_fate fate)
{
    for (int s = 0; s < l->scenes; s++)
        for (int64_t i = 0; i < l->points[s]; i++)
            if (l->fate[s][i] == PT_FATE_OPEN) l->fate[s][i] = (uint8_t)fate;
    l->count[fate] += l->count[PT_FATE_OPEN];
    l->count[PT_FATE_OPEN] = 0;
}

void pt_ledger_fail(pt_ledger *l, pt_fate fate)
{
    int64_t all = 0;
    for (int s = 0; s < l->scenes; s++) {
        memset(l->fate[s], (int)fate, (size_t)l->points[s]);
        all += l->points[s];
    }
    memset(l->count, 0, sizeof l->count);
    l->count[fate] = all;
}

int64_t pt_ledger_dropped(const pt_ledger *l)
{
    int64_t n = 0;
    for (int f = PT_FATE_FLOOR; f < PT_FATES; f++) n += l->count[f];
    return n;
}

pt_status pt_ledger_check(const pt_ledger *l)
{
    if (l->count[PT_FATE_OPEN] == 0) return PT_OK;
    for (int s = 0; s < l->scenes; s++)
        for (int64_t i = 0; i < l->points[s]; i++)
            if (l->fate[s][i] == PT_FATE_OPEN)
                return pt_fail(
                    PT_ERR_INTERNAL,
                    "%lld points are in no fragment; the first is point %lld of scene %d",
                    (long long)l->count[PT_FATE_OPEN], (long long)i, s);
    return pt_fail(PT_ERR_INTERNAL, "the ledger's counts do not fit its points");
}
