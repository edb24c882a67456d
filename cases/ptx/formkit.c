/* formkit.c - the types and the forms of formkit.h: what an accepted form says, and its text with
 * registers. */
#include "formkit.h"
#include "ptx.h"
#include <string.h>

/* ---- types ---- */
int type_bits(const char *t)
{
    size_t n = strlen(t);
    if (!strcmp(t, "pred")) return 1;
    if (n > 2 && !strcmp(t + n - 2, "x2")) return 32;
    return atoi(t + strcspn(t, "0123456789"));
}
int type_float(const char *t)
{
    return !strcmp(t, "f32") || !strcmp(t, "f64");
}
int type_half(const char *t)
{
    return !strncmp(t, "f16", 3) || !strncmp(t, "bf16", 4);
}
__int128 type_value(const char *t, uint64_t x)
{
    int w = type_bits(t);
    if (w < 1 || w > 64) return 0; /* no type */
    if (*t == 's') return (int64_t)(x << (64 - w)) >> (64 - w);
    return x << (64 - w) >> (64 - w);
}
uint64_t type_mask(const char *t, __int128 x)
{
    int w = type_bits(t);
    return w < 1 || w > 64 ? 0 : (uint64_t)x << (64 - w) >> (64 - w);
}
float as_float(uint64_t x)
{
    float f;
    uint32_t u = (uint32_t)x;
    memcpy(&f, &u, 4);
    return f;
}
double as_double(uint64_t x)
{
    double f;
    memcpy(&f, &x, 8);
    return f;
}

/* ---- forms ---- */
const char *form_type(const form *f, int from_end)
{
    return f->n >= from_end ? f->mod[f->n - from_end] : "";
}

int form_has(const form *f, const char *mod)
{
    for (int i = 0; i < f->n; i++)
        if (!strcmp(f->mod[i], mod)) return 1;
    return 0;
}

typedef struct list {
    form *f;
    size_t n, room;
} list;

static void add(void *with, const char *op, const char *const *mods, int n)
{
    list *l = with;
    if (l->n == l->room) {
        l->room = l->room ? 2 * l->room : 4096;
        l->f = realloc(l->f, l->room * sizeof *l->f);
        ck_assert_ptr_nonnull(l->f);
    }
    form *f = &l->f[l->n];
    *f = (form){.op = op, .n = n};
    size_t at = (size_t)snprintf(f->name, sizeof f->name, "%s", op);
    for (int i = 0; i < n; i++) {
        snprintf(f->mod[i], sizeof f->mod[i], "%s", mods[i]);
        at += (size_t)snprintf(f->name + at, sizeof f->name - at, ".%s", mods[i]);
    }
    for (size_t i = 0; i < l->n; i++)
        if (l->f[i].op == op && !strcmp(l->f[i].name, f->name)) return;
    l->n++;
}

form *forms_all(size_t *n)
{
    list l = {0};
    sim_ptx_forms(add, &l);
    *n = l.n;
    return l.f;
}

const family *form_family(const form *f)
{
    char word[40], code[4096];
    snprintf(word, sizeof word, " %s ", f->op);
    for (int i = 0; i < form_family_count; i++)
        if (strstr(form_families[i]->opcodes, word) && form_families[i]->code(f, code, sizeof code))
            return form_families[i];
    return NULL;
}

const char *form_register(const char *t)
{
    if (!strcmp(t, "pred")) return "%p";
    if (!strcmp(t, "f32")) return "%f";
    if (!strcmp(t, "f64")) return "%fd";
    return type_bits(t) <= 16 ? "%rs" : type_bits(t) == 32 ? "%r" : "%rd";
}

void form_bring(const char *t, char *out, size_t room)
{
    const char *how = "mov.b64 %rd1, %rd5;";
    if (!strcmp(t, "pred"))
        how = "selp.u64 %rd1, 1, 0, %p5;";
    else if (!strcmp(t, "f32"))
        how = "mov.b32 %r5, %f5; cvt.u64.u32 %rd1, %r5;";
    else if (!strcmp(t, "f64"))
        how = "mov.b64 %rd1, %fd5;";
    else if (type_bits(t) <= 16)
        how = "cvt.u64.u16 %rd1, %rs5;";
    else if (type_bits(t) == 32)
        how = "cvt.u64.u32 %rd1, %r5;";
    snprintf(out, room, "%s", how);
}

static const char *expand(const form *f, const char *word, char *out, size_t room)
{
    const char *t = form_type(f, 1);
    if (!strcmp(word, "T")) return t;
    if (!strcmp(word, "D")) return form_type(f, 2);
    if (strcmp(word, "W")) return word;
    snprintf(out, room, "%c%d", *t, 2 * type_bits(t));
    return out;
}

int form_plain(const form *f, const char *types, char *out, size_t room)
{
    char all[80], wide[8], *save = NULL;
    size_t at = (size_t)snprintf(out, room, "%s", f->name);
    int i = 0;
    snprintf(all, sizeof all, "%s", types);
    for (char *w = strtok_r(all, " ", &save); w; w = strtok_r(NULL, " ", &save), i++)
        at += (size_t)snprintf(out + at, room - at, "%s%s%d", i ? ", " : " ",
                               form_register(expand(f, w, wide, sizeof wide)),
                               i == 0   ? 5
                               : i == 4 ? 6
                                        : i + 1);
    at += (size_t)snprintf(out + at, room - at, "; ");
    snprintf(all, sizeof all, "%.*s", (int)strcspn(types, " "), types);
    form_bring(expand(f, all, wide, sizeof wide), out + at, room - at);
    return 1;
}
