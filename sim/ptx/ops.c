/* ops.c - one row an opcode, and what the opcodes share: operands and results with .ftz and .sat.
 * Which modifiers it may have is in forms.c. */
#include "ops.h"
#include <string.h>

const char *type_of(const stmt *s)
{
    return s->nmod ? s->mod[s->nmod - 1] : "";
}

const char *direction(const stmt *s)
{
    static const char *const d[] = {"rz", "rm", "rp"};
    for (int i = 0; i < 3; i++)
        if (has(s, d[i])) return d[i];
    return NULL;
}

/* x as .ftz has it; .f64 has that in approximations only */
static const char *flushed(emit *e, const stmt *s, const char *t, const char *x)
{
    if (!has(s, "ftz") || !is_float(t)) return x;
    return fmt(e, "%s(%s)", bits_of(t) == 64 ? "ftzd_" : "ftz_", x);
}

/* x with .ftz and .sat of the instruction applied; inputs are flushed by in(). */
static const char *result(emit *e, const stmt *s, const char *t, const char *x)
{
    x = flushed(e, s, t, x);
    if (has(s, "sat")) x = fmt(e, "%s(%s)", bits_of(t) == 64 ? "satd" : "satf", x);
    return x;
}

const char *in(emit *e, const stmt *s, int i, const char *t)
{
    if (i >= s->narg) {
        refuse(e, "%d operands", s->narg);
        return "0";
    }
    return flushed(e, s, t, rd(e, s->arg[i], t));
}

void put(emit *e, const stmt *s, const char *t, const char *x)
{
    if (!s->narg)
        refuse(e, "no destination");
    else
        wr(e, s->arg[0], t, result(e, s, t, x));
}

/* by opcode: how many operands (0: several numbers of them are right) */
static const struct {
    const char *op;
    int operands;
    void (*fn)(emit *, const stmt *);
} table[] = {
    {"add", 3, op_addsub},
    {"sub", 3, op_addsub},
    {"addc", 3, op_carry},
    {"subc", 3, op_carry},
    {"madc", 4, op_carry},
    {"mul", 3, op_mul},
    {"mad", 4, op_mul},
    {"fma", 4, op_mul},
    {"mul24", 3, op_mul24},
    {"mad24", 4, op_mul24},
    {"div", 3, op_div},
    {"rem", 3, op_rem},
    {"and", 3, op_logic},
    {"or", 3, op_logic},
    {"xor", 3, op_logic},
    {"not", 2, op_logic},
    {"cnot", 2, op_logic},
    {"shl", 3, op_shift},
    {"shr", 3, op_shift},
    {"shf", 4, op_shf},
    {"min", 3, op_minmax},
    {"max", 3, op_minmax},
    {"neg", 2, op_unary},
    {"abs", 2, op_unary},
    {"sqrt", 2, op_unary},
    {"rcp", 2, op_unary},
    {"rsqrt", 2, op_unary},
    {"ex2", 2, op_unary},
    {"lg2", 2, op_unary},
    {"sin", 2, op_unary},
    {"cos", 2, op_unary},
    {"tanh", 2, op_unary},
    {"copysign", 3, op_copysign},
    {"testp", 2, op_testp},
    {"popc", 2, op_bits},
    {"clz", 2, op_bits},
    {"brev", 2, op_bits},
    {"bfind", 2, op_bits},
    {"bfi", 5, op_bits},
    {"bfe", 4, op_bits},
    {"prmt", 4, op_prmt},
    {"lop3", 5, op_lop3},
    {"sad", 4, emit_rare},
    {"dp2a", 4, emit_rare},
    {"bmsk", 3, emit_rare},
    {"szext", 3, emit_rare},
    {"vabsdiff4", 4, emit_rare},
    {"fns", 4, emit_rare},
    {"alloca", 0, emit_rare},
    {"dp4a", 4, op_dp4a},
    {"setp", 0, op_setp},
    {"set", 0, op_setp},
    {"selp", 4, op_select},
    {"slct", 4, op_select},
    {"mov", 2, op_mov},
    {"cvta", 2, op_cvta},
    {"isspacep", 2, op_isspacep},
    {"cvt", 2, emit_convert},
    {"ld", 2, emit_memory},
    {"ldu", 2, emit_memory},
    {"st", 2, emit_memory},
    {"atom", 0, emit_memory},
    {"red", 2, emit_memory},
    {"bar", 0, emit_warp},
    {"barrier", 0, emit_warp},
    {"shfl", 0, emit_warp},
    {"vote", 0, emit_warp},
    {"match", 0, emit_warp},
    {"redux", 3, emit_warp},
    {"cp", 0, emit_async},
    {"activemask", 1, emit_warp},
    {"membar", 0, emit_warp},
    {"fence", 0, emit_warp},
    {"nanosleep", 1, emit_warp},
    {"prefetch", 1, emit_warp},
    {"prefetchu", 1, emit_warp},
    {"griddepcontrol", 0, emit_warp},
};

void emit_instruction(emit *e, const stmt *s)
{
    int half = 0;
    if (!form_known(e, s)) return;
    for (int i = 0; i < s->nmod; i++) half |= is_half(s->mod[i]);
    if (half && strcmp(s->op, "atom") && strcmp(s->op, "red")) {
        emit_half(e, s);
        return;
    }
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].op, s->op)) continue;
        if (table[i].operands && s->narg != table[i].operands) {
            refuse(e, "%d operands instead of %d", s->narg, table[i].operands);
            return;
        }
        table[i].fn(e, s);
        return;
    }
    refuse(e, "opcode %s", s->op);
}
