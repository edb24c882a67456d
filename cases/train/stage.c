/* stage.c - fields up, down and augmented in pieces, call by call: whatever fails, the fragment is
 * whole where it was, nothing of it is lost on the device, and the next try gives the same bytes.
 */
#include "recovery/stage.h"
#include "case.h"
#include "hostmem.h"
#include "oomproof.h"
#include "shapes.h"

static pt_device D;
static const pt_augment augment = {.seed = 11, .step = 3, .strength = 1};

static pt_fragment *two_rooms(int64_t a, int64_t b)
{
    pt_scene s[2] = {shape_make(SHAPE_ROOM, a, 4, 1), shape_make(SHAPE_ROOM, b, 4, 2)};
    uint32_t keys[2] = {7, 9};
    pt_fragment *f;
    ck_assert_int_eq(pt_fragment_join(s, keys, 2, 4, NULL, &f), PT_OK);
    for (int i = 0; i < 2; i++) pt_scene_free(&s[i]);
    return f;
}

static void open_device(pt_allocator_kind kind)
{
    ck_assert_msg(oomproof_present(), "the shim is not loaded");
    ck_assert_msg(pt_device_open(kind, &D) == PT_OK, "%s", pt_error_last()->message);
}

static void arm(const char *rules)
{
    char error[200] = "";
    ck_assert_msg(oomproof_arm(rules, error, sizeof error) >= 1, "%s: %s", rules, error);
}

static int same_field(const pt_fragment *a, const pt_fragment *b, pt_field k)
{
    return !memcmp(*pt_field_at((pt_fields *)&a->host, k), *pt_field_at((pt_fields *)&b->host, k),
                   pt_field_bytes(k, &a->shape));
}

/* Both are on the host. */
static void same(const pt_fragment *a, const pt_fragment *b, const char *what)
{
    ck_assert_msg(a->where == PT_ON_HOST && a->augmented == b->augmented, "%s: not on the host",
                  what);
    for (int k = 0; k < PT_FIELD_COUNT; k++) {
        ck_assert_msg(*pt_field_at((pt_fields *)&a->device, (pt_field)k) == NULL,
                      "%s: %s is still on the device", what, pt_field_tag((pt_field)k));
        ck_assert_msg(same_field(a, b, (pt_field)k), "%s: %s differs", what,
                      pt_field_tag((pt_field)k));
    }
}

/* ---- every call of each operation ---- */
static pt_status up(pt_fragment *f)
{
    return pt_stage_up(&D, f, &augment, PT_DEVICE_ALL);
}
static pt_status up_x(pt_fragment *f)
{
    return pt_stage_up(&D, f, &augment, PT_DEVICE_X);
}
static pt_status down(pt_fragment *f)
{
    return pt_stage_down(&D, f);
}
static pt_status in_pieces(pt_fragment *f)
{
    return pt_stage_augment(&D, f, &augment);
}
static pt_status receipt(pt_fragment *f)
{
    pt_attempt got = {0};
    pt_status st = pt_stage_receipt(&D, f, &got);
    if (st == PT_OK && (got.n != 1000 || got.position[999] != 1 || got.point[999] != 299))
        st = pt_fail(PT_ERR_INTERNAL, "the receipt names other points");
    if (st != PT_OK && (got.n || got.position || got.point))
        st = pt_fail(PT_ERR_INTERNAL, "a receipt that failed names points");
    free(got.position);
    free(got.point);
    return st;
}

static void fault(const char *call, int k)
{
    char rule[80];
    if (!call) {
        host_fail(k, 0);
        return;
    }
    snprintf(rule, sizeof rule, "%s nth=%d -> oom", call, k);
    arm(rule);
}

/* op fails at the kth call, for every k; *total counts the failures. `prepare` comes before it, and
 * `after` compares when it has succeeded at the second try. */
