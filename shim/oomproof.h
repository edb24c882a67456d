/* oomproof.h - the control API of the shim, for programs that want to say what they are doing.
 *
 * Header only. Every function does nothing, and returns what its comment says, in a process that
 * runs without liboomproof.so; so a program may call them always. No library to link.
 *
 * Strings are copied. All functions may be called from any thread. */
#ifndef OOMPROOF_H
#define OOMPROOF_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

#define OOMPROOF_API_VERSION 1

/* The shim defines these; the weak references are NULL without it. */
#define OOMPROOF_WEAK __attribute__((weak))
OOMPROOF_WEAK int op_api_version(void);
OOMPROOF_WEAK int op_arm(const char *rules, char *error, size_t error_bytes);
OOMPROOF_WEAK void op_disarm(void);
OOMPROOF_WEAK uint64_t op_fired(int rule);
OOMPROOF_WEAK uint64_t op_matched(int rule);
OOMPROOF_WEAK uint64_t op_calls(const char *call);
OOMPROOF_WEAK void op_reset_counters(void);
OOMPROOF_WEAK uint64_t op_live_bytes(void);
OOMPROOF_WEAK uint64_t op_peak_bytes(int reset);
OOMPROOF_WEAK const char *op_phase(const char *phase);
OOMPROOF_WEAK const char *op_tag(const char *tag);
struct op_step_summary;
OOMPROOF_WEAK void op_buffer(const char *name, const void *p, size_t bytes, int on_device, int type,
                             double tolerance);
OOMPROOF_WEAK int op_sweeping(void);
OOMPROOF_WEAK const char *op_folder(void);
OOMPROOF_WEAK void op_step_begin(void);
OOMPROOF_WEAK void op_sample(uint64_t points);
OOMPROOF_WEAK void op_bound(int64_t attempts);
OOMPROOF_WEAK void op_carried(int64_t points);
OOMPROOF_WEAK void op_reference(int (*fn)(void *user), void *user);
OOMPROOF_WEAK void op_wider(int (*fn)(void *user), void *user, double times);
OOMPROOF_WEAK void op_retry(const void *state, size_t bytes);
OOMPROOF_WEAK void op_step_end(const struct op_step_summary *summary);
OOMPROOF_WEAK void op_part_begin(const char *name);
OOMPROOF_WEAK void op_part_end(const char *name, const struct op_step_summary *summary);
OOMPROOF_WEAK void op_observe(void (*fn)(const char *call, uint64_t nth, void *user), void *user);

/* 1 when the shim is loaded. */
static inline int oomproof_present(void)
{
    return op_api_version != NULL;
}

/* Replaces the armed rules, also those of the command line, which reports these apart, by this text
 * (one rule a line or ';'), counters of the rules at zero.
 * Returns the number of rules, or -1 with "line L column C: ..." in error. 0 without the shim. */
static inline int oomproof_arm(const char *rules, char *error, size_t error_bytes)
{
    return op_arm ? op_arm(rules, error, error_bytes) : 0;
}
static inline void oomproof_disarm(void)
{
    if (op_disarm) op_disarm();
}
/* How often rule i (from 0, in the order of the text) has fired / has matched all its selectors. */
static inline uint64_t oomproof_fired(int rule)
{
    return op_fired ? op_fired(rule) : 0;
}
static inline uint64_t oomproof_matched(int rule)
{
    return op_matched ? op_matched(rule) : 0;
}

/* Calls seen so far of that name or glob ("cudaMalloc", "cublas*", "*"); counters restart at
 * oomproof_reset_counters. */
static inline uint64_t oomproof_calls(const char *call)
{
    return op_calls ? op_calls(call) : 0;
}
static inline void oomproof_reset_counters(void)
{
    if (op_reset_counters) op_reset_counters();
}

/* Device bytes allocated and not freed (each request rounded up to 512, pinned memory apart), and
 * their peak since the last reset. */
static inline uint64_t oomproof_live_bytes(void)
{
    return op_live_bytes ? op_live_bytes() : 0;
}
static inline uint64_t oomproof_peak_bytes(int reset)
{
    return op_peak_bytes ? op_peak_bytes(reset) : 0;
}

/* Names the phase / the call site of this thread's next calls, until the next name; NULL: none. A
 * site without a tag is "module:function#n", where n is the order in which the function's calls
 * were first executed: where threads, data or a failure change that order, tag them.
 * Returns the name before (valid until the thread ends). */
static inline const char *oomproof_phase(const char *phase)
{
    return op_phase ? op_phase(phase) : NULL;
}
static inline const char *oomproof_tag(const char *tag)
{
    return op_tag ? op_tag(tag) : NULL;
}

/* fn is called before every intercepted call, outside the shim's locks, on the calling thread; it
 * may not make CUDA calls. NULL: no observer. For tests ("at the first device call of a retry"). */
static inline void oomproof_observe(void (*fn)(const char *call, uint64_t nth, void *user),
                                    void *user)
{
    if (op_observe) op_observe(fn, user);
}

/* From other languages, by dlsym: the names are those of the op_ functions above. */

/* ---- what `oomproof sweep` judges by ----
 * A program that calls these is held, after each fault, against its run that never failed: see
 * oomproof(1). Without the shim, and outside of a sweep, they do nothing. */

