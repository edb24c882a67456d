/* replay.h - a run against a recording. */
#ifndef OP_REPLAY_H
#define OP_REPLAY_H
#include "field/spawn.h"

/* The file that OOMPROOF_REPLAY names, for the failures of f, or those with keep[i] set. How many;
 * -1: it cannot be written. */
int op_replay_force(const op_fixture *f, const char *keep, const char *path);

/* Before each run: no ring, and the failures of no process yet. */
void op_replay_anew(const op_spawn *s);

/* Failures and steps in their order, up to the recording's last. 0 with the first that differs. */
int op_replay_compare(const op_fixture *want, const op_fixture *got, char *out, size_t room);

#endif
