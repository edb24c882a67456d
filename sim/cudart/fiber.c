/* fiber.c - see fiber.h */
#include "fiber.h"

#if defined(__x86_64__)
__asm__(".pushsection .text\n.globl sim_switch\n.hidden sim_switch\n.type "
        "sim_switch,@function\nsim_switch:\n"
        "  push %rbp\n  push %rbx\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
        "  mov %rsp,(%rdi)\n  mov %rsi,%rsp\n"
        "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbx\n  pop %rbp\n  ret\n"
        ".size sim_switch,.-sim_switch\n.popsection\n");
enum { SAVED = 6 };

sim_stack sim_stack_make(void *bottom, size_t bytes, void (*entry)(void))
{
    uintptr_t *sp = (uintptr_t *)(((uintptr_t)bottom + bytes) & ~(uintptr_t)15);
    *--sp = 0; /* where entry would return to; keeps 16-byte alignment at its start */
    *--sp = (uintptr_t)entry;
    for (int i = 0; i < SAVED; i++) *--sp = 0;
    return sp;
}
#elif defined(__aarch64__)
/* x19..x30 and d8..d15 are the callee's to keep */
__asm__(
    ".pushsection .text\n.globl sim_switch\n.hidden sim_switch\n.type "
    "sim_switch,%function\nsim_switch:\n"
    "  sub sp,sp,#160\n  stp x19,x20,[sp]\n  stp x21,x22,[sp,#16]\n  stp x23,x24,[sp,#32]\n"
    "  stp x25,x26,[sp,#48]\n  stp x27,x28,[sp,#64]\n  stp x29,x30,[sp,#80]\n"
    "  stp d8,d9,[sp,#96]\n  stp d10,d11,[sp,#112]\n  stp d12,d13,[sp,#128]\n  stp "
    "d14,d15,[sp,#144]\n"
    "  mov x9,sp\n  str x9,[x0]\n  mov sp,x1\n"
    "  ldp x19,x20,[sp]\n  ldp x21,x22,[sp,#16]\n  ldp x23,x24,[sp,#32]\n  ldp x25,x26,[sp,#48]\n"
    "  ldp x27,x28,[sp,#64]\n  ldp x29,x30,[sp,#80]\n  ldp d8,d9,[sp,#96]\n  ldp "
    "d10,d11,[sp,#112]\n"
    "  ldp d12,d13,[sp,#128]\n  ldp d14,d15,[sp,#144]\n  add sp,sp,#160\n  ret\n"
    ".size sim_switch,.-sim_switch\n.popsection\n");

sim_stack sim_stack_make(void *bottom, size_t bytes, void (*entry)(void))
{
    uintptr_t *sp = (uintptr_t *)((((uintptr_t)bottom + bytes) & ~(uintptr_t)15) - 160);
    for (int i = 0; i < 20; i++) sp[i] = 0;
    sp[11] = (uintptr_t)entry;
    return sp;
}
#else
#error "the simulated device's fibers know x86-64 and aarch64"
#endif
