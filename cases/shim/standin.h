/* standin.h - a library in the place of NVIDIA's that has every call of the shim's table and does
 * nothing but count: what the shim does can be seen without a device. */
#ifndef STANDIN_H
#define STANDIN_H
#include "calls.h"

extern int standin_calls[OP_CALLS]; /* how often each real function was reached */
extern int standin_last_error;

#endif
