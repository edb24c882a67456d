/* forms.c - every form of every instruction that is translated: which modifiers may stand together.
 * The one list of what is accepted; the emitters behind it need not ask again. The cases hold each
 * form of it against a reference (suites forms*), so a row here without one there fails. */
#include "emit.h"
#include <string.h>

/* A form: groups between spaces, of each of which one word stands in the instruction; "-" none.
 * "~": which of the words it is changes no result (cache hints, scopes), so that sim_ptx_forms
 * tells of each word once, not with all others. "*" in front: in any order, up to the ":". */
#define I16   "u16|s16|u32|s32|u64|s64"
#define I32   "u32|s32|u64|s64"
#define I8    "u8|s8|" I16
#define BITS  "b16|b32|b64"
#define ROUND "rn|rz|rm|rp"
#define WHOLE "rni|rzi|rmi|rpi"
#define FLOAT " -|ftz -|sat f32"
#define HALF  "f16|f16x2"
#define BHALF "bf16|bf16x2"
#define SAME  "eq|ne"
#define LESS  "eq|ne|lt|le|gt|ge"
#define UINT  "eq|ne|lt|le|gt|ge|lo|ls|hi|hs"
#define FCMP  "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"
#define LOGIC " ~-|and|or|xor "
#define CACHE                                                                           \
    " ~-|ca|cg|cs|lu|cv|wb|wt ~-|nc ~-|L1::no_allocate|L1::evict_last|L1::evict_first " \
    "~-|L2::64B|L2::128B|L2::256B "
#define NARROW  "b8|u8|s8|b16|u16|s16|b32|u32|s32|f32"
#define WIDE    "b64|u64|s64|f64"
#define ORDER   "~-|relaxed|acquire|release|acq_rel ~-|cta|gpu|sys "
#define WHERE   "-|global|shared|shared::cta "
#define GENERIC "-|generic|global|shared|shared::cta|local "

