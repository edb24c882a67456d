/* driver.h - how the driver's functions reach a program, and how wrappers come between. */
#ifndef OP_DRIVER_H
#define OP_DRIVER_H

/* *fn, what a lookup answered for `symbol` of this CUDA version, becomes the wrapper, if there is
 * one for that prototype. per_thread: the variant for per-thread default streams was asked for. */
void op_driver_wrap(const char *symbol, int version, int per_thread, void **fn);
/* The real dlsym: the shim's own answers lookups of the driver's functions with wrappers. */
void *op_dlsym(void *handle, const char *name);

#endif
