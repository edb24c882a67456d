/* scratch.h - a folder for the files that a command needs while it runs, in TMPDIR or /tmp. What
 * one left that was killed, the next removes: a lock that the folder's maker holds tells it. */
#ifndef OP_SCRATCH_H
#define OP_SCRATCH_H
#include <stddef.h>

enum { OP_SCRATCH_ROOM = 512 };
/* Makes oomproof.WHAT.XXXXXX and says where; 0: it cannot be, which was said. */
int op_scratch(const char *what, char path[OP_SCRATCH_ROOM]);
/* With all that is in it. */
void op_scratch_remove(const char *path);

#endif
