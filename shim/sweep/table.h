/* table.h - what a sweep found, for people and for programs. */
#ifndef OP_TABLE_H
#define OP_TABLE_H
#include "sweep.h"
#include <stdio.h>

typedef struct op_tally {
    int points, sites, runs, pruned, checked, findings, pairs;
    int asked;    /* runs at one point each that are to be made; 0: not known yet */
    int finished; /* no signal stopped it */
    int verdict[OP_FAULTS][OP_MODES][OP_VERDICT_COUNT];
    double seconds;
    int fork, proved;  /* proved: the run after the last point fired nothing */
    const char *again; /* the command, as words for a shell, up to "--" */
    const char *command;
} op_tally;

void op_tally_up(const op_sweep_file *s, op_tally *t);
void op_print_tally(FILE *f, const op_sweep_file *s, const op_tally *t);
int op_write_json(FILE *f, const op_sweep_file *s, const op_tally *t);
int op_write_junit(FILE *f, const op_sweep_file *s, const op_tally *t);

#endif
