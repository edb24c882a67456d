/* input.c - readers against truncated, hostile and odd files. */
#include "case.h"
#include "data.h"
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[256];

static const char *path_of(const char *name)
{
    static char path[512];
    if (!*folder) {
        snprintf(folder, sizeof folder, "%s/cases/input.%ld", OOMPROOF_BUILD_DIR, (long)getpid());
        ck_assert_int_eq(mkdir(folder, 0700), 0);
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static const char *write_file(const char *name, const void *bytes, size_t n)
{
    const char *path = path_of(name);
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fwrite(bytes, 1, n, f), n);
    fclose(f);
    return path;
}

static void clean(const char *name)
{
    unlink(path_of(name));
    rmdir(folder);
}

static pt_status read_it(const char *path)
{
    pt_scene s = {.voxel = 1};
    pt_status st = pt_read_file(path, NULL, &s);
    pt_scene_free(&s);
    return st;
}

static void put(unsigned char *p, uint64_t v, int n)
{
    for (int i = 0; i < n; i++) p[i] = (unsigned char)(v >> 8 * i);
}

/* LAS 1.2, point format 0, 5 points on a line. */
static size_t small_las(unsigned char *p)
{
    double one = 1;
    memset(p, 0, 400);
    memcpy(p, "LASF", 4);
    p[24] = 1, p[25] = 2;
    put(p + 94, 227, 2);
    put(p + 96, 227, 4);
    put(p + 105, 20, 2);
    put(p + 107, 5, 4);
    for (int a = 0; a < 3; a++) memcpy(p + 131 + 8 * a, &one, 8);
    for (int i = 0; i < 5; i++) {
        put(p + 227 + 20 * i, (uint64_t)i, 4);
        p[227 + 20 * i + 15] = (unsigned char)(0xe0 | i); /* flags above the class */
    }
    return 227 + 5 * 20;
}

START_TEST(every_prefix_of_a_las_file_is_refused)
{
    unsigned char p[400];
    size_t n = small_las(p);
    pt_scene s = {.voxel = 1};
    ck_assert_int_eq(pt_read_file(write_file("a.las", p, n), NULL, &s), PT_OK);
    ck_assert_int_eq(s.n, 5);
    for (int i = 0; i < 5; i++) ck_assert_int_eq(s.label[i], i);
    pt_scene_free(&s);
    for (size_t m = 0; m < n; m++) {
        const char *path = write_file("a.las", p, m);
        ck_assert_msg(read_it(path) == PT_ERR_INPUT, "%zu of %zu bytes were accepted", m, n);
        ck_assert_ptr_nonnull(strstr(pt_error_last()->message, "a.las: "));
    }
    clean("a.las");
}
END_TEST

START_TEST(hostile_las_headers_are_refused)
{
    static const struct {
        int at, bytes;
        uint64_t value;
    } lies[] = {{107, 4, 0xffffffffu},
                {107, 4, 0},
                {105, 2, 0},
                {105, 2, 19},
                {96, 4, 0xfffffff0u},
                {96, 4, 10},
                {94, 2, 10},
                {104, 1, 0x80},
                {104, 1, 5},
                {104, 1, 63},
                {24, 1, 2},
                {25, 1, 9},
                {131, 8, 0x7ff8000000000000u},
                {155, 8, 0x7ff0000000000000u}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        unsigned char p[400];
        size_t n = small_las(p);
        put(p + lies[i].at, lies[i].value, lies[i].bytes);
        ck_assert_msg(read_it(write_file("h.las", p, n)) == PT_ERR_INPUT, "lie %zu was believed",
                      i);
    }
    clean("h.las");
}
END_TEST

START_TEST(a_nan_coordinate_names_file_and_point)
{
    static const char *const bad[] = {"nan", "inf", "-inf"};
    for (int i = 0; i < 3; i++) {
        char text[256];
        int n = snprintf(text, sizeof text,
                         "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty "
                         "float y\nproperty float "
                         "z\nend_header\n0 0 0\n1 1 1\n2 %s 2\n",
                         bad[i]);
        ck_assert_int_eq(read_it(write_file("n.ply", text, (size_t)n)), PT_ERR_INPUT);
        ck_assert_ptr_nonnull(strstr(pt_error_last()->message, "n.ply: point 2: coordinate y"));
    }
    clean("n.ply");
}
END_TEST

static size_t binary_ply(char *p, int big)
{
    static const float v[2][3] = {{0, 1, 2}, {3, 4, 5.5f}};
    size_t n = (size_t)sprintf(
        p,
        "ply\nformat binary_%s_endian 1.0\nelement vertex 2\nproperty float32 x\nproperty float "
        "y\nproperty float z\nproperty uchar label\nproperty list uint8 int ring\nend_header\n",
        big ? "big" : "little");
    for (int i = 0; i < 2; i++) {
        for (int a = 0; a < 3; a++) {
            uint32_t u;
            memcpy(&u, &v[i][a], 4);
            for (int b = 0; b < 4; b++) p[n++] = (char)(u >> 8 * (big ? 3 - b : b));
        }
        p[n++] = (char)(i + 1);
        p[n++] = 1;
        for (int b = 0; b < 4; b++) p[n++] = (char)b;
    }
    return n;
}

START_TEST(ply_in_three_formats_is_the_same_scene)
{
    static const char ascii[] =
        "ply\ncomment hello\nformat ascii 1.0\nelement vertex 2\nproperty float32 x\nproperty "
        "float y\nproperty float z\nproperty uchar label\nend_header\n0 1 2 1\n3 4 5.5 2\n";
    char binary[600];
    pt_scene s[3] = {{.voxel = 1}, {.voxel = 1}, {.voxel = 1}};
    ck_assert_int_eq(pt_read_file(write_file("p.ply", ascii, sizeof ascii - 1), NULL, &s[0]),
                     PT_OK);
    for (int big = 0; big < 2; big++)
        ck_assert_int_eq(
            pt_read_file(write_file("p.ply", binary, binary_ply(binary, big)), NULL, &s[1 + big]),
            PT_OK);
    for (int i = 1; i < 3; i++) {
        ck_assert_int_eq(s[i].n, 2);
        ck_assert_mem_eq(s[i].coord, s[0].coord, 6 * sizeof(float));
        ck_assert_mem_eq(s[i].label, s[0].label, 2 * sizeof(int32_t));
    }
    for (int i = 0; i < 3; i++) pt_scene_free(&s[i]);
    clean("p.ply");
}
END_TEST

START_TEST(every_prefix_of_a_binary_ply_is_refused)
{
    char binary[600];
    size_t n = binary_ply(binary, 0);
    for (size_t m = 0; m < n; m++)
        ck_assert_msg(read_it(write_file("t.ply", binary, m)) == PT_ERR_INPUT,
                      "%zu of %zu bytes were accepted", m, n);
    clean("t.ply");
}
END_TEST

START_TEST(an_empty_folder_and_an_unknown_format_are_refused)
{
    pt_dataset *d;
    path_of("x");
    const char *paths[1] = {folder};
    pt_data_options o = {.paths = paths, .npaths = 1, .voxel = 1};
    ck_assert_int_eq(pt_dataset_open(&o, &d), PT_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(pt_error_last()->message, "holds no scene"));
    paths[0] = write_file("x.obj", "o", 1);
    ck_assert_int_eq(pt_dataset_open(&o, &d), PT_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(pt_error_last()->message, "unknown format"));
    static const char *const rooms[] = {"rooms:",   "rooms:0",      "rooms:-1",
                                        "rooms:2x", "rooms:2,max=", "rooms:2,max=0"};
    for (int i = 0; i < 6; i++) {
        paths[0] = rooms[i];
        ck_assert_msg(pt_dataset_open(&o, &d) == PT_ERR_INPUT, "%s was accepted", rooms[i]);
    }
    clean("x.obj");
}
END_TEST

START_TEST(class_map_errors_name_the_line)
{
    static const struct {
        const char *text, *says;
    } bad[] = {{"1 0\n2\n", "line 2"}, {"1 0\n\n70000 1\n", "line 3"}, {"1 -1\n", "line 1"},
               {"1 64\n", "line 1"},   {"1 0\n1 1\n", "line 2"},       {"# nothing\n", "no class"}};
    pt_class_map m;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_eq(
            pt_class_map_load(write_file("c.map", bad[i].text, strlen(bad[i].text)), &m),
            PT_ERR_INPUT);
        ck_assert_msg(strstr(pt_error_last()->message, bad[i].says) != NULL, "%s",
                      pt_error_last()->message);
    }
    clean("c.map");
}
END_TEST

START_TEST(rooms_are_heavy_tailed_and_repeatable)
{
    pt_room all = {.most = 300000, .classes = PT_ROOM_CLASSES, .voxel = 0.05f}, how = all;
    int small = 0, large = 0;
    for (int i = 0; i < 4000; i++) {
        int64_t n = pt_room_points(1, i, &all);
        ck_assert(n >= 500 && n <= 300000);
        small += n < 1000;
        large += n > 20000;
    }
    ck_assert_msg(small > 1600 && large > 40, "%d below 1,000, %d above 20,000 of 4,000", small,
                  large);
    pt_scene a, b;
    how.most = 5000;
    ck_assert_int_eq(pt_room_make(1, 3, &how, &a), PT_OK);
    ck_assert_int_eq(pt_room_make(1, 3, &how, &b), PT_OK);
    ck_assert_int_eq(a.n, b.n);
    ck_assert_mem_eq(a.coord, b.coord, sizeof(float) * 3 * (size_t)a.n);
    pt_scene_free(&a);
    pt_scene_free(&b);
}
END_TEST

static const case_entry cases[] = {
#include "input.def"
};
CASE_MAIN("input")
