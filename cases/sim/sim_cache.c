/* sim_cache.c - the cache of compiled kernels, and what a process without a device sees. Each case
 * has a folder of its own; a compiler that notes its calls tells who compiled and who loaded. */
#define _GNU_SOURCE
#include "rig.h"
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROBE OOMPROOF_BUILD_DIR "/cases/sim_probe"

static char folder[64], cache[80], calls[80];

static void write_file(const char *path, const char *text, mode_t mode)
{
    FILE *f = fopen(path, "w");
    ck_assert_msg(f && fputs(text, f) >= 0 && fclose(f) == 0, "%s cannot be written", path);
    chmod(path, mode);
}

/* A folder for the case; the environment a probe gets by default. */
static void begin(void)
{
    char cc[80], script[300];
    snprintf(folder, sizeof folder, "/tmp/oomproof-cache-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(cache, sizeof cache, "%s/cache", folder);
    snprintf(calls, sizeof calls, "%s/calls", folder);
    snprintf(cc, sizeof cc, "%s/cc", folder);
    snprintf(script, sizeof script, "#!/bin/sh\necho call >>%s\nexec cc \"$@\"\n", calls);
    write_file(cc, script, 0700);
    write_file(calls, "", 0600);
    setenv("OOMPROOF_SIM_CC", cc, 1);
    setenv("OOMPROOF_SIM_CACHE", cache, 1);
    setenv("TMPDIR", folder, 1);
}

static void end(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static char *rest_of(FILE *f)
{
    size_t room = 0;
    char *text = NULL;
    ck_assert_ptr_nonnull(f);
    if (getdelim(&text, &room, 0, f) < 0) {
        free(text);
        text = strdup("");
    }
    return text;
}

static char *output_of(const char *command)
{
    FILE *f = popen(command, "r");
    char *text = rest_of(f);
    pclose(f);
    return text;
}

static char *contents_of(const char *path)
{
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s cannot be read", path);
    char *text = rest_of(f);
    fclose(f);
    return text;
}

static int compiled(void)
{
    char *text = contents_of(calls);
    int n = (int)strlen(text) / 5;
    free(text);
    return n;
}

/* How many entries a folder has; path: one of them. */
static int entries(const char *of, char *path, size_t room)
{
    int n = 0;
    DIR *d = opendir(of);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        n++;
        if (path) snprintf(path, room, "%s/%s", of, e->d_name);
    }
    if (d) closedir(d);
    return n;
}

static void probe_says(const char *what, const char *wanted)
{
    char *text = output_of(PROBE " 2>&1");
    ck_assert_msg(strstr(text, wanted) != NULL, "%s: wanted \"%s\" in:\n%s", what, wanted, text);
    free(text);
}

START_TEST(a_kernel_is_compiled_once_for_all_processes)
{
    char object[400];
    begin();
    for (int i = 0; i < 3; i++) probe_says("a run", "probe 0 1");
    ck_assert_int_eq(compiled(), 1);
    ck_assert_int_eq(entries(cache, object, sizeof object), 1);
    struct stat st;
    ck_assert_int_eq(stat(cache, &st), 0);
    ck_assert_msg((st.st_mode & 0777) == 0700, "the folder's mode is %o", st.st_mode & 0777);
    end();
}
END_TEST

START_TEST(processes_that_start_at_once_on_an_empty_folder_all_work)
{
    enum { N = 4 };
    FILE *f[N];
    begin();
    for (int i = 0; i < N; i++) ck_assert_ptr_nonnull(f[i] = popen(PROBE " 2>&1", "r"));
    for (int i = 0; i < N; i++) {
        char *text = rest_of(f[i]);
        pclose(f[i]);
        ck_assert_msg(strstr(text, "probe 0 1") != NULL, "process %d: %s", i, text);
        free(text);
    }
    ck_assert_msg(entries(cache, NULL, 0) == 1, "%d entries in the folder, not one object",
                  entries(cache, NULL, 0));
    end();
}
END_TEST

static void damaged(const char *how, long at, const char *bytes, long length)
{
    char object[400];
    begin();
    probe_says("the first run", "probe 0 1");
    ck_assert_int_eq(entries(cache, object, sizeof object), 1);
    FILE *f = fopen(object, "r+b");
    ck_assert_ptr_nonnull(f);
    if (length >= 0) ck_assert_int_eq(ftruncate(fileno(f), length), 0);
    if (bytes) {
        ck_assert_int_eq(fseek(f, at, SEEK_SET), 0);
        ck_assert_uint_eq(fwrite(bytes, 1, strlen(bytes), f), strlen(bytes));
    }
    fclose(f);
    probe_says(how, "probe 0 1");
    ck_assert_msg(compiled() == 2, "%s: compiled %d times, not 2", how, compiled());
    probe_says("after the rebuild", "probe 0 1");
    ck_assert_msg(compiled() == 2, "%s: what was rebuilt is not kept", how);
    end();
}

START_TEST(a_damaged_object_is_rebuilt_not_loaded)
{
    damaged("a changed byte", 4000, "x", -1);
    damaged("a changed head", 0, "not ELF at all", -1);
    damaged("half a file", 0, NULL, 5000);
    damaged("an empty file", 0, NULL, 0);
}
END_TEST

/* The object of another kernel under this one's name: whole, but not it. */
START_TEST(a_whole_object_of_another_kernel_is_not_taken)
{
    char object[400], command[1000];
    begin();
    probe_says("the first run", "probe 0 1");
    ck_assert_int_eq(entries(cache, object, sizeof object), 1);
    setenv("OOMPROOF_SIM_CACHE", folder, 1); /* used by this process: sim_cache has the kernels */
    int thread = 5;
    OK(launch((const void *)trap_in_thread, 1, 1, 0, ARGS(&thread)));
    OK(cudaDeviceSynchronize());
    snprintf(command, sizeof command, "cp \"$(ls %s/*.so | head -n 1)\" %s", folder, object);
    ck_assert_int_eq(system(command), 0);
    setenv("OOMPROOF_SIM_CACHE", cache, 1);
    int before = compiled();
    probe_says("after the exchange", "probe 0 1");
    ck_assert_int_eq(compiled(), before + 1);
    end();
}
END_TEST

/* The probe works, warns with the folder's name, keeps nothing and leaves nothing behind. */
static void falls_back(const char *path, const char *why)
{
    char warning[200];
    int before = entries(folder, NULL, 0);
    setenv("OOMPROOF_SIM_CACHE", path, 1);
    char *text = output_of(PROBE " 2>&1");
    snprintf(warning, sizeof warning, "the cache folder %s: ", path);
    ck_assert_msg(strstr(text, warning) && strstr(text, why), "wanted \"%s\" and \"%s\" in:\n%s",
                  warning, why, text);
    ck_assert_msg(strstr(text, "probe 0 1") != NULL, "%s:\n%s", path, text);
    ck_assert_msg(entries(folder, NULL, 0) == before, "something was left in %s", folder);
    free(text);
}

START_TEST(a_folder_that_cannot_be_made_is_replaced_with_a_warning)
{
    char path[100];
    begin();
    snprintf(path, sizeof path, "%s/below", calls); /* below a file */
    falls_back(path, "Not a directory");
    end();
}
END_TEST

START_TEST(a_folder_that_cannot_be_written_is_replaced_with_a_warning)
{
    begin();
    ck_assert_int_eq(mkdir(cache, 0500), 0);
    if (access(cache, W_OK) != 0) /* who may do everything may write here too */
        falls_back(cache, "Permission denied");
    else
        probe_says("a folder that root can write", "probe 0 1");
    end();
}
END_TEST

START_TEST(a_folder_that_others_can_write_is_refused)
{
    static const mode_t modes[] = {0770, 0702, 0777};
    for (int i = 0; i < COUNT(modes); i++) {
        begin();
        ck_assert_int_eq(mkdir(cache, 0700), 0);
        ck_assert_int_eq(chmod(cache, modes[i]), 0);
        falls_back(cache, "only we can write to");
        ck_assert_int_eq(entries(cache, NULL, 0), 0);
        end();
    }
}
END_TEST

START_TEST(a_link_to_a_folder_is_refused)
{
    char target[100];
    begin();
    snprintf(target, sizeof target, "%s/target", folder);
    ck_assert_int_eq(mkdir(target, 0700), 0);
    ck_assert_int_eq(symlink(target, cache), 0);
    falls_back(cache, "only we can write to");
    ck_assert_int_eq(entries(target, NULL, 0), 0);
    end();
}
END_TEST

START_TEST(a_compiler_that_is_missing_or_fails_is_named)
{
    char cc[80];
    begin();
    setenv("OOMPROOF_SIM_CC", "/no/such/compiler", 1);
    probe_says("no compiler", "the C compiler /no/such/compiler cannot be started");
    probe_says("no compiler", "probe 200 0");
    snprintf(cc, sizeof cc, "%s/broken", folder);
    write_file(cc, "#!/bin/sh\necho out of order >&2\nexit 1\n", 0700);
    setenv("OOMPROOF_SIM_CC", cc, 1);
    char *text = output_of(PROBE " 2>&1"), *at = strstr(text, "what the compiler said is in ");
    ck_assert_msg(at && strstr(text, "probe 200 0"), "said: %s", text);
    at += strlen("what the compiler said is in ");
    at[strcspn(at, ",")] = 0;
    char *said = contents_of(at);
    ck_assert_str_eq(said, "out of order\n");
    free(said);
    free(text);
    end();
}
END_TEST

/* Kernels of this program: an early one and one with functions of its own. */
static void kernels_work(void)
{
    int out[8], n = 8, k = 3;
    void *o = device(NULL, sizeof out);
    run(early_exit, 1, 32, ARGS(&n, &o));
    fetch(out, o, sizeof out);
    for (int i = 0; i < n; i++) ck_assert_int_eq(out[i], (i + 2) % n);
    run(use_variables, 1, 8, ARGS(&o));
    fetch(out, o, sizeof out);
    ck_assert_int_eq(out[3], 7 * 11);
    run(local_array, 1, 8, ARGS(&k, &o));
}

START_TEST(kernels_are_compiled_together_and_each_has_its_name)
{
    begin();
    kernels_work();
    int by = compiled(), objects = entries(cache, NULL, 0);
    ck_assert_msg(objects >= 20 && by > 0 && by <= objects, "%d objects by %d compilers", objects,
                  by);
    if (sysconf(_SC_NPROCESSORS_ONLN) <= 2) ck_assert_int_lt(by, objects / 2);
    run(trap_in_thread, 1, 1, ARGS(&(int){5}));
    ck_assert_int_eq(compiled(), by);
    end();
}
END_TEST

/* One may be too much for the compiler; that is no reason why another one should not run. */
START_TEST(a_kernel_is_compiled_alone_where_it_cannot_be_together)
{
    char cc[80];
    begin();
    snprintf(cc, sizeof cc, "%s/choosy", folder);
    write_file(cc,
               "#!/bin/sh\nfor a; do case $a in *.c) f=$a;; esac; done\n"
               "[ \"$(grep -c '^#define KERNEL' \"$f\")\" -gt 1 ] && exit 1\nexec cc \"$@\"\n",
               0700);
    setenv("OOMPROOF_SIM_CC", cc, 1);
    listen_to(2);
    kernels_work();
    char *text = heard();
    ck_assert_msg(!*text, "said: %s", text);
    ck_assert_int_ge(entries(cache, NULL, 0), 3);
    free(text);
    end();
}
END_TEST

/* The library lies in the program's run path; only the environment asks for a simulation. */
#define NOBODY_ASKS \
    "env -u LD_LIBRARY_PATH -u LD_PRELOAD -u OOMPROOF_DEVICE -u OOMPROOF_SIM_MEMORY "

/* A compiler that cannot write, not even what is wrong, as in a full folder: nothing stays there.
 */
START_TEST(what_a_silent_compiler_leaves_behind_is_removed)
{
    begin();
    write_file(getenv("OOMPROOF_SIM_CC"), "#!/bin/sh\nexit 1\n", 0700);
    probe_says("a compiler without a word", "is full, or the compiler ended without a word");
    ck_assert_msg(entries(cache, NULL, 0) == 0, "%d entries are left in the folder",
                  entries(cache, NULL, 0));
    end();
}
END_TEST

START_TEST(a_process_that_asks_for_nothing_has_no_device)
{
    begin();
    char *text = output_of(NOBODY_ASKS PROBE " 2>&1");
    ck_assert_msg(!strcmp(text, "probe 100 0\ndevices 100 0 last 100\n"), "said: %s", text);
    free(text);
    text = output_of(NOBODY_ASKS "OOMPROOF_DEVICE=gpu " PROBE " 2>&1");
    ck_assert_msg(strstr(text, "probe 100 0") != NULL, "said: %s", text);
    free(text);
    ck_assert_int_eq(compiled(), 0);
    end();
}
END_TEST

START_TEST(each_way_to_ask_gives_the_device)
{
    static const char *const ways[] = {"OOMPROOF_DEVICE=sim ", "OOMPROOF_SIM_MEMORY=64MiB ",
                                       "LD_LIBRARY_PATH=/tmp:" OOMPROOF_BUILD_DIR "/sim/ ",
                                       "LD_PRELOAD=" OOMPROOF_BUILD_DIR "/sim/libcudart.so.13 "};
    char command[1000];
    begin();
    for (int i = 0; i < COUNT(ways); i++) {
        snprintf(command, sizeof command, NOBODY_ASKS "%s" PROBE " 2>&1", ways[i]);
        char *text = output_of(command);
        ck_assert_msg(strstr(text, "probe 0 1\ndevices 0 1 last 0") != NULL, "%s: %s", ways[i],
                      text);
        free(text);
    }
    end();
}
END_TEST

static const case_entry cases[] = {
#include "sim_cache.def"
};
CASE_MAIN("sim_cache")
