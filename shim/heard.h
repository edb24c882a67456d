/* heard.h - names that calls had where a rule's kernel= or site= did not match. */
#ifndef OP_HEARD_H
#define OP_HEARD_H
#include "rules.h"

enum { OP_HEARD = 64, OP_HEARD_NAME = 96 };

/* In the mapping that all processes of a run share: the first names that came. */
typedef struct op_heard {
    uint32_t taken; /* more than OP_HEARD: there were others */
    char name[OP_HEARD][OP_HEARD_NAME];
} op_heard;

/* Of a call that no rule acts on. which: a bit for each of the rules that fit it. Under the lock.
 */
void op_hear(const op_rule *rules, uint32_t which, const op_call *c);

/* Names of h near to a pattern, up to three as "a, b or c", until the next call; NULL: none came,
 * or one that it means. */
const char *op_heard_near(const op_heard *h, const char *pattern);

#endif
