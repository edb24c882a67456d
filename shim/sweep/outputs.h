/* outputs.h - the files that a sweep writes for others: --json, --junit, --html. */
#ifndef OP_SWEEP_OUTPUTS_H
#define OP_SWEEP_OUTPUTS_H
#include "sweep/options.h"
#include "table.h"

/* Before the first run: 2 and a message where an output is a folder, another output, or one of the
 * count files in inputs, which are read; 7 where one cannot be written. What an earlier sweep left
 * there is replaced by a result that says it is not finished, so that it cannot pass for this
 * one's. */
int op_outputs_begin(const op_sweep_options *o, const char *const *inputs, int count,
                     const op_sweep_file *s, const op_tally *t);
/* JSON and JUnit, each whole or as it was; 7 and a message where one cannot be written. */
int op_outputs_end(const op_sweep_options *o, const op_sweep_file *s, const op_tally *t);
/* Two names of one file, which need not be there yet. */
int op_outputs_same(const char *a, const char *b);
/* A file that can be read again: neither a device nor a pipe. */
int op_output_stays(const char *path);
/* 0: neither is there a file that can be written, nor can one be made (errno). One that was not
 * there is not left. What is no file is not tried: a pipe may have no reader yet. */
int op_output_writable(const char *path);

#endif
