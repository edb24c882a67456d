/* nothing.c - see nothing.h. Each program is judged by itself: that the calls of another one were
 * seen says nothing of it. */
#include "nothing.h"
#include "devcode.h"
#include "launch.h"
#include <stdio.h>
#include <sys/stat.h>

static void say(const char *what)
{
    fprintf(stderr, "oomproof: %s\n", what);
}

/* Of the programs none of whose calls came by: how many are, or did, so. */
static int unseen(const op_stats *s, int what)
{
    int n = 0;
    for (int k = 0; k < OP_STATS_IMAGES; k++)
        n += !(s->image[k] & OP_I_SEEN) && (s->image[k] & what) == what;
    return n;
}

/* A program that was started by one of ours, and not followed. */
static void say_left(const op_left *l, int uses)
{
    static const char *const why[] = {
        [OP_LEFT_ENVIRONMENT] = "was started with an environment that lacks LD_PRELOAD or "
                                "OOMPROOF_STATS as oomproof set them (env -i, clearenv, sudo)",
        [OP_LEFT_UNREACHABLE] = "was started where it cannot open the run's counters, as another "
                                "user or below another root: what it called is not counted. TMPDIR "
                                "names a folder that every user may enter",
        [OP_LEFT_SETUID] = "is set-user-id or set-group-id, and nothing can be preloaded: run a "
                           "copy without that bit",
        [OP_LEFT_STATIC] =
            "is linked statically, and nothing can be preloaded: link it dynamically",
        [OP_LEFT_OTHER] = "was started by another oomproof, whose closing lines count its calls"};
    int known = l->why >= 1 && l->why < (int)(sizeof why / sizeof *why);
    fprintf(stderr, "oomproof: %.*s %s", OP_LEFT_NAME, l->name,
            known ? why[l->why] : "was not followed");
    if (l->n > 1) fprintf(stderr, "; and %llu more", (unsigned long long)l->n - 1);
    fprintf(stderr, "%s\n", uses ? "" : "; whether it uses CUDA is not known");
}

/* Of the command itself, which was not preloaded. */
static int not_preloaded(const char *command, int rules)
{
    char path[4096];
    struct stat st;
    int found = op_program(command, path, sizeof path);
    if (found && op_device_code(path)) {
        say("the command carries CUDA code, but nothing was preloaded: it could not be loaded (a "
            "library is missing), or is linked statically or set-user-id; link it dynamically, or "
            "run a copy without that bit");
        return 4;
    }
    if (found && stat(path, &st) == 0 && st.st_mode & (S_ISUID | S_ISGID)) {
        say("the command is set-user-id or set-group-id: nothing can be preloaded, nor into what "
            "it starts; run a copy without that bit, or what it starts itself");
        return 4;
    }
    say("nothing was preloaded: the command is linked statically or could not be started; whether "
        "it uses CUDA is not known");
    return rules ? 4 : 0;
}

/* The calls of some programs were seen; of others none. */
static int some_unseen(const op_stats *s)
{
    int of_static = unseen(s, OP_I_STATIC), used = unseen(s, OP_I_USED);
    if (of_static)
        fprintf(stderr,
                "oomproof: of %d program(s) that ran no CUDA call was seen: the CUDA runtime is "
                "linked into the program statically (nvcc's default), where its calls cannot be "
                "intercepted. Build it with nvcc -cudart shared\n",
                of_static);
    if (used)
        fprintf(
            stderr,
            "oomproof: of %d program(s) that ran no CUDA call was seen, though they used the "
            "device: they look its functions up by handle (dlsym, ctypes), or the library that "
            "makes the calls was loaded with RTLD_DEEPBIND or dlmopen; link it, or load it by a "
            "plain dlopen\n",
            used);
    return of_static || used ? 4 : 0;
}

int op_nothing_seen(const op_stats *s, const char *command, int seen, int rules, int failed)
{
    int loaded = unseen(s, OP_I_LOADED);
    int has_code = unseen(s, OP_I_RUNTIME) || unseen(s, OP_I_KERNELS) || loaded;
    const op_left *uses = &s->left[1], *may = &s->left[0];
    if (uses->n) say_left(uses, 1);
    if (uses->n && (!seen || uses->why != OP_LEFT_OTHER)) return 4;
    if (seen) return some_unseen(s);
    if (!s->processes) return not_preloaded(command, rules);
    if (unseen(s, OP_I_STATIC))
        say("no CUDA call was seen: the CUDA runtime is linked into the program statically (nvcc's "
            "default), where its calls cannot be intercepted. Build it with nvcc -cudart shared; "
            "`oomproof doctor` says more");
    else if (failed && has_code)
        say("no CUDA call was seen before the command failed; if it made any, they were looked up "
            "by handle or come from a library that was loaded with RTLD_DEEPBIND; `oomproof "
            "doctor` says more");
    else if (loaded && unseen(s, OP_I_USED))
        say("libcudart was loaded, but none of its calls was seen: they are looked up by handle "
            "(dlsym, ctypes), or the library that makes them was loaded with RTLD_DEEPBIND or "
            "dlmopen; link it, or load it by a plain dlopen");
    else if (loaded) {
        say("libcudart was loaded, but no call that can be failed was made, and no device memory "
            "was taken: there was nothing to intercept");
        return rules ? 4 : 0;
    } else if (has_code)
        say("the program has CUDA code, but no CUDA call was seen: it made none, or looks them up "
            "where they cannot be intercepted; `oomproof doctor` says more");
    else {
        if (may->n)
            say_left(may, 0);
        else
            say(rules ? "no CUDA call was seen: no program that ran carries CUDA code or loaded "
                        "the CUDA runtime. Name the program itself; `oomproof doctor` says more"
                      : "no program that ran carries CUDA code: there was nothing to intercept");
        return rules ? 4 : 0;
    }
    return 4;
}
