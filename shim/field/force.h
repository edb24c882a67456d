/* force.h - in the preloaded library: fails again what failed in a recording, by call, site and
 * ordinal. The list comes from the environment (OOMPROOF_REPLAY, a file of lines
 * "call<tab>code<tab>ordinal<tab>site"). */
#ifndef OP_FIELD_FORCE_H
#define OP_FIELD_FORCE_H
#include "rules.h"

extern int op_forcing; /* there is a list */
void op_force_start(void);
void op_force_of_child(void); /* the child of a fork: the failures are not for it */
/* Counts c. 1: it is to fail, with *code. Under the shim's lock. */
int op_force(const op_call *c, int *code);

#endif
