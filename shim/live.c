/* live.c - pointer -> size, open addressing. Removed entries leave a mark that a later entry takes;
 * the table is made anew when marks and entries fill half of it, larger only if the entries need
 * it, so it does not grow over a run of weeks. */
#include "live.h"
#include <stdlib.h>

typedef op_live_block slot;
#define GONE ((void *)1)

static slot *table;
static size_t slots, taken, entries; /* taken: entries and marks */
static uint64_t live, peak;

static size_t home(const void *p, size_t n)
{
    return ((uintptr_t)p >> 9) * 0x9e3779b97f4a7c15u % n;
}

static int make_anew(void)
{
    size_t n = slots ? slots : 1024;
    while (4 * (entries + 1) > n) n *= 2;
    slot *fresh = calloc(n, sizeof *fresh);
    if (!fresh) return 0;
    for (size_t i = 0; i < slots; i++) {
        if (!table[i].p || table[i].p == GONE) continue;
        size_t k = home(table[i].p, n);
        while (fresh[k].p) k = (k + 1) % n;
        fresh[k] = table[i];
    }
    free(table);
    table = fresh;
    slots = n;
    taken = entries;
    return 1;
}

uint64_t op_live_add(void *p, uint64_t bytes)
{
    static uint64_t numbers;
    if (2 * (taken + 1) > slots && !make_anew()) return 0;
    size_t k = home(p, slots);
    while (table[k].p && table[k].p != GONE) k = (k + 1) % slots;
    taken += !table[k].p;
    entries++;
    table[k] = (slot){p, (bytes + 511) / 512 * 512, bytes, ++numbers};
    live += table[k].bytes;
    if (live > peak) peak = live;
    return numbers;
}

uint64_t op_live_remove(void *p, uint64_t *number)
{
    if (!slots) return 0;
    for (size_t k = home(p, slots); table[k].p; k = (k + 1) % slots)
        if (table[k].p == p) {
            table[k].p = GONE;
            entries--;
            live -= table[k].bytes;
            if (number) *number = table[k].number;
            return table[k].bytes;
        }
    return 0;
}

void op_live_clear(void)
{
    free(table);
    table = NULL;
    slots = taken = entries = 0;
    live = 0;
}

uint64_t op_live_now(void)
{
    return live;
}

uint64_t op_live_peak(int reset)
{
    uint64_t p = peak;
    if (reset) peak = live;
    return p;
}

static int by_address(const void *a, const void *b)
{
    const slot *x = a, *y = b;
    return x->p < y->p ? -1 : x->p > y->p;
}

op_live_block *op_live_list(size_t *n)
{
    slot *list = malloc((entries + 1) * sizeof *list);
    *n = 0;
    for (size_t i = 0; list && i < slots; i++)
        if (table[i].p && table[i].p != GONE) list[(*n)++] = table[i];
    if (list) qsort(list, *n, sizeof *list, by_address);
    return list;
}
