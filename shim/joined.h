/* joined.h - this process among those of a run: the counters that they share, and what is noted
 * there of the program that it runs. */
#ifndef OP_JOINED_H
#define OP_JOINED_H

/* At its start: op_shared is the run's, if there is one that can be opened. */
void op_join(void);
/* At its end: whether its calls went by unseen. */
void op_join_ends(void);
/* The file of the counters, as the environment named it at the start; "": none. */
const char *op_joined_file(void);

#endif
