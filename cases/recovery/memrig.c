/* memrig.c - see memrig.h. */
#include "memrig.h"

pt_device D;
static uint64_t start; /* live bytes of a device that is open and holds nothing of ours */

char *get(size_t bytes)
{
    void *p;
    pt_status st = pt_mem_alloc(&D, bytes, 1, "case/block", &p);
    ck_assert_msg(st == PT_OK, "%s", pt_error_last()->message);
    return p;
}

void open_device(pt_allocator_kind kind)
{
    ck_assert_msg(oomproof_present(), "the shim is not loaded");
    ck_assert_msg(pt_device_open(kind, &D) == PT_OK, "%s", pt_error_last()->message);
    if (kind == PT_ALLOC_CACHING) get(16 * MIB); /* what cuBLAS's workspace leaves of its segment */
    start = oomproof_live_bytes();
}

uint64_t taken(void)
{
    return oomproof_live_bytes() - start;
}

void arm(const char *rules)
{
    char error[200] = "";
    ck_assert_msg(oomproof_arm(rules, error, sizeof error) >= 1, "%s", error);
}
