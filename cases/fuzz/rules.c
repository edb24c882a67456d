/* rules.c - libFuzzer target: any text as rules. What is taken must be whole: every rule fits a
 * call, and its text parses again to the same rule. */
#include "rules.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static op_rule r[OP_MAX_RULES], again[OP_MAX_RULES];
    char error[256] = "", *text = malloc(n + 1);
    if (!text) return 0;
    memcpy(text, data, n);
    text[n] = 0;
    int count = op_parse(text, r, error, sizeof error);
    if (count < 0 && strncmp(error, "line ", 5)) abort();
    for (int i = 0; i < count; i++) {
        if (!op_fit(&r[i])) abort();
        if (op_parse(r[i].text, again, error, sizeof error) != 1) abort();
        if (memcmp(r[i].fits, again[0].fits, sizeof r[i].fits)) abort();
    }
    free(text);
    return 0;
}
