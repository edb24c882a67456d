/* aside.h - a file that is always whole: written beside its place, flushed, renamed. */
#ifndef PT_ASIDE_H
#define PT_ASIDE_H
#include "error.h"
#include <stddef.h>

/* path becomes these bytes, or stays what it was. A link is followed, not replaced. */
pt_status pt_write_whole(const char *path, const void *bytes, size_t n);

/* Whether pt_write_whole could do it: PT_ERR_INPUT says why not. Removes what runs that were killed
 * left beside it. */
pt_status pt_write_possible(const char *path);

#endif
