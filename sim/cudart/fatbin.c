/* fatbin.c - finds the PTX text in a registered fat binary, and unpacks it.
 *
 * Layout as seen in what nvcc 13.0 makes (little endian): a wrapper {u32 0x466243b1, u32 version
 * (2: what was linked of relocatable code), ptr data}; data {u32 0xBA55ED50, u16 version, u16
 * header bytes, u64 bytes that follow}; entries {u16 kind (1 PTX, 2 machine code), u16, u32 header
 * bytes, u64 payload bytes, u32 packed bytes,
 * ..., u32 architecture at 28, u64 flags at 40 (0x2000 LZ4, 0x8000 zstd), u64 text bytes at 56}.
 * Nothing in it is trusted further than the bytes that are said to be there. */
#include "fatbin.h"
#include <stdlib.h>
#include <string.h>
#ifdef OOMPROOF_ZSTD
#include <zstd.h>
#endif

enum { PACKED_LZ4 = 0x2000, PACKED_ZSTD = 0x8000, BEST_ARCHITECTURE = 90, LINKED = 2 };
static const size_t text_most = (size_t)512 << 20;

static uint64_t field(const unsigned char *p, size_t at, int bytes)
{
    uint64_t v = 0;
    memcpy(&v, p + at, (size_t)bytes);
    return v;
}

/* A length of 15 goes on in further bytes, until one is not 255. */
static int more(const unsigned char **p, const unsigned char *end, size_t *length)
{
    if (*length != 15) return 1;
    for (unsigned b = 255; b == 255;) {
        if (*p == end) return 0;
        *length += b = *(*p)++;
    }
    return 1;
}

/* One LZ4 block (its format description): literals, then a copy from before, and so on. */
static size_t unpack_lz4(const unsigned char *p, size_t n, char *out, size_t room)
{
    const unsigned char *end = p + n;
    size_t k = 0;
    while (p < end) {
        size_t literals = *p >> 4, match = *p++ & 15;
        if (!more(&p, end, &literals) || literals > (size_t)(end - p) || literals > room - k)
            return 0;
        memcpy(out + k, p, literals);
        k += literals;
        p += literals;
        if (p == end) return k;
        if (end - p < 2) return 0;
        size_t back = (size_t)p[0] | (size_t)p[1] << 8;
        p += 2;
        if (!more(&p, end, &match) || !back || back > k || (match += 4) > room - k) return 0;
        for (; match; match--, k++) out[k] = out[k - back];
    }
    return k;
}

static const char *unpack(const unsigned char *p, size_t n, uint64_t flags, uint64_t text_bytes,
                          sim_fatbin_text *out)
{
    if (!text_bytes || text_bytes > text_most) return "its PTX is of no plausible size";
    char *text = malloc((size_t)text_bytes + 1);
    if (!text) return "there is no memory to unpack its PTX";
    size_t got = 0;
    const char *reason = "its PTX is packed and damaged";
    if (flags & PACKED_ZSTD) {
#ifdef OOMPROOF_ZSTD
        got = ZSTD_decompress(text, (size_t)text_bytes, p, n);
        if (ZSTD_isError(got)) got = 0;
#else
        reason = "its PTX is packed with zstd, which this build lacks: build the program with nvcc "
                 "--no-compress, or install libzstd-dev and build oomproof again";
#endif
    } else if (flags & PACKED_LZ4) {
        got = unpack_lz4(p, n, text, (size_t)text_bytes);
    } else {
        reason = "its PTX is packed in an unknown way: build with nvcc --no-compress";
    }
    if (!got) {
        free(text);
        return reason;
    }
    text[got] = 0;
    *out = (sim_fatbin_text){text, strlen(text), text};
    return NULL;
}

/* The newest architecture that the translator knows is the best, the oldest beyond it the next. */
static int better(uint64_t a, uint64_t b)
{
    if (b <= BEST_ARCHITECTURE) return a <= BEST_ARCHITECTURE && a > b;
    return a < b;
}

static const char no_ptx[] = "it holds no PTX: build with nvcc -gencode "
                             "arch=compute_75,code=compute_75 and without -rdc=true";

const char *sim_fatbin_find(const unsigned char *data, size_t most, sim_fatbin_text *out)
{
    if (most < 16 || field(data, 0, 4) != 0xba55ed50u)
        return "the registered fat binary has an unknown header";
    const unsigned char *p, *best = NULL;
    size_t head = (size_t)field(data, 6, 2), room = most - 16;
    uint64_t follow = field(data, 8, 8);
    if (head < 16 || head > most) return "the registered fat binary has an unknown header";
    if (follow < most - head)
        room = (size_t)follow;
    else
        room = most - head;
    for (p = data + head; room >= 64;) {
        size_t header = (size_t)field(p, 4, 4);
        uint64_t payload = field(p, 8, 8);
        if (header < 64 || header > room || payload > room - header) break;
        if (field(p, 0, 2) == 1 && (!best || better(field(p, 28, 4), field(best, 28, 4)))) best = p;
        p += header + payload;
        room -= header + (size_t)payload;
    }
    if (!best) return no_ptx;
    const unsigned char *payload = best + field(best, 4, 4);
    size_t bytes = (size_t)field(best, 8, 8), packed = (size_t)field(best, 16, 4);
    if (packed) {
        if (packed > bytes) return "its PTX is packed and damaged";
        return unpack(payload, packed, field(best, 40, 8), field(best, 56, 8), out);
    }
    *out = (sim_fatbin_text){(const char *)payload, strnlen((const char *)payload, bytes), NULL};
    return NULL;
}

const char *sim_fatbin_ptx(const void *wrapper, sim_fatbin_text *out)
{
    const unsigned char *data;
    if (field(wrapper, 0, 4) != 0x466243b1u)
        return "the registered fat binary has an unknown wrapper";
    memcpy(&data, (const char *)wrapper + 8, sizeof data);
    const char *reason = sim_fatbin_find(data, (size_t)1 << 40, out);
    if (reason == no_ptx && field(wrapper, 4, 4) == LINKED)
        return "it was linked by nvcc (-rdc=true, -dc; CMake: CUDA_SEPARABLE_COMPILATION), which "
               "keeps "
               "machine code and no PTX, whatever -gencode says: build without relocatable device "
               "code, each kernel with the device functions that it calls in one file";
    return reason;
}
