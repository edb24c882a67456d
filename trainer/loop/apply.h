/* apply.h - the commands that need no training: eval, predict, info. Each returns the exit code;
 * everything a user must know has been printed. */
#ifndef PT_APPLY_H
#define PT_APPLY_H
#include "loop/options.h"

int pt_apply(const pt_options *o); /* eval, predict */
int pt_info(const pt_options *o);  /* no device is used */

#endif
