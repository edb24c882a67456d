/* site.h - where a call comes from, in words that survive a rebuild. */
#ifndef OP_SITE_H
#define OP_SITE_H

/* "module:function#ordinal" of the first frame below the shim whose function's name does not say
 * that it allocates; ordinal: of the call within the function, by first appearance. caller: return
 * address of the wrapper; frame: its frame address. Never NULL; kept for good. Thread-safe. */
const char *op_site_of(void *caller, void *frame);

#endif
