/* live.c - pointer -> size, open addressing. Removed entries leave a mark that a later entry takes;
 * the table is made anew when marks and entries fill half of it, larger only if the entries need
 * it, so it does not grow over a run of weeks. */
#include "live.h"
#include "gate.h"
#include <stdlib.h>

typedef op_live_block slot;
#define GONE ((void *)1)

struct op_live {
    op_gate gate;
    slot *table;
    size_t slots, taken, entries; /* taken: entries and marks */
    uint64_t live, peak, numbers;
};
op_live op_runtime_live, op_driver_live;

static size_t home(const void *p, size_t n)
{
    return ((uintptr_t)p >> 9) * 0x9e3779b97f4a7c15u >> 20 & (n - 1); /* n: a power of 2 */
}

/* Read without the gate by those who only want to know about how much. */
static void set_live(op_live *l, uint64_t bytes)
{
    __atomic_store_n(&l->live, bytes, __ATOMIC_RELAXED);
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

/* Field by field: a struct that was just written so is slow to copy at once. */
static void put(op_live *l, void *p, uint64_t asked, uint64_t number)
{
    size_t k = home(p, l->slots);
    while (l->table[k].p && l->table[k].p != GONE) k = (k + 1) & (l->slots - 1);
    l->taken += !l->table[k].p;
    l->entries++;
    slot *s = &l->table[k];
    s->p = p;
    s->bytes = (asked + 511) / 512 * 512;
    s->asked = asked;
    s->number = number;
    set_live(l, l->live + s->bytes);
    if (l->live > l->peak) l->peak = l->live;
}

uint64_t op_live_add(op_live *l, void *p, uint64_t bytes)
{
    uint64_t number = 0;
    op_gate_enter(&l->gate);
    if (2 * (l->taken + 1) <= l->slots || make_anew(l)) {
        number = ++l->numbers;
        put(l, p, bytes, number);
    }
    op_gate_leave(&l->gate);
    return number;
}

static uint64_t take_out(op_live *l, void *p, op_live_block *was)
{
    if (!l->slots) return 0;
    for (size_t k = home(p, l->slots); l->table[k].p; k = (k + 1) & (l->slots - 1))
        if (l->table[k].p == p) {
            slot *s = &l->table[k];
            s->p = GONE;
            l->entries--;
            was->p = p;
            was->bytes = s->bytes;
            was->asked = s->asked;
            was->number = s->number;
            set_live(l, l->live - s->bytes);
            return s->bytes;
        }
    return 0;
}

uint64_t op_live_take(op_live *l, void *p, op_live_block *was)
{
    op_gate_enter(&l->gate);
    uint64_t bytes = take_out(l, p, was);
    op_gate_leave(&l->gate);
    return bytes;
}

uint64_t op_live_remove(op_live *l, void *p, uint64_t *number)
{
    op_live_block was = {0};
    op_live_take(l, p, &was);
    if (number && was.p) *number = was.number;
    return was.bytes;
}

void op_live_put_back(op_live *l, const op_live_block *was)
{
    op_gate_enter(&l->gate);
    if (2 * (l->taken + 1) <= l->slots || make_anew(l)) put(l, was->p, was->asked, was->number);
    op_gate_leave(&l->gate);
}

void op_live_clear(op_live *l)
{
    op_gate_enter(&l->gate);
    free(l->table);
    l->table = NULL;
    l->slots = l->taken = l->entries = 0;
    set_live(l, 0);
    op_gate_leave(&l->gate);
}

uint64_t op_live_now(const op_live *l)
{
    return __atomic_load_n(&l->live, __ATOMIC_RELAXED);
}

uint64_t op_live_peak(op_live *l, int reset)
{
    op_gate_enter(&l->gate);
    uint64_t p = l->peak;
    if (reset) l->peak = l->live;
    op_gate_leave(&l->gate);
    return p;
}

void op_live_hold(void)
{
    op_gate_enter(&op_runtime_live.gate);
    op_gate_enter(&op_driver_live.gate);
}

void op_live_let_go(void)
{
    op_gate_leave(&op_driver_live.gate);
    op_gate_leave(&op_runtime_live.gate);
}

static int by_address(const void *a, const void *b)
{
    const slot *x = a, *y = b;
    return x->p < y->p ? -1 : x->p > y->p;
}

op_live_block *op_live_list(op_live *l, size_t *n)
{
    op_gate_enter(&l->gate);
    slot *list = malloc((l->entries + 1) * sizeof *list);
    *n = 0;
    for (size_t i = 0; list && i < l->slots; i++)
        if (l->table[i].p && l->table[i].p != GONE) list[(*n)++] = l->table[i];
    op_gate_leave(&l->gate);
    if (list) qsort(list, *n, sizeof *list, by_address);
    return list;
}
