/* recomputed.c - a step's buffers, computed again by the program: for the points that were trained
 * alone, and in a wider type, which says how far a rounding takes them. */
#define _GNU_SOURCE
#include "compared.h"
#include "oomproof.h"
#include "state.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

typedef int compute(void *user);
static compute *compute_again, *compute_wider;
static void *again_user, *wider_user;
static double times_wider;

API void op_reference(compute *fn, void *user)
{
    compute_again = fn;
    again_user = user;
}

API void op_wider(compute *fn, void *user, double times)
{
    compute_wider = fn;
    wider_user = user;
    times_wider = times;
}

static int restore(const char *start)
{
    int ok = 1;
    op_within within;
    op_enter(&within);
    for (int i = 0; i < op_nbuffers; start += op_buffers_all[i++].bytes) {
        const op_compared *b = &op_buffers_all[i];
        if (!b->on_device)
            memcpy((void *)b->p, start, b->bytes);
        else
            ok &= REAL(cudaMemcpy)((void *)b->p, start, b->bytes, cudaMemcpyHostToDevice) ==
                  cudaSuccess;
    }
    op_leave(&within);
    return ok;
}

/* From the step's beginning. 0: it cannot be. */
static int computed(compute *fn, void *user)
{
    size_t bytes;
    char *start = op_map_state("start.bin", &bytes);
    op_sweep_calm();
    int ok = restore(start) && fn(user) == 0;
    if (start) munmap(start, bytes);
    return ok;
}

/* Of the buffers with a tolerance. */
static void fetch_all(void **to)
{
    for (int i = 0; i < op_nbuffers; i++) {
        const op_compared *b = &op_buffers_all[i];
        to[i] = op_is_of_numbers(b) && b->tolerance > 0 ? op_buffers_fetch(b) : NULL;
    }
}

static void free_all(void **of)
{
    for (int i = 0; i < op_nbuffers; i++) free(of[i]);
}

/* What had differs by from the same in a wider type, times what the program says. All 0: it does
 * not say, or that is no number (an overflow). Buffers are not what they were after it. */
static op_rounding allowed(void **had)
{
    void *wider[OP_BUFFERS];
    op_rounding r = {0};
    if (!compute_wider || !computed(compute_wider, wider_user)) return r;
    fetch_all(wider);
    r.worst = times_wider * op_worst_apart(had, wider);
    r.length = times_wider * op_length_apart(had, wider);
    free_all(wider);
    return isfinite(r.worst) && isfinite(r.length) ? r : (op_rounding){0};
}

op_rounding op_buffers_rounding(void)
{
    void *had[OP_BUFFERS];
    if (!compute_wider) return (op_rounding){0};
    fetch_all(had);
    op_rounding r = allowed(had);
    free_all(had);
    return r;
}

int op_buffers_recomputed(op_result *r)
{
    void *had[OP_BUFFERS], *alone[OP_BUFFERS];
    if (!compute_again) {
        snprintf(r->why, sizeof r->why,
                 "the gradient was not compared: the program does not say "
                 "how (oomproof_reference)");
        return 1;
    }
    fetch_all(had);
    if (!computed(compute_again, again_user)) {
        snprintf(r->why, sizeof r->why,
                 "the gradient was not compared: it could not be computed "
                 "again from the step's beginning");
        free_all(had);
        return 1;
    }
    fetch_all(alone);
    op_rounding rounding = allowed(alone);
    int ok = op_agree(r, had, alone, &rounding, " from what the points that were trained give");
    free_all(had), free_all(alone);
    return ok;
}
