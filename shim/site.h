/* site.h - where a call comes from, in words that survive a rebuild. */
#ifndef OP_SITE_H
#define OP_SITE_H
#include <stddef.h>

/* "module:function#ordinal" of the first frame below the shim whose function's name does not say
 * that it allocates; ordinal: of the call within the function, by first appearance. caller: return
 * address of the wrapper; frame: its frame address. Never NULL; kept for good. Thread-safe. */
const char *op_site_of(void *caller, void *frame);

/* Before sites are looked up: backtrace loads a library at its first call, and no fork should come
 * in the midst of that. */
void op_site_start(void);

/* The functions that led here, the innermost first, "a < b < main": without the shim's own, without
 * what lies above main, as many as there is room for, and no more than most. files: with the file
 * of each, "a (libx.so) < main (program)". Slow; thread-safe. */
void op_stack_text(char *text, size_t bytes, int most, int files);

/* Around a fork: no other thread is within the tables, in the child either. */
void op_site_hold(void);
void op_site_let_go(void);
void op_site_free(void); /* nobody is in there, whatever the lock says */

#endif
