/* verdict.c - the words of a sweep. */
#include "sweep.h"

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
