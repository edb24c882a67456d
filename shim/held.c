/* held.c - the device bytes that the program holds, by the runtime and by the driver, and those
 * that a budget has let through and that are on their way. */
#define _GNU_SOURCE
#include "live.h"
#include "state.h"
#include <stdlib.h>

/* the functions of the control API are declared weak, for programs, in oomproof.h */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static uint64_t promised[2]; /* bytes, of the runtime and the driver; under the lock */
__thread uint64_t op_awaited LOCAL;
static __thread int awaited_driver LOCAL;

void op_promise(const op_call *c)
{
    uint64_t rounded = op_rounded(c);
    op_awaited = c->host || rounded > UINT64_MAX / 2 ? 0 : rounded;
    awaited_driver = op_table[c->id].lib == OP_DRIVER;
    promised[awaited_driver] += op_awaited;
}

/* ---- rows ---- */
static size_t unit = 512; /* a pitch is a multiple of it; more, once one was seen */

size_t op_pitched(size_t width)
{
    size_t u = OP_READ(unit);
    return width > SIZE_MAX - u ? width : (width + u - 1) / u * u;
}

size_t op_pitch_seen(size_t width, size_t pitch)
{
    while (width && op_pitched(width) < pitch && OP_READ(unit) < 1 << 20)
        OP_WRITE(unit, 2 * OP_READ(unit));
    return pitch;
}

uint64_t op_promised_or_live(const op_call *c)
{
    int driver = op_table[c->id].lib == OP_DRIVER;
    return op_live_now(driver ? &op_driver_live : &op_runtime_live) + promised[driver];
}

static uint64_t add(op_live *l, void *p, uint64_t bytes)
{
    if (!op_awaited) return op_live_add(l, p, bytes);
    op_gate_enter(&op_lock);
    uint64_t number = op_live_add(l, p, bytes);
    promised[awaited_driver] -= op_awaited;
    op_awaited = 0;
    op_gate_leave(&op_lock);
    return number;
}

uint64_t op_not_allocated(void)
{
    if (!op_awaited) return 0;
    op_gate_enter(&op_lock);
    promised[awaited_driver] -= op_awaited;
    op_awaited = 0;
    op_gate_leave(&op_lock);
    return 0;
}

uint64_t op_allocated(void *p, uint64_t bytes)
{
    return add(&op_runtime_live, p, bytes);
}
/* Before the real call: once it returns, another thread may be given the same address. */
static __thread op_live_block freeing LOCAL;
uint64_t op_freeing(void *p, uint64_t *number)
{
    freeing.number = 0;
    uint64_t bytes = op_live_take(&op_runtime_live, p, &freeing);
    *number = freeing.number;
    return bytes;
}
void op_not_freed(void)
{
    op_live_put_back(&op_runtime_live, &freeing);
}
uint64_t op_driver_allocated(void *p, uint64_t bytes)
{
    return add(&op_driver_live, p, bytes);
}
uint64_t op_driver_freeing(void *p, uint64_t *number)
{
    freeing.number = 0;
    uint64_t bytes = op_live_take(&op_driver_live, p, &freeing);
    *number = freeing.number;
    return bytes;
}
void op_driver_not_freed(void)
{
    op_live_put_back(&op_driver_live, &freeing);
}

int op_is_live(const void *p, uint64_t bytes)
{
    size_t n = 0;
    int found = 0;
    op_live_block *list = op_live_list(&op_runtime_live, &n);
    for (size_t i = 0; i < n && !found; i++)
        found = (const char *)p >= (char *)list[i].p &&
                (const char *)p + bytes <= (char *)list[i].p + list[i].bytes;
    free(list);
    return found;
}

void op_freed_all(void)
{
    op_live_clear(&op_runtime_live);
}

/* ---- the control API ---- */
API uint64_t op_live_bytes(void)
{
    return op_live_now(&op_runtime_live);
}

API uint64_t op_peak_bytes(int reset)
{
    return op_live_peak(&op_runtime_live, reset);
}
