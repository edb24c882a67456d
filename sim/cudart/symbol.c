/* symbol.c - the function of the program that an address lies in, by the table of symbols in its
 * file: a program is rarely linked so that the dynamic one has it. For messages: the file is read
 * anew each time. */
#define _GNU_SOURCE
#include "state.h"
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Both tables lie inside the file. */
static int inside(const Elf64_Shdr *s, size_t bytes)
{
    return s->sh_offset <= bytes && s->sh_size <= bytes - s->sh_offset;
}

static int look(const char *file, size_t bytes, const Elf64_Shdr *table, const Elf64_Shdr *names,
                uint64_t at, char *out, size_t room, int *global)
{
    if (!inside(table, bytes) || !inside(names, bytes) || table->sh_offset % 8) return 0;
    const Elf64_Sym *s = (const void *)(file + table->sh_offset);
    for (size_t n = table->sh_size / sizeof *s; n-- > 0; s++) {
        if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || at - s->st_value >= s->st_size) continue;
        if (s->st_name >= names->sh_size) return 0;
        const char *name = file + names->sh_offset + s->st_name;
        size_t length = strnlen(name, names->sh_size - s->st_name);
        if (length >= room) length = room - 1;
        memcpy(out, name, length);
        out[length] = 0;
        *global = ELF64_ST_BIND(s->st_info) == STB_GLOBAL;
        return *out != 0;
    }
    return 0;
}

static int search(const char *file, size_t bytes, uint64_t at, char *out, size_t room, int *global)
{
    const Elf64_Ehdr *h = (const void *)file;
    if (bytes < sizeof *h || memcmp(file, ELFMAG, SELFMAG) != 0 ||
        h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_shentsize != sizeof(Elf64_Shdr) ||
        h->e_shoff % 8 || h->e_shoff > bytes ||
        h->e_shnum > (bytes - h->e_shoff) / sizeof(Elf64_Shdr))
        return 0;
    const Elf64_Shdr *section = (const void *)(file + h->e_shoff);
    for (unsigned i = 0; i < h->e_shnum; i++)
        if (section[i].sh_type == SHT_SYMTAB && section[i].sh_link < h->e_shnum)
            return look(file, bytes, &section[i], &section[section[i].sh_link], at, out, room,
                        global);
    return 0;
}

int sim_symbol(const char *path, uint64_t at, char *out, size_t room, int *global)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), found = 0;
    if (fd < 0) return 0;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        size_t bytes = (size_t)st.st_size;
        void *file = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (file != MAP_FAILED) {
            found = search(file, bytes, at, out, room, global);
            munmap(file, bytes);
        }
    }
    close(fd);
    return found;
}
