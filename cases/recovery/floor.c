/* floor.c - termination: splitting ends, within the bound's formula, and no point is lost. */
#include "case.h"
#include "fake.h"
#include "shapes.h"
#include <math.h>

static const int64_t sizes[] = {1, 2, 499, 500, 501, 1001, 1002, 1003, 5000};
#define NSIZES ((int)(sizeof sizes / sizeof *sizes))

/* Every point of the batch has exactly one fate. */
static void every_point_once(const pt_ledger *l, const char *what)
{
    ck_assert_msg(pt_ledger_check(l) == PT_OK, "%s: %s", what, pt_error_last()->message);
    int64_t total = 0, seen = 0;
    for (int s = 0; s < l->scenes; s++) total += l->points[s];
    for (int f = 0; f < PT_FATES; f++) seen += l->count[f];
    ck_assert_msg(seen == total, "%s: %lld fates for %lld points", what, (long long)seen,
                  (long long)total);
}

static void nothing_fits(pt_split_mode mode)
{
    for (int k = 0; k < SHAPE_KINDS; k++)
        for (int i = 0; i < NSIZES; i++) {
            fake f = {.capacity = 0};
            pt_ledger l;
            pt_recover_stats st;
            pt_scene s = shape_make((shape_kind)k, sizes[i], 4, 7);
            pt_status got = fake_batch(&f, &s, 1, mode, PT_FLOOR_DROP, &l, &st);
            ck_assert_msg(got == PT_OK, "%s: %s", s.name, pt_error_last()->message);
            ck_assert_msg(st.attempts <= PT_TRIES * pt_split_bound(s.n, mode),
                          "%s: %lld attempts, the bound is %lld", s.name, (long long)st.attempts,
                          (long long)(PT_TRIES * pt_split_bound(s.n, mode)));
            every_point_once(&l, s.name);
            ck_assert_msg(pt_ledger_dropped(&l) == s.n, "%s: points trained that never fitted",
                          s.name);
            pt_ledger_close(&l);
            pt_scene_free(&s);
        }
}

START_TEST(nothing_fits_ends_within_the_bound_for_every_geometry)
{
    nothing_fits(PT_SPLIT_AUTO);
}
END_TEST

START_TEST(alternate_nothing_fits_ends_within_its_bound)
{
    nothing_fits(PT_SPLIT_ALTERNATE);
}
END_TEST

START_TEST(sizes_around_the_floor_are_tried_whole_and_never_lost)
{
    for (int mode = PT_SPLIT_AUTO; mode <= PT_SPLIT_ALTERNATE; mode++)
        for (int i = 0; i < NSIZES; i++) {
            fake f = {.capacity = sizes[i]};
            pt_ledger l;
            pt_recover_stats st;
            pt_scene s = shape_make(SHAPE_ROOM, sizes[i], 4, 7);
            ck_assert_int_eq(fake_batch(&f, &s, 1, (pt_split_mode)mode, PT_FLOOR_DROP, &l, &st),
                             PT_OK);
            ck_assert_int_eq(st.attempts, 1);
            ck_assert_int_eq(l.count[PT_FATE_TRAINED], s.n);
            every_point_once(&l, s.name);
            pt_ledger_close(&l);
            pt_scene_free(&s);
        }
}
END_TEST

START_TEST(a_whole_scene_under_the_floor_is_still_tried)
{
    /* the batch does not fit, each scene does: no floor on scene splits */
    fake f = {.capacity = 600};
    pt_ledger l;
    pt_recover_stats st;
    pt_scene s[3] = {shape_make(SHAPE_ROOM, 500, 4, 1), shape_make(SHAPE_ROOM, 1, 4, 2),
                     shape_make(SHAPE_ROOM, 499, 4, 3)};
    ck_assert_int_eq(fake_batch(&f, s, 3, PT_SPLIT_AUTO, PT_FLOOR_DROP, &l, &st), PT_OK);
    ck_assert_int_eq(st.splits_scene, 1);
    ck_assert_int_eq(st.splits_space, 0);
    ck_assert_int_eq(l.count[PT_FATE_TRAINED], 1000);
    pt_ledger_close(&l);
    for (int i = 0; i < 3; i++) pt_scene_free(&s[i]);
}
END_TEST

static pt_fragment *fragment_of(pt_scene *s)
{
    uint32_t key = 0;
    pt_fragment *f;
    ck_assert_int_eq(pt_fragment_join(s, &key, 1, 4, NULL, &f), PT_OK);
    return f;
}

START_TEST(a_pole_is_cut_along_z_where_x_and_y_cannot)
{
    for (int mode = PT_SPLIT_AUTO; mode <= PT_SPLIT_ALTERNATE; mode++) {
        pt_scene s = shape_make(SHAPE_POLE, 4000, 4, 3);
        pt_fragment *f = fragment_of(&s);
        pt_cut cut;
        pt_split_outcome outcome;
        ck_assert_int_eq(pt_split_choose(f, (pt_split_mode)mode, &cut, &outcome), PT_OK);
        ck_assert_int_eq(outcome, PT_SPLIT_DONE);
        ck_assert_int_eq(cut.axis, 2);
        pt_fragment_free(f);
        pt_scene_free(&s);
    }
}
END_TEST

