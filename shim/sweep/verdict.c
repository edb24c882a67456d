/* verdict.c - the words of a sweep. */
#include "sweep.h"
#include <string.h>

void op_judge_inherited(op_result *r, const op_result *before)
{
    r->points = before->points;
    r->trained = before->trained;
    r->dropped = before->dropped;
    r->splits = before->splits;
    r->retries = before->retries;
    r->attempts = before->attempts;
    r->measure = before->measure;
    r->status = before->status;
    memcpy(r->worst, before->worst, sizeof r->worst);
    memcpy(r->why, before->why, sizeof r->why);
    r->verdict = before->verdict;
}

const char *const op_verdict_text[OP_VERDICT_COUNT] = {
#define X(name, text, finding, means) text,
    OP_VERDICTS(X)
#undef X
};
const int op_verdict_finding[OP_VERDICT_COUNT] = {
#define X(name, text, finding, means) finding,
    OP_VERDICTS(X)
#undef X
};
const char *const op_verdict_means[OP_VERDICT_COUNT] = {
#define X(name, text, finding, means) means,
    OP_VERDICTS(X)
#undef X
};
const char *const op_mode_text[OP_MODES] = {"once", "persistent", "budget"};
const char *const op_fault_text[OP_FAULTS] = {
#define X(name, word) word,
    OP_FAULT_KINDS(X)
#undef X
};
