/* meet.c - where the threads of a block wait for each other: barriers, and everything warp-wide. */
#define _GNU_SOURCE
#include "worker.h"
#include <string.h>

/* ---- barriers ---- */
/* A part of the block is counted in w->warps: a full 32 when all lanes that have not w->ended are
 * here.
 */
static int is_complete(const worker *w, int id)
{
    uint32_t here = 0;
    if (!w->barriers[id].count)
        return w->started == w->threads && w->barriers[id].n == w->threads - w->ended;
    for (uint32_t k = 0; k * 32 < w->threads; k++)
        if (w->barriers[id].arrived[k] && !(w->warps[k].live & ~w->barriers[id].arrived[k]))
            here += 32;
    return here >= w->barriers[id].count;
}

static void release_barriers(worker *w)
{
    for (int id = 0; id < 16; id++) {
        uint32_t n = w->barriers[id].n, yes = 0;
        if (!(n || w->barriers[id].count) || !is_complete(w, id)) continue;
        for (uint32_t i = 0; i < n; i++) yes += w->barriers[id].waiting[i]->pred != 0;
        for (uint32_t i = 0; i < n; i++) {
            fiber *f = w->barriers[id].waiting[i];
            f->out = f->op == SIM_BAR_POPC ? yes : f->op == SIM_BAR_AND ? yes == n : yes != 0;
            sim_enqueue(w, f);
        }
        w->barriers[id].n = w->barriers[id].count = 0;
        memset(w->barriers[id].arrived, 0, sizeof w->barriers[id].arrived);
    }
}

uint32_t sim_barrier(sim_ctx *c, uint32_t id, uint32_t count, int op, int pred)
{
    worker *w = (worker *)c;
    fiber *me = w->current;
    if (id > 15)
        sim_raise(c, SIM_ILLEGAL_INSTRUCTION, w->running->name, 0, "barrier number above 15");
    if (count % 32 || count > SIM_THREADS)
        sim_raise(c, SIM_ILLEGAL_INSTRUCTION, w->running->name, 0, "a barrier of no whole warps");
    if (count) {
        uint32_t lane = 1u << (me->index & 31), *arrived = &w->barriers[id].arrived[me->index >> 5];
        if (w->barriers[id].count ? w->barriers[id].count != count : w->barriers[id].n)
            sim_raise(c, SIM_TRAP, w->running->name, 0,
                      "threads name different counts at a barrier");
        if (*arrived & lane)
            sim_raise(c, SIM_TRAP, w->running->name, 0, "a thread arrives twice at a barrier");
        w->barriers[id].count = count;
        *arrived |= lane;
    } else if (w->barriers[id].count)
        sim_raise(c, SIM_TRAP, w->running->name, 0, "threads name different counts at a barrier");
    me->op = op;
    me->pred = pred;
    if (op != SIM_BAR_ARRIVE) w->barriers[id].waiting[w->barriers[id].n++] = me;
    release_barriers(w);
    if (op != SIM_BAR_ARRIVE) sim_park(w);
    return (uint32_t)me->out;
}

/* ---- warps ---- */
/* PTX shfl: the lane to read from, and whether it is in range. */
static uint32_t shuffle_source(uint32_t lane, const fiber *f, int *in_range)
{
    uint32_t seg = f->clamp >> 8 & 31, b = f->b & 31, max = (lane & seg) | (f->clamp & 31 & ~seg);
    int64_t j;
    switch (f->op) {
    case SIM_SHFL_UP:
        j = (int64_t)lane - b;
        *in_range = j >= (int64_t)max;
        break;
    case SIM_SHFL_DOWN:
        j = (int64_t)lane + b;
        *in_range = j <= (int64_t)max;
        break;
    case SIM_SHFL_BFLY:
        j = lane ^ b;
        *in_range = j <= (int64_t)max;
        break;
    default:
        j = (lane & seg) | (b & ~seg);
        *in_range = j <= (int64_t)max;
        break;
    }
    return *in_range ? (uint32_t)j : lane;
}

