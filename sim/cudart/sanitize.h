/* sanitize.h - tells a sanitizer that built this library (cmake presets asan, tsan) which stack a
 * host thread is on: they keep a shadow of it. Nothing in other builds. Needs _GNU_SOURCE. */
#ifndef SIM_SANITIZE_H
#define SIM_SANITIZE_H
#include <stddef.h>

typedef struct sim_shadow {
    void *of;           /* TSan: its record of the stack. ASan: what it saved when it was left */
    const void *bottom; /* ASan: of the stack */
    size_t bytes;
} sim_shadow;

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
/* Functions that leave one stack in their middle and are never gone back to on it. */
#define SIM_NO_SHADOW __attribute__((no_sanitize("thread")))

static inline void sim_shadow_fresh(sim_shadow *s, void *bottom, size_t bytes)
{
    (void)bottom, (void)bytes;
    if (!s->of) s->of = __tsan_create_fiber(0);
}
static inline void sim_shadow_outside(sim_shadow *s)
{
    s->of = __tsan_get_current_fiber();
}
SIM_NO_SHADOW static inline void sim_shadow_leave(sim_shadow *from, const sim_shadow *to)
{
    (void)from;
    __tsan_switch_to_fiber(to->of, 0);
}
static inline void sim_shadow_arrive(sim_shadow *s)
{
    (void)s;
}
#elif defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define SIM_NO_SHADOW

/* Threads that were stopped in their middle left their red zones behind. */
static inline void sim_shadow_fresh(sim_shadow *s, void *bottom, size_t bytes)
{
    *s = (sim_shadow){.bottom = bottom, .bytes = bytes};
    __asan_unpoison_memory_region(bottom, bytes);
}
static inline void sim_shadow_outside(sim_shadow *s)
{
    pthread_attr_t a;
    void *bottom = NULL;
    *s = (sim_shadow){0};
    if (pthread_getattr_np(pthread_self(), &a) != 0) return;
    if (pthread_attr_getstack(&a, &bottom, &s->bytes) == 0) s->bottom = bottom;
    pthread_attr_destroy(&a);
}
static inline void sim_shadow_leave(sim_shadow *from, const sim_shadow *to)
{
    __sanitizer_start_switch_fiber(from ? &from->of : NULL, to->bottom, to->bytes);
}
static inline void sim_shadow_arrive(sim_shadow *s)
{
    __sanitizer_finish_switch_fiber(s->of, NULL, NULL);
}
#else
#define SIM_NO_SHADOW
static inline void sim_shadow_fresh(sim_shadow *s, void *bottom, size_t bytes)
{
    (void)s, (void)bottom, (void)bytes;
}
static inline void sim_shadow_outside(sim_shadow *s)
{
    (void)s;
}
static inline void sim_shadow_leave(sim_shadow *from, const sim_shadow *to)
{
    (void)from, (void)to;
}
static inline void sim_shadow_arrive(sim_shadow *s)
{
    (void)s;
}
#endif
#endif
