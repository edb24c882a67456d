/* ranges.h - addresses that are given once: with room on both sides that nothing else gets, and
 * as late as possible again. For OOMPROOF_SIM_CHECK=1. */
#ifndef SIM_RANGES_H
#define SIM_RANGES_H
#include <stddef.h>
#include <stdint.h>

enum { SIM_GAP = 256 * 1024 }; /* bytes between two ranges, at least */

typedef struct sim_range {
    uint64_t from;
    size_t bytes;
    char *host;  /* its contents */
    void *owner; /* what the user of this wants to know */
    int going;   /* freed by the program; work that was queued before may still use it */
} sim_range;

typedef struct sim_ranges {
    uint64_t base, span; /* a reservation without access */
    uint64_t next;       /* where the next one goes */
    sim_range *live;     /* by address */
    size_t n, room;
} sim_ranges;

/* Reserves up to `most` bytes, at least `least`; 0: not even those, errno tells why. */
int sim_ranges_open(sim_ranges *r, uint64_t most, uint64_t least);
/* The address of a new range; 0: no room in the address space, or for the list. */
uint64_t sim_ranges_place(sim_ranges *r, size_t bytes, uint64_t align, char *host, void *owner);
sim_range *sim_ranges_find(const sim_ranges *r, uint64_t address); /* that it lies in, or NULL */
void sim_ranges_remove(sim_ranges *r, uint64_t from); /* the range that begins there, if any */

static inline int sim_ranges_hold(const sim_ranges *r, uint64_t address)
{
    return address - r->base < r->span;
}

#endif
