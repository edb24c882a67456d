/* net.h - the submanifold sparse-convolution U-Net, its loss and its gradients.
 *
 * Three levels, widths 32/64/128 (by default), a 3^3 stem, `convs` 3^3 convolutions a level on the
 * way down and up, stride-2 2^3 convolutions between levels, skips by concatenation, a linear head.
 * The loss of a batch is sum over own points of w[label] * CE / divisor, CE against a target that
 * may be smoothed; every voxel is weighted by
 * its own points per label, so pieces of a batch add up to the whole. */
#ifndef PT_NET_H
#define PT_NET_H
#include "device/device.h"
#include "net/moments.h"
#include "recovery/fragment.h"

typedef enum pt_norm { PT_NORM_LAYER, PT_NORM_FROZEN, PT_NORM_BATCH } pt_norm;

typedef struct pt_net_options {
    int classes;
    int width[3]; /* channels a level: 32 64 128 */
    int convs;    /* 3^3 convolutions a level and side: 1 or 2 */
    pt_norm norm;
    pt_amp amp;    /* off in a double build */
    uint64_t seed; /* of the initial parameters */
} pt_net_options;

/* One parameter tensor inside the flat buffers. */
typedef struct pt_tensor {
    char name[48];        /* "enc1.conv0.weight" */
    size_t offset, count; /* elements from the start of the flat buffer */
    int decay;            /* weight decay applies */
} pt_tensor;

typedef struct pt_net {
    pt_device *device;
    pt_net_options options;
    int ntensors;
    pt_tensor *tensor; /* [ntensors] */
    size_t nparams;    /* elements of each flat buffer */
    real *param;       /* device [nparams] */
    real *grad;        /* device [nparams]: accumulated over the committed fragments of a batch */
    real *scratch;     /* device [nparams]: of the attempt in progress */
    real *accum;       /* device [nparams]: what a step takes instead of grad; NULL: grad itself */
    uint16_t *narrow;  /* device [nparams]: param as options.amp says, made anew by each pass */
    /* BN running statistics, device, NULL unless norm is batch or frozen: mean then variance */
    real *running; /* device [nrunning], changed once a batch by pt_moments_running */
    size_t nrunning;
    /* of batch norm, else NULL: the moments of the last attempt that was not an inference */
    double *moments_device, *moments; /* [nmoments], device and host */
    size_t nmoments;
    int added;                    /* the scratch of the attempt is in grad, or on its way */
    struct pt_net_layers *layers; /* private to net/ */
} pt_net;

/* All memory a step needs besides the fragment's own is allocated here. */
pt_status pt_net_create(pt_device *d, const pt_net_options *o, pt_net **out);
void pt_net_free(pt_net *n);

/* Halo in voxels: how far own outputs can see, worst case over alignments, by interval arithmetic
 * over the net's layers. 14 with 1 convolution a level, 24 with 2. */
int pt_net_halo(const pt_net_options *o);

typedef struct pt_pass {
    /* in */
    double divisor;        /* valid weight of the whole batch, > 0 */
    double grad_divisor;   /* of the gradient; 0: divisor */
    double scale;          /* of the gradient, against underflow in 16 bits; 0: 1 */
    double smoothing;      /* share of a target that is spread over all classes, 0: none */
    double dropout;        /* rate at which channels before the head are left out, 0: none */
    uint64_t seed, step;   /* key the dropout, with scene and voxel */
    int64_t gather_rows;   /* rows a gather workspace may have; 0: as many as needed */
    int backward;          /* 0: forward and loss only (validation, finite differences) */
    int inference;         /* 1: batch norm by its running statistics, and nothing is learnt */
    int frozen;            /* 1: batch norm by its running statistics, which are constants */
    int predict;           /* 1: also the class of every point */
    int later;             /* 1: the end is not waited for, see pt_net_pass_end */
    const pt_fields *host; /* fields that are NULL on the device, fetched when a layer needs them */
    /* out */
    double loss;      /* this fragment's share: sum / divisor */
    int64_t voxels;   /* level 0 */
    int64_t pairs;    /* kernel pairs of level 0's 3^3 map */
    int64_t coarsest; /* voxels of the coarsest level: the fewest that a norm saw */
    size_t keeps;     /* bytes that training by it cannot do without at its peak: net/keeps.c */
    int64_t
        confusion[PT_MAX_CLASSES * PT_MAX_CLASSES]; /* [label][predicted] over own valid points */
    int32_t *predicted; /* [points of the fragment] most likely class; malloc'ed, the caller's */
    int did_forward, did_backward; /* passes that were run to the end: what a failure wasted */
    const void *fetched[2];        /* where loss and confusion come to */
} pt_pass;