static void every_call(pt_status (*prepare)(pt_fragment *), pt_status (*op)(pt_fragment *),
                       const char *call, const pt_fragment *raw, const pt_fragment *augmented,
                       int *total)
{
    for (int k = 1, fired = 1; fired; k++) {
        char what[80];
        uint64_t live = oomproof_live_bytes();
        pt_fragment *f = two_rooms(700, 300);
        snprintf(what, sizeof what, "%s %d", call ? call : "host allocation", k);
        if (prepare) ck_assert_int_eq(prepare(f), PT_OK);
        uint64_t before = oomproof_live_bytes();
        pt_where where = f->where;
        fault(call, k);
        pt_status st = op(f);
        fired = call ? (int)oomproof_fired(0) : host_ended();
        oomproof_disarm();
        *total += fired;
        cudaGetLastError();
        if (st != PT_OK) {
            ck_assert_msg(fired && (st == PT_ERR_DEVICE || st == PT_ERR_HOST), "%s: %s", what,
                          pt_error_last()->message);
            ck_assert_msg(f->where == where, "%s: the fragment moved", what);
            ck_assert_msg(oomproof_live_bytes() == before, "%s: device bytes lost", what);
            if (where == PT_ON_HOST) {
                int was = f->augmented;
                /* on the way up the device may have augmented, the host has not */
                f->augmented = raw->augmented;
                same(f, raw, what);
                f->augmented = was;
                ck_assert_msg(!was, "%s: said to be augmented", what);
            }
            st = op(f);
        }
        ck_assert_msg(st == PT_OK, "%s: the second try: %s", what, pt_error_last()->message);
        ck_assert_int_eq(down(f), PT_OK);
        same(f, augmented, what);
        ck_assert_msg(oomproof_live_bytes() == live, "%s: device bytes lost", what);
        pt_fragment_free(f);
        ck_assert_int_lt(k, 200);
    }
}

static void every_fault(pt_status (*prepare)(pt_fragment *), pt_status (*op)(pt_fragment *),
                        int at_least)
{
    static const char *const calls[] = {"cudaMalloc", "cudaMemcpyAsync", "cudaStreamSynchronize",
                                        "cudaLaunchKernel", NULL};
    int total = 0;
    open_device(PT_ALLOC_DIRECT);
    pt_fragment *raw = two_rooms(700, 300), *augmented = two_rooms(700, 300);
    ck_assert_int_eq(up(augmented), PT_OK);
    ck_assert_int_eq(down(augmented), PT_OK);
    ck_assert(!same_field(raw, augmented, PT_FIELD_coord));
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        every_call(prepare, op, calls[i], raw, augmented, &total);
    ck_assert_int_ge(total, at_least);
    pt_fragment_free(raw);
    pt_fragment_free(augmented);
    pt_device_close(&D);
}

/* At least: blocks of the nine fields, copies, a launch a scene. Nothing is waited for. */
START_TEST(any_failure_on_the_way_up_leaves_the_host_copy_whole)
{
    every_fault(NULL, up, 9 + 9 + 2);
}
END_TEST

START_TEST(any_failure_on_the_way_down_leaves_the_device_copy_whole)
{
    every_fault(up, down, 9 + 9 + 9); /* and the host's arrays */
}
END_TEST

START_TEST(any_failure_of_augmenting_in_pieces_leaves_the_points_as_they_were)
{
    every_fault(NULL, in_pieces, 2 + 8 + 4 + 2 + 2);
}
END_TEST

START_TEST(any_failure_of_a_receipt_names_no_points)
{
    every_fault(up, receipt, 4 + 4 + 1);
}
END_TEST

/* The features, and the coordinates on their way to be augmented; the waits; memory on the host. */
START_TEST(any_failure_with_features_alone_on_the_device_loses_nothing)
{
    every_fault(NULL, up_x, 2 + 2 + 1 + 1 + 2 + 1);
    every_fault(up_x, down, 1 + 1 + 1);
    every_fault(up_x, receipt, 4 + 1);
}
END_TEST

