/* strip.h - a kernel for a strip of LANES threads of a row at once: what shape.c finds out about
 * its registers, what strip.c and lanes.c emit by that. */
#ifndef SIM_PTX_STRIP_H
#define SIM_PTX_STRIP_H
#include "emit.h"

enum { LANES = 8 };

/* What a register holds in the threads of a strip, wherever it is read. */
typedef enum shape {
    UNSET, /* never written */
    EVEN,  /* the same in all lanes */
    RAMP,  /* lane l has the first one's value + l * stride, modulo the register's width */
    APART  /* anything */
} shape;

typedef struct lane_reg {
    const char *name; /* "%r12" */
    const char *type;
    shape shape;
    int64_t stride;
} lane_reg;

typedef struct strip {
    const func *f;
    lane_reg *reg;
    int nreg;
    uint64_t *live; /* [nbody][words]: registers that are read from statement i on before written */
    int words, declared; /* of a row; the last statement that declares registers */
    char *leaves;   /* [nbody]: the strip can end before statement i, its lanes go on one by one */
    uint32_t *site; /* [nbody]: number of the statement's first access */
    int each;       /* operands are emitted for one lane, LANE */
    char *read;     /* [nreg]: by that */
    int vectors;    /* how many instructions were emitted for all lanes at once */
} strip;

#define LANE "l_" /* its number, in C */

/* NULL: the kernel cannot run in strips (its threads meet, call, or ask who they are), or no
 * memory. Freed by strip_free. */
strip *strip_make(const func *f);
void strip_free(strip *v);
lane_reg *strip_reg(const strip *v, const char *name); /* NULL: no register of that name */
int strip_live(const strip *v, int statement, int reg);
/* Shape of an operand: registers, %tid, numbers, names of variables, addresses; the widest of all
 * that it names. stride: of a ramp */
shape strip_shape(const strip *v, const char *operand, int64_t *stride);
/* The shape that an instruction gives its destination. */
shape strip_result(const strip *v, const stmt *s, int64_t *stride);
/* The width in bits that a ramp is extended from, 0: it is not; a guard must see that no lane
 * wraps. sign: it is extended by its sign */
int strip_extends(const stmt *s, int *sign);

/* Functions `strip` and `rest` of the kernel, in C; e->strip is set, site numbers are known. */
void emit_strip(emit *e);

/* One instruction for all lanes at once; 0: not known, nothing was written. */
int emit_lanes(emit *e, const stmt *s);
/* A load or store of which lanes differ; 0: not known. */
int emit_lanes_memory(emit *e, const stmt *s, int at);
/* The start of a block in which each lane may access what the operand of s says, d_ further on. */
int emit_lanes_check(emit *e, const stmt *s, int at);
/* Statement that ends the strip before statement `at`. */
const char *strip_leave(emit *e, int at);
/* Operand as a vector: all lanes of 32 bits and predicates, half 0 or 1 of those of 64 bits. */
const char *lanes_value(emit *e, const char *o, const char *t, int half);

#endif