static const struct {
    const char *op, *form;
} table[] = {
    {"add", I16},
    {"add", "sat s32"},
    {"add", "cc " I32},
    {"add", "-|" ROUND FLOAT},
    {"add", "-|" ROUND " f64"},
    {"add", "-|rn -|ftz -|sat " HALF},
    {"add", "-|rn " BHALF},
    {"sub", I16},
    {"sub", "sat s32"},
    {"sub", "cc " I32},
    {"sub", "-|" ROUND FLOAT},
    {"sub", "-|" ROUND " f64"},
    {"sub", "-|rn -|ftz -|sat " HALF},
    {"sub", "-|rn " BHALF},
    {"addc", "-|cc " I32 "|b32|b64"},
    {"subc", "-|cc " I32 "|b32|b64"},
    {"mul", "lo|hi " I16},
    {"mul", "wide u16|s16|u32|s32"},
    {"mul", "-|" ROUND FLOAT},
    {"mul", "-|" ROUND " f64"},
    {"mul", "-|rn -|ftz -|sat " HALF},
    {"mul", "-|rn " BHALF},
    {"mad", "lo|hi " I16},
    {"mad", "wide u16|s16|u32|s32"},
    {"mad", "lo|hi cc " I32},
    {"mad", ROUND FLOAT},
    {"mad", ROUND " f64"},
    {"madc", "lo|hi -|cc " I32},
    {"fma", ROUND FLOAT},
    {"fma", ROUND " f64"},
    {"fma", "rn -|ftz -|sat " HALF},
    {"fma", "rn -|ftz relu " HALF},
    {"fma", "rn -|relu " BHALF},
    {"mul24", "lo|hi u32|s32"},
    {"mad24", "lo|hi u32|s32"},
    {"div", I16},
    {"div", ROUND "|approx|full -|ftz f32"},
    {"div", ROUND " f64"},
    {"rem", I16},
    {"and", "pred|" BITS},
    {"or", "pred|" BITS},
    {"xor", "pred|" BITS},
    {"not", "pred|" BITS},
    {"cnot", BITS},
    {"shl", BITS},
    {"shr", BITS "|" I16},
    {"shf", "l|r wrap|clamp b32"},
    {"min", I16},
    {"min", "-|ftz -|NaN f32"},
    {"min", "f64"},
    {"min", "-|ftz -|NaN " HALF},
    {"min", "-|ftz -|NaN xorsign abs " HALF},
    {"min", "-|NaN " BHALF},
    {"min", "-|NaN xorsign abs " BHALF},
    {"max", I16},
    {"max", "-|ftz -|NaN f32"},
    {"max", "f64"},
    {"max", "-|ftz -|NaN " HALF},
    {"max", "-|ftz -|NaN xorsign abs " HALF},
    {"max", "-|NaN " BHALF},
    {"max", "-|NaN xorsign abs " BHALF},
    {"neg", "s16|s32|s64|f64|" BHALF},
    {"neg", "-|ftz f32|" HALF},
    {"abs", "s16|s32|s64|f64|" BHALF},
    {"abs", "-|ftz f32|" HALF},
    {"sqrt", ROUND "|approx -|ftz f32"},
    {"sqrt", ROUND " f64"},
    {"rcp", ROUND "|approx -|ftz f32"},
    {"rcp", ROUND " f64"},
    {"rcp", "approx ftz f64"},
    {"rsqrt", "approx -|ftz f32|f64"},
    {"ex2", "approx -|ftz f32"},
    {"ex2", "approx " HALF},
    {"ex2", "approx ftz " BHALF},
    {"lg2", "approx -|ftz f32"},
    {"sin", "approx -|ftz f32"},
    {"cos", "approx -|ftz f32"},
    {"tanh", "approx f32|" HALF "|" BHALF},
    {"copysign", "f32|f64"},
    {"testp", "finite|infinite|number|notanumber|normal|subnormal f32|f64"},
    {"popc", "b32|b64"},
    {"clz", "b32|b64"},
    {"brev", "b32|b64"},
    {"bfind", "-|shiftamt " I32},
    {"bfi", "b32|b64"},
    {"bfe", I32},
    {"prmt", "b32 -|f4e|b4e|rc8|ecl|ecr|rc16"},
    {"lop3", "b32"},
    {"sad", I16},
    {"dp2a", "lo|hi u32|s32 u32|s32"},
    {"dp4a", "u32|s32 u32|s32"},
    {"bmsk", "clamp|wrap b32"},
    {"szext", "clamp|wrap u32|s32"},
    {"vabsdiff4", "u32|s32 u32|s32 u32|s32 -|add"},
    {"fns", "b32"},
    {"alloca", "u64"},
    {"setp", SAME LOGIC BITS},
    {"setp", LESS LOGIC "s16|s32|s64"},
    {"setp", UINT LOGIC "u16|u32|u64"},
    {"setp", FCMP LOGIC "-|ftz f32|" HALF},
    {"setp", FCMP LOGIC "f64|" BHALF},
    {"set", SAME LOGIC "u32|s32|f32 " BITS},
    {"set", LESS LOGIC "u32|s32|f32 s16|s32|s64"},
    {"set", UINT LOGIC "u32|s32|f32 u16|u32|u64"},
    {"set", FCMP LOGIC "-|ftz u32|s32|f32 f32"},
    {"set", FCMP LOGIC "u32|s32|f32 f64"},
    {"set", FCMP LOGIC "-|ftz u16|s16|u32|s32|f16 f16"},
    {"set", FCMP LOGIC "-|ftz u32|s32|f16x2 f16x2"},
    {"set", FCMP LOGIC "u16|s16|u32|s32|bf16 bf16"},
    {"set", FCMP LOGIC "u32|s32|bf16x2 bf16x2"},
    {"selp", BITS "|" I16 "|f32|f64"},
    {"slct", BITS "|" I16 "|f32|f64 s32|f32"},
    {"mov", BITS "|" I16 "|f32|f64|pred"},
    {"cvta", "-|to global|shared|local|const|param u64"},
    {"isspacep", "global|shared|local"},
    {"cvt", "-|sat " I8 " " I8},
    {"cvt", WHOLE " -|ftz -|sat " I8 " f32"},
    {"cvt", WHOLE " -|sat " I8 " f64|f16|bf16"},
    {"cvt", ROUND " -|sat f32|f64|f16|bf16 " I8},
    {"cvt", ROUND FLOAT " f64"},
    {"cvt", "-|ftz -|sat f64 f32"},
    {"cvt", "-|" WHOLE " -|ftz -|sat f32 f32"},
    {"cvt", "-|" WHOLE " -|sat f64 f64"},
    {"cvt", "*" ROUND " -|ftz -|sat -|satfinite : f16|bf16|f16x2|bf16x2 f32"},
    {"cvt", "*" ROUND " -|ftz relu -|satfinite : f16|bf16|f16x2|bf16x2 f32"},
    {"cvt", ROUND " -|sat f16|bf16 f64"},
    {"cvt", ROUND " -|sat f16 bf16"},
    {"cvt", ROUND " -|sat bf16 f16"},
    {"cvt", WHOLE " -|sat f16 f16"},
    {"cvt", WHOLE " -|sat bf16 bf16"},
    {"cvt", "sat f16 f16"},
    {"cvt", "sat bf16 bf16"},
    {"cvt", "-|ftz -|sat f32 f16|bf16"},
    {"cvt", "-|sat f64 f16|bf16"},
    {"ld", "*~-|weak|volatile|relaxed|acquire ~-|cta|gpu|sys " GENERIC CACHE "-|v2|v4 : " NARROW},
    {"ld", "*~-|weak|volatile|relaxed|acquire ~-|cta|gpu|sys " GENERIC CACHE "-|v2 : " WIDE},
    {"ld", "* const|param|param::entry|param::func " CACHE "-|v2|v4 : " NARROW},
    {"ld", "* const|param|param::entry|param::func " CACHE "-|v2 : " WIDE},
    {"ldu", "*-|global -|v2|v4 : " NARROW},
    {"ldu", "*-|global -|v2 : " WIDE},
    {"st", "*~-|weak|volatile|relaxed|release ~-|cta|gpu|sys " GENERIC CACHE "-|v2|v4 : " NARROW},
    {"st", "*~-|weak|volatile|relaxed|release ~-|cta|gpu|sys " GENERIC CACHE "-|v2 : " WIDE},
    {"st", "*param|param::func -|v2|v4 : " NARROW},
    {"st", "*param|param::func -|v2 : " WIDE},
    {"atom", "*" ORDER WHERE "add : u32|s32|u64|f32|f64"},
    {"atom", "*" ORDER WHERE "min|max : u32|s32|u64|s64"},
    {"atom", "*" ORDER WHERE "and|or|xor : b32|b64"},
    {"atom", "*" ORDER WHERE "exch : b32|b64|u32|s32|u64|s64|f32|f64"},
    {"atom", "*" ORDER WHERE "cas : b16|b32|b64|u32|s32|u64|s64"},
    {"atom", "*" ORDER WHERE "inc|dec : u32"},
    {"atom", "*" ORDER WHERE "add noftz : f16|f16x2|bf16|bf16x2"},
    {"red", "*" ORDER WHERE "add : u32|s32|u64|f32|f64"},
    {"red", "*" ORDER WHERE "min|max : u32|s32|u64|s64"},
    {"red", "*" ORDER WHERE "and|or|xor : b32|b64"},
    {"red", "*" ORDER WHERE "inc|dec : u32"},
    {"red", "*" ORDER WHERE "add noftz : f16|f16x2|bf16|bf16x2"},
    {"cp", "async ca|cg shared|shared::cta global ~-|L2::64B|L2::128B|L2::256B"},
    {"cp", "async commit_group|wait_group|wait_all"},
    {"bar", "~-|cta sync|arrive"},
    {"bar", "~-|cta red popc u32"},
    {"bar", "~-|cta red and|or pred"},
    {"bar", "warp sync"},
    {"barrier", "~-|cta sync|arrive ~-|aligned"},
    {"barrier", "~-|cta red popc ~-|aligned u32"},
    {"barrier", "~-|cta red and|or ~-|aligned pred"},
    {"shfl", "*sync idx|up|down|bfly : b32"},
    {"vote", "*sync all|any|uni : pred"},
    {"vote", "*sync ballot : b32"},
    {"match", "*any|all sync : b32|b64"},
    {"redux", "sync add|min|max u32|s32"},
    {"redux", "sync and|or|xor b32"},
    {"activemask", "b32"},
    {"membar", "cta|gl|sys"},
    {"fence", "~-|sc|acq_rel|acquire|release cta|cluster|gpu|sys"},
    {"griddepcontrol", "launch_dependents|wait"}, /* each grid comes behind the one before */
    {"nanosleep", "u32"},
    {"prefetch", "-|global|local L1|L2"},
    {"prefetch", "global L2::evict_last|L2::evict_normal"},
    {"prefetchu", "L1"},
};
enum { ROWS = sizeof table / sizeof *table, GROUPS = 10 };

