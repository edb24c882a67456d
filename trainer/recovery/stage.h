/* stage.h - a fragment's fields between host and device. The results of augmentation live only on
 * the device; bringing them back is a real copy, and that copy is what is retried. */
#ifndef PT_STAGE_H
#define PT_STAGE_H
#include "device/device.h"
#include "fragment.h"
#include "net/net.h"
#include "recover.h"

/* Which fields lie on the device while nothing asks for them: all, or only the features. The others
 * of x then stay on the host, augmented, and a pass fetches each when a layer needs it. */
typedef enum pt_device_fields { PT_DEVICE_ALL, PT_DEVICE_X } pt_device_fields;

/* Fields to the device, augmented there if they are not yet. On success the host copies of what is
 * there are freed; on failure nothing of f is on the device and the host copies are whole. Phases
 * load, augment. */
pt_status pt_stage_up(pt_device *d, pt_fragment *f, const pt_augment *a, pt_device_fields which);
/* Every field that is there copied back and waited for, then the device copies freed. A fragment
 * that is on the host only loses what it may still have on the device. Phase stage. */
pt_status pt_stage_down(pt_device *d, pt_fragment *f);
/* Augments a fragment on the host through a small piece of device memory, halving the piece while
 * it does not fit. PT_ERR_DEVICE (out of memory) when even the smallest does not. */
pt_status pt_stage_augment(pt_device *d, pt_fragment *f, const pt_augment *a);
/* Which points were trained: own points' scene and id, read back from the device where they are.
 * Waits for the device, and so for all that came before. */
pt_status pt_stage_receipt(pt_device *d, const pt_fragment *f, pt_attempt *out);
void pt_stage_discard(pt_device *d, pt_fragment *f);

#endif
