/* stacks.h - what a command that does not end is doing. */
#ifndef OP_STACKS_H
#define OP_STACKS_H
#include <sys/types.h>

/* On stderr, every thread of each process of the tree: root, its descendants, its process group. */
void op_stacks(pid_t root);
/* Kills the same processes. */
void op_kill_tree(pid_t root);

#endif
