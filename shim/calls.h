/* calls.h - the table of calls.def as data: what a rule may name, and what may fail each call. */
#ifndef OP_CALLS_H
#define OP_CALLS_H

typedef enum op_lib { OP_CUDA, OP_CUBLAS, OP_CUDNN, OP_DRIVER } op_lib;

enum {
    OP_F_OOM = 1,         /* out of memory is something it can say */
    OP_F_ALLOC = 2,       /* of device memory: a budget applies */
    OP_F_RESULT = 4,      /* writes a buffer that can be poisoned */
    OP_F_LAUNCH = 8,      /* one name to rules, cudaLaunchKernel */
    OP_F_GEMM = 16,       /* shape: m n k lda ldb ldc */
    OP_F_DESCRIPTOR = 32, /* shape: n c h w */
    OP_F_COPY = 64,       /* has a direction */
    OP_F_SIZE = 128,      /* its bytes are known */
    OP_F_STREAM = 256     /* so is its stream */
};

/* One identifier a call, in the order of the table. */
typedef enum op_id {
#define ALLOC(name, ...)          OP_ID_##name,
#define PITCHED(name, ...)        OP_ID_##name,
#define PINNED(name, ...)         OP_ID_##name,
#define RELEASE(name, ...)        OP_ID_##name,
#define COPY(name, ...)           OP_ID_##name,
#define SET(name, ...)            OP_ID_##name,
#define LAUNCH(name, ...)         OP_ID_##name,
#define CALL(name, ...)           OP_ID_##name,
#define BLAS(name, ...)           OP_ID_##name,
#define DNN(name, ...)            OP_ID_##name,
#define GEMM(name, ...)           OP_ID_##name,
#define DESCRIPTOR(name, ...)     OP_ID_##name,
#define DRIVER_ALLOC(name, ...)   OP_ID_##name,
#define DRIVER_RELEASE(name, ...) OP_ID_##name,
#define DRIVER_CALL(name, ...)    OP_ID_##name,
#include "calls.def"
    OP_CALLS
} op_id;

typedef struct op_entry {
    const char *name;
    op_lib lib;
    unsigned flags;
} op_entry;
extern const op_entry op_table[OP_CALLS];

typedef struct op_code {
    const char *name;
    op_lib lib;
    int code;
} op_code;
extern const op_code op_codes[]; /* every error code of the three APIs' headers; name NULL ends */

extern const char *const op_others[]; /* the other functions of their headers; NULL ends */

int op_glob(const char *pattern, const char *s); /* '*' and '?', case-insensitive */
/* Whether a rule's name means this call: by its own name, without _v2, _ptsz or _ptds, or as one
 * of the launches. */
int op_named(const char *pattern, const op_entry *call);

#endif
