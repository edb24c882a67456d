/* ptx.c - libFuzzer target: any text as PTX. It is refused with a line and a reason, or each of its
 * kernels can be written as C. */
#include "ptx.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char error[128] = "", *copy = malloc(n ? n : 1); /* of exactly this size, for ASan */
    if (!copy) return 0;
    memcpy(copy, data, n);
    sim_ptx *m = sim_ptx_parse(copy, n, error, sizeof error);
    free(copy);
    if (!m) {
        if (!*error) abort();
        return 0;
    }
    const sim_ptx_kernel *kernel;
    const sim_ptx_var *variable;
    int kernels = sim_ptx_kernels(m, &kernel), variables = sim_ptx_vars(m, &variable);
    for (int i = 0; i < variables; i++)
        if (variable[i].init_bytes > variable[i].bytes) abort();
    for (int i = 0; i < kernels; i++) {
        char *text = NULL;
        size_t bytes;
        FILE *f = open_memstream(&text, &bytes);
        if (!f) break;
        if (sim_ptx_emit(m, i, 0, f) < 0 || sim_ptx_emit(m, i, 1, f) < 0) abort();
        fclose(f);
        free(text);
    }
    sim_ptx_free(m);
    return 0;
}