/* Bytes of fields while nothing asks for them. */
START_TEST(features_alone_take_less_of_the_device_and_are_the_same)
{
    open_device(PT_ALLOC_DIRECT);
    uint64_t live = oomproof_live_bytes(), bytes[2];
    pt_fragment *f[2];
    for (int x = 0; x < 2; x++) {
        f[x] = two_rooms(7000, 3000);
        ck_assert_int_eq(x ? up_x(f[x]) : up(f[x]), PT_OK);
        bytes[x] = oomproof_live_bytes() - live;
        if (x) {
            for (int k = 0; k < PT_FIELD_COUNT; k++) {
                ck_assert((*pt_field_at(&f[x]->device, (pt_field)k) != NULL) ==
                          (k == PT_FIELD_feature));
                ck_assert((*pt_field_at(&f[x]->host, (pt_field)k) != NULL) ==
                          (k != PT_FIELD_feature));
            }
            ck_assert_uint_le(bytes[1], 10000 * PT_FEATURES * sizeof(real) + 512);
        }
        ck_assert_int_eq(down(f[x]), PT_OK);
        ck_assert_uint_eq(oomproof_live_bytes(), live);
    }
    printf("10000 points: %llu device bytes, with features alone %llu\n",
           (unsigned long long)bytes[0], (unsigned long long)bytes[1]);
    ck_assert_uint_ge(bytes[0] - bytes[1], 10000 * (3 * 4 + 4 + 1 + 4 + 4));
    same(f[1], f[0], "features alone");
    /* and up again, augmented already: the coordinates stay where they are */
    const float *coord = f[1]->host.coord;
    ck_assert_int_eq(up_x(f[1]), PT_OK);
    ck_assert_ptr_eq(f[1]->host.coord, coord);
    ck_assert_int_eq(down(f[1]), PT_OK);
    same(f[1], f[0], "a second time");
    pt_fragment_free(f[0]);
    pt_fragment_free(f[1]);
    pt_device_close(&D);
}
END_TEST

/* ---- pieces ---- */
START_TEST(pieces_of_any_size_give_what_the_device_gives_at_once)
{
    open_device(PT_ALLOC_DIRECT);
    uint64_t live = oomproof_live_bytes();
    pt_fragment *whole = two_rooms(700, 300);
    ck_assert_int_eq(up(whole), PT_OK);
    ck_assert_int_eq(down(whole), PT_OK);
    /* bytes that do not fit: none; the features of 1000 points; the coordinates of 1000 and the
     * features of 500. Of 1000, 500 and 256 points a piece, 12 and 24 bytes each. */
    static const int limit[] = {1 << 20, 20000, 9000};
    for (int i = 0; i < 3; i++) {
        char rule[80];
        pt_fragment *f = two_rooms(700, 300);
        snprintf(rule, sizeof rule, "cudaMalloc size>=%d -> oom", limit[i]);
        arm(rule);
        ck_assert_msg(in_pieces(f) == PT_OK, "%s: %s", rule, pt_error_last()->message);
        ck_assert_uint_eq(oomproof_fired(0), (uint64_t)i);
        oomproof_disarm();
        same(f, whole, rule);
        ck_assert_uint_eq(oomproof_live_bytes(), live);
        ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess);
        pt_fragment_free(f);
    }
    pt_fragment_free(whole);
    pt_device_close(&D);
}
END_TEST

START_TEST(without_room_for_the_smallest_piece_it_is_out_of_memory)
{
    open_device(PT_ALLOC_DIRECT);
    uint64_t live = oomproof_live_bytes();
    pt_fragment *f = two_rooms(700, 300), *raw = two_rooms(700, 300);
    arm("cudaMalloc -> oom");
    ck_assert_int_eq(in_pieces(f), PT_ERR_DEVICE);
    ck_assert_uint_eq(oomproof_fired(0), 3); /* 1000, 500 and 256 points */
    oomproof_disarm();
    ck_assert_int_eq(pt_classify(pt_error_last()), PT_CLASS_OOM);
    ck_assert_str_eq(pt_error_last()->site, "augment/coord");
    same(f, raw, "refused");
    ck_assert_uint_eq(oomproof_live_bytes(), live);
    pt_fragment_free(f);
    pt_fragment_free(raw);
    pt_device_close(&D);
}
END_TEST

