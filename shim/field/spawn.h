/* spawn.h - a program under the shim, recorded: what record, replay and reduce have in common. */
#ifndef OP_FIELD_SPAWN_H
#define OP_FIELD_SPAWN_H
#include "field/fixture.h"

typedef struct op_spawn {
    int sim;
    const char *memory, *faults; /* of the simulated card; rules; may be NULL */
    const char *force;           /* file of failures to repeat; may be NULL */
    const char *ring;            /* file of the recording */
    uint64_t events;             /* that it keeps */
    int first;                   /* the first failure stays, though it was recovered from */
    uint64_t until; /* it stays after so many events, whatever fails; 0: that decides */
    int quiet;      /* what the program prints is thrown away */
    int timeout;    /* seconds; 0: none */
    char *const *command;
} op_spawn;

/* Status as of waitpid; -1: something of ours failed; -2: it was stopped for its time. The command
 * and all that it starts are waited for, stopped and told of signals as those of run are. */
enum { OP_SPAWN_NOT_STARTED = -3 }; /* the command, which was said */
int op_spawn_run(const op_spawn *s);
/* The signal that told us to stop, and the command; 0: none. */
int op_spawn_stopped(void);
/* Exit code of the command for such a status: its own, 5 a signal, 6 its time, 7 not started. */
int op_spawn_code(int status);

/* Who began a ring, and when, in ns of the clock; 0: it is none. */
typedef struct op_writer {
    uint64_t pid, began;
} op_writer;
int op_ring_writer(const char *ring, op_writer *out);
/* 1 and a message: a process still writes to that ring. */
int op_ring_written(const char *ring);
/* The recording in that file as a fixture; the file stays. NULL and a message. */
op_fixture *op_ring_take(const char *ring);

#endif
