/* formats.c - the readers: one scene in every format is the same scene, and what is damaged,
 * hostile or empty is refused with file, place and reason. */
#include "case.h"
#include "files.h"
#include "read.h"
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[256];

static const char *path_of(const char *name)
{
    static char path[512];
    if (!*folder) {
        snprintf(folder, sizeof folder, "%s/cases/formats.%ld", OOMPROOF_BUILD_DIR, (long)getpid());
        ck_assert_int_eq(mkdir(folder, 0700), 0);
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const void *bytes, size_t n)
{
    FILE *f = fopen(path_of(name), "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

static void write_all(const made *m)
{
    path_of("");
    ck_assert_int_eq(write_made(m, folder), 1);
}

static void remove_all(const made *m)
{
    for (int p = 0; p < m->parts; p++) unlink(path_of(m->file[p]));
}

static pt_status read_it(const made *m)
{
    pt_scene s = {.voxel = 1};
    pt_status st = pt_read_file(path_of(m->file[0]), NULL, &s);
    if (st == PT_OK) ck_assert_int_ge(s.n, 1);
    pt_scene_free(&s);
    return st;
}

/* Read, or refused with a message that names a file of the folder and a place in it. */
static pt_status read_or_refused(const made *m, const char *what, size_t at)
{
    static const char *const places[] = {": byte ",   ": line ",     ": point ",
                                         "no points", "an array of", "use a larger --voxel"};
    pt_status st = read_it(m);
    const char *said = pt_error_last()->message;
    if (st == PT_OK) return st;
    ck_assert_msg(st == PT_ERR_INPUT, "%s, %s %zu: %s", m->name, what, at, said);
    ck_assert_msg(!strncmp(said, folder, strlen(folder)), "%s, %s %zu: no file in: %s", m->name,
                  what, at, said);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strstr(said, places[i])) return st;
    ck_abort_msg("%s, %s %zu: no place in: %s", m->name, what, at, said);
    return st;
}

START_TEST(one_scene_in_every_format_is_the_same_scene)
{
    static made m;
    for (int k = 0; k < made_count(); k++) {
        pt_scene s = {.voxel = 1};
        make(k, 5, 0, &m);
        write_all(&m);
        ck_assert_msg(pt_read_file(path_of(m.file[0]), NULL, &s) == PT_OK, "%s: %s", m.name,
                      pt_error_last()->message);
        ck_assert_int_eq(s.n, 5);
        for (int i = 0; i < 5; i++) {
            const float *x = s.coord + 3 * i, *f = s.feature + PT_FEATURES * i;
            const float fi = (float)i;
            ck_assert_msg(x[0] == fi && x[1] == 2 * fi && x[2] == fi / 2,
                          "%s: point %d lies at %g %g %g", m.name, i, (double)x[0], (double)x[1],
                          (double)x[2]);
            ck_assert_msg(s.label[i] == m.first_class + i, "%s: point %d is of class %d", m.name, i,
                          s.label[i]);
            /* both are the nearest float to the same quotient, or 0 */
            ck_assert_msg(f[0] == (m.colour ? 50 * fi / 255 : 0) &&
                              f[1] == (m.colour ? (255 - 50 * fi) / 255 : 0) &&
                              f[2] == (m.colour ? 7.0f / 255 : 0),
                          "%s: point %d has the colour %g %g %g", m.name, i, (double)f[0],
                          (double)f[1], (double)f[2]);
            ck_assert_msg(f[3] == (m.intensity ? fi / 4 : 0), "%s: point %d has the intensity %g",
                          m.name, i, (double)f[3]);
        }
        pt_scene_free(&s);
        remove_all(&m);
    }
    rmdir(folder);
}
END_TEST

START_TEST(every_prefix_of_every_file_is_refused)
{
    static made m;
    for (int k = 0; k < made_count(); k++) {
        make(k, 2, 0, &m);
        write_all(&m);
        for (int p = 0; p < m.parts; p++) {
            for (size_t n = m.n[p]; n-- > 0;) {
                ck_assert_int_eq(truncate(path_of(m.file[p]), (off_t)n), 0);
                pt_status st = read_or_refused(&m, "bytes", n);
                ck_assert_msg(st == PT_ERR_INPUT || (m.text && n == m.n[p] - 1),
                              "%s: %zu of the %zu bytes of %s were accepted", m.name, n, m.n[p],
                              m.file[p]);
            }
            write_file(m.file[p], m.bytes[p], m.n[p]);
        }
        remove_all(&m);
    }
    rmdir(folder);
}
END_TEST

START_TEST(every_byte_flipped_is_refused_or_read)
{
    static const unsigned char flips[] = {0x01, 0x10, 0x80, 0xff};
    static made m;
    for (int k = 0; k < made_count(); k++) {
        make(k, 2, 0, &m);
        write_all(&m);
        for (int p = 0; p < m.parts; p++) {
            int fd = open(path_of(m.file[p]), O_WRONLY);
            for (size_t i = 0; i < m.n[p]; i++) {
                for (size_t b = 0; b < sizeof flips; b++) {
                    unsigned char c = m.bytes[p][i] ^ flips[b];
                    ck_assert_int_eq(pwrite(fd, &c, 1, (off_t)i), 1);
                    read_or_refused(&m, "flipped byte", i);
                }
                ck_assert_int_eq(pwrite(fd, &m.bytes[p][i], 1, (off_t)i), 1);
            }
            close(fd);
        }
        remove_all(&m);
    }
    rmdir(folder);
}
END_TEST

START_TEST(an_empty_scene_is_refused_in_every_format)
{
    static made m;
    for (int k = 0; k < made_count(); k++) {
        make(k, 0, 0, &m);
        write_all(&m);
        ck_assert_msg(read_it(&m) == PT_ERR_INPUT, "%s: a scene of 0 points was accepted", m.name);
        ck_assert_msg(strstr(pt_error_last()->message, "no points") != NULL, "%s: %s", m.name,
                      pt_error_last()->message);
        remove_all(&m);
    }
    rmdir(folder);
}
END_TEST

START_TEST(nan_and_infinity_are_refused_with_the_point_in_every_format)
{
    static made m;
    const double odd[] = {NAN, INFINITY, -INFINITY};
    for (int k = 0; k < made_count(); k++)
        for (int o = 0; o < 3; o++) {
            make(k, 4, 0, &m);
            if (!m.floats) continue;
            make(k, 4, odd[o], &m);
            write_all(&m);
            ck_assert_msg(read_it(&m) == PT_ERR_INPUT, "%s: y = %g was accepted", m.name, odd[o]);
            ck_assert_msg(strstr(pt_error_last()->message, "point 3: coordinate y is ") != NULL,
                          "%s: %s", m.name, pt_error_last()->message);
            remove_all(&m);
        }
    rmdir(folder);
}
END_TEST

START_TEST(a_scene_of_arrays_without_colour_or_classes_is_ignored_points)
{
    static made m;
    pt_scene s = {.voxel = 1};
    make(made_count() - 1, 5, 0, &m);
    ck_assert_str_eq(m.file[0], "coord.npy");
    m.parts = 1;
    write_all(&m);
    ck_assert_int_eq(pt_read_file(folder, NULL, &s), PT_OK);
    ck_assert_ptr_nonnull(strstr(folder, s.name)); /* called after its folder */
    ck_assert_int_eq(s.n, 5);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(s.label[i], PT_IGNORE);
        ck_assert(s.feature[PT_FEATURES * i] == 0);
    }
    pt_scene_free(&s);
    remove_all(&m);
    rmdir(folder);
}
END_TEST

START_TEST(labels_of_semantickitti_are_found_beside_the_scan_and_in_labels)
{
    static made m;
    char other[600], velodyne[600], labels[600];
    for (int k = 0;; k++) {
        make(k, 3, 0, &m);
        if (!strcmp(m.file[0], "000001.bin")) break;
    }
    snprintf(velodyne, sizeof velodyne, "%s", path_of("velodyne"));
    snprintf(labels, sizeof labels, "%s", path_of("labels"));
    mkdir(velodyne, 0700);
    mkdir(labels, 0700);
    strcpy(m.file[0], "velodyne/000001.bin");
    strcpy(m.file[1], "labels/000001.label");
    write_all(&m);
    ck_assert_msg(read_it(&m) == PT_OK, "%s", pt_error_last()->message);
    snprintf(other, sizeof other, "%s", path_of(m.file[1]));
    unlink(other);
    ck_assert_int_eq(read_it(&m), PT_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(pt_error_last()->message, "000001.bin: its labels are missing"));
    remove_all(&m);
    rmdir(velodyne);
    rmdir(labels);
    rmdir(folder);
}
END_TEST

START_TEST(a_negative_label_is_ignored_and_one_of_17_bits_refused)
{
    static made m;
    pt_scene s = {.voxel = 1};
    for (int k = 0;; k++) {
        make(k, 3, 0, &m);
        if (!strcmp(m.file[0], "room.f32")) break;
    }
    memset(m.bytes[1] + 8, 0xff, 8);
    write_all(&m);
    ck_assert_int_eq(pt_read_file(path_of(m.file[0]), NULL, &s), PT_OK);
    ck_assert_int_eq(s.label[0], 1000);
    ck_assert_int_eq(s.label[1], PT_IGNORE);
    pt_scene_free(&s);
    memset(m.bytes[1] + 8, 0, 8);
    m.bytes[1][8 + 2] = 1;
    write_all(&m);
    ck_assert_int_eq(read_it(&m), PT_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(pt_error_last()->message, "room.i64: point 1: class 65536"));
    remove_all(&m);
    rmdir(folder);
}
END_TEST

START_TEST(lzf_items_of_every_kind_unpack)
{
    /* by hand from the description: a literal, a copy of 264 at distance 1, one of 3 at 265 */
    static const unsigned char packed[] = {0x00, 'a', 0xe0, 0xff, 0x00, 0x21, 0x08};
    static unsigned char in[20000], mid[22000], out[20000];
    size_t at;
    ck_assert_int_eq(pt_lzf(packed, sizeof packed, out, 268, &at), 1);
    for (int i = 0; i < 268; i++) ck_assert_int_eq(out[i], 'a');
    ck_assert_int_eq(pt_lzf(packed, sizeof packed, out, 267, &at), 0);
    ck_assert_int_eq(at, 5);
    ck_assert_int_eq(pt_lzf(packed, sizeof packed, out, 269, &at), 0);
    ck_assert_int_eq(at, sizeof packed);
    ck_assert_int_eq(pt_lzf((const unsigned char[]){0x00, 'a', 0x20, 0x01}, 4, out, 4, &at), 0);
    ck_assert_int_eq(at, 2); /* before the first byte */
    /* runs, repeats near and far, and noise */
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof in; i++) {
        x = x * 1664525u + 1013904223u;
        in[i] = i % 5000 < 700                ? (unsigned char)(i / 5000)
                : i % 5000 < 3000 || i < 9000 ? (unsigned char)(x >> 24)
                                              : in[i - 8000];
    }
    for (size_t n = 1; n <= sizeof in; n = n < 40 ? n + 1 : n * 2 - 7) {
        size_t m = lzf_pack(in, n, mid);
        memset(out, 0, n);
        ck_assert_msg(pt_lzf(mid, m, out, n, &at) == 1, "%zu bytes: wrong at %zu", n, at);
        ck_assert_mem_eq(out, in, n);
        if (m > 1) ck_assert_int_eq(pt_lzf(mid, m - 1, out, n, &at), 0);
    }
}
END_TEST

static const case_entry cases[] = {
#include "formats.def"
};
CASE_MAIN("formats")
