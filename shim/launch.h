/* launch.h - how the commands start a program under the shim. */
#ifndef OP_LAUNCH_H
#define OP_LAUNCH_H
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* sim, gpu or auto -> 1 for the simulated device, 0 for NVIDIA's libraries, -1 for another word */
int op_device(const char *word);
/* The file that execvp would start; 0: none. */
int op_program(const char *name, char *out, size_t room);
/* The folder that bin/, lib/ and sim/ lie in; 0: not found. */
int op_root(char *out, size_t room);
/* The same by a name that LD_PRELOAD can hold; 0: there is none, which was said. */
int op_loader_root(char *out, size_t room);
/* The path from the root, in room if need be: a process that the command starts elsewhere writes
 * beside it all the same. */
const char *op_from_the_root(const char *path, char *room, size_t bytes);
/* A full quota or a limit on the size of files must not end us silently. */
void op_file_too_large_is_an_error(void);
/* The simulated device's libraries: root/sim in a build folder, root/lib/oomproof/sim installed. */
void op_sim_folder(const char *root, char *out, size_t room);
/* LD_PRELOAD, the device, and what the preloaded library reads. Any may be NULL. */
void op_environment(const char *root, int sim, const char *memory, const char *faults,
                    const char *stats, const char *sweep);
/* "oomproof: error: ..."; 2 */
extern const char *op_command_name; /* as the user said it: "oomproof sweep" */
int op_usage(const char *what, const char *value);
struct option;
/* After getopt has said which it does not know: the nearest of the table; 2. */
int op_usage_option(const struct option *table, char *const *argv);

/* The command in the place of this process. Where it cannot be started, which is said, it returns.
 */
void op_exec(char *const *command);
enum { OP_NOT_STARTED = 127 }; /* exit code, as a shell's */
/* After getopt: the option's value is the -- before the command; 2: it was, which was said. */
int op_usage_value(char *const *argv);
/* "-" is standard output. */
const char *op_output_named(const char *path);
/* As fopen; of /dev/stdout and /dev/stderr what is open there, wherever it has come to. */
FILE *op_output_open(const char *path, const char *mode);

int op_record_command(int argc, char **argv);
int op_import_command(int argc, char **argv);
/* The page of one sweep's JSON; 7: it cannot be made, which was said. */
int op_report_page(const char *json, const char *page);
int op_report_command(int argc, char **argv);
int op_reduce_command(int argc, char **argv);
int op_replay_command(int argc, char **argv);
int op_run_command(int argc, char **argv);
int op_sweep_command(int argc, char **argv);
int op_trace_command(int argc, char **argv);
int op_doctor_command(int argc, char **argv);
int op_calls_command(int argc, char **argv);
extern const char op_run_help[], op_sweep_help[], op_trace_help[], op_doctor_help[],
    op_calls_help[];

#endif