START_TEST(another_failure_than_memory_tries_no_smaller_piece)
{
    open_device(PT_ALLOC_DIRECT);
    pt_fragment *f = two_rooms(700, 300), *raw = two_rooms(700, 300);
    arm("cudaMalloc -> status(cudaErrorInvalidValue)");
    ck_assert_int_eq(in_pieces(f), PT_ERR_DEVICE);
    ck_assert_uint_eq(oomproof_fired(0), 1);
    oomproof_disarm();
    ck_assert_int_eq(pt_error_last()->code, cudaErrorInvalidValue);
    same(f, raw, "refused");
    pt_fragment_free(f);
    pt_fragment_free(raw);
    pt_device_close(&D);
}
END_TEST

START_TEST(a_release_that_fails_between_two_pieces_is_told)
{
    /* coordinates get a segment of 20 MiB, features do not fit into its rest */
    void *rest;
    open_device(PT_ALLOC_CACHING);
    /* what cuBLAS's workspace leaves of its segment */
    ck_assert_int_eq(pt_mem_alloc(&D, (size_t)16 << 20, 1, "case/rest", &rest), PT_OK);
    pt_fragment *f = two_rooms(400000, 400000), *raw = two_rooms(400000, 400000);
    arm("cudaFree nth=1 -> status(cudaErrorInvalidValue); cudaMalloc nth=2 -> oom;"
        "cudaMalloc nth=3 -> oom");
    ck_assert_int_eq(in_pieces(f), PT_ERR_DEVICE);
    ck_assert_uint_eq(oomproof_fired(0), 1);
    oomproof_disarm();
    ck_assert_str_eq(pt_error_last()->call, "cudaFree");
    same(f, raw, "refused");
    pt_fragment_free(f);
    pt_fragment_free(raw);
    pt_device_close(&D);
}
END_TEST

/* ---- a wait that fails ---- */
static unsigned char host_side[4096];

/* Nothing reads or writes the caller's buffer any more when a copy comes back, however it ended:
 * the caller frees it. `times` waits in a row fail. */
static void nothing_in_flight(int times)
{
    static unsigned char before[sizeof host_side];
    char rule[80];
    void *there, *other;
    open_device(PT_ALLOC_CACHING);
    ck_assert_int_eq(pt_mem_alloc(&D, sizeof host_side, 1, "case/there", &there), PT_OK);
    ck_assert_int_eq(pt_mem_alloc(&D, sizeof host_side, 1, "case/other", &other), PT_OK);
    memset(host_side, 0x5a, sizeof host_side);
    ck_assert_int_eq(pt_copy_up(&D, there, host_side, sizeof host_side), PT_OK);
    memset(host_side, 0, sizeof host_side);
    snprintf(rule, sizeof rule, "cudaStreamSynchronize times=%d -> oom", times);
    arm(rule);
    ck_assert_int_eq(pt_copy_down(&D, host_side, there, sizeof host_side), PT_ERR_DEVICE);
    ck_assert_str_eq(pt_error_last()->call, "cudaStreamSynchronize");
    memset(before, 0xa5, sizeof before);
    memcpy(host_side, before, sizeof before);
    ck_assert_int_eq(pt_copy_up(&D, other, host_side, sizeof host_side), PT_OK);
    oomproof_disarm();
    memset(host_side, 0x33, sizeof host_side); /* whoever got this memory next */
    ck_assert_int_eq(cudaDeviceSynchronize(), cudaSuccess);
    for (size_t i = 0; i < sizeof host_side; i++)
        ck_assert_msg(host_side[i] == 0x33, "byte %zu was written after the copy had failed", i);
    ck_assert_int_eq(pt_copy_down(&D, host_side, other, sizeof host_side), PT_OK);
    ck_assert_msg(!memcmp(host_side, before, sizeof before),
                  "the device got what the buffer held after the copy had come back");
    memset(before, 0x5a, sizeof before);
    ck_assert_int_eq(pt_copy_down(&D, host_side, there, sizeof host_side), PT_OK);
    ck_assert_msg(!memcmp(host_side, before, sizeof before),
                  "the first copy went through memory that the next one used too");
    pt_mem_free(&D, there);
    pt_mem_free(&D, other);
    pt_device_close(&D);
}