START_TEST(identical_points_are_halved_by_point_id)
{
    for (int mode = PT_SPLIT_AUTO; mode <= PT_SPLIT_ALTERNATE; mode++) {
        pt_scene s = shape_make(SHAPE_SAME, 2001, 4, 3);
        pt_fragment *f = fragment_of(&s), *half[2];
        pt_cut cut;
        pt_split_outcome outcome;
        ck_assert_int_eq(pt_split_choose(f, (pt_split_mode)mode, &cut, &outcome), PT_OK);
        ck_assert_int_eq(cut.median, 1);
        ck_assert_int_eq(pt_split_at(f, &cut, 0, half), PT_OK);
        ck_assert_int_eq(half[0]->shape.own, 1000);
        ck_assert_int_eq(half[1]->shape.own, 1001);
        for (int64_t i = 0; i < half[0]->shape.points; i++)
            ck_assert_int_eq(half[0]->host.own[i], half[0]->host.point[i] < 1000);
        pt_fragment_free(half[0]);
        pt_fragment_free(half[1]);
        pt_fragment_free(f);
        pt_scene_free(&s);
    }
}
END_TEST

START_TEST(midpoint_that_starves_a_side_gives_way_to_the_median)
{
    pt_scene s = shape_make(SHAPE_CLUSTERS, 3000, 4, 3); /* 300 points in the first cluster */
    pt_fragment *f = fragment_of(&s), *half[2];
    pt_cut cut;
    pt_split_outcome outcome;
    ck_assert_int_eq(pt_split_choose(f, PT_SPLIT_AUTO, &cut, &outcome), PT_OK);
    ck_assert_int_eq(cut.median, 1);
    ck_assert_int_eq(pt_split_at(f, &cut, 0, half), PT_OK);
    ck_assert_int_eq(half[0]->shape.own, 1500);
    pt_fragment_free(half[0]);
    pt_fragment_free(half[1]);
    pt_fragment_free(f);
    pt_scene_free(&s);
}
END_TEST

static int64_t count_tree(pt_fragment *f, int64_t *leaves)
{
    pt_fragment *half[2];
    pt_cut cut;
    pt_split_outcome outcome;
    ck_assert_int_eq(pt_split_choose(f, PT_SPLIT_AUTO, &cut, &outcome), PT_OK);
    if (outcome != PT_SPLIT_DONE) {
        pt_fragment_free(f);
        ++*leaves;
        return 1;
    }
    ck_assert_int_eq(pt_split_at(f, &cut, 0, half), PT_OK);
    for (int h = 0; h < 2; h++) ck_assert_int_gt(half[h]->shape.own, PT_FLOOR);
    pt_fragment_free(f);
    return 1 + count_tree(half[0], leaves) + count_tree(half[1], leaves);
}

START_TEST(auto_tree_of_cuts_has_at_most_two_leaves_less_one_nodes)
{
    for (int k = 0; k < SHAPE_KINDS; k++)
        for (int64_t n = 501; n < 20000; n += 977) {
            pt_scene s = shape_make((shape_kind)k, n, 4, (uint64_t)n);
            int64_t leaves = 0, nodes = count_tree(fragment_of(&s), &leaves);
            ck_assert_msg(nodes == 2 * leaves - 1 && nodes <= pt_split_bound(n, PT_SPLIT_AUTO),
                          "%s: %lld nodes, bound %lld", s.name, (long long)nodes,
                          (long long)pt_split_bound(n, PT_SPLIT_AUTO));
            /* the design's own bound, 3 * floor(n / 501) - 1, is not tighter */
            ck_assert_int_le(nodes, 3 * (n / 501) - 1);
            pt_scene_free(&s);
        }
}
END_TEST

/* `near` points here, `far` ones a long way off, and of the whole it is known that it does not fit.
 */
static pt_recover_stats two_heaps(int64_t near, int64_t far, pt_split_mode mode, pt_ledger *l)
{
    fake f = {.capacity = near + far - 1};
    pt_recover_stats st;
    pt_scene s = shape_make(SHAPE_ROOM, near + far, 4, 5);
    for (int64_t i = near; i < near + far; i++) s.coord[3 * i] += 5000;
    ck_assert_int_eq(fake_batch(&f, &s, 1, mode, PT_FLOOR_DROP, l, &st), PT_OK);
    ck_assert_int_eq(st.fragments, f.commits);
    pt_scene_free(&s);
    return st;
}

