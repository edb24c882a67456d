/* jit.h - from a kernel's PTX to a loaded shared object: what jit.c, compile.c and cache.c share.
 */
#ifndef SIM_JIT_H
#define SIM_JIT_H
#include "state.h"
#include <sys/types.h>

#define SIM_FNV_START 14695981039346656037u
#define SIM_PATH      4400
#define SIM_BESIDE    "beside" /* in the names of files of sim_compile_beside */

/* ---- cache.c: the folder of compiled kernels ---- */
uint64_t sim_fnv(uint64_t h, const void *data, size_t n);
uint64_t sim_fnv_text(uint64_t h, const char *s);
/* The folder in which objects are kept, made if needed; NULL: there is none. It may be one that can
 * be read but not written. */
const char *sim_cache_folder(void);
/* A folder of this process: its objects go when they are loaded. NULL and a message: none. */
const char *sim_cache_temporary(void);
int sim_cache_whole(const char *path); /* it ends in the checksum of what is before */
int sim_cache_seal(const char *path);  /* appends that checksum; 0: not written */

/* ---- compile.c: cc ---- */
/* One running compiler. Its files lie in the folder under the process's id until it is done. */
typedef struct sim_compile {
    pid_t pid;
    int refused;         /* instructions that the translator does not know, of the first kernel */
    int made_it, sealed; /* what came of it; sealed -1: not known yet */
    char source[SIM_PATH], made[SIM_PATH], log[SIM_PATH];
} sim_compile;
uint64_t sim_compile_identity(void); /* compiler, its flags, the processor's features */
/* n kernels into one object. serial: tells those that run at a time apart */
int sim_compile_start(sim_compile *c, const sim_ptx_one *list, int n, int in_strips,
                      const char *folder, int serial);
/* The same without waiting, and so that the process has no child: when it is done there is
 * c->made with ".done" behind it, empty where it failed. */
int sim_compile_beside(sim_compile *c, const sim_ptx *ptx, int kernel, const char *folder);
/* Waits; 1: the whole, sealed object has its name. `loud`: a failure is said, its log kept. */
int sim_compile_finish(sim_compile *c, const char *kernel, const char *object, int loud);
/* Before that: the object is to have one more name. */
int sim_compile_share(sim_compile *c, const char *object);

/* ---- jit.c ---- */
int sim_kernel_index(const sim_function *f); /* place in its module; -1: not in there */
/* Where its object is kept: for threads one by one, or for strips of them */
void sim_object_path(char *out, const char *folder, const sim_function *f, int in_strips);
int sim_object_load(sim_function *f, const char *object); /* 1: f runs what is in there now */

#endif
