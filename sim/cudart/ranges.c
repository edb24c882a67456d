/* ranges.c - a list of address ranges by address, and a place for the next: behind the last one
 * that was given, at the start again when the reservation has come to its end. */
#define _GNU_SOURCE
#include "ranges.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { UNIT = 2 << 20 };

int sim_ranges_open(sim_ranges *r, uint64_t most, uint64_t least)
{
#if defined __SANITIZE_THREAD__ /* has but little room for mappings, and keeps a shadow of them */
    if (most > (uint64_t)256 << 30) most = (uint64_t)256 << 30;
#endif
    if (most < least) most = least;
    for (;; most = most / 2 > least ? most / 2 : least) {
        char *p =
            mmap(NULL, most + UNIT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED && most == least) return 0;
        if (p == MAP_FAILED) continue;
        r->base = ((uint64_t)(uintptr_t)p + UNIT - 1) / UNIT * UNIT;
        r->span = most;
        r->next = r->base + SIM_GAP;
        return 1;
    }
}

/* The first range that ends behind an address. */
static size_t behind(const sim_ranges *r, uint64_t address)
{
    size_t low = 0, high = r->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (r->live[middle].from + r->live[middle].bytes > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static uint64_t aligned(uint64_t at, uint64_t align)
{
    return (at + align - 1) / align * align;
}

uint64_t sim_ranges_place(sim_ranges *r, size_t bytes, uint64_t align, char *host, void *owner)
{
    uint64_t end = r->base + r->span - SIM_GAP, at = aligned(r->next, align);
    if (r->n == r->room) {
        size_t room = r->room ? 2 * r->room : 64;
        sim_range *more = realloc(r->live, room * sizeof *more);
        if (!more) return 0;
        r->live = more;
        r->room = room;
    }
    size_t i = behind(r, at - SIM_GAP);
    for (int again = 0;;) {
        if (at > end || bytes > end - at) {
            if (again++) return 0;
            at = aligned(r->base + SIM_GAP, align);
            i = 0;
        } else if (i < r->n && r->live[i].from < at + bytes + SIM_GAP) {
            at = aligned(r->live[i].from + r->live[i].bytes + SIM_GAP, align);
            i++;
        } else {
            break;
        }
    }
    memmove(r->live + i + 1, r->live + i, (r->n - i) * sizeof *r->live);
    r->live[i] = (sim_range){at, bytes, host, owner, 0};
    r->n++;
    r->next = at + bytes + SIM_GAP;
    return at;
}

sim_range *sim_ranges_find(const sim_ranges *r, uint64_t address)
{
    size_t i = behind(r, address);
    return i < r->n && address >= r->live[i].from ? &r->live[i] : NULL;
}

void sim_ranges_remove(sim_ranges *r, uint64_t from)
{
    size_t i = behind(r, from);
    if (i == r->n || r->live[i].from != from) return;
    r->n--;
    memmove(r->live + i, r->live + i + 1, (r->n - i) * sizeof *r->live);
}
