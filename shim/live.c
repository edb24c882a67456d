/* live.c - pointer -> size, open addressing. Removed entries leave a mark that a later entry takes;
 * the table is made anew when marks and entries fill half of it, larger only if the entries need
 * it, so it does not grow over a run of weeks. */
#include "live.h"
#include <stdlib.h>

typedef op_live_block slot;
#define GONE ((void *)1)

struct op_live {
    slot *table;
    size_t slots, taken, entries; /* taken: entries and marks */
    uint64_t live, peak, numbers;
};
op_live op_runtime_live, op_driver_live;

static size_t home(const void *p, size_t n)
{
    return ((uintptr_t)p >> 9) * 0x9e3779b97f4a7c15u >> 20 & (n - 1); /* n: a power of 2 */
}

static int make_anew(op_live *l)
{
    size_t n = l->slots ? l->slots : 1024;
    while (4 * (l->entries + 1) > n) n *= 2;
    slot *fresh = calloc(n, sizeof *fresh);
    if (!fresh) return 0;
    for (size_t i = 0; i < l->slots; i++) {
        if (!l->table[i].p || l->table[i].p == GONE) continue;
        size_t k = home(l->table[i].p, n);
        while (fresh[k].p) k = (k + 1) & (n - 1);
        fresh[k] = l->table[i];
    }
    free(l->table);
    l->table = fresh;
    l->slots = n;
    l->taken = l->entries;
    return 1;
}

uint64_t op_live_add(op_live *l, void *p, uint64_t bytes)
{
    if (2 * (l->taken + 1) > l->slots && !make_anew(l)) return 0;
    size_t k = home(p, l->slots);
    while (l->table[k].p && l->table[k].p != GONE) k = (k + 1) & (l->slots - 1);
    l->taken += !l->table[k].p;
    l->entries++;
    l->table[k] = (slot){p, (bytes + 511) / 512 * 512, bytes, ++l->numbers};
    __atomic_store_n(&l->live, l->live + l->table[k].bytes, __ATOMIC_RELAXED);
    if (l->live > l->peak) l->peak = l->live;
    return l->numbers;
}

uint64_t op_live_remove(op_live *l, void *p, uint64_t *number)
{
    if (!l->slots) return 0;
    for (size_t k = home(p, l->slots); l->table[k].p; k = (k + 1) & (l->slots - 1))
        if (l->table[k].p == p) {
            l->table[k].p = GONE;
            l->entries--;
            __atomic_store_n(&l->live, l->live - l->table[k].bytes, __ATOMIC_RELAXED);
            if (number) *number = l->table[k].number;
            return l->table[k].bytes;
        }
    return 0;
}

void op_live_clear(op_live *l)
{
    free(l->table);
    l->table = NULL;
    l->slots = l->taken = l->entries = 0;
    __atomic_store_n(&l->live, 0, __ATOMIC_RELAXED);
}

uint64_t op_live_now(const op_live *l)
{
    return __atomic_load_n(&l->live, __ATOMIC_RELAXED); /* one thread may change it meanwhile */
}

uint64_t op_live_peak(op_live *l, int reset)
{
    uint64_t p = l->peak;
    if (reset) l->peak = l->live;
    return p;
}

static int by_address(const void *a, const void *b)
{
    const slot *x = a, *y = b;
    return x->p < y->p ? -1 : x->p > y->p;
}

op_live_block *op_live_list(const op_live *l, size_t *n)
{
    slot *list = malloc((l->entries + 1) * sizeof *list);
    *n = 0;
    for (size_t i = 0; list && i < l->slots; i++)
        if (l->table[i].p && l->table[i].p != GONE) list[(*n)++] = l->table[i];
    if (list) qsort(list, *n, sizeof *list, by_address);
    return list;
}
