/* timers.h - where the time of a batch went, by name: Data.*, transf.*, net.*, recover.* */
#ifndef PT_TIMERS_H
#define PT_TIMERS_H
#include "loop/trainer.h"

typedef struct pt_timer {
    const char *group, *name;
    double seconds; /* by the host's clock */
} pt_timer;
enum { PT_TIMERS = 12 };

void pt_timers_of(const pt_batch_result *r, pt_timer out[PT_TIMERS]);

#endif
