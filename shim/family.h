/* family.h - a command and all that it starts: waited for to the end, told of signals, stopped. */
#ifndef OP_FAMILY_H
#define OP_FAMILY_H
#include <sys/types.h>

enum { OP_LINGER = 10 }; /* seconds in which what outlives the command is waited for */

typedef struct op_ending {
    int hung; /* the command was stopped for its time */
    int told; /* the last signal that asked us to end meanwhile; 0: none */
    int left; /* processes that it started and that still run */
    pid_t first;
    char name[32]; /* of the first of them */
} op_ending;

/* Forks; 0: in the child, whose signals are as they were. What its children leave behind becomes
 * ours. */
pid_t op_family_begin(void);
/* The status of the command, which gets seconds (0: for ever), with its stacks where that is too
 * little (quiet 0); then what it left behind, for OP_LINGER or the rest of its seconds. Signals
 * that ask a program to end go to the command meanwhile, and end us afterwards, as ever. */
int op_family_wait(pid_t pid, int seconds, int quiet, op_ending *end);

#endif
