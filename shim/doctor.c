/* doctor.c - `oomproof doctor -- CMD`: whether a program can be tested, from its file and from what
 * the loader would take, without running its main(). */
#define _GNU_SOURCE
#include "devcode.h"
#include "image.h"
#include "launch.h"
#include <elf.h>
#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

const char op_doctor_help[] =
    "usage: oomproof doctor [--device sim|gpu|auto] -- CMD...\n"
    "Says whether CMD can be tested and what to change, without running it.\n\n"
    "exit codes: 0 it can, 1 it can, but something was noticed, 2 usage, 4 its calls would not be "
    "intercepted\n";

static int noticed, blocked;
static void say(int *count, const char *what, const char *remedy)
{
    printf("%s %s\n    %s\n", count == &blocked ? "[no]  " : "[note]", what, remedy);
    ++*count;
}

/* ---- the dynamic section ---- */
typedef struct dynamic {
    int is, cudart, rpath; /* cudart: it needs libcudart.so; rpath: DT_RPATH without DT_RUNPATH */
    char runtime[64];
} dynamic;

static dynamic read_dynamic(const image *f)
{
    dynamic d = {0};
    const ElfW(Shdr) *s = op_image_section(f, ".dynamic"),
                     *strings = op_image_section(f, ".dynstr");
    const ElfW(Dyn) *e = s ? op_image_range(f, s->sh_offset, s->sh_size) : NULL;
    const char *text = strings ? op_image_range(f, strings->sh_offset, strings->sh_size) : NULL;
    int runpath = 0;
    if (!e || !text) return d;
    d.is = 1;
    for (size_t i = 0; i < s->sh_size / sizeof *e && e[i].d_tag != DT_NULL; i++) {
        runpath |= e[i].d_tag == DT_RUNPATH;
        d.rpath |= e[i].d_tag == DT_RPATH;
        if (e[i].d_tag != DT_NEEDED || e[i].d_un.d_val >= strings->sh_size) continue;
        const char *name = text + e[i].d_un.d_val;
        if (strncmp(name, "libcudart.so", 12)) continue;
        d.cudart = 1;
        snprintf(d.runtime, sizeof d.runtime, "%.63s", name);
    }
    d.rpath &= !runpath;
    return d;
}

/* ---- symbols that the simulated libraries lack ---- */
enum { ABSENT, PRESENT, STUB };
/* A stub is a weak definition: it says its name and returns "not supported". */
static int has_symbol(const image *lib, const char *name)
{
    const ElfW(Shdr) *s = op_image_section(lib, ".dynsym"),
                     *strings = op_image_section(lib, ".dynstr");
    const ElfW(Sym) *y = s ? op_image_range(lib, s->sh_offset, s->sh_size) : NULL;
    const char *text = strings ? op_image_range(lib, strings->sh_offset, strings->sh_size) : NULL;
    for (size_t i = 0; y && text && i < s->sh_size / sizeof *y; i++)
        if (y[i].st_shndx != SHN_UNDEF && y[i].st_name < strings->sh_size &&
            !strcmp(text + y[i].st_name, name))
            return ELF64_ST_BIND(y[i].st_info) == STB_WEAK ? STUB : PRESENT;
    return ABSENT;
}

/* name: "" of the program, else "PATH: " */
static void missing_symbols(const image *f, const char *name, const char *root)
{
    static const char *const prefixes[] = {"cuda", "__cuda", "cublas", "cudnn"};
    static const char *const libs[] = {"libcudart.so.13", "libcudart.so.13", "libcublas.so.13",
                                       "libcudnn.so.9"};
    const ElfW(Shdr) *s = op_image_section(f, ".dynsym"), *strings = op_image_section(f, ".dynstr");
    const ElfW(Sym) *y = s ? op_image_range(f, s->sh_offset, s->sh_size) : NULL;
    const char *text = strings ? op_image_range(f, strings->sh_offset, strings->sh_size) : NULL;
    char path[4200], list[2000] = "", stubs[2000] = "";
    for (int k = 0; k < 4; k++) {
        image lib;
        op_sim_folder(root, path, sizeof path);
        size_t folder = strlen(path);
        snprintf(path + folder, sizeof path - folder, "/%s", libs[k]);
        if (!op_image_open(path, &lib)) {
            printf("[note] %s is missing: the simulated device is not installed\n", path);
            noticed++;
            return;
        }
        for (size_t i = 0; y && text && i < s->sh_size / sizeof *y; i++) {
            if (y[i].st_shndx != SHN_UNDEF || y[i].st_name >= strings->sh_size) continue;
            const char *call = text + y[i].st_name;
            if (strncmp(call, prefixes[k], strlen(prefixes[k]))) continue;
            int has = has_symbol(&lib, call);
            char *to = has == STUB ? stubs : list;
            size_t n = strlen(to);
            if (has != PRESENT) snprintf(to + n, sizeof list - n, " %s", call);
        }
        op_image_close(&lib);
    }
    if (*list) {
        printf("[note] %sthe simulated device lacks:%s\n    the program stops with exit code 127 "
               "where "
               "one of these is called\n",
               name, list);
        noticed++;
    }
    if (!*stubs) return;
    snprintf(path, sizeof path, "%sthe simulated device has only stubs of some calls:", name);
    say(&noticed, path, stubs + 1);
}

