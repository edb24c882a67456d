/* probe.c - phases, tags and what a sweep compares, passed on to the shim when there is one. */
#include "probe.h"
#include "oomproof.h"
#include <time.h>

static _Thread_local pt_phase current_phase;
static _Thread_local const char *current_tag = "";

const char *pt_phase_name(pt_phase phase)
{
    static const char *const name[PT_PHASES] = {
        [PT_PHASE_NONE] = "none",         [PT_PHASE_SETUP] = "setup",
        [PT_PHASE_LOAD] = "load",         [PT_PHASE_AUGMENT] = "augment",
        [PT_PHASE_VOXELISE] = "voxelise", [PT_PHASE_FORWARD] = "forward",
        [PT_PHASE_LOSS] = "loss",         [PT_PHASE_BACKWARD] = "backward",
        [PT_PHASE_COMMIT] = "commit",     [PT_PHASE_STAGE] = "stage",
        [PT_PHASE_SPLIT] = "split",       [PT_PHASE_STEP] = "step",
        [PT_PHASE_VALIDATE] = "validate", [PT_PHASE_CHECKPOINT] = "checkpoint",
    };
    return name[phase];
}

static _Thread_local pt_phase held_phase;
static _Thread_local double spent[PT_PHASES], since;

static void settle(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double now = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    if (since > 0) spent[current_phase] += now - since;
    since = now;
}

double pt_phase_seconds(pt_phase phase)
{
    settle();
    return spent[phase];
}

void pt_phase_hold(pt_phase phase)
{
    held_phase = PT_PHASE_NONE;
    pt_phase_set(phase);
    held_phase = phase;
}

void pt_phase_set(pt_phase phase)
{
    if (held_phase != PT_PHASE_NONE) return;
    settle();
    current_phase = phase;
    oomproof_phase(pt_phase_name(phase));
}

pt_phase pt_phase_get(void)
{
    return current_phase;
}

const char *pt_tag_set(const char *tag)
{
    const char *before = current_tag;
    current_tag = tag ? tag : "";
    oomproof_tag(current_tag);
    return before;
}

const char *pt_tag_get(void)
{
    return current_tag;
}

void pt_probe_buffer(const char *name, const void *p, size_t bytes, int on_device, int type,
                     double tolerance)
{
    oomproof_buffer(name, p, bytes, on_device, type, tolerance);
}

void pt_probe_step_begin(void)
{
    oomproof_step_begin();
}

void pt_probe_sample(int64_t points)
{
    oomproof_sample((uint64_t)points);
}

int pt_probe_watched(void)
{
    return oomproof_sweeping();
}

const char *pt_probe_folder(void)
{
    return oomproof_folder();
}

void pt_probe_retry(const void *state, size_t bytes)
{
    oomproof_retry(state, bytes);
}

void pt_probe_bound(int64_t attempts)
{
    oomproof_bound(attempts);
}

void pt_probe_carried(int64_t points)
{
    oomproof_carried(points);
}

void pt_probe_reference(int (*fn)(void *user), void *user)
{
    oomproof_reference(fn, user);
}

void pt_probe_wider(int (*fn)(void *user), void *user, double times)
{
    oomproof_wider(fn, user, times);
}

uint64_t pt_probe_hash(uint64_t seed, const void *data, size_t bytes)
{
    return oomproof_hash(seed, data, bytes);
}

static oomproof_step step_of(const pt_probe_step *s)
{
    return (oomproof_step){s->points,  s->trained, s->dropped, s->attempts,  s->bound,
                           s->retries, s->splits,  s->failed,  s->exit_code, s->regrouped};
}

void pt_probe_step_end(const pt_probe_step *s)
{
    oomproof_step e = step_of(s);
    oomproof_step_end(&e);
}

void pt_probe_part_begin(const char *name)
{
    oomproof_part_begin(name);
}

void pt_probe_part_end(const char *name, const pt_probe_step *s)
{
    oomproof_step e = step_of(s);
    oomproof_part_end(name, &e);
}
