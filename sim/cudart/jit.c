/* jit.c - a kernel's PTX to a loaded shared object, once per machine: kept in a cache folder under
 * a key of everything that goes into it. Safe when many processes start at once: a file appears
 * under its name only when it is whole (written aside, then renamed), and ends in a checksum. */
#define _GNU_SOURCE
#include "state.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

extern char **environ;
extern const char sim_simrt_text[], sim_prelude_text[];

static const char *const flags[] = {"-O2", "-std=gnu11", "-fPIC", "-shared", "-w", "-march=native",
                                    /* what PTX means and C does not: no fused multiply-add of its
                                     * own, no assumption about types in memory or about overflow */
                                    "-ffp-contract=off", "-fno-strict-aliasing", "-fwrapv",
                                    "-fno-trapping-math", "-fno-math-errno", "-x", "c"};
#define NFLAGS (sizeof flags / sizeof *flags)

static uint64_t fnv(uint64_t h, const void *data, size_t n)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 1099511628211u;
    return h;
}
static uint64_t fnv_text(uint64_t h, const char *s)
{
    return fnv(h, s, strlen(s) + 1);
}
#define FNV_START 14695981039346656037u

static const char *compiler(void)
{
    const char *cc = getenv("OOMPROOF_SIM_CC");
    return cc && *cc ? cc : "cc";
}

/* Identity of the compiler: where the name leads, its size and time; no process is started for it.
 */
static uint64_t compiler_hash(void)
{
    const char *cc = compiler(), *path = getenv("PATH");
    char file[4096];
    uint64_t h = fnv_text(FNV_START, cc);
    struct stat st;
    if (strchr(cc, '/')) {
        if (stat(cc, &st) == 0) h = fnv(h, &st.st_mtim, sizeof st.st_mtim);
        return h;
    }
    for (const char *p = path ? path : "/usr/bin"; *p;) {
        size_t n = strcspn(p, ":");
        snprintf(file, sizeof file, "%.*s/%s", (int)n, p, cc);
        char *real = realpath(file, NULL);
        if (real && stat(real, &st) == 0) {
            h = fnv_text(h, real);
            h = fnv(h, &st.st_size, sizeof st.st_size);
            h = fnv(h, &st.st_mtim, sizeof st.st_mtim);
            free(real);
            return h;
        }
        free(real);
        p += n + (p[n] == ':');
    }
    return h;
}

static uint64_t cpu_hash(void)
{
    uint64_t h = FNV_START;
#if defined(__x86_64__)
    unsigned r[4];
    for (unsigned leaf = 1; leaf <= 7; leaf += 6)
        if (__get_cpuid_count(leaf, 0, &r[0], &r[1], &r[2], &r[3])) {
            if (leaf == 1) r[1] = 0; /* holds the number of the core */
            h = fnv(h, r, sizeof r);
        }
#endif
    return h;
}

static const char *not_usable(const char *path, const char *why)
{
    sim_say("the cache folder %s: %s; compiled kernels are not kept (OOMPROOF_SIM_CACHE names "
            "another)",
            path, why);
    return NULL;
}

/* A folder of ours, 0700; NULL: not usable, and said so. */
static const char *private_folder(const char *path)
{
    struct stat st;
    char *copy = strdup(path);
    for (char *p = copy ? copy + 1 : NULL; p && *p; p++)
        if (*p == '/') {
            *p = 0;
            mkdir(copy, 0700);
            *p = '/';
        }
    free(copy);
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return not_usable(path, strerror(errno));
    if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022)
        return not_usable(path, "not a folder of ours that only we can write to");
    return access(path, W_OK) == 0 ? path : not_usable(path, strerror(errno));
}

static int folder_is_temporary;
static char folder_path[4096];

static void remove_folder(void)
{
    rmdir(folder_path); /* empty: what was loaded has been unlinked */
}

static const char *cache_folder(void)
{
    static const char *folder;
    static char path[4096];
    if (folder) return folder;
    const char *s = getenv("OOMPROOF_SIM_CACHE"), *xdg = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    if (s && *s)
        snprintf(path, sizeof path, "%s", s);
    else if (xdg && *xdg)
        snprintf(path, sizeof path, "%s/oomproof", xdg);
    else if (home && *home)
        snprintf(path, sizeof path, "%s/.cache/oomproof", home);
    else
        *path = 0;
    if (*path && (folder = private_folder(path))) return folder;
    const char *tmp = getenv("TMPDIR");
    snprintf(folder_path, sizeof folder_path, "%s/oomproof-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!(folder = mkdtemp(folder_path))) {
        sim_say("no folder for compiled kernels: %s: %s; set OOMPROOF_SIM_CACHE", folder_path,
                strerror(errno));
        return NULL;
    }
    folder_is_temporary = 1;
    atexit(remove_folder);
    return folder;
}

static char *read_file(const char *path, size_t *bytes)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *p = NULL;
    if (fd < 0) return NULL;
    if (fstat(fd, &st) == 0 && (p = malloc((size_t)st.st_size + 1))) {
        *bytes = 0;
        for (ssize_t n; *bytes < (size_t)st.st_size &&
                        (n = read(fd, p + *bytes, (size_t)st.st_size - *bytes)) > 0;)
            *bytes += (size_t)n;
        p[*bytes] = 0;
    }
    close(fd);
    return p;
}

/* Whole: the last 8 bytes are the checksum of those before. */
static int whole(const char *path)
{
    size_t n = 0;
    uint64_t sum = 0;
    char *p = read_file(path, &n);
    int ok = p && n > 8 && (memcpy(&sum, p + n - 8, 8), sum == fnv(FNV_START, p, n - 8));
    free(p);
    return ok;
}