START_TEST(a_copy_whose_wait_failed_is_not_in_flight)
{
    nothing_in_flight(1);
}
END_TEST

START_TEST(a_copy_whose_every_wait_failed_is_not_in_flight)
{
    nothing_in_flight(99);
}
END_TEST

/* More than the pinned memory holds, up and down, whole and in many copies of odd sizes: what is
 * under way is not overwritten. */
START_TEST(copies_larger_than_the_pinned_memory_arrive_whole)
{
    enum { MOST = 50 << 20 };
    void *there;
    unsigned char *up = malloc(MOST), *back = malloc(MOST);
    open_device(PT_ALLOC_CACHING);
    ck_assert_int_eq(pt_mem_alloc(&D, MOST, 1, "case/there", &there), PT_OK);
    for (size_t i = 0; i < MOST; i++) up[i] = (unsigned char)(i * 2654435761u >> 24);
    for (size_t piece = MOST; piece > 100000; piece = piece * 3 / 10 + 1) {
        uint64_t waits = oomproof_calls("cudaStreamSynchronize");
        ck_assert_int_eq(pt_zero(&D, there, MOST), PT_OK);
        for (size_t at = 0, n; at < MOST; at += n) {
            n = MOST - at < piece ? MOST - at : piece;
            ck_assert_int_eq(pt_copy_up(&D, (char *)there + at, up + at, n), PT_OK);
        }
        waits = oomproof_calls("cudaStreamSynchronize") - waits;
        ck_assert_msg(waits <= 4, "%llu waits on the way up", (unsigned long long)waits);
        memset(back, 0, MOST);
        for (size_t at = 0, n; at < MOST; at += n) {
            n = MOST - at < piece ? MOST - at : piece;
            ck_assert_int_eq(pt_copy_down(&D, back + at, (char *)there + at, n), PT_OK);
        }
        ck_assert_mem_eq(back, up, MOST);
    }
    free(up);
    free(back);
    pt_mem_free(&D, there);
    pt_device_close(&D);
}
END_TEST

/* ---- what is already there, and what cannot be ---- */
START_TEST(a_fragment_on_the_device_is_not_taken_there_again)
{
    open_device(PT_ALLOC_DIRECT);
    pt_fragment *f = two_rooms(700, 300);
    ck_assert_int_eq(up(f), PT_OK);
    ck_assert_ptr_null(f->host.coord);
    uint64_t calls = oomproof_calls("cudaMalloc"), copies = oomproof_calls("cudaMemcpyAsync");
    void *coord = f->device.coord;
    ck_assert_int_eq(up(f), PT_OK);
    ck_assert_uint_eq(oomproof_calls("cudaMalloc"), calls);
    ck_assert_uint_eq(oomproof_calls("cudaMemcpyAsync"), copies);
    ck_assert_ptr_eq(f->device.coord, coord);
    pt_stage_discard(&D, f);
    pt_fragment_free(f);
    pt_device_close(&D);
}
END_TEST

START_TEST(a_point_of_no_scene_on_the_device_is_a_broken_invariant)
{
    static const int32_t wrong[] = {-1, 2};
    open_device(PT_ALLOC_DIRECT);
    pt_fragment *f = two_rooms(700, 300);
    ck_assert_int_eq(up(f), PT_OK);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pt_copy_up(&D, f->device.slot + 5, &wrong[i], sizeof wrong[i]), PT_OK);
        ck_assert_int_eq(receipt(f), PT_ERR_INTERNAL);
        ck_assert_str_eq(pt_error_last()->message, "point 5 on the device belongs to no scene");
    }
    pt_stage_discard(&D, f);
    pt_fragment_free(f);
    pt_device_close(&D);
}
END_TEST

static const case_entry cases[] = {
#include "stage.def"
};
CASE_MAIN("stage")