/* A buffer that must be the same at the end of the step: parameters, moments, the gradient, state
 * of random numbers. name is copied; p must stay valid. type: 'f' float, 'd' double, 'b' bytes; 'x'
 * bytes that are the same where the step was split, too: a count of steps, the state of random
 * numbers; 's' scratch on the device, which a retry overwrites before it reads it: never compared.
 * Compared in every bit where the step was not split (nor regrouped); where it was, floats and
 * doubles with tolerance > 0 by max|d| / max(max|reference|, 1e-3 of the largest reference of all),
 * bytes of 'x' in every bit, the rest not at all. */
static inline void oomproof_buffer(const char *name, const void *p, size_t bytes, int on_device,
                                   int type, double tolerance)
{
    if (op_buffer) op_buffer(name, p, bytes, on_device, type, tolerance);
}

static inline void oomproof_step_begin(void)
{
    if (op_step_begin) op_step_begin();
}

/* The step's batch has one more sample (scene, document, image) of so many points (tokens, pixels):
 * a recording keeps the sizes, by which its batches can be made again. */
static inline void oomproof_sample(uint64_t points)
{
    if (op_sample) op_sample(points);
}

/* 1: in a sweep. What oomproof_retry takes need not be made otherwise. */
static inline int oomproof_sweeping(void)
{
    return op_sweeping && op_sweeping();
}
/* In a sweep, a folder for what the program would else write over a file that its next run begins
 * with: each run must begin alike. Ask whenever you write: a run that takes a fault has a folder of
 * its own, with what was written before it. NULL: not in a sweep. Goes with the sweep. */
static inline const char *oomproof_folder(void)
{
    return op_folder ? op_folder() : 0;
}
/* Before the first device call of a retry: everything on the host that decides how the step goes on
 * (queue, ledger, random numbers), as bytes. Two faults that lead to the same state, device memory
 * included, are judged once. */
static inline void oomproof_retry(const void *state, size_t bytes)
{
    if (op_retry) op_retry(state, bytes);
}

/* The most attempts that this step may take, said at its beginning: a sweep ends one that takes
 * more at its next oomproof_retry, where it would else have to wait for a time-out. */
static inline void oomproof_bound(int64_t attempts)
{
    if (op_bound) op_bound(attempts);
}

/* Of gradient accumulation, said before the step's end: so many points were trained by batches
 * before this one whose sum it goes on. Though all of its own were dropped it may then move
 * everything; what has a tolerance must be what oomproof_reference gives. */
static inline void oomproof_carried(int64_t points)
{
    if (op_carried) op_carried(points);
}

/* How to compute the step's buffers again for the points that were trained, the others left out and
 * the divisor unchanged, without a split: fn is called at the end of a step that dropped some of
 * its points, with every buffer as it was at the step's beginning and no faults; it fills those
 * that have a tolerance (the gradient) and returns 0, or anything else when it cannot. */
static inline void oomproof_reference(int (*fn)(void *user), void *user)
{
    if (op_reference) op_reference(fn, user);
}

/* How to compute them in a wider type (float, for a step of 16 bits), as oomproof_reference does
 * it. A split step adds in another order, and what is rounded to few bits may come out other by
 * much: a buffer with a tolerance may then be off by `times` as much as the step that never failed
 * is from the wider one, where that is more, both the worst buffer and all of them in length. */
static inline void oomproof_wider(int (*fn)(void *user), void *user, double times)
{
    if (op_wider) op_wider(fn, user, times);
}

/* How a step went. bound: the most attempts there may be, 0: none is known. NULL for a summary is
 * one of zeros, and said to be wrong. */
typedef struct oomproof_step {
    int64_t points, trained, dropped, attempts, bound, retries, splits;
    int failed, exit_code; /* the step failed; the exit code that it leads to, not 0 */
    int regrouped;         /* not split, but sums were taken in another order */
} oomproof_step;
static inline void oomproof_step_end(const oomproof_step *s)
{
    if (op_step_end) op_step_end((const struct op_step_summary *)s);
}

/* What can fail beside the steps, as a validation or a checkpoint: `oomproof sweep --part NAME`
 * fails the calls of one of them instead of a step's. Judged as a step, but that buffers are
 * compared in every bit, split or not: what the run that never failed left as it was (parameters)
 * must be untouched, what it wrote (scores) the same; where the part failed, as before it or the
 * same. Parts do not overlap steps. */
static inline void oomproof_part_begin(const char *name)
{
    if (op_part_begin) op_part_begin(name);
}
static inline void oomproof_part_end(const char *name, const oomproof_step *s)
{
    if (op_part_end) op_part_end(name, (const struct op_step_summary *)s);
}

/* A fast hash of 64 bits, for states. */
static inline uint64_t oomproof_hash(uint64_t seed, const void *data, size_t bytes)
{
    const unsigned char *p = (const unsigned char *)data;
    uint64_t h = seed ^ (bytes * 0x9e3779b97f4a7c15u), lane[4] = {h, h + 1, h + 2, h + 3}, w[4];
    for (; bytes >= sizeof w; p += sizeof w, bytes -= sizeof w) {
        __builtin_memcpy(w, p, sizeof w);
        for (int i = 0; i < 4; i++) {
            lane[i] = (lane[i] ^ w[i]) * 0xd6e8feb86659fd93u;
            lane[i] ^= lane[i] >> 32;
        }
    }
    for (; bytes; p++, bytes--) lane[0] = (lane[0] ^ *p) * 0x100000001b3u;
    for (int i = 0; i < 4; i++) {
        h = (h ^ lane[i]) * 0xff51afd7ed558ccdu;
        h ^= h >> 33;
    }
    return h;
}

#ifdef __cplusplus
}
#endif
#endif
