/* again.c - see again.h. */
#include "sweep/again.h"
#include <stdio.h>
#include <string.h>

typedef struct text {
    char *at;
    size_t n, room;
} text;

static void put(text *t, const char *s, size_t n)
{
    if (n >= t->room - t->n) n = t->room - t->n - 1;
    memcpy(t->at + t->n, s, n);
    t->at[t->n += n] = 0;
}

/* One word, quoted where a shell would make something else of it. */
static void put_word(text *t, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";
    if (t->n) put(t, " ", 1);
    if (*word && !word[strspn(word, plain)]) {
        put(t, word, strlen(word));
        return;
    }
    put(t, "'", 1);
    for (; *word; word++)
        if (*word == '\'')
            put(t, "'\\''", 4);
        else
            put(t, word, 1);
    put(t, "'", 1);
}

void op_again_command(char *out, size_t room, char *const *words)
{
    text t = {.at = out, .room = room};
    *out = 0;
    for (; *words; words++) put_word(&t, *words);
}

static void option(text *t, const char *name, const char *value)
{
    if (!value) return;
    put_word(t, name);
    put_word(t, value);
}

void op_again_options(char *out, size_t room, const op_sweep_options *o)
{
    text t = {.at = out, .room = room};
    char which[80], kinds[64] = "";
    *out = 0;
    put_word(&t, "oomproof");
    put_word(&t, "sweep");
    option(&t, "--device", o->sim ? "sim" : "gpu");
    snprintf(which, sizeof which, "%s%s%d", o->part ? o->part : "", o->part ? ":" : "", o->step);
    option(&t, o->part ? "--part" : "--step", which);
    option(&t, "--sim-memory", o->memory);
    option(&t, "--faults", o->faults);
    option(&t, "--calls", o->calls);
    option(&t, "--site", o->site);
    option(&t, "--compare", o->compare);
    if (o->must_recover) put_word(&t, "--must-recover");
    for (int k = 0; k < OP_FAULTS; k++)
        if (o->kinds >> k & 1) {
            size_t n = strlen(kinds);
            snprintf(kinds + n, sizeof kinds - n, "%s%s", n ? "," : "", op_fault_text[k]);
        }
    option(&t, "--kinds", o->kinds != 1 << OP_FAULT_OOM ? kinds : NULL);
}
