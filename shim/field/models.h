/* models.h - allocators as models: which request fails on a card of a given size, and what is held.
 * Sizes in bytes. After the documented behaviour of the driver, of cudaMallocAsync's pools and of
 * PyTorch's caching allocator (its sizes are public: 2 MiB segments up to 1 MiB, 20 MiB up to 10).
 */
#ifndef OP_MODELS_H
#define OP_MODELS_H
#include <stddef.h>
#include <stdint.h>

typedef enum op_model_kind {
    OP_MODEL_DRIVER,     /* requests under 1 MiB share pages of 2 MiB, others have whole pages */
    OP_MODEL_CACHING,    /* blocks are kept, split and merged; free segments go when one fails */
    OP_MODEL_POOL,       /* one list of 32 MiB chunks, kept; free chunks go when one fails */
    OP_MODEL_EXPANDABLE, /* one segment that grows; free pages inside it go when one fails */
    OP_MODELS
} op_model_kind;
extern const char *const op_model_name[OP_MODELS];

typedef struct op_model op_model;
typedef struct op_block op_block;

op_model *op_model_new(op_model_kind kind, uint64_t capacity);
void op_model_free(op_model *m);
/* NULL: it does not fit, also after what is unused was given back. */
op_block *op_model_take(op_model *m, uint64_t bytes);
void op_model_give(op_model *m, op_block *b);
uint64_t op_model_mapped(const op_model *m); /* taken of the card */

#endif
