/* pages.h - shared by the files of device memory: the card, its pages, the blocks on them. */
#ifndef SIM_PAGES_H
#define SIM_PAGES_H
#include "ranges.h"
#include "state.h"

#define PAGE (2 * MIB)

enum { FREE, USED, HELD }; /* HELD: freed by the program, kept by a pool */
typedef struct block {
    uint64_t at;      /* offset */
    uint64_t address; /* 0: it has none */
    size_t bytes;     /* rounded to granules */
    size_t asked;
    int state, private_entry;
    void *pool;       /* sim_pool it belongs to; NULL: none */
    const char *name; /* of a variable of a module, or NULL */
    sim_site allocated;
    struct block *prev, *next; /* by address, gap-free over all pages in use */
} block;

typedef struct sim_card {
    int started;
    cudaError_t broken;
    uint64_t base, span; /* of the pages: the address of offset 0, and how many bytes */
    char *bytes;         /* host address of offset 0 */
    sim_ranges apart; /* OOMPROOF_SIM_CHECK=1: the addresses, which then say nothing of offsets */
    size_t capacity, context, held, kept, peak_held;
    size_t runtime_bytes, private_bytes;
    block *first, *last; /* small blocks and big ones in one list */
    unsigned char *page; /* per page: 0 free, 1 small, 2 part of a big block */
    block **block_at;    /* per page: the block of its first byte */
    size_t npages;
} sim_card;
extern sim_card M;

/* ---- pages.c ---- */
/* n pages from `first`, which are free, as `kind`; 0: the host does not give them. */
int take_pages(size_t first, size_t n, unsigned char kind);
void give_pages(size_t first, size_t n);
size_t find_pages(size_t n); /* the first run of n free pages; SIZE_MAX: none */
size_t pages_room(void);     /* bytes that the card still has */

#endif
