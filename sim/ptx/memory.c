/* memory.c - loads, stores, atomics, conversions, warp-wide operations, calls. */
#include "emit.h"
#include <string.h>

static const char *space_of(const stmt *s)
{
    static const char *const spaces[] = {"global", "shared", "local", "const", "param"};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (has(s, spaces[i])) return spaces[i];
    for (int i = 0; i < s->nmod; i++)
        if (!strncmp(s->mod[i], "shared::", 8) || !strncmp(s->mod[i], "param::", 7))
            return s->mod[i][0] == 's' ? "shared" : "param";
    return "generic";
}

/* Cache hints change nothing that a program can see; orderings are kept by running one thread at a
 * time. */
static void load_store(emit *e, const stmt *s)
{
    const char *t = s->nmod ? s->mod[s->nmod - 1] : "", *space = space_of(s), *c = ctype(t);
    int load = s->op[0] == 'l', declared = has(s, "v2") ? 2 : has(s, "v4") ? 4 : 1;
    char *v[8];
    int n = split_vector(e, s->arg[load ? 0 : 1], v), bytes = bits_of(t) / 8;
    if (!c || n != declared) {
        refuse(e, "a vector of %d with type .%s", n, t);
        return;
    }
    int spin = load && (has(s, "volatile") || has(s, "acquire") || has(s, "relaxed"));
    e->spins |= spin;
    fprintf(e->out, "char *a_ = %s; ",
            address(e, s->arg[load ? 1 : 0], space, (uint32_t)(n * bytes), load ? 1 : 2));
    if (load) {
        for (int i = 0; i < n; i++)
            fprintf(e->out, "%s%s v%d_ = *(%s%s *)(a_ + %d); ", spin ? "" : "", c, i,
                    spin ? "volatile " : "", c, i * bytes);
        for (int i = 0; i < n; i++) {
            wr(e, v[i], t, fmt(e, "v%d_", i));
            fputc(' ', e->out);
        }
    } else
        for (int i = 0; i < n; i++)
            fprintf(e->out, "*(%s *)(a_ + %d) = %s; ", c, i * bytes, rd(e, v[i], t));
}

static void atomic(emit *e, const stmt *s)
{
    const char *t = s->nmod ? s->mod[s->nmod - 1] : "", *c, *x = NULL, *sum = NULL;
    int red = !strcmp(s->op, "red"), at = red ? 0 : 1;
    if (is_half(t)) {
        if (!has(s, "add") || !has(s, "noftz")) {
            refuse(e, "an atomic of .%s that is no .add.noftz", t);
            return;
        }
        sum = half_sum(e, t);
        t = bits_of(t) == 16 ? "b16" : "b32";
    }
    c = ctype(t);
    int cas = has(s, "cas");
    e->spins |= !red;
    if (!c || s->narg != at + (cas ? 3 : 2) || (bits_of(t) == 16 && !cas && !sum)) {
        refuse(e, "%d operands of type .%s", s->narg, t);
        return;
    }
    fprintf(e->out, "%s *p_ = (%s *)%s, n_, v_ = %s, o_ = *p_; ", c, c,
            address(e, s->arg[at], space_of(s), (uint32_t)bits_of(t) / 8, 3),
            rd(e, s->arg[at + 1], t));
    if (sum)
        x = sum;
    else if (cas)
        x = fmt(e, "o_ == v_ ? %s : o_", rd(e, s->arg[at + 2], t));
    else if (has(s, "add"))
        x = is_float(t) ? "o_ + v_" : fmt(e, "(uint%d_t)o_ + (uint%d_t)v_", bits_of(t), bits_of(t));
    else if (has(s, "min"))
        x = "v_ < o_ ? v_ : o_";
    else if (has(s, "max"))
        x = "v_ > o_ ? v_ : o_";
    else if (has(s, "and"))
        x = "o_ & v_";
    else if (has(s, "or"))
        x = "o_ | v_";
    else if (has(s, "xor"))
        x = "o_ ^ v_";
    else if (has(s, "exch"))
        x = "v_";
    else if (has(s, "inc"))
        x = "o_ >= v_ ? 0 : o_ + 1";
    else if (has(s, "dec"))
        x = "o_ == 0 || o_ > v_ ? v_ : o_ - 1";
    if (!x) {
        refuse(e, "an atomic without operation");
        return;
    }
    fprintf(e->out,
            "for (n_ = %s; C->many && !__atomic_compare_exchange(p_, &o_, &n_, 0, "
            "__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); n_ = %s) {} if (!C->many) *p_ = n_; ",
            x, x);
    if (!red)
        wr(e, s->arg[0], t, "o_");
    else
        fprintf(e->out, "(void)o_;");
}

