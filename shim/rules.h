/* rules.h - the shim's language: which calls, when, what happens. Pure C; the command parses with
 * the same code, so that an error is found before anything runs. */
#ifndef OP_RULES_H
#define OP_RULES_H
#include <stddef.h>
#include <stdint.h>

#define OP_MAX_RULES 32

typedef enum op_lib { OP_CUDA, OP_CUBLAS, OP_CUDNN } op_lib;
typedef enum op_action { OP_NONE, OP_OOM, OP_CODE, OP_SHAPE, OP_POISON } op_action;
typedef enum op_kind { OP_ANY_KIND, OP_H2H, OP_H2D, OP_D2H, OP_D2D } op_kind;

typedef struct op_rule {
    char text[160];
    char call[64]; /* name or glob */
    uint64_t nth, skip, times;
    int nth_at_least, size_op; /* size_op: 0 none, '=' '<' '>' 'l' (<=) 'g' (>=) */
    uint64_t size, budget;
    int has_budget;
    char phase[24], kernel[96], site[96];
    op_kind kind;
    op_action action;
    int code;                      /* of status and error */
    char field[8];                 /* shape: m n k lda ldb ldc */
    char base[8];                  /* shape: "" a number, else m n k */
    long value;                    /* shape: number or offset */
    int infinite, arg, count, f64; /* poison */
    uint64_t matched, acted;       /* counters */
} op_rule;

/* What is known of a call when it is made. */
typedef struct op_call {
    op_lib lib;
    const char *name;
    uint64_t size;
    int allocates; /* of device memory: a budget applies */
    op_kind kind;
    const char *kernel, *phase, *site;
    uint64_t live;
} op_call;

/* Number of rules, or -1 with "line L column C: ..." in error. */
int op_parse(const char *text, op_rule *out, char *error, size_t error_bytes);
/* Every rule counts the call; the first that matches acts. Index, or -1. */
int op_decide(op_rule *rules, int n, const op_call *call);
int op_glob(const char *pattern, const char *s); /* '*' and '?', case-insensitive */

#endif
