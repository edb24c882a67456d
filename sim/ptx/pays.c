/* pays.c - whether a kernel gains by strips: a thread that only moves whole vectors of memory does
 * already what the machine does best, which lanes that lie apart would take to pieces. */
#include "strip.h"
#include <string.h>

static int width(const stmt *s)
{
    return has(s, "v2") ? 2 : has(s, "v4") ? 4 : has(s, "v8") ? 8 : 1;
}

/* More numbers are moved in vectors, at addresses that differ, than are computed with. */
int sim_ptx_strips_pay(const sim_ptx *m, int kernel)
{
    strip *v = strip_make(&m->func[m->kernel_func[kernel]]);
    int moved = 0, computed = 0;
    for (int i = 0; v && i < v->f->nbody; i++) {
        const stmt *s = &v->f->body[i];
        if (s->kind != S_INSN) continue;
        int load = !strcmp(s->op, "ld"), store = !strcmp(s->op, "st");
        int64_t stride;
        if ((load || store) && s->narg == 2 && width(s) > 1) {
            if (strip_shape(v, s->arg[load], &stride) > EVEN) moved += width(s);
        } else if (!load && !store && s->narg >= 2 && s->nmod &&
                   (has(s, "f32") || has(s, "f64") || has(s, "f16") || has(s, "bf16")))
            computed++;
    }
    int pay = v && moved <= computed;
    strip_free(v);
    return pay;
}