void emit_memory(emit *e, const stmt *s)
{
    if (s->op[0] == 'a' || s->op[0] == 'r')
        atomic(e, s);
    else
        load_store(e, s);
}

void emit_convert(emit *e, const stmt *s)
{
    if (s->nmod < 2) {
        refuse(e, "a conversion without types");
        return;
    }
    const char *t = s->mod[s->nmod - 1], *d = s->mod[s->nmod - 2], *r = NULL, *x;
    int sat = has(s, "sat"), ftz = has(s, "ftz");
    for (int i = 0; i < s->nmod - 2; i++)
        if (s->mod[i][0] == 'r') r = s->mod[i];
    x = rd(e, s->arg[1], t);
    if (ftz && !strcmp(t, "f32")) x = fmt(e, "ftz_(%s)", x);
    if (is_float(t) && !is_float(d)) {
        static const char *const how[][2] = {
            {"rni", "rint"}, {"rzi", "trunc"}, {"rmi", "floor"}, {"rpi", "ceil"}};
        const char *f = NULL;
        for (int i = 0; i < 4; i++)
            if (r && !strcmp(r, how[i][0])) f = how[i][1];
        if (!f)
            refuse(e, "a conversion to integer needs a rounding");
        else {
            const char *i = fmt(e, "cvt_%c%d(%s((double)%s))", d[0], bits_of(d), f, x);
            if (bits_of(t) == 64 && bits_of(d) < 64)
                i = fmt(e, "(%s != %s ? (%s)(1u << %d) : %s)", x, x, ctype(d), bits_of(d) - 1, i);
            wr(e, s->arg[0], d, i);
        }
    } else if (is_float(t)) {
        if (!strcmp(t, d)) { /* to an integral value, or only .sat/.ftz */
            static const char *const how[][2] = {
                {"rni", "rint"}, {"rzi", "trunc"}, {"rmi", "floor"}, {"rpi", "ceil"}};
            for (int i = 0; i < 4; i++)
                if (r && !strcmp(r, how[i][0]))
                    x = fmt(e, "%s%s(%s)", how[i][1], bits_of(t) == 64 ? "" : "f", x);
        } else if (!strcmp(d, "f32") && r && strcmp(r, "rn"))
            x = fmt(e, "d2f_%s(%s)", r, x);
        else
            x = fmt(e, "(%s)%s", ctype(d), x);
        if (ftz && !strcmp(d, "f32")) x = fmt(e, "ftz_(%s)", x);
        if (sat) x = fmt(e, "%s(%s)", bits_of(d) == 64 ? "satd" : "satf", x);
        wr(e, s->arg[0], d, x);
    } else if (is_float(d)) {
        int wide = bits_of(t) == 64 || (bits_of(t) == 32 && bits_of(d) == 32);
        if (r && strcmp(r, "rn") && wide)
            x = fmt(e, "%c642%s_%s(%s)", t[0], bits_of(d) == 64 ? "d" : "f", r, x);
        else
            x = fmt(e, "(%s)%s", ctype(d), x);
        if (sat) x = fmt(e, "%s(%s)", bits_of(d) == 64 ? "satd" : "satf", x);
        wr(e, s->arg[0], d, x);
    } else if (sat) {
        int b = bits_of(d);
        if (d[0] == 's' && t[0] == 's')
            x = fmt(e, "clamp_(%s, INT%d_MIN, INT%d_MAX)", x, b, b);
        else if (d[0] == 's')
            x = fmt(e, "clampu_(%s, INT%d_MAX)", x, b);
        else if (t[0] == 's')
            x = fmt(e, "(%s < 0 ? 0 : clampu_((uint64_t)%s, UINT%d_MAX))", x, x, b);
        else
            x = fmt(e, "clampu_(%s, UINT%d_MAX)", x, b);
        wr(e, s->arg[0], d, x);
    } else { /* the destination register may be wider than the type: sign- or zero-extend into it */
        const sym *y = find_sym(e, s->arg[0]);
        if (y && y->kind == Y_REG && bits_of(y->type) > bits_of(d) && d[0] == 's')
            wr(e, s->arg[0], fmt(e, "s%d", bits_of(y->type)), fmt(e, "(%s)%s", ctype(d), x));
        else
            wr(e, s->arg[0], d, fmt(e, "(%s)%s", ctype(d), x));
    }
}

