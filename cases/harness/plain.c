/* plain.c - runs the cases of a suite on a card, one process each, with nothing but CUDA and libc.
 *
 * Only those that carry the label `gpu`: the others are about the simulated device itself. Without
 * a card nothing is run and nothing has passed: the exit code is 77, which ctest calls skipped. */
#define _GNU_SOURCE
#include "case.h"
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAIT = 300, WAITS = 10, SKIPPED = 77 }; /* the limit of ctest follows them, as in case.c */

void case_fails(const char *file, int line, const char *why, ...)
{
    va_list args;
    va_start(args, why);
    fflush(stdout);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, why, args);
    fputc('\n', stderr);
    va_end(args);
    _exit(1); /* what the driver does at exit is not the case's */
}

/* fn's answer, asked in a process of its own: CUDA does not survive a fork. -1: it was ended. */
static int apart(int (*fn)(const case_entry *), const case_entry *c)
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        int answer = fn(c);
        fflush(NULL);
        _exit(answer);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) return -1;
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    fprintf(stderr, "ended by signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    return -1;
}

static int find_card(const case_entry *unused)
{
    int n = 0;
    if (dlsym(RTLD_DEFAULT, "sim_memory_read")) {
        fprintf(stderr,
                "this is the simulated device: set LD_LIBRARY_PATH to NVIDIA's libraries\n");
        return 1;
    }
    cudaError_t e = cudaGetDeviceCount(&n);
    (void)unused;
    if (e == cudaSuccess && n > 0) return 0;
    fprintf(stderr, "skipped: no card was found (cudaGetDeviceCount: %d, %s)\n", (int)e,
            e == cudaSuccess ? "0 devices" : cudaGetErrorString(e));
    return SKIPPED;
}

static int run(const case_entry *c)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    rlim_t s = (rlim_t)(c->seconds * (double)(processors > 0 ? processors : 1)) + 1;
    struct rlimit limit = {.rlim_cur = s, .rlim_max = s + 5};
    setrlimit(RLIMIT_CPU, &limit);
    alarm((unsigned)(WAIT + c->seconds * WAITS));
    (*c->test)->fn(0);
    return 0;
}

static int is_for_a_card(const case_entry *c)
{
    const char *at = strstr(c->labels, "gpu");
    return at && (at == c->labels || at[-1] == ' ') && (!at[3] || at[3] == ' ');
}

int case_main(const char *suite, const case_entry *cases, int n, int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : NULL;
    int ran = 0, failed = 0, gone = apart(find_card, NULL);
    if (gone) return gone == SKIPPED ? SKIPPED : 1;
    for (int i = 0; i < n; i++) {
        if (only ? strcmp(only, cases[i].name) != 0 : !is_for_a_card(&cases[i])) continue;
        if (!is_for_a_card(&cases[i])) {
            fprintf(stderr, "%s.%s is about the simulated device: it has no label gpu\n", suite,
                    only);
            return 2;
        }
        int bad = apart(run, &cases[i]) != 0;
        fprintf(stderr, "%s.%s: %s\n", suite, cases[i].name, bad ? "FAILED" : "passed");
        failed += bad;
        ran++;
    }
    if (!ran) {
        fprintf(stderr, "%s: no case named %s\n", suite, only ? only : "(any)");
        return 2;
    }
    return failed != 0;
}
