/* stacks.h - what a command that does not end is doing. */
#ifndef OP_STACKS_H
#define OP_STACKS_H
#include <sys/types.h>

/* The children that this process had before it started the command, as a shell that became it may
 * leave it some: none of what follows is about them. */
void op_strangers(void);
/* On stderr, every thread of each process that descends from this one. */
void op_stacks(void);
/* Kills the same processes, until there are none, and waits for those that were started here. */
void op_kill_tree(void);
/* How many of them there are; the first one's number and name. */
int op_left_behind(pid_t *first, char name[32]);

#endif
