/* fatbin.c - libFuzzer target: any bytes as the data of a fat binary. Its PTX lies inside of it, or
 * was unpacked, or there is a reason. */
#include "fatbin.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static volatile char last;
    sim_fatbin_text t = {0};
    unsigned char *copy = malloc(n ? n : 1); /* of exactly this size, for ASan */
    if (!copy) return 0;
    memcpy(copy, data, n);
    const char *reason = sim_fatbin_find(copy, n, &t);
    if (reason && t.text) abort();
    if (!reason && t.bytes) last = t.text[t.bytes - 1];
    free(t.owned);
    free(copy);
    return 0;
}
