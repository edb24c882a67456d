/* live.c - the list is a table by address. The latest that a thread freed keep their memory: the
 * next object does not come to lie where a stale pointer leads, however many other threads free. */
#include "live.h"
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct entry {
    const void *object; /* NULL: none */
    int kind;
} entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static entry *table;
static size_t size, used; /* size: 0 or a power of two, more than twice `used` */

enum { DEAD = 256 };
typedef struct grave {
    void *object[DEAD];
    unsigned n;
} grave;
static pthread_key_t graves; /* of the thread */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int has_graves;

static void empty(void *of)
{
    grave *g = of;
    for (int i = 0; i < DEAD; i++) free(g->object[i]);
    free(g);
}

static void prepare(void)
{
    has_graves = pthread_key_create(&graves, empty) == 0;
}

/* The library may go before its threads do. */
__attribute__((destructor)) static void forget(void)
{
    if (has_graves) pthread_key_delete(graves);
}

static grave *own_grave(void)
{
    pthread_once(&once, prepare);
    grave *g = has_graves ? pthread_getspecific(graves) : NULL;
    if (g || !has_graves || !(g = calloc(1, sizeof *g))) return g;
    if (pthread_setspecific(graves, g) == 0) return g;
    free(g);
    return NULL;
}

/* Where an object is, or would be. */
static entry *at(const void *object)
{
    size_t i = (size_t)(((uintptr_t)object >> 4) * 0x9e3779b97f4a7c15u >> 20) & (size - 1);
    while (table[i].object && table[i].object != object) i = (i + 1) & (size - 1);
    return &table[i];
}

static int grow(void)
{
    entry *old = table, *more = calloc(size ? 2 * size : 64, sizeof *more);
    size_t n = size;
    if (!more) return 0;
    table = more;
    size = size ? 2 * size : 64;
    for (size_t i = 0; i < n; i++)
        if (old[i].object) *at(old[i].object) = old[i];
    free(old);
    return 1;
}

void *sim_live_new(int kind, size_t bytes)
{
    void *object = calloc(1, bytes);
    if (!object) return NULL;
    pthread_mutex_lock(&lock);
    int room = 2 * (used + 1) < size || grow();
    if (room) {
        *at(object) = (entry){object, kind};
        used++;
    }
    pthread_mutex_unlock(&lock);
    if (!room) free(object);
    return room ? object : NULL;
}

int sim_live_is(const void *object, int kind)
{
    if (!object) return 0;
    pthread_mutex_lock(&lock);
    const entry *e = size ? at(object) : NULL;
    int is = e && e->object && e->kind == kind;
    pthread_mutex_unlock(&lock);
    return is;
}

int sim_live_take(const void *object, int kind)
{
    if (!object) return 0;
    pthread_mutex_lock(&lock);
    entry *e = size ? at(object) : NULL;
    int is = e && e->object && e->kind == kind;
    if (is) {
        e->object = NULL;
        used--;
        /* those behind it may be where they are because of it */
        for (size_t i = ((size_t)(e - table) + 1) & (size - 1); table[i].object;
             i = (i + 1) & (size - 1)) {
            entry moved = table[i];
            table[i].object = NULL;
            *at(moved.object) = moved;
        }
    }
    pthread_mutex_unlock(&lock);
    return is;
}

void sim_live_free(void *object)
{
    grave *g = own_grave();
    void *oldest = g ? g->object[g->n % DEAD] : object;
    if (g) g->object[g->n++ % DEAD] = object;
    free(oldest);
}
