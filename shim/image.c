/* image.c - see image.h. In the preloaded library too: no allocation, no output. */
#define _GNU_SOURCE
#include "image.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

const void *op_image_range(const image *f, uint64_t at, uint64_t n)
{
    return at <= f->n && n <= f->n - at ? f->p + at : NULL;
}

const ElfW(Shdr) * op_image_section(const image *f, const char *name)
{
    for (int i = 0; i < f->sections; i++)
        if (f->section[i].sh_name < f->names_bytes &&
            !strncmp(f->names + f->section[i].sh_name, name,
                     f->names_bytes - f->section[i].sh_name))
            return &f->section[i];
    return NULL;
}

int op_image_open(const char *path, image *f)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *f = (image){0};
    if (fd < 0) return 0;
    void *p = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0
                  ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                  : MAP_FAILED;
    close(fd);
    if (p == MAP_FAILED) return 0;
    f->p = p;
    f->n = (size_t)st.st_size;
    const ElfW(Ehdr) *e = op_image_range(f, 0, sizeof *e);
    if (!e || memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_ident[EI_CLASS] != ELFCLASS64) return 1;
    const ElfW(Shdr) *s = op_image_range(f, e->e_shoff, (uint64_t)e->e_shnum * sizeof *s);
    if (!s || e->e_shstrndx >= e->e_shnum) return 1;
    f->names = op_image_range(f, s[e->e_shstrndx].sh_offset, s[e->e_shstrndx].sh_size);
    f->names_bytes = f->names ? s[e->e_shstrndx].sh_size : 0;
    f->section = s;
    f->sections = f->names ? e->e_shnum : 0;
    return 1;
}

void op_image_close(image *f)
{
    munmap((void *)(uintptr_t)f->p, f->n);
}

/* ---- dynamic symbols ---- */
typedef struct symbols {
    const ElfW(Sym) * of;
    const char *text;
    size_t n, text_bytes;
} symbols;

static symbols dynamic_symbols(const image *f)
{
    const ElfW(Shdr) *s = op_image_section(f, ".dynsym"), *t = op_image_section(f, ".dynstr");
    symbols y = {0};
    if (!s || !t || !(y.of = op_image_range(f, s->sh_offset, s->sh_size)) ||
        !(y.text = op_image_range(f, t->sh_offset, t->sh_size)))
        return (symbols){0};
    y.n = s->sh_size / sizeof *y.of;
    y.text_bytes = t->sh_size;
    return y;
}

int op_image_imports(const image *f, const char *name)
{
    symbols y = dynamic_symbols(f);
    size_t n = strlen(name) + 1;
    for (size_t i = 0; i < y.n; i++)
        if (y.of[i].st_shndx == SHN_UNDEF && y.of[i].st_name < y.text_bytes &&
            n <= y.text_bytes - y.of[i].st_name && !memcmp(y.text + y.of[i].st_name, name, n))
            return 1;
    return 0;
}

static int is_symbolic(const image *f)
{
    const ElfW(Shdr) *s = op_image_section(f, ".dynamic");
    const ElfW(Dyn) *e = s ? op_image_range(f, s->sh_offset, s->sh_size) : NULL;
    for (size_t i = 0; e && i < s->sh_size / sizeof *e && e[i].d_tag != DT_NULL; i++)
        if (e[i].d_tag == DT_SYMBOLIC || (e[i].d_tag == DT_FLAGS && e[i].d_un.d_val & DF_SYMBOLIC))
            return 1;
    return 0;
}

/* Whether one of its symbols, of those it takes or those it has, begins with one of these. */
static int has_symbol(const image *f, int taken, const char *const *prefixes)
{
    symbols y = dynamic_symbols(f);
    for (size_t i = 0; i < y.n; i++)
        for (size_t k = 0; prefixes[k]; k++) {
            size_t n = strlen(prefixes[k]);
            if ((y.of[i].st_shndx == SHN_UNDEF) == taken && y.of[i].st_name < y.text_bytes &&
                n <= y.text_bytes - y.of[i].st_name &&
                !memcmp(y.text + y.of[i].st_name, prefixes[k], n))
                return 1;
        }
    return 0;
}

int op_image_binds_to_itself(const image *f)
{
    static const char *const own[] = {"cudaMalloc",   "cudaLaunch",  "cuMemAlloc",
                                      "cublasCreate", "cudnnCreate", NULL};
    return is_symbolic(f) && has_symbol(f, 0, own);
}

int op_image_imports_cuda(const image *f)
{
    static const char *const taken[] = {"cuda",  "__cuda", "cublas", "cudnn",
                                        "cuMem", "cuCtx",  "cuInit", NULL};
    return has_symbol(f, 1, taken);
}

const char *op_image_loader(const image *f)
{
    const ElfW(Ehdr) *e = op_image_range(f, 0, sizeof *e);
    const ElfW(Phdr) *h = e ? op_image_range(f, e->e_phoff, e->e_phnum * sizeof *h) : NULL;
    for (int i = 0; h && i < e->e_phnum; i++) {
        const char *name = h[i].p_type == PT_INTERP && h[i].p_filesz
                               ? op_image_range(f, h[i].p_offset, h[i].p_filesz)
                               : NULL;
        if (name && !name[h[i].p_filesz - 1]) return name;
    }
    return NULL;
}