/* ---- device code ---- */
/* Fat binaries lie one after the other: {u32 magic, u16, u16 header bytes, u64 bytes that follow},
 * with entries {u16 kind (1: PTX), u16, u32 header bytes, u64 payload bytes, ...}. */
static int has_ptx(const char *p, size_t n)
{
    static const unsigned char magic[] = {0x50, 0xed, 0x55, 0xba};
    for (const char *at = p, *end = p + n; (at = memmem(at, (size_t)(end - at), magic, 4));
         at += 4) {
        uint16_t head, kind;
        uint32_t header;
        uint64_t follow, payload;
        if (end - at < 16) return 0;
        memcpy(&head, at + 6, 2);
        memcpy(&follow, at + 8, 8);
        if (head < 16 || head > end - at || follow > (uint64_t)(end - at - head)) continue;
        for (const char *e = at + head, *stop = e + follow; stop - e >= 64;) {
            memcpy(&kind, e, 2);
            memcpy(&header, e + 4, 4);
            memcpy(&payload, e + 8, 8);
            if (kind == 1) return 1;
            if (header < 16 || header > stop - e || payload > (uint64_t)(stop - e - header)) break;
            e += header + payload;
        }
    }
    return 0;
}

static void device_code(const image *f, const char *name)
{
    char what[4400];
    const ElfW(Shdr) *s = op_image_section(f, ".nv_fatbin");
    const char *p = s ? op_image_range(f, s->sh_offset, s->sh_size) : NULL;
    if (!p) return; /* no kernels of its own */
    snprintf(what, sizeof what, "%sits kernels carry no PTX that the simulated device can read",
             name);
    if (!has_ptx(p, s->sh_size))
        say(&noticed, what,
            "build with nvcc -gencode arch=compute_75,code=compute_75 (beside the sm_ code that is "
            "there), or set OOMPROOF_SIM_NO_PTX=skip where its numbers do not matter");
}

/* ---- how it gets at CUDA ---- */
static void loads_more(const image *f, const char *path)
{
    char what[4400];
    if (!op_image_imports(f, "dlopen") && !op_image_imports(f, "dlmopen")) return;
    snprintf(what, sizeof what,
             "%s loads libraries while it runs (dlopen); which, cannot be known "
             "without running it",
             path);
    say(&noticed, what,
        "calls are not seen from libraries that it loads with RTLD_DEEPBIND or into a namespace of "
        "their own\n    (dlmopen), of functions that it looks up by the handle of libcudart, and "
        "of a runtime that is linked\n    statically into one of them. Look for these words in "
        "its source; `oomproof run` ends with exit code 4\n    when no call was seen, and says "
        "why");
}

/* Libraries that load others and bind to themselves, as NVIDIA has made them. */
static int is_nvidias(const char *path)
{
    static const char *const names[] = {"libcudart.so", "libcublas", "libcudnn", "libcuda.so",
                                        "libnv"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(name, names[i], strlen(names[i]))) return 1;
    return 0;
}

