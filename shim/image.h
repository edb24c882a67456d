/* image.h - an ELF file, mapped: its sections and dynamic symbols. Nothing in it is believed. */
#ifndef OP_IMAGE_H
#define OP_IMAGE_H
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

typedef struct image {
    const char *p;
    size_t n;
    const ElfW(Shdr) * section;
    int sections; /* 0: not a 64-bit ELF file with sections */
    const char *names;
    size_t names_bytes;
} image;

/* 0: it cannot be read. */
int op_image_open(const char *path, image *f);
void op_image_close(image *f);
/* Bytes [at, at + n) of the file; NULL: not in there. */
const void *op_image_range(const image *f, uint64_t at, uint64_t n);
/* NULL: there is none of this name. */
const ElfW(Shdr) * op_image_section(const image *f, const char *name);
/* Whether it takes the function from other libraries. */
int op_image_imports(const image *f, const char *name);
int op_image_imports_cuda(const image *f);
/* The loader that starts it and can preload libraries (PT_INTERP); NULL: it has none. */
const char *op_image_loader(const image *f);
/* Whether it binds its calls to functions of its own first (DT_SYMBOLIC, DF_SYMBOLIC), and some of
 * those are CUDA's. */
int op_image_binds_to_itself(const image *f);

#endif
