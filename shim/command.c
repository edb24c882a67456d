/* command.c - `oomproof run`: a program under the shim, on the device asked for. */
#define _GNU_SOURCE
#include "rules.h"
#include "stats.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
    "usage: oomproof run [--device sim|gpu|auto] [--faults RULES] [--allow-unfired] [--sim-memory "
    "SIZE] -- CMD...\n"
    "Runs CMD with liboomproof.so preloaded.\n\n"
    "  --device   sim: the simulated device; gpu: NVIDIA's libraries; auto: gpu where there is one "
    "(auto)\n"
    "  --faults   CALL selector... -> fault; rules are separated by ; or line ends\n"
    "             selectors: nth=N nth>=N size=/</>/<=/>=SIZE skip=N times=N budget=SIZE phase=P "
    "site=GLOB\n"
    "                        kernel=GLOB kind=h2d|d2h|d2d|h2h\n"
    "             faults:    oom  status(NAME|N)  error(NAME|N)  shape(ldc=m-1)  poison(nan, "
    "type=f64)\n"
    "  --allow-unfired  a rule that never fired is no error\n"
    "  --sim-memory     capacity of the simulated card, like 8GiB\n\n"
    "exit codes: the command's own; 2 usage or bad rule, 3 a rule never fired, 4 nothing was "
    "intercepted,\n"
    "5 the command was killed by a signal, 7 internal\n";

static pid_t child;
static void forward(int s)
{
    if (child > 0) kill(child, s);
}

static int usage(const char *what, const char *value)
{
    fprintf(stderr, "oomproof: error: %s%s; see oomproof --help\n", what, value);
    return 2;
}

static int have_gpu(void)
{
    return access("/dev/nvidiactl", F_OK) == 0;
}

/* DIR/bin/oomproof -> DIR */
static int root(char *out, size_t room)
{
    ssize_t n = readlink("/proc/self/exe", out, room - 1);
    if (n <= 0) return 0;
    out[n] = 0;
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(out, '/');
        if (!slash) return 0;
        *slash = 0;
    }
    return 1;
}

static void prepend(const char *name, const char *value)
{
    const char *old = getenv(name);
    char *both = NULL;
    if (asprintf(&both, "%s%s%s", value, old && *old ? ":" : "", old && *old ? old : "") >= 0)
        setenv(name, both, 1);
    free(both);
}

static void environment(const char *dir, int sim, const char *faults, const char *memory,
                        const char *stats)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/lib/liboomproof.so", dir);
    prepend("LD_PRELOAD", path);
    if (sim) {
        snprintf(path, sizeof path, "%s/sim", dir);
        prepend("LD_LIBRARY_PATH", path);
        setenv("OOMPROOF_DEVICE", "sim", 1);
        setenv("OPENBLAS_NUM_THREADS", "1", 1);
        if (memory) setenv("OOMPROOF_SIM_MEMORY", memory, 1);
    } else {
        const char *lib = getenv("OOMPROOF_CUDA_LIB");
        if (lib && *lib) prepend("LD_LIBRARY_PATH", lib);
    }
    setenv("OOMPROOF_STATS", stats, 1);
    if (faults)
        setenv("OOMPROOF_FAULTS", faults, 1);
    else
        unsetenv("OOMPROOF_FAULTS");
}

