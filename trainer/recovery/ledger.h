/* ledger.h - per batch: every point trained exactly once, or named as dropped with the reason. */
#ifndef PT_LEDGER_H
#define PT_LEDGER_H
#include "error.h"
#include <stdint.h>

typedef enum pt_fate {
    PT_FATE_OPEN, /* not yet decided: an error at the end of a batch */
    PT_FATE_TRAINED,
    PT_FATE_FLOOR,      /* dropped: out of memory at the floor */
    PT_FATE_NO_GAIN,    /* dropped: out of memory, and a cut would not have made it smaller */
    PT_FATE_NO_AUGMENT, /* dropped: out of memory before it could be brought to the device */
    PT_FATE_BATCH,      /* dropped: its batch failed and the run was told to go on */
    PT_FATE_OVERFLOW,   /* dropped: the gradient of its batch overflowed in 16 bits */
    PT_FATES
} pt_fate;
const char *pt_fate_name(pt_fate f);

typedef struct pt_ledger {
    int scenes;
    int64_t *points; /* [scenes] */
    uint8_t **fate;  /* [scenes][points] pt_fate */
    int64_t count[PT_FATES];
} pt_ledger;

pt_status pt_ledger_open(pt_ledger *l, const int64_t *points, int scenes);
void pt_ledger_close(pt_ledger *l);
/* Marks one point. A second mark, or a point that is not in the batch, is PT_ERR_INTERNAL: it was
 * counted twice. */
pt_status pt_ledger_mark(pt_ledger *l, int scene, int64_t point, pt_fate fate);
/* All that is still open becomes `fate`. */
void pt_ledger_rest(pt_ledger *l, pt_fate fate);
/* The batch failed: whatever was trained of it has been rolled back. All points become `fate`. */
void pt_ledger_fail(pt_ledger *l, pt_fate fate);
int64_t pt_ledger_dropped(const pt_ledger *l);
/* PT_OK when no point is open. */
pt_status pt_ledger_check(const pt_ledger *l);

#endif
