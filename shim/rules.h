/* rules.h - the shim's language: which calls, when, what happens. Pure C; the command parses with
 * the same code, so that an error is found before anything runs. */
#ifndef OP_RULES_H
#define OP_RULES_H
#include "calls.h"
#include <stddef.h>
#include <stdint.h>

#define OP_MAX_RULES 32

typedef enum op_action {
    OP_NONE,
    OP_OOM,
    OP_CODE,
    OP_SHAPE,
    OP_POISON,
    OP_DELAY,
    OP_HANG,
    OP_CRASH
} op_action;
typedef enum op_kind { OP_ANY_KIND, OP_H2H, OP_H2D, OP_D2H, OP_D2D } op_kind;

/* What each call looks at comes first, together. */
typedef struct op_rule {
    uint64_t fits[8];        /* bit of each call that it can act on */
    uint64_t matched, acted; /* counters */
    uint64_t from;           /* the first match on which it can act */
    uint64_t nth, skip, times, interval;
    int nth_at_least;
    int selects; /* more than the call has to fit */
    char text[256];
    char call[64]; /* name or glob */
    int size_op;   /* 0 none, '=' '<' '>' 'l' (<=) 'g' (>=) */
    uint64_t size, budget;
    int has_budget, has_probability;
    double probability; /* 0..1, of each call that matches the rest */
    uint64_t seed;
    int seed_said;
    int thread, stream, device; /* -1: any */
    char phase[24], kernel[96], site[96];
    op_kind kind;
    op_action action;
    int code;                      /* of status and error */
    int code_lib;                  /* an op_lib: calls of this API only; -1: any (a number) */
    int stays;                     /* of error, not of status: a code that kills the context */
    char field[8];                 /* shape: m n k lda ldb ldc, or n c h w */
    char base[8];                  /* shape: "" a number, else m n k */
    long value;                    /* shape: number or offset; delay: ms */
    int infinite, arg, count, f64; /* poison; f64: 0 not said, 1, or -1 for f32 */
    int told;                      /* that it could not do what it says */
    unsigned said;                 /* bit of each selector, in the parser's order */
} op_rule;
#define OP_FITS(r, id) ((r)->fits[(id) / 64] >> (id) % 64 & 1)

/* What is known of a call when it is made. */
typedef struct op_call {
    op_id id;
    uint64_t size, takes; /* takes: of device memory, where it is not the size; 0 */
    op_kind kind;
    const char *kernel, *phase, *site;
    uint64_t live;
    int host;                   /* memory of the host, which no budget counts */
    int thread, stream, device; /* ordinals, by first use; device: its number */
} op_call;

/* Bytes of the device, as they are counted. */
static inline uint64_t op_rounded(const op_call *c)
{
    uint64_t n = c->takes ? c->takes : c->size;
    return n > UINT64_MAX - 511 ? UINT64_MAX : (n + 511) / 512 * 512;
}

/* A count or a size ("64MiB"); 0: not one, or more than 64 bits hold. */
int op_number(const char *s, uint64_t *out);
/* Of a list that NULL ends, the word that was meant, or up to three with commas and "or" between,
 * until the next call of one of these; NULL: none is near. */
const char *op_nearest(const char *word, const char *const *words);
const char *op_nearest_call(const char *word); /* of the table */
const char *op_nearest_code(const char *word); /* of the error codes */
int op_letters_apart(const char *a,
                     const char *b); /* letters to change; 99: too long to be meant */
/* Number of rules, or -1 with "line L column C: ..." in error. */
int op_parse(const char *text, op_rule *out, char *error, size_t error_bytes);
/* Of a command line: *faults is words, @FILE, or NULL for none, and becomes the words (of a file
 * until the process ends). Number of rules, 0 for NULL, or -1, which was said: also of no rule. */
int op_rules_given(const char **faults, op_rule *rules);
const char *op_rules_of_environment(void); /* OOMPROOF_FAULTS; NULL: not there, or empty */
/* Fills r->fits: calls that its name means, that can have its fault and have what it selects by,
 * and r->selects. Returns how many there are. */
int op_fit(op_rule *r);
/* Where none fits: the selector that none of them has; NULL: it is not for a selector. */
const char *op_lacking(const op_rule *r);
/* Every rule counts the call; the first that matches acts. Index, or -1. which: a bit for each of
 * the rules, those that fit the call. tally: of each rule, one more for a match. */
int op_decide(op_rule *rules, uint32_t which, uint64_t *tally, const op_call *call);

#endif