/* A form, taken apart. */
typedef struct group {
    const char *words; /* "a|b|-" up to a space */
    size_t length;
    int same; /* "~" */
} group;

static int groups_of(const char *form, group *g, int *any_order)
{
    int n = 0;
    *any_order = 0;
    form += *form == '*';
    for (const char *p = form; *p; p += strcspn(p, " ")) {
        while (*p == ' ') p++;
        if (*p == ':')
            *any_order = n;
        else if (*p) {
            int same = *p == '~';
            g[n++] = (group){p + same, strcspn(p, " ") - (size_t)same, same};
        }
    }
    return n;
}

/* The word is one of the group's. */
static int in_group(const group *g, const char *word)
{
    size_t n = strlen(word);
    const char *end = g->words + g->length;
    for (const char *p = g->words; p < end; p++) {
        size_t len = strcspn(p, "| ");
        if (len == n && !memcmp(p, word, n)) return 1;
        p += len;
    }
    return 0;
}

static int fits(const char *form, const stmt *s)
{
    group g[GROUPS];
    int any = 0, n = groups_of(form, g, &any), at = 0;
    char used[GROUPS] = {0};
    for (; at < s->nmod; at++) { /* in any order */
        int k = 0;
        while (k < any && (used[k] || !in_group(&g[k], s->mod[at]))) k++;
        if (k == any) break;
        used[k] = 1;
    }
    for (int k = 0; k < any; k++)
        if (!used[k] && !in_group(&g[k], "-")) return 0;
    for (int k = any; k < n; k++) {
        if (at < s->nmod && in_group(&g[k], s->mod[at]))
            at++;
        else if (!in_group(&g[k], "-"))
            return 0;
    }
    return at == s->nmod;
}

