/* fatbin.c - finds the PTX text in a registered fat binary.
 *
 * Layout as seen in what nvcc 13.0 makes (little endian): a wrapper {u32 0x466243b1, u32 version,
 * ptr data}; data {u32 0xBA55ED50, u16 version, u16 header bytes, u64 bytes that follow}; entries
 * {u16 kind (1 PTX, 2 machine code), u16, u32 header bytes, u64 payload bytes, u32 compressed
 * bytes, ..., u64 flags at 40}. */
#include "state.h"
#include <string.h>

static uint64_t field(const unsigned char *p, size_t at, int bytes)
{
    uint64_t v = 0;
    memcpy(&v, p + at, (size_t)bytes);
    return v;
}

const char *sim_fatbin_ptx(const void *wrapper, size_t *bytes, const char **reason)
{
    const unsigned char *w = wrapper, *data, *p, *end;
    int compressed = 0;
    if (field(w, 0, 4) != 0x466243b1u) {
        *reason = "the registered fat binary has an unknown wrapper";
        return NULL;
    }
    memcpy(&data, w + 8, sizeof data);
    if (field(data, 0, 4) != 0xba55ed50u) {
        *reason = "the registered fat binary has an unknown header";
        return NULL;
    }
    p = data + field(data, 6, 2);
    end = p + field(data, 8, 8);
    while (p + 64 <= end) {
        size_t header = (size_t)field(p, 4, 4), payload = (size_t)field(p, 8, 8);
        if (header < 32 || payload > (size_t)(end - p)) break;
        if (field(p, 0, 2) == 1) {
            if (field(p, 16, 4) == 0) {
                *bytes = strnlen((const char *)p + header, payload);
                return (const char *)p + header;
            }
            compressed = 1;
        }
        p += header + payload;
    }
    *reason = compressed
                  ? "its PTX is compressed: build with nvcc --no-compress"
                  : "it holds no PTX: build with nvcc -gencode arch=compute_75,code=compute_75";
    return NULL;
}
