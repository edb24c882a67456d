/* nothing.h - what went by unseen in a run, of all of it or of some of its programs: why, and
 * whether that is as it should be. */
#ifndef OP_NOTHING_H
#define OP_NOTHING_H
#include "stats.h"

/* Says on stderr what is to be said, with the remedy. 4: calls may have gone by unseen; 0: none can
 * have. failed: the command did not end well, and may have made none. */
int op_nothing_seen(const op_stats *s, const char *command, int seen, int rules, int failed);

#endif