/* "(a, b)" -> its names */
static int names(emit *e, const char *o, char **out)
{
    int n = 0;
    char *save = NULL, *copy = fmt(e, "%s", o);
    for (char *w = strtok_r(copy, "(), ", &save); w && n < MAX_ARGS;
         w = strtok_r(NULL, "(), ", &save))
        out[n++] = w;
    return n;
}

static const char *storage(emit *e, const char *name)
{
    const sym *y = find_sym(e, name);
    if (y && y->kind == Y_PARAM) return y->c;
    refuse(e, "call operand %s", name);
    return "0";
}

int is_indirect(const stmt *s)
{
    int at = s->narg && *s->arg[0] == '(';
    return at < s->narg && *s->arg[at] == '%';
}

static void call_of(emit *e, const func *f, char **ret, char **arg)
{
    char *name = fmt(e, "F%d%s", e->number, f->name);
    for (char *p = name; *p; p++)
        if (*p == '$' || *p == '.') *p = '_';
    fprintf(e->out, "%s(C", name);
    for (int i = 0; i < f->nret; i++) fprintf(e->out, ", %s", storage(e, ret[i]));
    for (int i = 0; i < f->nparam; i++) fprintf(e->out, ", %s", storage(e, arg[i]));
    fprintf(e->out, ");");
}

void emit_call(emit *e, const stmt *s)
{
    char *ret[MAX_ARGS], *arg[MAX_ARGS];
    int at = s->narg && *s->arg[0] == '(', nret = at ? names(e, s->arg[0], ret) : 0;
    const char *callee = at < s->narg ? s->arg[at] : "";
    int narg = at + 1 < s->narg ? names(e, s->arg[at + 1], arg) : 0;
    if (!strcmp(callee, "vprintf") && nret == 1 && narg == 2) {
        fprintf(e->out,
                "*(int32_t *)%s = C->rt->printf(C, ga_(C, base, bytes, delta, *(uint64_t *)%s, 1, "
                "1, %u, KERNEL, %d), "
                "*(void **)%s);",
                storage(e, ret[0]), storage(e, arg[0]), e->naccess++, s->line, storage(e, arg[1]));
        return;
    }
    if (!strcmp(callee, "__assertfail")) {
        if (narg < 4)
            fprintf(e->out, "C->rt->raise(C, SIM_ASSERT, KERNEL, %d, \"assertion failed\");",
                    s->line);
        else
            fprintf(e->out,
                    "C->rt->assertion(C, *(uint64_t *)%s, *(uint64_t *)%s, *(uint32_t *)%s, "
                    "*(uint64_t *)%s);",
                    storage(e, arg[0]), storage(e, arg[1]), storage(e, arg[2]), storage(e, arg[3]));
        return;
    }
    if (!strcmp(callee, "malloc") && nret == 1 && narg == 1) {
        fprintf(e->out, "*(uint64_t *)%s = C->rt->reserve(C, *(uint64_t *)%s);", storage(e, ret[0]),
                storage(e, arg[0]));
        return;
    }
    if (!strcmp(callee, "free") && nret == 0 && narg == 1) {
        fprintf(e->out, "C->rt->release(C, *(uint64_t *)%s, KERNEL, %d);", storage(e, arg[0]),
                s->line);
        return;
    }
    const func *f = NULL;
    if (is_indirect(s)) {
        fprintf(e->out, "switch (%s) { ", rd(e, callee, "u64"));
        for (int i = 0; i < e->m->nfunc; i++) {
            f = &e->m->func[i];
            uint64_t code = e->reached[i] ? sim_ptx_function_address(e->m, f->name) : 0;
            if (!code || f->nret != nret || f->nparam != narg) continue;
            fprintf(e->out, "case %lluull: ", (unsigned long long)code);
            call_of(e, f, ret, arg);
            fprintf(e->out, " break; ");
        }
        fprintf(e->out,
                "default: C->rt->raise(C, SIM_INVALID_PC, KERNEL, %d, \"call through a pointer "
                "to no such function\"); }",
                s->line);
        return;
    }
    for (int i = 0; i < e->m->nfunc; i++)
        if (!strcmp(e->m->func[i].name, callee)) f = &e->m->func[i];
    if (!f || !f->has_body || f->nret != nret || f->nparam != narg) {
        refuse(e, "call of %s", callee);
        return;
    }
    call_of(e, f, ret, arg);
}
