/* fragment.c - what a batch may be made of, and what can be cut. */
#include "case.h"
#include "shapes.h"
#include "split.h"

static pt_fragment *join(pt_scene *s, int n)
{
    uint32_t keys[2] = {0, 1};
    pt_fragment *f;
    ck_assert_int_eq(pt_fragment_join(s, keys, n, 4, NULL, &f), PT_OK);
    return f;
}

START_TEST(a_batch_without_scenes_with_too_many_or_an_empty_one_is_refused)
{
    static pt_scene many[PT_MAX_SCENES + 1];
    static uint32_t keys[PT_MAX_SCENES + 1];
    pt_scene one = shape_make(SHAPE_ROOM, 2, 4, 1), pair[2] = {one, {.n = 0}};
    pt_fragment *f;
    for (int i = 0; i <= PT_MAX_SCENES; i++) many[i] = one;
    ck_assert_int_eq(pt_fragment_join(many, keys, 0, 4, NULL, &f), PT_ERR_INPUT);
    ck_assert_ptr_null(f);
    ck_assert_int_eq(pt_fragment_join(many, keys, PT_MAX_SCENES + 1, 4, NULL, &f), PT_ERR_INPUT);
    ck_assert_ptr_null(f);
    ck_assert_ptr_nonnull(strstr(pt_error_last()->message, "1 to 1023 scenes, not 1024"));
    ck_assert_int_eq(pt_fragment_join(pair, keys, 2, 4, NULL, &f), PT_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(pt_error_last()->message, "scene 1 of a batch has no points"));
    ck_assert_int_eq(pt_fragment_join(many, keys, PT_MAX_SCENES, 4, NULL, &f), PT_OK);
    ck_assert_int_eq(f->shape.points, 2 * PT_MAX_SCENES);
    pt_fragment_free(f);
    pt_scene_free(&one);
}
END_TEST

START_TEST(halo_and_ignored_points_weigh_nothing)
{
    pt_scene s = shape_make(SHAPE_ROOM, 8, 4, 1); /* labels 0..3, twice */
    real weight[4] = {1, 2, 4, 8};
    uint32_t key = 0;
    pt_fragment *f;
    s.label[0] = s.label[5] = PT_IGNORE; /* 1 and 2 less */
    ck_assert_int_eq(pt_fragment_join(&s, &key, 1, 4, weight, &f), PT_OK);
    ck_assert_double_eq(pt_fragment_valid_weight(f), 27);
    f->host.own[3] = 0; /* 8 less */
    ck_assert_double_eq(pt_fragment_valid_weight(f), 19);
    pt_fragment_free(f);
    pt_scene_free(&s);
}
END_TEST

START_TEST(only_one_scene_on_the_host_is_cut_in_space)
{
    pt_scene s[2] = {shape_make(SHAPE_ROOM, 2000, 4, 1), shape_make(SHAPE_ROOM, 2000, 4, 2)};
    pt_fragment *two = join(s, 2), *one = join(s, 1), *half[2] = {two, two};
    pt_split_options o = {PT_SPLIT_AUTO, 2, 0.9};
    pt_split_outcome outcome;
    ck_assert_int_eq(pt_split_in_space(two, &o, half, &outcome), PT_ERR_INTERNAL);
    ck_assert_ptr_null(half[0]);
    ck_assert_ptr_null(half[1]);
    one->where = PT_ON_DEVICE;
    ck_assert_int_eq(pt_split_in_space(one, &o, half, &outcome), PT_ERR_INTERNAL);
    one->where = PT_ON_HOST;
    ck_assert_int_eq(pt_split_in_space(one, &o, half, &outcome), PT_OK);
    ck_assert_int_eq(outcome, PT_SPLIT_DONE);
    pt_fragment_free(half[0]);
    pt_fragment_free(half[1]);
    pt_fragment_free(one);
    pt_fragment_free(two);
    for (int i = 0; i < 2; i++) pt_scene_free(&s[i]);
}
END_TEST

START_TEST(coordinates_too_small_to_halve_are_cut_at_the_median)
{
    /* half of three times the smallest float rounds up: every point lies below the "middle" */
    pt_scene s = shape_make(SHAPE_SAME, 2000, 4, 1);
    for (int64_t i = 0; i < 3 * s.n; i++) s.coord[i] = 0x3p-149f;
    pt_fragment *f = join(&s, 1), *half[2];
    pt_cut cut;
    pt_split_outcome outcome;
    ck_assert_int_eq(pt_split_choose(f, PT_SPLIT_ALTERNATE, &cut, &outcome), PT_OK);
    ck_assert_int_eq(outcome, PT_SPLIT_DONE);
    ck_assert_int_eq(cut.median, 1);
    ck_assert_int_eq(pt_split_at(f, &cut, 0, half), PT_OK);
    ck_assert_int_eq(half[0]->shape.own, 1000);
    ck_assert_int_eq(half[1]->shape.own, 1000);
    for (int h = 0; h < 2; h++) pt_fragment_free(half[h]);
    pt_fragment_free(f);
    pt_scene_free(&s);
}
END_TEST

static const case_entry cases[] = {
#include "fragment.def"
};
CASE_MAIN("fragment")
