/* devcode.c - see devcode.h. In the preloaded library too: no allocation, no output. */
#define _GNU_SOURCE
#include "devcode.h"
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* nvcc's sections; of a static runtime the two words that it looks the driver up by. */
static int code_in(const char *p, size_t n)
{
    const ElfW(Ehdr) *e = (const void *)p;
    int found = 0;
    if (n < sizeof *e || memcmp(e->e_ident, ELFMAG, SELFMAG) ||
        e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_shoff > n ||
        (n - e->e_shoff) / sizeof(ElfW(Shdr)) < e->e_shnum || e->e_shstrndx >= e->e_shnum)
        return 0;
    const ElfW(Shdr) *s = (const void *)(p + e->e_shoff), *names = &s[e->e_shstrndx];
    if (names->sh_offset > n || n - names->sh_offset < names->sh_size) return 0;
    for (int i = 0; i < e->e_shnum; i++) {
        if (s[i].sh_name >= names->sh_size || s[i].sh_type == SHT_NOBITS || s[i].sh_offset > n ||
            n - s[i].sh_offset < s[i].sh_size)
            continue;
        const char *name = p + names->sh_offset + s[i].sh_name, *in = p + s[i].sh_offset;
        size_t room = names->sh_size - s[i].sh_name, bytes = s[i].sh_size;
        if (!strncmp(name, ".nv_fatbin", room) || !strncmp(name, "__nv_relfatbin", room))
            found |= bytes ? OP_CODE_KERNELS : 0;
        else if (!strncmp(name, ".rodata", room) &&
                 memmem(in, bytes, "cudaGetDriverEntryPoint", 23) &&
                 memmem(in, bytes, "libcuda.so.1", 12))
            found |= OP_CODE_STATIC;
    }
    return found;
}

int op_device_code(const char *path)
{
    struct stat st;
    int found = 0;
    if (is_nvidias(path)) return 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return 0;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p != MAP_FAILED) {
            found = code_in(p, (size_t)st.st_size);
            munmap(p, (size_t)st.st_size);
        }
    }
    close(fd);
    return found;
}