static int seal(const char *path)
{
    size_t n = 0;
    char *p = read_file(path, &n);
    if (!p) return 0;
    uint64_t sum = fnv(FNV_START, p, n);
    free(p);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0) return 0;
    int ok = write(fd, &sum, sizeof sum) == sizeof sum;
    return close(fd) == 0 && ok;
}

/* The compiler must not run under the shim, nor find the simulated libraries. */
static char **clean_environment(void)
{
    size_t n = 0, k = 0;
    while (environ[n]) n++;
    char **e = calloc(n + 1, sizeof *e);
    for (size_t i = 0; e && i < n; i++)
        if (strncmp(environ[i], "LD_", 3) && strncmp(environ[i], "OOMPROOF_", 9))
            e[k++] = environ[i];
    return e;
}

static int run_compiler(const char *source, const char *object, const char *log)
{
    const char *argv[NFLAGS + 8];
    size_t n = 0;
    int status = -1;
    pid_t pid;
    posix_spawn_file_actions_t files;
    argv[n++] = compiler();
    for (size_t i = 0; i < NFLAGS; i++) argv[n++] = flags[i];
    argv[n++] = source;
    argv[n++] = "-o";
    argv[n++] = object;
    argv[n++] = "-lm";
    argv[n] = NULL;
    char **env = clean_environment();
    if (!env || posix_spawn_file_actions_init(&files) != 0) {
        free(env);
        return 0;
    }
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    int e = posix_spawnp(&pid, argv[0], &files, NULL, (char **)argv, env);
    posix_spawn_file_actions_destroy(&files);
    free(env);
    if (e != 0) {
        sim_say("the C compiler %s cannot be started: %s; install it or set OOMPROOF_SIM_CC",
                argv[0], strerror(e));
        return 0;
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return access(object, R_OK) == 0; /* somebody else reaps our children */
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int build(const sim_function *f, int kernel, const char *folder, const char *object)
{
    char source[4200], made[4200], log[4200];
    int ok = 0;
    snprintf(source, sizeof source, "%s/%ld.%d.c", folder, (long)getpid(), kernel);
    snprintf(made, sizeof made, "%s/%ld.%d.so", folder, (long)getpid(), kernel);
    snprintf(log, sizeof log, "%s/%ld.%d.log", folder, (long)getpid(), kernel);
    FILE *c = fopen(source, "we");
    int refused = c ? sim_ptx_emit(f->module->ptx, kernel, c) : -1;
    if (c && fclose(c) != 0) refused = -1;
    if (refused < 0) {
        sim_say("%s cannot be written: %s", source, strerror(errno));
        unlink(source);
        return 0;
    }
    if (refused > 0)
        sim_say(
            "kernel %s has %d instructions that are not supported; it stops where it reaches one",
            f->name, refused);
    if (!run_compiler(source, made, log)) {
        sim_say("kernel %s could not be compiled; what the compiler said is in %s, the source "
                "beside it",
                f->name, log);
        unlink(made);
        return 0;
    }
    ok = seal(made) && rename(made, object) == 0;
    if (!ok) sim_say("%s cannot be written: %s", object, strerror(errno));
    unlink(source);
    unlink(made);
    unlink(log);
    return ok;
}

static int load(sim_function *f, const char *object)
{
    void *library = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    const sim_kernel_info *info = library ? dlsym(library, "sim_kernel") : NULL;
    uint64_t *vars = library ? dlsym(library, "sim_vars") : NULL;
    if (!info || !vars || info->abi != SIM_RT_ABI || strcmp(info->name, f->name)) {
        if (library) dlclose(library);
        return 0;
    }
    for (int i = 0; i < info->nvar; i++) sim_variable_address(info->vars[i], f->module, &vars[i]);
    f->vars = vars;
    f->info = info;
    return 1;
}

cudaError_t sim_jit(sim_function *f)
{
    static uint64_t common;
    const sim_ptx_kernel *k;
    char object[4200];
    if (f->failed) return cudaErrorInvalidKernelImage;
    cudaError_t e = sim_module_load(f->module);
    if (e != cudaSuccess) return e;
    int n = sim_ptx_kernels(f->module->ptx, &k), index = 0;
    while (index < n && strcmp(k[index].name, f->name)) index++;
    const char *folder = cache_folder();
    f->failed = 1; /* until it is not */
    if (index == n) {
        sim_say("the program's PTX has no kernel %s", f->name);
        return cudaErrorInvalidDeviceFunction;
    }
    if (!folder) return cudaErrorInvalidKernelImage;
    if (!common) {
        common = fnv_text(compiler_hash() ^ cpu_hash(), sim_ptx_version());
        for (size_t i = 0; i < NFLAGS; i++) common = fnv_text(common, flags[i]);
        common = fnv_text(fnv_text(common, sim_simrt_text), sim_prelude_text);
    }
    uint64_t module = fnv(common, f->module->text, f->module->text_bytes);
    uint64_t key = fnv_text(module, f->name);
    snprintf(object, sizeof object, "%s/%016llx%016llx.so", folder, (unsigned long long)module,
             (unsigned long long)key);
    /* Not unlinked first: another process may just have put a good one there. The name is replaced.
     */
    if ((!whole(object) || !load(f, object)) &&
        (!build(f, index, folder, object) || !load(f, object)))
        return cudaErrorInvalidKernelImage;
    if (folder_is_temporary) unlink(object); /* it stays loaded */
    if (f->info->local_bytes > SIM_LOCAL_MOST) {
        /* it would reach over the guard page into another thread's stack */
        sim_say("kernel %s needs %u bytes of local memory a thread; there are %d", f->name,
                f->info->local_bytes, SIM_LOCAL_MOST);
        f->info = NULL;
        return cudaErrorInvalidKernelImage;
    }
    f->failed = 0;
    return cudaSuccess;
}
