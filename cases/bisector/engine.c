/* engine.c - what the memory bisector records of a run, against what its readers are told. */
#include "bisect.h"
#include "case.h"

static bi_run run;

/* A batch of 6 scenes on 8 MiB; cases change what they are about. */
static bi_config usual(int32_t seed)
{
    return (bi_config){.budget_kib = 8192,
                       .scenes = 6,
                       .heavy = seed % 2,
                       .seed = seed,
                       .kept_percent = 10,
                       .halo = 14,
                       .chunk = 1};
}

static const bi_totals *go(const bi_config *c)
{
    ck_assert_msg(bi_run_batch(&run, c) == PT_OK, "%s", pt_error_last()->message);
    return &run.totals;
}

START_TEST(every_point_is_trained_once_when_all_fits_in_pieces)
{
    for (int32_t seed = 1; seed <= 12; seed++) {
        bi_config c = usual(seed);
        const bi_totals *t = go(&c);
        int32_t own = 0;
        for (int32_t n = 0; n < run.nodes; n++)
            own += run.node[n].fate == BI_COMMITTED ? run.node[n].own : 0;
        ck_assert_int_eq(t->end, BI_DONE);
        ck_assert_msg(own == t->trained && t->trained + t->dropped == t->points,
                      "seed %d: committed %d, trained %d, dropped %d of %d", (int)seed, (int)own,
                      (int)t->trained, (int)t->dropped, (int)t->points);
        ck_assert_int_eq(t->survives, t->trained);
        ck_assert_int_le(t->attempts, t->bound);
        ck_assert_int_eq(run.step[run.steps - 1].callbacks, 1);
    }
}
END_TEST

START_TEST(nodes_of_the_tree_are_disjoint_parts_of_their_parent)
{
    for (int32_t seed = 1; seed <= 20; seed++) {
        bi_config c = usual(seed);
        c.budget_kib = 3072;
        c.alternate = seed % 4 > 1;
        c.column = seed % 5 == 0;
        go(&c);
        for (int32_t p = 0; p < run.nodes; p++) {
            int32_t own = 0, children = 0;
            for (int32_t n = p + 1; n < run.nodes; n++)
                if (run.node[n].parent == p) own += run.node[n].own, children++;
            int split = run.node[p].fate == BI_BY_SCENE || run.node[p].fate == BI_IN_SPACE;
            ck_assert_msg(split == (children > 0) && (!split || own == run.node[p].own),
                          "seed %d: node %d, fate %d, owns %d; its %d children own %d", (int)seed,
                          (int)p, (int)run.node[p].fate, (int)run.node[p].own, (int)children,
                          (int)own);
            if (children == 2 && run.node[p].scene >= 0) ck_assert_int_ge(run.node[p + 1].axis, -1);
        }
    }
}
END_TEST

START_TEST(oom_only_ends_a_batch_at_its_bug)
{
    for (int32_t original = 0; original < 2; original++) {
        bi_config c = usual(7);
        c.bug = 2;
        c.original = original;
        const bi_totals *t = go(&c);
        ck_assert_int_eq(t->end, BI_RAISED);
        ck_assert_int_eq(t->trained, 0);
        ck_assert_int_eq(t->survives, 0);
        ck_assert_ptr_nonnull(strstr(run.message, "CUBLAS_STATUS_INVALID_VALUE"));
        ck_assert_int_eq(run.step[run.steps - 1].cause, 2);
        ck_assert_int_eq(run.step[run.steps - 1].remedy, BI_STOP);
    }
}
END_TEST

START_TEST(catching_everything_dissolves_the_scene_with_the_bug)
{
    for (int32_t original = 0; original < 2; original++) {
        bi_config c = usual(7);
        c.bug = 2;
        c.original = original;
        c.everything = 1;
        const bi_totals *t = go(&c);
        ck_assert_int_eq(t->end, BI_DONE);
        ck_assert_int_eq(t->dropped, t->scene_points[1]);
        ck_assert_str_eq(run.message, "");
    }
}
END_TEST

START_TEST(the_original_keeps_the_gradient_of_its_last_piece)
{
    for (int32_t seed = 1; seed <= 12; seed++) {
        bi_config c = usual(seed);
        c.original = 1;
        const bi_totals *t = go(&c);
        const bi_step *last = &run.step[run.steps - 1];
        int32_t committed = 0;
        for (int32_t n = 0; n < run.nodes; n++) committed += run.node[n].fate == BI_COMMITTED;
        ck_assert_int_eq(t->end, BI_DONE);
        ck_assert_int_eq(t->survives, last->cause ? 0 : run.node[last->node].own);
        ck_assert_int_eq(last->callbacks, committed);
        ck_assert_int_eq(t->trained + t->dropped, t->points);
    }
}
END_TEST

START_TEST(the_original_never_ends_on_a_column)
{
    bi_config c = usual(7);
    c.column = 1;
    c.original = 1;
    ck_assert_int_eq(go(&c)->end, BI_ENDLESS);
    c.original = 0;
    const bi_totals *t = go(&c);
    ck_assert_int_eq(t->end, BI_DONE);
    ck_assert_int_eq(t->trained, t->points);
}
END_TEST

START_TEST(a_planner_never_needs_more_than_the_recovery)
{
    for (int32_t seed = 1; seed <= 30; seed++) {
        bi_config c = usual(seed);
        c.budget_kib = 4096 + 2048 * (seed % 9);
        const bi_totals *t = go(&c);
        if (t->dropped || t->plan_dropped) continue; /* they would do different work */
        ck_assert_msg(t->plan_work <= t->work + t->wasted && t->plan_work > 0,
                      "seed %d: planner %d, recovery %d and %d wasted", (int)seed,
                      (int)t->plan_work, (int)t->work, (int)t->wasted);
        int32_t fits = bi_need(t->voxels, 0) <= c.budget_kib * (100 - c.kept_percent) / 100;
        if (fits) ck_assert_int_eq(t->plan_work, t->work + t->wasted);
    }
}
END_TEST

START_TEST(the_same_settings_take_the_same_steps)
{
    static bi_run other;
    bi_config c = usual(11), d = usual(12);
    go(&d); /* whatever ran before */
    go(&c);
    ck_assert_int_eq(bi_run_batch(&other, &c), PT_OK);
    ck_assert_int_eq(run.steps, other.steps);
    ck_assert_int_eq(run.nodes, other.nodes);
    ck_assert_int_eq(memcmp(run.step, other.step, sizeof *run.step * (size_t)run.steps), 0);
    ck_assert_int_eq(memcmp(run.node, other.node, sizeof *run.node * (size_t)run.nodes), 0);
    bi_free(&other);
}
END_TEST

static const case_entry cases[] = {
#include "engine.def"
};
CASE_MAIN("bisector")