/* A library that the loader maps, path of n bytes. */
static void library(const char *path_, size_t n, const char *root, int sim)
{
    static const char *const of_the_system[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"};
    char path[4096], what[4400];
    image f;
    if (n >= sizeof path) return;
    snprintf(path, sizeof path, "%.*s", (int)n, path_);
    int code = op_device_code(path), ours = !strncmp(path, root, strlen(root)), system = ours;
    if (is_nvidias(path)) return;
    if (code & OP_CODE_STATIC) {
        snprintf(what, sizeof what, "%s carries a CUDA runtime that is linked statically", path);
        say(&noticed, what,
            "its own calls cannot be seen; link it with nvcc -cudart shared, if they matter");
    }
    for (int i = 0; i < 4; i++)
        system |= !strncmp(path, of_the_system[i], strlen(of_the_system[i]));
    if (!op_image_open(path, &f)) return;
    if (!system) loads_more(&f, path);
    if (sim && !ours) {
        char name[4100];
        snprintf(name, sizeof name, "%s: ", path);
        device_code(&f, name);
        missing_symbols(&f, name, root);
    }
    if (op_image_binds_to_itself(&f)) {
        snprintf(what, sizeof what,
                 "%s is linked with -Bsymbolic and has CUDA functions of its own", path);
        say(&noticed, what,
            "those it calls itself, and no preloaded library comes before them: link it without "
            "-Bsymbolic, or with nvcc -cudart shared");
    }
    op_image_close(&f);
}

/* Asked for a GPU, the loader takes the simulated runtime all the same: a RUNPATH names it. */
static void a_simulated_one(const char *path, size_t n, const char *root)
{
    char folder[4200], given[4096], what[4400];
    struct stat a, b;
    const char *name = memrchr(path, '/', n);
    if (!name || n >= sizeof given || strncmp(name, "/libcudart.so", 13)) return;
    snprintf(given, sizeof given, "%.*s", (int)n, path);
    op_sim_folder(root, folder, sizeof folder - 20);
    strcat(folder, "/libcudart.so.13");
    if (stat(given, &a) != 0 || stat(folder, &b) != 0 || a.st_dev != b.st_dev ||
        a.st_ino != b.st_ino)
        return;
    snprintf(what, sizeof what, "%s is the simulated runtime, not NVIDIA's", given);
    say(&blocked, what,
        "the program's RUNPATH names that folder: set OOMPROOF_CUDA_LIB (or LD_LIBRARY_PATH) to "
        "the "
        "folder of NVIDIA's libcudart.so.13");
}

/* ---- what the loader would do ---- */
/* All that the loader says, malloc'ed; NULL: it could not be asked. */
static char *loaders_words(const char *path, char **command, const char *root, int sim)
{
    int fd[2], status;
    char *text = NULL;
    size_t room = 0;
    if (pipe(fd) != 0) return NULL;
    pid_t pid = fork();
    if (pid == 0) {
        op_environment(root, sim, NULL, NULL, NULL, NULL);
        setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
        dup2(fd[1], 1);
        dup2(fd[1], 2);
        close(fd[0]);
        execv(path, command);
        _exit(127);
    }
    close(fd[1]);
    FILE *f = fdopen(fd[0], "r");
    if (!f || getdelim(&text, &room, 0, f) < 0) {
        free(text);
        text = NULL;
    }
    if (f)
        fclose(f);
    else
        close(fd[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return text;
}

static void loader(const char *path, char **command, const char *root, int sim)
{
    char *text = loaders_words(path, command, root, sim);
    if (!text)
        say(&noticed, "the loader does not say which libraries it takes",
            "run it: `oomproof run` says when no CUDA call was seen");
    for (char *line = text ? strtok(text, "\n") : NULL; line; line = strtok(NULL, "\n")) {
        char *file = strchr(line, '/'), *end = file ? strstr(file, " (0x") : NULL;
        if (end) library(file, (size_t)(end - file), root, sim);
        if (strstr(line, "not found")) say(&blocked, line, "install it, or set LD_LIBRARY_PATH");
        if (strstr(line, "cannot be preloaded"))
            say(&blocked, line, "oomproof must be installed where the loader can read it");
        char *arrow = strstr(line, "=> ");
        if (sim && arrow && strstr(line, "libcudart.so") && strncmp(arrow + 3, root, strlen(root)))
            say(&blocked, line,
                "the simulated runtime is not the one that is loaded; see the notes above");
        if (!sim && end) a_simulated_one(file, (size_t)(end - file), root);
    }
    free(text);
}

int op_program(const char *name, char *out, size_t room)
{
    const char *path = getenv("PATH");
    if (strchr(name, '/')) {
        snprintf(out, room, "%s", name);
        return access(out, X_OK) == 0;
    }
    for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
        size_t n = strcspn(p, ":");
        snprintf(out, room, "%.*s/%s", (int)n, p, name);
        if (access(out, X_OK) == 0) return 1;
        p += n + (p[n] == ':');
    }
    return 0;
}

static void examine(const char *path, char **command, const char *root, int sim)
{
    image f;
    struct stat st;
    if (!op_image_open(path, &f)) {
        if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
            say(&blocked, "a folder; name the program in it", path);
        else
            say(&blocked, "the file cannot be read", "check its permissions");
        return;
    }
    if (f.n > 2 && !memcmp(f.p, "#!", 2)) {
        say(&noticed, "a script: what its interpreter loads cannot be told from the file",
            "run it: `oomproof run` says when no CUDA call was seen");
        return;
    }
    if (!f.sections) {
        say(&blocked, "not a 64-bit ELF program with sections", "name the program itself");
        return;
    }
    if (stat(path, &st) == 0 && st.st_mode & (S_ISUID | S_ISGID)) {
        say(&blocked, "set-user-id programs do not take LD_PRELOAD", "run a copy without that bit");
        return;
    }
    dynamic d = read_dynamic(&f);
    const char *starts = op_image_loader(&f), *slash = starts ? strrchr(starts, '/') : NULL;
    if (!d.is || !starts) { /* -static-pie has a dynamic section, for itself */
        say(&blocked, "statically linked: nothing can be preloaded", "link it dynamically");
        return;
    }
    if (!slash || strncmp(slash, "/ld-linux", 9)) { /* others would run it when they are asked */
        char what[4400];
        snprintf(what, sizeof what, "its loader, %.4000s, is not the GNU C library's", starts);
        say(&blocked, what, "build it for a system with glibc");
        return;
    }
    if (d.cudart && strcmp(d.runtime, "libcudart.so.13"))
        say(&blocked, d.runtime, "only CUDA 13's runtime is known: build with CUDA 13");
    if (!d.cudart && op_device_code(path) & OP_CODE_STATIC)
        say(&blocked,
            "the CUDA runtime is linked statically (nvcc's default): its calls cannot be seen",
            "link with: nvcc -cudart shared");
    else if (!d.cudart)
        say(&noticed, "it does not need libcudart.so itself",
            "fine if a library it loads does; `oomproof run` says when no CUDA call was seen");
    if (d.rpath && sim)
        say(&noticed,
            "DT_RPATH is searched before LD_LIBRARY_PATH and may find NVIDIA's runtime first",
            "link with -Wl,--enable-new-dtags, or: patchelf --remove-rpath");
    if (!sim && access("/dev/nvidiactl", F_OK) != 0)
        say(&blocked, "there is no GPU here (no /dev/nvidiactl)",
            "--device sim needs none; for a GPU, `nvidia-smi` must list one");
    loads_more(&f, "it");
    if (sim) {
        device_code(&f, "");
        missing_symbols(&f, "", root);
    }
    loader(path, command, root, sim);
    op_image_close(&f);
}

int op_doctor_command(int argc, char **argv)
{
    static const struct option table[] = {{"device", 1, 0, 'd'}, {"help", 0, 0, 'h'}, {0}};
    const char *device = "auto";
    char path[4096], root[4096];
    int c;
    while ((c = getopt_long(argc, argv, "+h", table, NULL)) != -1) switch (c) {
        case 'd': device = optarg; break;
        case 'h': fputs(op_doctor_help, stdout); return 0;
        default: return op_usage_option(table, argv);
        }
    int sim = op_device(device);
    if (sim < 0) return op_usage("--device is sim, gpu or auto, not ", device);
    if (optind >= argc) return op_usage("no command to look at", "");
    if (!op_loader_root(root, sizeof root)) return 7;
    if (!op_program(argv[optind], path, sizeof path)) {
        fprintf(stderr, "oomproof: error: %s: not found, or not executable\n", argv[optind]);
        return 2;
    }
    examine(path, argv + optind, root, sim);
    puts(blocked   ? "it cannot be tested as it is"
         : noticed ? "it can be tested, as far as can be told without running it; see the notes"
                   : "it can be tested");
    return blocked ? 4 : noticed ? 1 : 0;
}
