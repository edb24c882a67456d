/* parse.h - shared by the parser's files: where it reads, its words, declarations of variables.
 * What fails does not come back: bad() jumps to sim_ptx_parse. */
#ifndef SIM_PTX_PARSE_H
#define SIM_PTX_PARSE_H
#include "ast.h"
#include <setjmp.h>

typedef struct parser {
    sim_ptx *m;
    const char *p, *end;
    int line;
    char *error;
    size_t error_bytes;
    jmp_buf bad;
} parser;

/* ---- words.c ---- */
void bad(parser *P, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
void *need(parser *P, void *p); /* p, which must not be NULL */
/* Skips white space and comments, counting lines. */
void skip(parser *P);
/* Text up to one of `stops` outside (), {} and []; comments become blanks, white space is squeezed.
 * The stop stays. */
char *until(parser *P, const char *stops);
/* Splits at commas outside brackets. */
int split(parser *P, const char *s, char **out, int max);

/* ---- variables.c ---- */
/* ".param .align 8 .b8 name[16]" and the like: everything but an initial value. */
void declaration(parser *P, const char *text, stmt *v);
/* One of the module's own; init: what stands behind "=", or NULL */
void module_variable(parser *P, const char *text, const char *init);

#endif
