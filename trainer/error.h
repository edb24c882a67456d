/* error.h - how a failure travels: every function that can fail returns a pt_status; what failed,
 * where, with which code and size, is kept per thread until the next failure or a clear. */
#ifndef PT_ERROR_H
#define PT_ERROR_H
#include <stddef.h>

typedef enum pt_status {
    PT_OK = 0,
    PT_ERR_INPUT,    /* bad data or usage: file and reason are in the message */
    PT_ERR_DEVICE,   /* a CUDA, cuBLAS or cuDNN call returned an error */
    PT_ERR_HOST,     /* host memory, a file that cannot be written, the operating system */
    PT_ERR_NAN,      /* the loss is NaN or infinite */
    PT_ERR_INTERNAL, /* a broken invariant of our own */
} pt_status;

typedef enum pt_lib { PT_LIB_NONE, PT_LIB_CUDA, PT_LIB_CUBLAS, PT_LIB_CUDNN } pt_lib;

typedef struct pt_error {
    pt_status status;
    pt_lib lib;     /* whose code it is; PT_LIB_NONE: no library was involved */
    int code;       /* cudaError_t, cublasStatus_t or cudnnStatus_t */
    char call[64];  /* "cudaMalloc" */
    char site[96];  /* tag of the tensor or operation: "net/enc1/gather" */
    char phase[16]; /* phase it happened in: "forward" */
    size_t bytes;   /* of an allocation; else 0 */
    const char
        *memory; /* of an out-of-memory whose allocator knows: "fragmented", "exhausted"; NULL */
    const char *file; /* source position */
    int line;
    char message[512]; /* one line for people, without the position */
} pt_error;

const pt_error *pt_error_last(void); /* of this thread; never NULL */
void pt_error_clear(void);
void pt_error_restore(const pt_error *e); /* makes e the last failure again */

/* Records a failure of our own and returns status. */
pt_status pt_fail_at(const char *file, int line, pt_status status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define pt_fail(status, ...) pt_fail_at(__FILE__, __LINE__, status, __VA_ARGS__)

/* PT_OK for code 0, else records the failed library call (name cut from the expression's text). */
pt_status pt_check_at(const char *file, int line, pt_lib lib, int code, const char *expression,
                      const char *site, size_t bytes);
#define PT_CUDA(expression) \
    pt_check_at(__FILE__, __LINE__, PT_LIB_CUDA, (int)(expression), #expression, NULL, 0)
#define PT_CUBLAS(expression) \
    pt_check_at(__FILE__, __LINE__, PT_LIB_CUBLAS, (int)(expression), #expression, NULL, 0)
#define PT_CUDNN(expression) \
    pt_check_at(__FILE__, __LINE__, PT_LIB_CUDNN, (int)(expression), #expression, NULL, 0)

/* Adds to the message of the failure just recorded. */
void pt_error_say(const char *more);
/* Of the failure just recorded, an allocation: what the allocator itself had free, and the largest
 * block of it. Together enough for the request: fragmented; else exhausted. */
void pt_error_spare(size_t free, size_t largest);

/* Inside a function with `pt_status st` and a label `done` where everything is freed. */
#define TRY(expression)                              \
    do {                                             \
        if ((st = (expression)) != PT_OK) goto done; \
    } while (0)

/* Name of a library's code: "cudaErrorMemoryAllocation". Never NULL; static storage. */
const char *pt_code_name(pt_lib lib, int code);
const char *pt_lib_name(pt_lib lib);

#endif
