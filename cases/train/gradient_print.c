/* gradient_print.c - writes the gradient of one batch to a file as doubles, unsplit and under a
 * budget, so that two builds of the trainer can be compared. usage: gradient_float|gradient_double
 * FILE */
#include "case.h"
#include "rig.h"
#include <stdio.h>
#include <stdlib.h>

static void put(FILE *f, const rig *r)
{
    for (size_t i = 0; i < r->t->net->nparams; i++) {
        double x = (double)r->grad[i];
        if (fwrite(&x, sizeof x, 1, f) != 1) exit(1);
    }
}

START_TEST(print)
{
    rig r;
    char rule[96];
    const char *path = getenv("OOMPROOF_GRADIENT_FILE");
    FILE *f = path ? fopen(path, "wb") : NULL;
    ck_assert_msg(f != NULL, "OOMPROOF_GRADIENT_FILE names no file that can be written");
    rig_open(&r, &(rig_options){.scenes = 3,
                                .points = {30000, 1500, 1200},
                                .voxel = 0.12f,
                                .allocator = PT_ALLOC_DIRECT});
    double sizes[2] = {(double)r.t->net->nparams, (double)r.t->net->ntensors};
    ck_assert_int_eq(fwrite(sizes, sizeof *sizes, 2, f), 2);
    for (int t = 0; t < r.t->net->ntensors; t++) {
        double row[2] = {(double)r.t->net->tensor[t].offset, (double)r.t->net->tensor[t].count};
        ck_assert_int_eq(fwrite(row, sizeof *row, 2, f), 2);
    }
    rig_run(&r, NULL, NULL);
    ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
    put(f, &r);
    uint64_t room = r.result.bytes_peak - r.result.bytes_baseline;
    int splits = 0;
    for (int percent = 84; percent >= 60 && !splits; percent -= 6) { /* until the budget bites */
        snprintf(rule, sizeof rule, "cudaMalloc budget=%llu -> oom",
                 (unsigned long long)(r.live + room * (uint64_t)percent / 100));
        rig_run(&r, rule, NULL);
        ck_assert_msg(r.status == PT_OK && r.result.dropped == 0, "%s: %s", rule, r.error.message);
        splits = (int)r.result.recover.splits_space;
    }
    ck_assert_msg(splits > 0, "no budget led to a spatial split");
    put(f, &r);
    rig_close(&r);
    ck_assert_int_eq(fclose(f), 0);
}
END_TEST

static const case_entry cases[] = {{"print", 200, "", &print}};
CASE_MAIN("gradient_print")
