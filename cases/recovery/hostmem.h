/* hostmem.h - host memory that runs out when a case says so: malloc, calloc, realloc and free of
 * the program, not of its libraries, go through it (the linker's --wrap). */
#ifndef HOSTMEM_H
#define HOSTMEM_H

/* From now on the nth allocation, counted from 1, fails (0: none); and all later ones too. */
void host_fail(int nth, int and_later);
/* Ends it; returns how many allocations failed. */
int host_ended(void);
/* Blocks that were allocated and not freed, since the program started. */
long host_blocks(void);

#endif
