/* weights.h - what a point of each class counts in the loss. */
#ifndef PT_WEIGHTS_H
#define PT_WEIGHTS_H
#include "data.h"
#include "loop/trainer.h"

/* what: NULL or "none", "inverse" (reads all of data once), or a file of lines "label weight".
 * Fills o->weighted and o->class_weight, for the classes of data. */
pt_status pt_class_weights(const char *what, pt_dataset *data, pt_trainer_options *o);

#endif