int form_known(emit *e, const stmt *s)
{
    int opcode = 0;
    for (int i = 0; i < ROWS; i++) {
        if (strcmp(table[i].op, s->op)) continue;
        opcode = 1;
        if (fits(table[i].form, s)) return 1;
    }
    if (!opcode) {
        refuse(e, "opcode %s", s->op);
        return 0;
    }
    for (int m = 0; m < s->nmod; m++) {
        group g[GROUPS];
        int known = 0, any;
        for (int i = 0; i < ROWS; i++)
            for (int k = strcmp(table[i].op, s->op) ? 0 : groups_of(table[i].form, g, &any); k;)
                known |= in_group(&g[--k], s->mod[m]);
        if (known) continue;
        refuse(e, "modifier .%s of %s", s->mod[m], s->op);
        return 0;
    }
    refuse(e, "these modifiers of %s together", s->op);
    return 0;
}

/* Word number i of the group into out; 0: there is none. */
static int word_of(const group *g, int i, char *out, size_t room)
{
    const char *p = g->words, *end = p + g->length;
    while (p < end) {
        size_t len = strcspn(p, "| ");
        if (i-- == 0) {
            if (len >= room) len = room - 1;
            memcpy(out, p, len);
            out[len] = 0;
            return 1;
        }
        p += len + 1;
    }
    return 0;
}

static void tell(const char *op, const group *g, int n, const int *pick, sim_ptx_form each,
                 void *with)
{
    char word[GROUPS][24];
    const char *mods[GROUPS];
    int nmod = 0;
    for (int k = 0; k < n; k++)
        if (word_of(&g[k], pick[k], word[k], sizeof word[k]) && strcmp(word[k], "-"))
            mods[nmod++] = word[k];
    each(with, op, mods, nmod);
}

void sim_ptx_forms(sim_ptx_form each, void *with)
{
    char word[24];
    for (int i = 0; i < ROWS; i++) {
        group g[GROUPS];
        int any, n = groups_of(table[i].form, g, &any), pick[GROUPS] = {0}, k = 0;
        do { /* every word of the groups that matter with every other */
            tell(table[i].op, g, n, pick, each, with);
            for (k = n - 1; k >= 0; pick[k--] = 0)
                if (!g[k].same && word_of(&g[k], ++pick[k], word, sizeof word)) break;
        } while (k >= 0);
        for (k = 0; k < n; pick[k++] = 0) /* and of the rest each once */
            while (g[k].same && word_of(&g[k], ++pick[k], word, sizeof word))
                tell(table[i].op, g, n, pick, each, with);
    }
}
