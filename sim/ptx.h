/* ptx.h - PTX text to C, one translation unit a kernel. Pure C, no CUDA call: also the library
 * behind build/sim/ptx2c, which prints the C of one kernel for people and tests. */
#ifndef SIM_PTX_H
#define SIM_PTX_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct sim_ptx sim_ptx;

typedef struct sim_ptx_var {
    const char *name;
    uint64_t bytes;
    uint32_t align;
    int is_const;     /* .const */
    int managed;      /* .attribute(.managed): the host has it too */
    const void *init; /* bytes of initial data, or NULL: zeros */
    uint64_t init_bytes;
    /* addresses of other variables or functions that must be stored into it at load */
    int nreloc;
    const struct sim_ptx_reloc {
        uint64_t offset;
        const char *name;
        uint64_t addend;
    } * reloc;
} sim_ptx_var;

typedef struct sim_ptx_kernel {
    const char *name; /* mangled, as registered */
    int line;         /* of its .entry */
    int nparam;
    const uint32_t *param_bytes;
    uint32_t static_shared;
} sim_ptx_kernel;

/* Parses a module. text need not end in NUL; it is copied. Returns NULL and writes one line
 * "line N: ..." to error (of error_bytes) when it cannot be read as PTX. */
sim_ptx *sim_ptx_parse(const char *text, size_t bytes, char *error, size_t error_bytes);
void sim_ptx_free(sim_ptx *m);

int sim_ptx_kernels(const sim_ptx *m, const sim_ptx_kernel **out); /* returns the count */
int sim_ptx_vars(const sim_ptx *m, const sim_ptx_var **out);

int sim_ptx_target(const sim_ptx *m); /* 75 for .target sm_75; 0: not said */

/* What a pointer to a device function holds; 0: no such function. */
uint64_t sim_ptx_function_address(const sim_ptx *m, const char *name);

/* Writes the C of kernel k (and of the .func it calls) to out. An instruction that is not in the
 * set becomes a trap that names kernel, line and text when it is reached, and is counted.
 * Returns that count, or -1 when out cannot be written. in_strips: eight threads of a row at a time
 * where sim_ptx_strips says so; faster, with the same results, and longer to compile. */
int sim_ptx_emit(const sim_ptx *m, int kernel, int in_strips, FILE *out);
/* The same for n kernels in one file, where those of one kernel are sim_kernel_NAME and
 * sim_vars_NAME: a compiler needs less time for them than for n files. No two have the same name.
 * The count is the first one's. in_strips: of one kernel only. */
typedef struct sim_ptx_one {
    const sim_ptx *module;
    int kernel;
} sim_ptx_one;
int sim_ptx_emit_several(const sim_ptx_one *list, int n, int in_strips, FILE *out);
int sim_ptx_strips(const sim_ptx *m, int kernel);     /* 1: its threads can run in strips */
int sim_ptx_strips_pay(const sim_ptx *m, int kernel); /* 1: and are expected to gain by it */

/* Every form of an instruction that is translated, from the table that decides: opcode and
 * modifiers. Of modifiers that change no result each is told once, not in all combinations. */
typedef void (*sim_ptx_form)(void *with, const char *op, const char *const *mods, int n);
void sim_ptx_forms(sim_ptx_form each, void *with);

/* Identifies the translator in the cache key: a hash of its sources, by CMake. */
const char *sim_ptx_version(void);

#endif