/* The closing line, and whether it makes the run fail. */
static int closing(const op_stats *s, const op_rule *rules, int n, int allow_unfired)
{
    int fired = 0, code = 0;
    uint64_t calls = 0, allocations = 0, launches = 0, library = 0;
    for (int i = 0; i < n; i++) fired += s->acted[i] > 0;
    for (int id = 0; id < OP_CALLS; id++) {
        calls += s->calls[id];
        if (op_table[id].flags & OP_F_ALLOC) allocations += s->calls[id];
        if (op_table[id].flags & OP_F_LAUNCH) launches += s->calls[id];
        if (op_table[id].lib != OP_CUDA) library += s->calls[id];
    }
    fprintf(stderr,
            "oomproof: %llu calls intercepted (%llu allocations, %llu launches, %llu library), %d "
            "of %d rules fired\n",
            (unsigned long long)calls, (unsigned long long)allocations,
            (unsigned long long)launches, (unsigned long long)library, fired, n);
    for (int i = 0; i < n; i++) {
        fprintf(stderr, "oomproof: rule %d '%s' matched %llu, fired %llu\n", i + 1, rules[i].text,
                (unsigned long long)s->matched[i], (unsigned long long)s->acted[i]);
        if (!s->acted[i] && !allow_unfired) code = 3;
    }
    if (n && !calls) {
        fprintf(stderr, "oomproof: no CUDA call was seen: is the program linked with -cudart "
                        "static? Build it with "
                        "nvcc -cudart shared\n");
        code = 4;
    }
    return code;
}

static int run(int argc, char **argv)
{
    static const struct option table[] = {{"device", 1, 0, 'd'},        {"faults", 1, 0, 'f'},
                                          {"allow-unfired", 0, 0, 'u'}, {"sim-memory", 1, 0, 'm'},
                                          {"help", 0, 0, 'h'},          {0}};
    const char *device = "auto", *faults = NULL, *memory = NULL;
    static op_rule rules[OP_MAX_RULES];
    char error[256], dir[4096], stats_path[] = "/tmp/oomproof-stats-XXXXXX";
    int c, allow = 0, n = 0, status;
    while ((c = getopt_long(argc, argv, "+h", table, NULL)) != -1) switch (c) {
        case 'd': device = optarg; break;
        case 'f': faults = optarg; break;
        case 'u': allow = 1; break;
        case 'm': memory = optarg; break;
        case 'h': fputs(help, stdout); return 0;
        default: return 2;
        }
    if (strcmp(device, "sim") && strcmp(device, "gpu") && strcmp(device, "auto"))
        return usage("--device is sim, gpu or auto, not ", device);
    uint64_t bytes;
    if (memory && (!op_number(memory, &bytes) || bytes < 2 << 20))
        return usage("--sim-memory: not a size of at least 2MiB, like 8GiB: ", memory);
    if (optind >= argc) return usage("no command to run", "");
    if (faults && (n = op_parse(faults, rules, error, sizeof error)) < 0) {
        fprintf(stderr, "oomproof: error: --faults: %s\n", error);
        return 2;
    }
    int sim = !strcmp(device, "sim") || (!strcmp(device, "auto") && !have_gpu());
    int fd = mkstemp(stats_path);
    op_stats *stats = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, sizeof *stats) == 0)
        stats = mmap(NULL, sizeof *stats, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (stats == MAP_FAILED || !root(dir, sizeof dir)) {
        fprintf(stderr, "oomproof: error: %s: %s\n", stats_path, strerror(errno));
        if (fd >= 0) unlink(stats_path);
        return 7;
    }
    child = fork();
    if (child == 0) {
        environment(dir, sim, faults, memory, stats_path);
        execvp(argv[optind], argv + optind);
        fprintf(stderr, "oomproof: error: %s cannot be started: %s\n", argv[optind],
                strerror(errno));
        _exit(127);
    }
    signal(SIGINT, forward);
    signal(SIGTERM, forward);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    unlink(stats_path);
    if (child < 0) return 7;
    int code = closing(stats, rules, n, allow);
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "oomproof: the command was killed by signal %d (%s)\n", WTERMSIG(status),
                strsignal(WTERMSIG(status)));
        return 5;
    }
    if (WEXITSTATUS(status)) return WEXITSTATUS(status);
    return code;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "run")) {
        optind = 1;
        return run(argc - 1, argv + 1);
    }
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        fputs(help, stdout);
        return 0;
    }
    return usage(argc > 1 ? "not a command of this version: " : "expected the command run",
                 argc > 1 ? argv[1] : "");
}
