/* stage.h - a fragment's fields between host and device. The results of augmentation live only on
 * the device; bringing them back is a real copy, and that copy is what is retried. */
#ifndef PT_STAGE_H
#define PT_STAGE_H
#include "device/device.h"
#include "fragment.h"
#include "net/net.h"
#include "recover.h"

/* Fields to the device, augmented there if they are not yet. On success the host copies are freed;
 * on failure nothing of f is on the device and the host copies are whole. Phases load, augment. */
pt_status pt_stage_up(pt_device *d, pt_fragment *f, const pt_augment *a);
/* Every field copied back and waited for, then the device copies freed. A fragment that is on the
 * host only loses what it may still have on the device. Phase stage. */
pt_status pt_stage_down(pt_device *d, pt_fragment *f);
/* Augments a fragment on the host through a small piece of device memory, halving the piece while
 * it does not fit. PT_ERR_DEVICE (out of memory) when even the smallest does not. */
pt_status pt_stage_augment(pt_device *d, pt_fragment *f, const pt_augment *a);
/* Which points the device trained: own points' scene and id, read back from it. */
pt_status pt_stage_receipt(pt_device *d, const pt_fragment *f, pt_attempt *out);
void pt_stage_discard(pt_device *d, pt_fragment *f);

#endif
