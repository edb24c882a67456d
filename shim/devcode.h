/* devcode.h - CUDA in a file, told from its sections: without running it. */
#ifndef OP_DEVCODE_H
#define OP_DEVCODE_H

enum {
    OP_CODE_KERNELS = 1, /* an embedded fat binary */
    OP_CODE_STATIC = 2,  /* a CUDA runtime that is linked statically */
    OP_CODE_CALLS = 4    /* it takes functions of CUDA from other libraries */
};
/* What the program or library at path carries; 0: nothing of CUDA, not readable, or a library of
 * NVIDIA's own, which carries both and says nothing about the program. */
int op_device_code(const char *path);

#endif
