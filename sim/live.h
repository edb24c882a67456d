/* live.h - handles and descriptors that a program has: which there are, so that one that was
 * destroyed is told from one that lives, and nothing is freed twice. Compiled into cuBLAS and into
 * cuDNN, each with a list of its own. Thread-safe. */
#ifndef SIM_LIVE_H
#define SIM_LIVE_H
#include <stddef.h>

void *sim_live_new(int kind, size_t bytes);      /* zeros; NULL: no memory */
int sim_live_is(const void *object, int kind);   /* one of that kind; NULL is none */
int sim_live_take(const void *object, int kind); /* off the list, for who destroys it; 0: was not */
void sim_live_free(void *object);                /* that was taken */

#endif
