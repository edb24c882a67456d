/* charts.h - a run as TensorBoard charts. A chart that cannot be written must not end a run: it is
 * said once, and the run goes on without. NULL is allowed everywhere. */
#ifndef PT_CHARTS_H
#define PT_CHARTS_H
#include "loop/evaluate.h"

typedef struct pt_charts pt_charts;
pt_status pt_charts_open(const char *folder, int64_t step, pt_charts **out);
void pt_charts_batch(pt_charts *c, int64_t step, const pt_batch_result *r);
void pt_charts_scores(pt_charts *c, int64_t step, const pt_scores *s);
void pt_charts_close(pt_charts *c);

#endif