/* Voxelise, forward, loss, backward of one fragment, whose features lie on the device, and its
 * other fields there or in pass->host. Parameter gradients go to n->scratch (overwritten, from
 * zero), what batch norm learns to n->moments; n->grad and n->running are not touched. Everything
 * allocated on the way is freed before it returns, also on failure. A NaN or infinite loss is
 * PT_ERR_NAN. Waits for the device, unless pass->later: then loss and confusion are not known yet,
 * and what ran may still fail. */
pt_status pt_net_pass(pt_net *n, const pt_fields *fields, const pt_shape *shape, pt_pass *pass);
/* The end of a pass with `later`, to be called after the next wait for the device that ends well:
 * loss and confusion. */
pt_status pt_net_pass_end(const pt_net *n, pt_pass *pass);

/* Parameters of such a net. */
size_t pt_net_params(const pt_net_options *o);

pt_status pt_net_zero_grad(pt_net *n); /* once per batch, never per fragment */
/* grad += scratch, once for a pass, however often it is called. Waits for nothing: what was begun
 * happens, or the context is dead. No allocation. */
pt_status pt_net_commit(pt_net *n);
/* The norms of a net whose norm is batch. */
pt_status pt_net_moments(const pt_net *n, pt_moments *out);

/* Augments points in place on the device: rotation about z, scale, flip, jitter and colour of scene
 * `scene_key`, keyed by (seed, step, scene_key, point id), so that a retry repeats them. point0 is
 * the id of the first of the n points. strength 0: none of these. Elastic distortion and colour
 * drop are apart. */
typedef struct pt_augment {
    uint64_t seed;
    uint64_t step;
    float strength;    /* 0..1 */
    float elastic;     /* largest displacement of the elastic distortion, in voxels; 0: none */
    float colour_drop; /* chance that a scene has no colour */
} pt_augment;
pt_status pt_augment_points(pt_device *d, const pt_augment *a, uint32_t scene_key, int64_t point0,
                            int64_t n, float voxel, float *coord, real *feature);

/* The optimiser, over the flat buffers: AdamW (decoupled weight decay, Loshchilov & Hutter 2019),
 * or SGD with momentum, where the decay is part of the gradient. */
typedef enum pt_optimizer_kind { PT_ADAMW, PT_SGD } pt_optimizer_kind;
typedef struct pt_optimizer {
    pt_optimizer_kind kind;
    real *m, *v; /* device [nparams], zero at start; m: first moment, or momentum; v: NULL in SGD */
    int64_t t;   /* steps taken */
    int launched; /* a step is on its way and was not yet waited for */
    double beta1, beta2, eps, momentum, weight_decay;
} pt_optimizer;
/* All that its steps need is allocated here. */
pt_status pt_optimizer_create(pt_net *n, pt_optimizer_kind kind, pt_optimizer *out);
void pt_optimizer_free(pt_net *n, pt_optimizer *o);
/* One step with n->grad (n->accum, where there is one) * unscale, clipped to global norm `clip` (0:
 * not). Either all of it happens or, on error, parameters and moments are as before. *norm (may be
 * NULL) receives the norm before the clip. A non-finite norm is PT_ERR_NAN and changes nothing. */
pt_status pt_optimizer_step(pt_net *n, pt_optimizer *o, double lr, double clip, double unscale,
                            double *norm);

#endif
