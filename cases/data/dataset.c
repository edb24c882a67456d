/* dataset.c - what --data and --class-map name: lists, folders, classes; a scene of one point in
 * every format trains; the real scans beside the checkout are read as they are documented. */
#define _GNU_SOURCE
#include "case.h"
#include "files.h"
#include "loop/train.h"
#include "read.h"
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[256];

static const char *inside(const char *name)
{
    static char path[4][600];
    static int next;
    if (!*folder) {
        snprintf(folder, sizeof folder, "%s/cases/dataset.%ld", OOMPROOF_BUILD_DIR, (long)getpid());
        ck_assert_int_eq(mkdir(folder, 0700), 0);
    }
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static const char *text_file(const char *name, const char *text)
{
    const char *path = inside(name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
    return path;
}

static int drop(const char *path, const struct stat *s, int type, struct FTW *w)
{
    (void)s, (void)type, (void)w;
    return remove(path);
}
static void clean(void)
{
    nftw(folder, drop, 8, FTW_DEPTH | FTW_PHYS);
}

/* A map that gives every class the label 0. */
static const char *one_label(void)
{
    static char path[600];
    snprintf(path, sizeof path, "%s", text_file("all.map", "* 0 thing\n1 1\n"));
    return path;
}

/* Every made file in a folder of its own, k00, k01, ..., and train.txt with all of them. */
static void write_scenes(int points)
{
    static made m;
    FILE *list = fopen(inside("train.txt"), "w");
    ck_assert_ptr_nonnull(list);
    fprintf(list, "# all of them\n");
    for (int k = 0; k < made_count(); k++) {
        char name[16];
        snprintf(name, sizeof name, "k%02d", k);
        make(k, points, 0, &m);
        ck_assert_int_eq(mkdir(inside(name), 0700), 0);
        ck_assert_int_eq(write_made(&m, inside(name)), 1);
        if (strcmp(m.file[0], "coord.npy"))
            fprintf(list, "%s/%s  voxel=0.5 # %s\r\n", name, m.file[0], m.name);
        else
            fprintf(list, "%s\n", name); /* the folder is the scene */
    }
    fclose(list);
}

/* Runs `pointtrain train` with these options; the log's last line. */
static const char *train(const char *const *option, int *code)
{
    static char summary[4096];
    char *argv[32] = {"pointtrain", "train", "--quiet", "--log", (char *)inside("log")};
    int argc = 5;
    pt_options o;
    while (*option) argv[argc++] = (char *)*option++;
    ck_assert_int_eq(pt_options_parse(argc, argv, &o, code), 1);
    *code = pt_train(&o);
    pt_options_free(&o);
    *summary = 0;
    FILE *f = fopen(inside("log"), "r");
    while (f && fgets(summary, sizeof summary, f)) {
    }
    if (f) fclose(f);
    return summary;
}

START_TEST(a_scene_of_one_point_in_every_format_trains)
{
    char steps[16], want[64];
    int code, n = made_count();
    write_scenes(1);
    snprintf(steps, sizeof steps, "%d", n);
    const char *map = one_label();
    /* a batch a scene, each scene once: the order of an epoch is a permutation */
    const char *summary = train((const char *[]){"--data", inside("train.txt"), "--class-map", map,
                                                 "--batch", "1", "--steps", steps, NULL},
                                &code);
    ck_assert_msg(code == 0, "exit code %d: %s", code, pt_error_last()->message);
    snprintf(want, sizeof want, "\"points\":%d,\"trained\":%d,\"dropped\":0", n, n);
    ck_assert_msg(strstr(summary, want) != NULL, "no %s in %s", want, summary);
    clean();
}
END_TEST

static pt_status open_at(const char *path, const char *map, int skip, pt_dataset **d)
{
    pt_data_options o = {
        .paths = &path, .npaths = 1, .class_map = map, .voxel = 1, .skip_bad = skip};
    return pt_dataset_open(&o, d);
}

START_TEST(lists_name_files_folders_and_voxels)
{
    pt_dataset *d;
    write_scenes(3);
    const char *map = one_label();
    ck_assert_int_eq(open_at(inside("train.txt"), map, 0, &d), PT_OK);
    ck_assert_int_eq(pt_dataset_count(d), made_count());
    for (int i = 0; i < made_count(); i++) {
        pt_scene s;
        ck_assert_int_eq(pt_dataset_load(d, i, &s), PT_OK);
        ck_assert_int_eq(s.n, 3);
        ck_assert(s.voxel == (strncmp(s.name, "k", 1) ? 0.5f : 1));
        pt_scene_free(&s);
    }
    pt_dataset_free(d);
    /* the other half: a folder of files, and one file twice */
    ck_assert_int_eq(open_at(text_file("val.txt", "k00\nk29\n\nk00/a.las\n"), map, 0, &d), PT_OK);
    ck_assert_int_eq(pt_dataset_count(d), 3);
    pt_dataset_free(d);
    ck_assert_int_eq(open_at(text_file("b.list", "k00\nk77\n"), map, 0, &d), PT_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(pt_error_last()->message, "k77"));
    ck_assert_int_eq(open_at(text_file("b.list", "k00\nk01 voxel=0\n"), map, 0, &d), PT_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(pt_error_last()->message, "b.list: line 2: voxel=0"));
    clean();
}
END_TEST

START_TEST(a_folder_gives_its_scenes_and_says_what_it_skips)
{
    static made m;
    pt_dataset *d;
    const char *map = one_label();
    mkdir(inside("s"), 0700);
    mkdir(inside("s/room"), 0700);
    mkdir(inside("s/empty"), 0700);
    make(made_count() - 1, 2, 0, &m); /* coord.npy ... */
    ck_assert_int_eq(write_made(&m, inside("s/room")), 1);
    make(0, 2, 0, &m);
    ck_assert_int_eq(write_made(&m, inside("s")), 1);
    text_file("s/notes.md", "no scene");
    ck_assert_int_eq(open_at(inside("s"), map, 0, &d), PT_OK);
    ck_assert_int_eq(pt_dataset_count(d), 2);
    pt_dataset_free(d);
    m.bytes[0][104] |= 0x80; /* compressed */
    strcpy(m.file[0], "B.LAZ");
    ck_assert_int_eq(write_made(&m, inside("s")), 1);
    ck_assert_int_eq(open_at(inside("s"), map, 0, &d), PT_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(pt_error_last()->message, "B.LAZ: byte 104: compressed (LAZ)"));
    ck_assert_int_eq(open_at(inside("s"), map, 1, &d), PT_OK);
    ck_assert_int_eq(pt_dataset_count(d), 2);
    ck_assert_int_eq(pt_dataset_skipped(d), 1);
    pt_dataset_free(d);
    clean();
}
END_TEST

START_TEST(a_class_map_ignores_renames_and_takes_16_bits)
{
    static made m;
    static pt_class_map map;
    pt_scene s = {.voxel = 1};
    for (int k = 0;; k++) {
        make(k, 5, 0, &m);
        if (!strcmp(m.file[0], "000001.bin")) break;
    }
    ck_assert_int_eq(
        pt_class_map_load(text_file("k.map", "252 1 moving-car # SemanticKITTI\n"
                                             "253 ignore\n254 0\n* 2 the rest\n255 ignore\n"
                                             "65535 7\n"),
                          &map),
        PT_OK);
    ck_assert_int_eq(map.classes, 8);
    ck_assert_int_eq(write_made(&m, folder), 1);
    ck_assert_int_eq(pt_read_file(inside(m.file[0]), &map, &s), PT_OK);
    static const int want[] = {1, PT_IGNORE, 0, PT_IGNORE, 2};
    for (int i = 0; i < 5; i++) ck_assert_int_eq(s.label[i], want[i]);
    pt_scene_free(&s);
    clean();
}
END_TEST

/* Points of each class as ../shared/data/README.md counts them; the scans are not part of the
 * project. */
START_TEST(the_real_scans_beside_the_checkout_have_their_classes)
{
    static const struct {
        const char *file;
        int64_t n;
        int count[8][2]; /* class, points */
    } scans[] = {
        {"las/autzen_trim.las", 110000, {{1, 83893}, {2, 26107}}},
        {"las/sample_c.las",
         14408,
         {{2, 1368}, {3, 93}, {4, 29}, {5, 7}, {6, 12525}, {11, 2}, {14, 45}, {31, 339}}},
        {"las/mvk-thin.las", 6280, {{1, 129}, {2, 1693}, {4, 141}, {5, 578}, {9, 37}, {12, 3702}}},
        {"las/4_6_crop.las", 23875, {{1, 14872}, {2, 9003}}},
        {"las/extrabytes.las", 1065, {{0}}},
        {"las/test1_4.las", 1000, {{2, 1000}}},
        {"las/1.0_0.las", 1, {{2, 1}}},
        {"las/1.2_2.las", 1, {{2, 1}}},
        {"ply/mesh.ply", 4, {{0}}},
        {"ply/simple_binary.ply", 3, {{0}}},
        {"ply/simple_text.ply", 3, {{0}}},
        {"ply/text_extradim.ply", 1, {{0}}},
        {"pcd/autzen-utm.pcd", 1065, {{1, 789}, {2, 276}}}};
    const char *root = OOMPROOF_SOURCE_DIR "/../shared/data/pdal";
    if (access(root, F_OK) != 0) {
        printf("skipped: there is no %s\n", root);
        return;
    }
    for (size_t k = 0; k < sizeof scans / sizeof *scans; k++) {
        char path[600];
        pt_scene s = {.voxel = 1};
        snprintf(path, sizeof path, "%s/%s", root, scans[k].file);
        ck_assert_msg(pt_read_file(path, NULL, &s) == PT_OK, "%s", pt_error_last()->message);
        ck_assert_msg(s.n == scans[k].n, "%s: %lld points", path, (long long)s.n);
        for (int c = 0; c < 8 && scans[k].count[c][1]; c++) {
            int seen = 0;
            for (int64_t i = 0; i < s.n; i++) seen += s.label[i] == scans[k].count[c][0];
            ck_assert_msg(seen == scans[k].count[c][1], "%s: %d points of class %d", path, seen,
                          scans[k].count[c][0]);
        }
        pt_scene_free(&s);
    }
}
END_TEST

static const case_entry cases[] = {
#include "dataset.def"
};
CASE_MAIN("dataset")
