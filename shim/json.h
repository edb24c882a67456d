/* json.h - text within JSON, for all that is written here. */
#ifndef OP_JSON_H
#define OP_JSON_H
#include <stdio.h>

/* s between quotes. Valid UTF-8 stays as it is, so that a reader has the very name back; a byte
 * that is none becomes U+FFFD. */
void op_json_text(FILE *f, const char *s);

#endif
