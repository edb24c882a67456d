/* classify.h - what a failure means, by (call, code), never by message text. */
#ifndef PT_CLASSIFY_H
#define PT_CLASSIFY_H
#include "error.h"

typedef enum pt_class {
    PT_CLASS_OOM,       /* device memory: release, then try smaller */
    PT_CLASS_HOST,      /* host memory: smaller pieces on the device do not help */
    PT_CLASS_AMBIGUOUS, /* may hide an OOM or a dead context: probe, the same again once, then
                           refuse */
    PT_CLASS_NO,        /* a bug or bad input: never retried, never split */
    PT_CLASS_FATAL      /* the context is dead: the process must start again */
} pt_class;

pt_class pt_classify(const pt_error *e);
const char *pt_class_name(pt_class c);

#endif