START_TEST(a_half_of_exactly_the_floor_is_dropped_untried)
{
    for (int64_t near = PT_FLOOR - 1; near <= PT_FLOOR + 1; near++) {
        pt_ledger l;
        pt_recover_stats st = two_heaps(near, 900, PT_SPLIT_ALTERNATE, &l);
        int kept = near > PT_FLOOR;
        ck_assert_msg(st.fragments == 1 + kept && st.at_floor == !kept,
                      "%lld points: %lld fragments trained, %d dropped", (long long)near,
                      (long long)st.fragments, st.at_floor);
        ck_assert_int_eq(l.count[PT_FATE_TRAINED], kept ? near + 900 : 900);
        ck_assert_int_eq(l.count[PT_FATE_FLOOR], kept ? 0 : near);
        ck_assert_int_eq(st.attempts, 2 + st.fragments); /* the whole twice, each half once */
        pt_ledger_close(&l);
        /* the default cut goes to the median instead: nothing is at the floor */
        st = two_heaps(near, 900, PT_SPLIT_AUTO, &l);
        ck_assert_int_eq(st.fragments, 2);
        ck_assert_int_eq(l.count[PT_FATE_TRAINED], near + 900);
        pt_ledger_close(&l);
    }
}
END_TEST

START_TEST(floor_error_refuses_instead_of_dropping)
{
    fake f = {.capacity = 0};
    pt_ledger l;
    pt_recover_stats st;
    pt_scene s = shape_make(SHAPE_ROOM, 700, 4, 1);
    ck_assert_int_ne(fake_batch(&f, &s, 1, PT_SPLIT_AUTO, PT_FLOOR_ERROR, &l, &st), PT_OK);
    ck_assert_int_eq(st.floor_error, 1);
    ck_assert_int_eq(pt_ledger_dropped(&l), 0);
    ck_assert_ptr_nonnull(strstr(pt_error_last()->message, "--on-floor error"));
    pt_ledger_close(&l);
    pt_scene_free(&s);
}
END_TEST

START_TEST(a_half_keeps_whole_voxels_and_its_halo)
{
    enum { HALO = 3 };
    pt_scene s = shape_make(SHAPE_ROOM, 6000, 4, 9);
    pt_fragment *f = fragment_of(&s), *half[2];
    pt_cut cut = {.axis = 0, .at = 2.9999f};
    ck_assert_int_eq(pt_split_at(f, &cut, HALO, half), PT_OK);
    ck_assert_int_eq(half[0]->shape.own + half[1]->shape.own, f->shape.own);
    for (int h = 0; h < 2; h++) {
        uint8_t *in = calloc((size_t)s.n, 1);
        int32_t edge = h ? INT32_MAX : INT32_MIN, v[3];
        for (int64_t i = 0; i < half[h]->shape.points; i++) {
            in[half[h]->host.point[i]] = 1;
            pt_fragment_voxel(half[h], i, v);
            if (!half[h]->host.own[i]) continue;
            edge = h ? (v[0] < edge ? v[0] : edge) : (v[0] > edge ? v[0] : edge);
        }
        for (int64_t i = 0; i < f->shape.points; i++) {
            pt_fragment_voxel(f, i, v);
            int wanted = h ? v[0] >= edge - HALO : v[0] <= edge + HALO;
            ck_assert_msg(in[i] == wanted, "half %d: point %lld in voxel %d is %s", h, (long long)i,
                          v[0], in[i] ? "there but not needed" : "missing");
        }
        free(in);
        pt_fragment_free(half[h]);
    }
    pt_fragment_free(f);
    pt_scene_free(&s);
}
END_TEST

START_TEST(fields_are_sliced_by_kind_not_by_length)
{
    /* as many points as classes, and a scene with one point: lengths coincide everywhere */
    pt_scene s[4];
    uint32_t keys[4] = {7, 8, 9, 10};
    pt_fragment *f, *piece[4];
    real weight[4] = {1, 2, 3, 4};
    for (int i = 0; i < 4; i++) {
        s[i] = shape_make(SHAPE_ROOM, 1, 4, (uint64_t)i);
        s[i].voxel = 0.1f * (float)(i + 1);
    }
    ck_assert_int_eq(pt_fragment_join(s, keys, 4, 4, weight, &f), PT_OK);
    ck_assert_int_eq(pt_split_by_scene(f, piece), PT_OK);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(piece[i]->shape.points, 1);
        ck_assert_int_eq(piece[i]->host.scene[0], i);
        ck_assert_uint_eq(piece[i]->member[0].key, keys[i]);
        ck_assert_float_eq(piece[i]->host.voxel[0], s[i].voxel);
        for (int c = 0; c < 4; c++) ck_assert(piece[i]->host.class_weight[c] == weight[c]);
        ck_assert_mem_eq(piece[i]->host.coord, s[i].coord, 3 * sizeof(float));
        pt_fragment_free(piece[i]);
        pt_scene_free(&s[i]);
    }
    pt_fragment_free(f);
}
END_TEST

static const case_entry cases[] = {
#include "floor.def"
};
CASE_MAIN("floor")