/* PTX redux: values come extended to 64 bits as their type says, so that they compare as signed. */
static uint64_t reduced(const warp *w, uint32_t mask, int op)
{
    uint64_t all = 0;
    int first = 1;
    for (uint32_t l = 0; l < 32; l++) {
        if (!(mask >> l & 1)) continue;
        uint64_t x = w->lane[l]->in;
        if (first)
            all = x;
        else
            switch (op) {
            case SIM_REDUX_ADD: all += x; break;
            case SIM_REDUX_MIN: all = (int64_t)x < (int64_t)all ? x : all; break;
            case SIM_REDUX_MAX: all = (int64_t)x > (int64_t)all ? x : all; break;
            case SIM_REDUX_AND: all &= x; break;
            case SIM_REDUX_OR: all |= x; break;
            default: all ^= x; break;
            }
        first = 0;
    }
    return all;
}

static void complete(warp *w, uint32_t mask)
{
    uint32_t ballot = 0;
    for (uint32_t l = 0; l < 32; l++) ballot |= (mask >> l & 1 && w->lane[l]->in) ? 1u << l : 0;
    for (uint32_t l = 0; l < 32; l++) {
        if (!(mask >> l & 1)) continue;
        fiber *f = w->lane[l];
        uint32_t same = 0;
        switch (f->op) {
        case SIM_BALLOT:
        case SIM_SYNCWARP:
            f->out = ballot;
            f->pred = ballot == mask;
            break;
        case SIM_MATCH_ANY:
        case SIM_MATCH_ALL:
            for (uint32_t k = 0; k < 32; k++)
                if (mask >> k & 1 && w->lane[k]->in == f->in) same |= 1u << k;
            f->pred = same == mask;
            f->out = f->op == SIM_MATCH_ANY || f->pred ? same : 0;
            break;
        case SIM_REDUX_ADD:
        case SIM_REDUX_MIN:
        case SIM_REDUX_MAX:
        case SIM_REDUX_AND:
        case SIM_REDUX_OR:
        case SIM_REDUX_XOR: f->out = reduced(w, mask, f->op); break;
        default: {
            uint32_t from = shuffle_source(l, f, &f->pred);
            f->out = mask >> from & 1 ? w->lane[from]->in : f->in;
        }
        }
    }
}

uint64_t sim_warp(sim_ctx *c, int op, uint32_t mask, uint64_t value, uint32_t b, uint32_t clamp,
                  int *pred)
{
    worker *w = (worker *)c;
    fiber *me = w->current;
    warp *p = &w->warps[me->index >> 5];
    uint32_t lane = me->index & 31;
    int g = 0;
    if (!(mask >> lane & 1))
        sim_raise(c, SIM_TRAP, w->running->name, 0,
                  "a warp operation whose mask does not name the calling lane");
    me->in = value;
    me->op = op;
    me->b = b;
    me->clamp = clamp;
    p->lane[lane] = me;
    while (g < p->ngroups && p->group[g].mask != mask) g++;
    if (g == p->ngroups) {
        p->group[p->ngroups].mask = mask;
        p->group[p->ngroups++].arrived = 0;
    }
    p->group[g].arrived |= 1u << lane;
    if (p->group[g].arrived == (mask & p->live)) {
        uint32_t all = p->group[g].arrived;
        p->group[g] = p->group[--p->ngroups];
        complete(p, all);
        for (uint32_t l = 0; l < 32; l++)
            if (all >> l & 1 && l != lane) sim_enqueue(w, p->lane[l]);
    } else
        sim_park(w);
    *pred = me->pred;
    return me->out;
}

static void lane_ends(worker *k, const fiber *me)
{
    warp *w = &k->warps[me->index >> 5];
    w->live &= ~(1u << (me->index & 31));
    for (int g = 0; g < w->ngroups; g++) {
        uint32_t all = w->group[g].arrived;
        if (all != (w->group[g].mask & w->live)) continue;
        w->group[g--] = w->group[--w->ngroups];
        complete(w, all);
        for (uint32_t l = 0; l < 32; l++)
            if (all >> l & 1) sim_enqueue(k, w->lane[l]);
    }
}

void sim_thread_ends(worker *w, fiber *me)
{
    lane_ends(w, me);
    release_barriers(w);
}

void sim_block_begins(worker *w)
{
    for (int i = 0; i < 16; i++) /* arrivals that nobody waited for end with their block */
        if (w->barriers[i].n || w->barriers[i].count)
            memset(&w->barriers[i], 0, sizeof w->barriers[i]);
    for (uint32_t k = 0; k * 32 < w->threads; k++) {
        uint32_t lanes = w->threads - k * 32;
        w->warps[k].live = lanes >= 32 ? UINT32_MAX : (1u << lanes) - 1;
        w->warps[k].ngroups = 0;
    }
}
