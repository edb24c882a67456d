/* launch.c - see launch.h. */
#define _GNU_SOURCE
#include "launch.h"
#include "rules.h"
#include "scratch.h"
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *op_command_name = "oomproof";

int op_usage(const char *what, const char *value)
{
    fprintf(stderr, "oomproof: error: %s%s; see %s --help\n", what, value, op_command_name);
    return 2;
}

int op_usage_option(const struct option *table, char *const *argv)
{
    const char *names[64], *near = NULL, *word = argv[optind - 1];
    size_t n = 0, length = strcspn(word, "=");
    char name[64];
    if (!optopt && !strncmp(word, "--", 2) &&
        length < sizeof name) { /* a long one that is not there */
        for (; table[n].name && n < sizeof names / sizeof *names - 1; n++) names[n] = table[n].name;
        names[n] = NULL;
        snprintf(name, sizeof name, "%.*s", (int)length - 2, word + 2);
        near = op_nearest(name, names);
    }
    fprintf(stderr, "%s%s%ssee %s --help\n", near ? "did you mean --" : "", near ? near : "",
            near ? "? " : "", op_command_name);
    return 2;
}

int op_usage_value(char *const *argv)
{
    if (!optarg || optarg != argv[optind - 1] || strcmp(optarg, "--") != 0) return 0;
    return op_usage("a value is missing before the --: ", argv[optind - 2]);
}

const char *op_output_named(const char *path)
{
    return strcmp(path, "-") ? path : "/dev/stdout";
}

FILE *op_output_open(const char *path, const char *mode)
{
    int fd = !strcmp(path, "/dev/stdout") ? 1 : !strcmp(path, "/dev/stderr") ? 2 : -1;
    if (fd < 0) return fopen(path, mode);
    fflush(fd == 1 ? stdout : stderr);
    fd = fcntl(fd, F_DUPFD_CLOEXEC, 3); /* its offset is that of whoever writes to it, too */
    return fd < 0 ? NULL : fdopen(fd, "w");
}

void op_exec(char *const *command)
{
    execvp(command[0], command);
    const int why = errno;
    fprintf(stderr, "oomproof: error: %s cannot be started: %s; %s\n", command[0], strerror(why),
            why == EACCES ? "is it a program, and executable (chmod +x)?"
            : why == ENOENT && access(command[0], F_OK) == 0
                ? "the file is there, but not the interpreter after its #!, or its loader"
            : why == ENOEXEC          ? "a script begins with #! and its interpreter"
            : strchr(command[0], '/') ? "check the path"
                                      : "it is in no folder of PATH: give its path");
}

int op_device(const char *word)
{
    if (!strcmp(word, "sim")) return 1;
    if (!strcmp(word, "gpu")) return 0;
    return strcmp(word, "auto") ? -1 : access("/dev/nvidiactl", F_OK) != 0;
}

/* The loader takes a blank and a colon for the end of a path. Such a folder is reached through a
 * link in a temporary one, which goes when this process ends. */
static char link_folder[OP_SCRATCH_ROOM];
static pid_t link_owner;
static void remove_link(void)
{
    if (getpid() == link_owner) op_scratch_remove(link_folder);
}

static int without_blanks(char *root, size_t room)
{
    static const char ends[] = " :;\t\n";
    char target[4096];
    if (!strpbrk(root, ends)) return 1;
    int n = snprintf(target, sizeof target, "%s", root);
    if (!*link_folder) {
        if (!op_scratch("link", link_folder)) return 0;
        link_owner = getpid();
        atexit(remove_link);
    }
    snprintf(root, room, "%s/oomproof", link_folder);
    if (n < (int)sizeof target && !strpbrk(root, ends) &&
        (symlink(target, root) == 0 || errno == EEXIST)) {
        if (geteuid() == 0 && chmod(link_folder, 0711) != 0) return 1; /* told where it matters */
        return 1;
    }
    fprintf(stderr,
            "oomproof: error: %s: a blank, ':' or ';' in the name of a folder ends a path for the "
            "loader, which would not preload from it; install oomproof elsewhere, or let TMPDIR "
            "name a folder without one, for a link to it\n",
            target);
    return 0;
}

/* DIR/bin/oomproof -> DIR */
int op_root(char *out, size_t room)
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

int op_loader_root(char *out, size_t room)
{
    return op_root(out, room) && without_blanks(out, room);
}

static void prepend(const char *name, const char *value)
{
    const char *old = getenv(name);
    char *both = NULL;
    if (asprintf(&both, "%s%s%s", value, old && *old ? ":" : "", old && *old ? old : "") >= 0)
        setenv(name, both, 1);
    free(both);
}

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* A program that is built with AddressSanitizer refuses to start behind a library that is
 * preloaded, unless it is told that this one replaces nothing of what it needs. */
static void asan_after_us(void)
{
    const char *old = getenv("ASAN_OPTIONS");
    char *both = NULL;
    if (old && strstr(old, "verify_asan_link_order")) return;
    if (asprintf(&both, "%s%sverify_asan_link_order=0", old ? old : "", old && *old ? ":" : "") >=
        0)
        setenv("ASAN_OPTIONS", both, 1);
    free(both);
}

void op_sim_folder(const char *root, char *out, size_t room)
{
    snprintf(out, room, "%s/sim", root);
    if (access(out, F_OK) != 0) snprintf(out, room, "%s/lib/oomproof/sim", root);
}

/* A command gets the signal back as it was. */
static void (*file_too_large)(int) = SIG_IGN;
void op_file_too_large_is_an_error(void)
{
    file_too_large = signal(SIGXFSZ, SIG_IGN);
}

void op_environment(const char *root, int sim, const char *memory, const char *faults,
                    const char *stats, const char *sweep)
{
    char path[4200];
    signal(SIGXFSZ, file_too_large);
    snprintf(path, sizeof path, "%s/lib/liboomproof.so", root);
    prepend("LD_PRELOAD", path);
    if (sim) {
        op_sim_folder(root, path, sizeof path);
        prepend("LD_LIBRARY_PATH", path);
        setenv("OOMPROOF_DEVICE", "sim", 1);
        setenv("OPENBLAS_NUM_THREADS", "1", 1);
        if (memory) setenv("OOMPROOF_SIM_MEMORY", memory, 1);
    } else {
        const char *lib = getenv("OOMPROOF_CUDA_LIB");
        if (lib && *lib) prepend("LD_LIBRARY_PATH", lib);
    }
    asan_after_us();
    set("OOMPROOF_STATS", stats);
    set("OOMPROOF_FAULTS", faults);
    set("OOMPROOF_SWEEP", sweep);
}

const char *op_from_the_root(const char *path, char *room, size_t bytes)
{
    char folder[3000];
    if (*path == '/' || !getcwd(folder, sizeof folder)) return path;
    int n = snprintf(room, bytes, "%s/%s", folder, path);
    return n > 0 && (size_t)n < bytes ? room : path;
}
