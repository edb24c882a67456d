/* fake.h - a device that is a predicate: which fragment fails, with which code. */
#ifndef FAKE_H
#define FAKE_H
#include "recover.h"

typedef struct fake {
    /* in */
    int64_t capacity; /* attempts of fragments with more points fail; < 0: no limit */
    int fail_attempt; /* this attempt, counted from 1, fails once; 0: none */
    int load_fails;   /* the failures of so many first attempts come before augmentation, those of
                         later attempts after it; 0: all before */
    int fail_percent; /* of the attempts fail by chance, drawn from seed: an adversary */
    uint64_t seed;
    pt_lib lib;       /* of the failure; default CUDA ... */
    int code;         /* ... and its code; default 2 */
    const char *call; /* default "cudaMalloc" */
    int fail_stage, fail_commit, fail_augment,
        fail_release; /* how many calls in a row fail with `code` */
    int skip_release; /* release calls before the failing ones */
    int later_code;   /* of the failures of stage, commit, augment and release; default `code` */
    int dead;         /* alive() says no */
    int forget;       /* staging forgets which remedies a fragment has had */
    int claim;        /* the first receipt also names this many last points of the last scene */
    int64_t claimed;  /* points of that scene */
    int last_scene;   /* its number, set by fake_batch */
    size_t leak;      /* bytes the device holds more than the baseline after a failure */
    /* out */
    int attempts, stages, commits, releases, clears, augments, discards;
    int64_t own_committed;
    int64_t last_gather; /* gather_rows of the last attempt */
    int small_gathers;   /* attempts with a limit on gather_rows */
    double order;        /* hash of the order of committed fragments */
} fake;

pt_recover_ops fake_ops(fake *f);

/* A batch of these scenes through the recovery on this fake. The ledger is left open for the
 * caller. */
pt_status fake_batch(fake *f, const pt_scene *scenes, int n, pt_split_mode mode,
                     pt_on_floor on_floor, pt_ledger *ledger, pt_recover_stats *stats);

#endif
