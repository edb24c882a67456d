/* parse.h - how the text of rules is read: for parse.c and faults.c. */
#ifndef OP_PARSE_H
#define OP_PARSE_H
#include "rules.h"

typedef struct op_parser {
    const char *start, *p; /* of the text; where it is read */
    char *error;
    size_t room;
} op_parser;

/* Says what is wrong with its line and column, and what may be meant where near is not NULL; -1. */
int op_parse_fail(op_parser *x, const char *at, const char *what, const char *near);
/* The word up to one of `stops`, or to an arrow; -1 and a message when it is longer than there is
 * room for. */
int op_parse_word(op_parser *x, char *out, size_t room, const char *stops);
int op_parse_fault(op_parser *x, op_rule *r);                 /* -1: said */
int op_is_one_of(const char *word, const char *const *words); /* NULL ends them */
int op_small_number(const char *s, int *out);                 /* up to 2^20; 0: not one */

#endif
