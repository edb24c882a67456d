/* nothing.c - see nothing.h. */
#include "nothing.h"
#include "devcode.h"
#include "launch.h"
#include <stdio.h>

static void say(const char *what)
{
    fprintf(stderr, "oomproof: %s\n", what);
}

int op_nothing_seen(const op_stats *s, const char *command, int seen, int rules, int failed)
{
    char path[4096];
    int code = 0;
    if (!seen && !s->processes && op_program(command, path, sizeof path))
        code = op_device_code(path);
    if (!seen && code)
        say("the command carries CUDA code, but is linked statically or set-user-id: nothing can "
            "be preloaded; link it dynamically, or run a copy without that bit");
    else if (!seen && s->with_static)
        say("no CUDA call was seen: the CUDA runtime is linked into the program statically (nvcc's "
            "default), where its calls cannot be intercepted. Build it with nvcc -cudart shared; "
            "`oomproof doctor` says more");
    else if (!seen && failed && (s->unseen || s->with_runtime || s->with_kernels))
        say("no CUDA call was seen before the command failed; if it made any, they were looked up "
            "by handle or come from a library that was loaded with RTLD_DEEPBIND; `oomproof "
            "doctor` says more");
    else if (s->unseen && !failed)
        say("libcudart was loaded, but none of its calls was seen: they are looked up by handle "
            "(dlsym, ctypes) or the library that makes them was loaded with RTLD_DEEPBIND; link "
            "it, or load it without that flag");
    else if (!seen && (s->with_runtime || s->with_kernels))
        say("the program has CUDA code, but no CUDA call was seen: it made none, or looks them up "
            "where they cannot be intercepted; `oomproof doctor` says more");
    else if (!seen) {
        say(!s->processes ? "nothing was preloaded: the command is linked statically, set-user-id, "
                            "or could not be started; it carries no CUDA code"
            : rules ? "no CUDA call was seen: no program that ran carries CUDA code or loaded the "
                      "CUDA runtime. Name the program itself; `oomproof doctor` says more"
                    : "no program that ran carries CUDA code: there was nothing to intercept");
        return rules ? 4 : 0;
    } else
        return 0;
    return 4;
}
