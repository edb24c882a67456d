/* emit.h - shared by the emitter's files: symbols in scope, operands as C expressions. */
#ifndef SIM_PTX_EMIT_H
#define SIM_PTX_EMIT_H
#include "ast.h"

typedef enum sym_kind { Y_REG, Y_SHARED, Y_LOCAL, Y_PARAM, Y_GLOBAL } sym_kind;

typedef struct sym {
    sym_kind kind;
    const char *name; /* "%r" prefix of a group, or the whole name */
    const char *type; /* of a register */
    int count;        /* -1: a single register */
    uint64_t at;      /* shared: offset */
    const char *c;    /* C spelling of a variable; the index for Y_GLOBAL */
} sym;

typedef struct emit {
    sim_ptx *m;
    FILE *out;
    const func *f; /* being emitted */
    const char *kernel;
    sym *sym;
    int nsym, room;
    const stmt *s; /* current statement */
    int at;        /* its index */
    int why;       /* the current instruction is refused */
    const char *reason;
    int refused;   /* count */
    int *used_var; /* [m->nvar] position in sim_vars + 1, or 0 */
    int nused;
    int barriers;
    int half;         /* something of half.h is used */
    int number;       /* of the kernel in its file: functions are emitted once for each */
    int loops, spins; /* a jump backwards or a call; what a thread could wait with, in a loop */
    uint32_t naccess;
    uint32_t
        *site; /* [f->nbody] of the function being emitted: number of a statement's first access */
    struct strip *strip; /* what is emitted now is for a strip of threads, see strip.h; or NULL */
    const char *reached; /* [m->nfunc] functions in this kernel's C */
    uint64_t local;      /* bytes of .local variables of all functions */
} emit;

char *fmt(emit *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
void refuse(emit *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
void add_sym(emit *e, sym s);
const sym *find_sym(emit *e, const char *name);

const char *ctype(const char *type); /* "u32" -> "uint32_t"; NULL: not a C type here */
int is_float(const char *type);
int bits_of(const char *type);
int has(const stmt *s, const char *mod);
/* The instruction is in the list of forms.c; else it is refused. */
int form_known(emit *e, const stmt *s);
char *register_name(emit *e, const char *o); /* "%r5" in C */
/* Operand o as a value of PTX type t. */
const char *rd(emit *e, const char *o, const char *t);
/* Statement that stores expression x, of PTX type t, into operand d. */
void wr(emit *e, const char *d, const char *t, const char *x);
/* C lvalue base "(char *)" of a memory operand "[a+4]" in a space, checked for n bytes. access: 1
 * read, 2 write, 3 both */
const char *address(emit *e, const char *o, const char *space, uint32_t n, int access);
/* The same, `more` (C, a number of bytes) behind it. */
const char *address_behind(emit *e, const char *o, const char *more, const char *space, uint32_t n,
                           int access);
int split_vector(emit *e, const char *o, char **out); /* "{a,b}" -> 2; "a" -> 1 */

/* The function's head in C, without what ends it. */
void func_head(emit *e, const func *f);
/* A function; its .shared variables lie behind `shared` bytes. Returns where they end. */
uint64_t emit_function(emit *e, const func *f, uint64_t shared);

/* A statement of a body with its guard; a label. */
void emit_statement(emit *e, const stmt *s);
void emit_label(emit *e, const stmt *s);

/* One instruction; refuse()s what it does not know exactly. */
void emit_instruction(emit *e, const stmt *s);
void emit_memory(emit *e, const stmt *s);  /* ld st atom red */
void emit_warp(emit *e, const stmt *s);    /* bar shfl vote match redux ... */
void emit_async(emit *e, const stmt *s);   /* cp.async */
void emit_convert(emit *e, const stmt *s); /* cvt */
void emit_half(emit *e, const stmt *s);    /* what has a type of 16 bits or of two such */
int is_half(const char *type);
const char *half_sum(emit *e, const char *t); /* of o_ and v_, as their bits */
/* a and b of type t compared under PTX's name c */
const char *emit_compare(emit *e, const char *c, const char *t, const char *a, const char *b);
void emit_rare(emit *e, const stmt *s); /* sad dp2a bmsk szext vabsdiff4 fns alloca */
void emit_call(emit *e, const stmt *s);
int is_indirect(const stmt *s); /* a call through a pointer */

#endif
