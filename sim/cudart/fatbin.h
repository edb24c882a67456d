/* fatbin.h - the PTX text in a fat binary. */
#ifndef SIM_FATBIN_H
#define SIM_FATBIN_H
#include <stddef.h>
#include <stdint.h>

typedef struct sim_fatbin_text {
    const char *text; /* not ended by a 0 where it lies in the binary */
    size_t bytes;
    char *owned; /* malloc'ed, where it had to be unpacked; the caller frees it */
} sim_fatbin_text;

/* Of a binary as nvcc's constructors register it: NULL, or the reason why there is none. */
const char *sim_fatbin_ptx(const void *wrapper, sim_fatbin_text *out);
/* The same for its data, of which no more than `most` bytes are looked at. */
const char *sim_fatbin_find(const unsigned char *data, size_t most, sim_fatbin_text *out);

#endif
