/* ast.h - a PTX module in memory: what the parser makes and the emitter reads. */
#ifndef SIM_PTX_AST_H
#define SIM_PTX_AST_H
#include "ptx.h"

/* Where functions seem to lie, 16 bytes apart: no address that memory can have. */
#define PTX_CODE 0xf0000000000000ull

enum { MAX_MODS = 12, MAX_ARGS = 40 };

typedef enum stmt_kind { S_INSN, S_LABEL, S_REG, S_VAR, S_OPEN, S_CLOSE, S_TARGETS } stmt_kind;

/* One statement of a body. */
typedef struct stmt {
    stmt_kind kind;
    int line;
    char *text; /* as written, white space squeezed: for messages */
    char *pred; /* "%p1" of @%p1, or NULL */
    int negated;
    char *op;            /* opcode stem: "ld" */
    char *mod[MAX_MODS]; /* ".global" without the dot */
    int nmod;
    char *arg[MAX_ARGS]; /* operands, trimmed; vectors keep their braces */
    int narg;
    char *name;  /* label, or name of a register prefix or variable */
    char *type;  /* "f32" of a .reg or variable */
    int count;   /* registers of a %r<count>; -1: a single one */
    char *space; /* of a variable: shared, local, param, global, const */
    uint64_t bytes;
    uint32_t align;
    int external; /* .extern .shared x[] */
    int managed;  /* .attribute(.managed) */
} stmt;

typedef struct param {
    char *name, *type;
    uint32_t bytes, align;
} param;

typedef struct func {
    char *name;
    int line, entry, has_body;
    param *ret, *param;
    int nret, nparam;
    stmt *body;
    int nbody;
} func;

struct sim_ptx {
    char *text; /* owned; statements point to pieces of the arena */
    int target; /* 90: .target sm_90 */
    func *func;
    int nfunc;
    sim_ptx_var *var;
    int nvar;
    sim_ptx_kernel *kernel;
    int *kernel_func; /* index into func */
    int nkernel;
    struct {
        char *name;
        uint32_t bytes, align;
        int external;
    } * shared; /* module level .shared */
    int nshared;
    void **arena; /* everything allocated for this module */
    int narena, arena_room;
};

void *ptx_alloc(sim_ptx *m, size_t bytes); /* zeroed, freed with the module; NULL: no memory */
char *ptx_text(sim_ptx *m, const char *from, size_t n);
uint32_t ptx_type_bytes(const char *type); /* "f32" -> 4, pred -> 1, unknown -> 0 */

#endif
