/* run.c - `oomproof run`: a program under the shim, on the device asked for. */
#define _GNU_SOURCE
#include "launch.h"
#include "rules.h"
#include "stats.h"
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

const char op_run_help[] =
    "usage: oomproof run [--device sim|gpu|auto] [--faults RULES] [--allow-unfired] [--sim-memory "
    "SIZE] -- CMD...\n"
    "Runs CMD with liboomproof.so preloaded.\n\n"
    "  --device   sim: the simulated device; gpu: NVIDIA's libraries; auto: gpu where there is one "
    "(auto)\n"
    "  --faults   CALL selector... -> fault; rules are separated by ; or line ends\n"
    "             selectors: nth=N nth>=N size=/</>/<=/>=SIZE skip=N times=N budget=SIZE phase=P "
    "site=GLOB\n"
    "                        kernel=GLOB kind=h2d|d2h|d2d|h2h thread=N stream=N device=N\n"
    "                        probability=P% seed=N interval=N\n"
    "             faults:    oom  status(NAME|N)  error(NAME|N)  shape(ldc=m-1)  poison(nan, "
    "type=f64)\n"
    "                        delay(MS)  hang  crash\n"
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

int op_run_command(int argc, char **argv)
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
        case 'h': fputs(op_run_help, stdout); return 0;
        default: return 2;
        }
    int sim = op_device(device);
    if (sim < 0) return op_usage("--device is sim, gpu or auto, not ", device);
    uint64_t bytes;
    if (memory && (!op_number(memory, &bytes) || bytes < 2 << 20))
        return op_usage("--sim-memory: not a size of at least 2MiB, like 8GiB: ", memory);
    if (optind >= argc) return op_usage("no command to run", "");
    if (faults && (n = op_parse(faults, rules, error, sizeof error)) < 0) {
        fprintf(stderr, "oomproof: error: --faults: %s\n", error);
        return 2;
    }
    int fd = mkstemp(stats_path);
    op_stats *stats = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, sizeof *stats) == 0)
        stats = mmap(NULL, sizeof *stats, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (stats == MAP_FAILED || !op_root(dir, sizeof dir)) {
        fprintf(stderr, "oomproof: error: %s: %s\n", stats_path, strerror(errno));
        if (fd >= 0) unlink(stats_path);
        return 7;
    }
    child = fork();
    if (child == 0) {
        op_environment(dir, sim, memory, faults, stats_path, NULL);
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
