/* events.h - event files that TensorBoard reads: numbers by tag and step. What stands before the
 * first / of a tag is its group of charts. */
#ifndef PT_EVENTS_H
#define PT_EVENTS_H
#include "error.h"
#include <stdint.h>

#define PT_EVENTS_TAG 200 /* bytes of the longest tag */

typedef struct pt_events pt_events;

/* A new file in folder, which is made when it is not there, with its parents. Readers take it for
 * the continuation of the files that are there, from step on: what those hold from there on is
 * replaced. PT_ERR_INPUT says why the folder cannot be used. */
pt_status pt_events_open(const char *folder, int64_t step, pt_events **out);

/* One number, kept as a float; NaN and infinity are numbers too. It is in the file on return, so a
 * killed run loses none. After a failure (PT_ERR_HOST) the file ends with the number before, and
 * the next call tries again. A tag is printable ASCII, anything else in it is written as _. */
pt_status pt_events_scalar(pt_events *e, int64_t step, const char *tag, double value);

/* NULL is fine. Frees e in any case. */
pt_status pt_events_close(pt_events *e);

#endif
