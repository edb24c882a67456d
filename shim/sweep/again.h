/* again.h - a sweep as words for a shell, to be pasted: what its repetitions have in common. */
#ifndef OP_SWEEP_AGAIN_H
#define OP_SWEEP_AGAIN_H
#include "sweep/options.h"

/* The command that is swept. */
void op_again_command(char *out, size_t room, char *const *words);

/* `oomproof sweep` and the options that a repetition needs besides its point and its command. */
void op_again_options(char *out, size_t room, const op_sweep_options *o);

#endif
