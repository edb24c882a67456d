/* words.c - the words of a PTX text: white space and comments, text up to a stop, lists, types; the
 * memory of a module. */
#include "parse.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void bad(parser *P, const char *format, ...)
{
    int n = snprintf(P->error, P->error_bytes, "line %d: ", P->line);
    va_list ap;
    va_start(ap, format);
    if (n >= 0 && (size_t)n < P->error_bytes)
        vsnprintf(P->error + n, P->error_bytes - (size_t)n, format, ap);
    va_end(ap);
    longjmp(P->bad, 1);
}

void *ptx_alloc(sim_ptx *m, size_t bytes)
{
    if (m->narena == m->arena_room) {
        int room = m->arena_room ? 2 * m->arena_room : 256;
        void **a = realloc(m->arena, sizeof *a * (size_t)room);
        if (!a) return NULL;
        m->arena = a;
        m->arena_room = room;
    }
    void *p = calloc(1, bytes ? bytes : 1);
    if (p) m->arena[m->narena++] = p;
    return p;
}

char *ptx_text(sim_ptx *m, const char *from, size_t n)
{
    char *s = ptx_alloc(m, n + 1);
    if (s) memcpy(s, from, n);
    return s;
}

uint32_t ptx_type_bytes(const char *t)
{
    if (!strcmp(t, "pred")) return 1;
    if (!strcmp(t, "b128")) return 16;
    if (!strcmp(t, "f16x2") || !strcmp(t, "bf16x2")) return 4;
    if (!strcmp(t, "bf16")) return 2;
    if (strchr("bsuf", t[0]) && t[0]) {
        int bits = atoi(t + 1);
        if (bits == 8 || bits == 16 || bits == 32 || bits == 64) return (uint32_t)bits / 8;
    }
    return 0;
}

void *need(parser *P, void *p)
{
    if (!p) bad(P, "out of memory");
    return p;
}

void skip(parser *P)
{
    for (; P->p < P->end; P->p++) {
        if (*P->p == '\n')
            P->line++;
        else if (P->p + 1 < P->end && P->p[0] == '/' && P->p[1] == '/') {
            while (P->p < P->end && *P->p != '\n') P->p++;
            P->p--;
        } else if (P->p + 1 < P->end && P->p[0] == '/' && P->p[1] == '*') {
            for (P->p += 2; P->p + 1 < P->end && !(P->p[0] == '*' && P->p[1] == '/'); P->p++)
                if (*P->p == '\n') P->line++;
            P->p++;
        } else if (!isspace((unsigned char)*P->p))
            return;
    }
    P->p = P->end; /* a comment that does not end leads beyond it */
}

char *until(parser *P, const char *stops)
{
    size_t n = 0, room = 64;
    int depth = 0, quoted = 0;
    char *s = need(P, malloc(room));
    while (P->p < P->end) {
        char c = *P->p;
        if (!quoted && c == '/' && P->p + 1 < P->end && (P->p[1] == '/' || P->p[1] == '*')) {
            skip(P);
            c = ' ';
            P->p--;
        }
        if (c == '"') quoted = !quoted;
        if (!quoted && depth == 0 && strchr(stops, c)) break;
        if (!quoted && strchr("([{", c)) depth++;
        if (!quoted && strchr(")]}", c) && depth > 0) depth--;
        if (c == '\n') P->line++;
        if (isspace((unsigned char)c)) c = ' ';
        if (!(c == ' ' && (n == 0 || s[n - 1] == ' '))) s[n++] = c;
        if (n + 1 >= room) s = need(P, realloc(s, room *= 2));
        P->p++;
    }
    while (n && s[n - 1] == ' ') n--;
    char *t = need(P, ptx_text(P->m, s, n));
    free(s);
    if (P->p >= P->end) bad(P, "the text ends inside a statement: %.60s", t);
    return t;
}

static char *trim_copy(parser *P, const char *from, size_t n)
{
    while (n && isspace((unsigned char)*from)) from++, n--;
    while (n && isspace((unsigned char)from[n - 1])) n--;
    return need(P, ptx_text(P->m, from, n));
}

int split(parser *P, const char *s, char **out, int max)
{
    int n = 0, depth = 0;
    const char *from = s;
    if (!*s) return 0;
    for (;; s++) {
        if (*s && strchr("([{", *s)) depth++;
        if (*s && strchr(")]}", *s)) depth--;
        if (*s && !(*s == ',' && depth == 0)) continue;
        if (n == max) bad(P, "too many operands");
        out[n++] = trim_copy(P, from, (size_t)(s - from));
        if (!*s) return n;
        from = s + 1;
    }
}
