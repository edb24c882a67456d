/* layers.h - private to net/: the list of blocks, the voxel levels of a fragment, one pass's
 * memory. */
#ifndef PT_LAYERS_H
#define PT_LAYERS_H
#include "net/net.h"

#define PT_LEVELS     3
#define PT_MAX_BLOCKS 24

typedef enum pt_conv_kind { PT_CONV3, PT_CONV_DOWN, PT_CONV_UP } pt_conv_kind;

/* convolution + norm + ReLU */
typedef struct pt_block {
    char name[24];
    pt_conv_kind kind;
    int level; /* of the output */
    int cin, cout;
    int skip;                /* block whose output is concatenated behind the input, or -1 */
    int weight, gamma, beta; /* tensors: [offsets, cin, cout], [cout], [cout] */
    size_t running;          /* elements into running: mean then variance, [cout] each */
    size_t moments;          /* numbers into the attempt's moments */
    char tag[6][48];         /* call sites: out norm stat dx gather map */
} pt_block;

struct pt_net_layers {
    pt_block block[PT_MAX_BLOCKS];
    int nblocks;
    int head_weight, head_bias;
    uint8_t *decays;  /* device [nparams]: 1 where weight decay applies */
    double *norm_tmp; /* device: room for the sum of squares of the gradient */
    double *norm_out; /* device [1] */
};

/* The blocks of a net, without parameters: also what the halo is computed from. */
int pt_describe(const pt_net_options *o, pt_block *block);

/* Pairs of one map, one list an offset: list k is [start[k], start[k+1]). */
typedef struct pt_map {
    int offsets;
    int32_t start[28];
    int32_t *a, *b; /* device [start[offsets]]: 3^3: in, out; 2^3: coarse, fine */
} pt_map;

typedef struct pt_levels {
    int64_t v[PT_LEVELS];
    uint64_t *key[PT_LEVELS];   /* device [v], sorted; gone after pt_voxelise, unless keep_key */
    pt_map same[PT_LEVELS];     /* 3^3 within a level */
    pt_map down[PT_LEVELS - 1]; /* between level l and l + 1 */
    real *feature;              /* device [v0, F] */
    int32_t *count;             /* device [v0, classes] own points per label */
    int32_t *member;            /* device [points] voxel of each point; NULL unless keep_member */
    uint8_t *own[PT_LEVELS];    /* device [v] owned, as net/moments.h says; NULL unless keep_own */
    int keep_member, keep_key;  /* in; keep_key: of level 0 */
    int keep_own;               /* in */
} pt_levels;

/* A field for a layer that needs it: where it lies on the device, or its copy from the host in the
 * arena, until it is given back. */
typedef struct pt_source {
    const pt_fields *device; /* NULL fields are on the host */
    const pt_fields *host;
    const pt_shape *shape;
} pt_source;
pt_status pt_source_take(pt_arena *a, const pt_source *s, pt_field f, void **out);
void pt_source_give(pt_arena *a, const pt_source *s, pt_field f, void *taken);

pt_status pt_voxelise(pt_arena *a, const pt_source *source, pt_levels *out);

/* Everything of one pass. */
typedef struct pt_run {
    pt_net *net;
    pt_arena arena;
    pt_levels levels;
    int64_t points;
    const pt_pass *pass; /* as the caller wants it */
    pt_source source;
    const int32_t *scene;         /* device: position in the batch, of each slot; of dropout */
    int given;                    /* batch norm by its running statistics */
    int moments;                  /* what it learns of the batch is wanted */
    int64_t gather_rows;          /* rows of the workspace */
    real *gather_in, *gather_out; /* rows of 16 bits, where products are of those */
    struct {
        real *x, *z, *y, *mean, *inv;
        int64_t v;
    } at[PT_MAX_BLOCKS];
    double *columns; /* workspace of column sums */
} pt_run;

/* out [v, cout] of block b for its input r->at[b].x */
pt_status pt_conv_forward(pt_run *r, int b, real *out);
/* dz [v, cout] -> weight gradient into scratch; dx [v_in, cin] unless NULL */
pt_status pt_conv_backward(pt_run *r, int b, const real *dz, real *dx);
/* norm + ReLU: z -> y */
pt_status pt_norm_forward(pt_run *r, int b);
/* In place, over rows of so many channels: dy of block b's ReLU, whose output was y, -> dy of the
 * norm. Then dy (may be overwritten) -> dz. */
pt_status pt_relu_backward(pt_run *r, int b, const real *y, int channels, real *dy);
pt_status pt_norm_backward(pt_run *r, int b, real *dy, real *dz);
/* keeps.c: bytes that the pass must hold at its peak, forward and voxelisation done. */
size_t pt_net_keeps(const pt_run *r);
int64_t pt_block_rows_in(const pt_run *r, int b);

/* C [rows, cout] = A [rows, cin] W [cin, cout], row major, and the two products of its backward; dW
 * is added to. rows may pass 2^31. What is multiplied is real, or of 16 bits as `as` says; sums and
 * results are real. */
pt_status pt_gemm_forward(pt_device *d, pt_amp as, int64_t rows, int cin, int cout, const void *a,
                          const void *w, real *c);
pt_status pt_gemm_input(pt_device *d, pt_amp as, int64_t rows, int cin, int cout, const void *dc,
                        const void *w, real *da);
pt_status pt_gemm_weight(pt_device *d, pt_amp as, int64_t rows, int cin, int cout, const void *a,
                         const void *dc, real *dw);

/* Softmax and ReLU of cuDNN over [rows, c], in slices that its descriptors hold. */
pt_status pt_dnn_relu(pt_device *d, int64_t rows, int c, real *x);
pt_status pt_dnn_relu_back(pt_device *d, int64_t rows, int c, const real *y, real *dy);
pt_status pt_dnn_log_softmax(pt_device *d, int64_t rows, int c, const real *x, real *y);

#endif
