/* scenes.h - the batches of a recording as generated scenes of the same sizes, through pointtrain.
 */
#ifndef OP_FIELD_SCENES_H
#define OP_FIELD_SCENES_H
#include "field/spawn.h"

typedef struct op_scenes {
    op_spawn s;       /* command: further options of pointtrain; memory: NULL for a card that is
                         large enough */
    const char *file; /* of the recording, for messages */
    double scale;     /* of the sizes */
    int repeat;
} op_scenes;

/* Runs the batches twice: once on a large card, which gives what each of them needs, and once under
 * a budget just below the least that one needs which failed in the recording.
 * Exit code: 0 all that failed in the recording failed here, and the run came through it. */
int op_scenes_replay(const op_fixture *f, const op_scenes *how);

#endif
