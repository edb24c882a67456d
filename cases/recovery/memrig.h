/* memrig.h - what the suites of the allocators share: a device, blocks of it, rules. On the
 * simulated device, under the shim. */
#ifndef MEMRIG_H
#define MEMRIG_H
#include "case.h"
#include "device/mem.h"
#include "oomproof.h"

#define MIB ((size_t)1 << 20)

extern pt_device D; /* after open_device */
void open_device(pt_allocator_kind kind);
char *get(size_t bytes); /* a block, which there must be */
uint64_t taken(void);    /* live bytes since open_device */
void arm(const char *rules);

#endif
