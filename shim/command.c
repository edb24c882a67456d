/* command.c - `oomproof`: which of its commands is meant. */
#include "launch.h"
#include "rules.h"
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: oomproof COMMAND [options] -- CMD...\n"
    "  run    CMD under the shim, with faults\n"
    "  sweep  every call of CMD that can fail, failed, one after the other, and judged\n"
    "  record CMD with a ring of its last allocations, kept as a file that can be shared\n"
    "  replay such a file: the same failures again, or the allocations alone\n"
    "  reduce such a file to the fewest events that fail the same way\n"
    "  import RMM logs, PyTorch snapshots and messages as such files\n"
    "  report one page of what all of these left\n"
    "  doctor whether CMD can be tested, and what to change\n"
    "  calls  the calls that rules can name, and what may fail each\n"
    "  trace  FILE: prints what `run --trace FILE` wrote\n"
    "oomproof COMMAND --help says more.\n\n"
    "exit codes: the command's own, or 0 clean, 1 finding, 2 usage or bad input, 3 a rule never "
    "fired,\n4 not intercepted, 5 the command crashed, 6 it hung, 7 internal, 127 it cannot be "
    "started "
    "(run)\n";

static int dispatch(const char *command, int argc, char **argv)
{
    if (!strcmp(command, "run")) return op_run_command(argc, argv);
    if (!strcmp(command, "sweep")) return op_sweep_command(argc, argv);
    if (!strcmp(command, "record")) return op_record_command(argc, argv);
    if (!strcmp(command, "replay")) return op_replay_command(argc, argv);
    if (!strcmp(command, "reduce")) return op_reduce_command(argc, argv);
    if (!strcmp(command, "import")) return op_import_command(argc, argv);
    if (!strcmp(command, "report")) return op_report_command(argc, argv);
    if (!strcmp(command, "trace")) return op_trace_command(argc, argv);
    if (!strcmp(command, "calls")) return op_calls_command(argc, argv);
    return op_doctor_command(argc, argv);
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    op_file_too_large_is_an_error();
    for (int fd = open("/dev/null", O_RDWR); fd >= 0 && fd <= 2;) fd = open("/dev/null", O_RDWR);
    static const char *const names[] = {"run",    "sweep", "record", "replay", "reduce", "import",
                                        "report", "trace", "calls",  "doctor", NULL};
    static char name[32];
    for (size_t i = 0; names[i]; i++)
        if (!strcmp(command, names[i])) {
            snprintf(name, sizeof name, "oomproof %s", command);
            op_command_name = name;
        }
    if (*name) {
        argv[1] = name; /* getopt's messages begin with it */
        optind = 1;
        return dispatch(command, argc - 1, argv + 1);
    }
    if (!strcmp(command, "--version")) {
        puts("oomproof " OOMPROOF_VERSION);
        return 0;
    }
    if (!strcmp(command, "help") && argc > 2) { /* help run: as run --help */
        char *asked[] = {argv[0], argv[2], "--help", NULL};
        return main(3, asked);
    }
    if (!strcmp(command, "--help") || !strcmp(command, "-h") || !strcmp(command, "help")) {
        fputs(help, stdout);
        return 0;
    }
    if (!*command)
        return op_usage("expected a command: run, sweep, record, replay, reduce, import, report, "
                        "doctor, calls or trace",
                        "");
    const char *near = op_nearest(command, names);
    fprintf(stderr,
            "oomproof: error: not a command of this version: %s%s%s%s. See oomproof --help\n",
            command, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    return 2;
}
