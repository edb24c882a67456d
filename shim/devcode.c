/* devcode.c - see devcode.h. In the preloaded library too: no allocation, no output. */
#define _GNU_SOURCE
#include "devcode.h"
#include "image.h"
#include <string.h>

static int is_nvidias(const char *path)
{
    static const char *const names[] = {
        "libcudart.so", "libcuda.so",  "libcublas", "libcudnn",     "libcufft",   "libcurand",
        "libcusolver",  "libcusparse", "libnvrtc",  "libnvJitLink", "libnccl",    "libnpp",
        "libnvjpeg",    "libnvidia",   "libcupti",  "libcufile",    "liboomproof"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(name, names[i], strlen(names[i]))) return 1;
    return 0;
}

/* Backwards: a program that holds these words forwards is taken for a runtime, and this one is
 * asked about as well. */
static int has(const char *text, size_t n, const char *backwards)
{
    char word[64];
    size_t k = strlen(backwards);
    for (size_t i = 0; i < k; i++) word[i] = backwards[k - 1 - i];
    return memmem(text, n, word, k) != NULL;
}

/* nvcc's sections; of a static runtime the words that it looks the driver up by, and one of its
 * messages. */
int op_device_code(const char *path)
{
    static const char *const kernels[] = {".nv_fatbin", "__nv_relfatbin"};
    image f;
    int found = 0;
    if (is_nvidias(path) || !op_image_open(path, &f)) return 0;
    for (int i = 0; i < 2; i++) {
        const ElfW(Shdr) *s = op_image_section(&f, kernels[i]);
        if (s && s->sh_size) found |= OP_CODE_KERNELS;
    }
    const ElfW(Shdr) *s = op_image_section(&f, ".rodata");
    const char *text = s ? op_image_range(&f, s->sh_offset, s->sh_size) : NULL;
    if (text && has(text, s->sh_size, "tnioPyrtnErevirDteGaduc") &&
        has(text, s->sh_size, "1.os.aducbil") &&
        has(text, s->sh_size, "emitnur ADUC rof tneiciffusni si noisrev revird ADUC"))
        found |= OP_CODE_STATIC;
    if (op_image_imports_cuda(&f)) found |= OP_CODE_CALLS;
    op_image_close(&f);
    return found;
}
