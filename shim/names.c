/* names.c - what things are called: kernels, threads and streams by first use, and the phase and
 * tag that a thread said last. */
#define _GNU_SOURCE
#include "plain.h"
#include "state.h"
#include <stdlib.h>
#include <string.h>

/* the functions of the control API are declared weak, for programs, in oomproof.h */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__thread char op_said_phase[24] LOCAL, op_said_tag[96] LOCAL;
__thread unsigned op_names_changed LOCAL = 1; /* counts: the thread said a new phase or tag */

void op_names_hold(void)
{
    pthread_mutex_lock(&lock);
}
void op_names_free(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}
void op_names_let_go(void)
{
    pthread_mutex_unlock(&lock);
}

/* host function or handle -> name */
static struct {
    const void *key;
    const char *name;
} * kernels;
static size_t nkernels;

const char *op_kernel_name(const void *key)
{
    const char *name = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < nkernels && !name; i++)
        if (kernels[i].key == key) name = kernels[i].name;
    pthread_mutex_unlock(&lock);
    return name;
}

void op_learn_kernel(const void *key, const char *name)
{
    OP_WITHIN;
    const char *before = op_kernel_name(key);
    if (before && !strcmp(before, name)) return;
    char *copy = strdup(name); /* for good: its library may go, and a trace has it by its address */
    pthread_mutex_lock(&lock);
    size_t i = 0;
    while (i < nkernels && kernels[i].key != key) i++;
    /* one that is known has gone with its library, and another one has come to lie there */
    void *p = i < nkernels ? kernels : realloc(kernels, (nkernels + 1) * sizeof *kernels);
    if (p && copy) {
        kernels = p;
        kernels[i].key = key;
        kernels[i].name = copy;
        nkernels += i == nkernels;
    }
    pthread_mutex_unlock(&lock);
}

/* Numbers of threads and streams, by first use: the same in every run, where addresses are not. */
__thread int op_thread_is LOCAL = -1;
__thread cudaStream_t op_stream_is LOCAL;

int op_thread_number(void)
{
    static int threads;
    if (op_thread_is < 0) op_thread_is = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
    return op_thread_is;
}

/* Streams are only added: no lock to find one. */
int op_stream_number(cudaStream_t s)
{
    enum { STREAMS = 256 };
    static cudaStream_t seen[STREAMS];
    static int known = 1; /* 0: the default stream */
    if (!s) return 0;
    op_stream_is = s;
    int i = 1, n = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
    while (i < n && seen[i] != s) i++;
    if (i < n || n == STREAMS) return i < STREAMS ? i : STREAMS - 1;
    pthread_mutex_lock(&lock);
    while (i < known && seen[i] != s) i++;
    if (i == known && i < STREAMS) {
        seen[i] = s;
        __atomic_store_n(&known, i + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return i < STREAMS ? i : STREAMS - 1;
}

/* ---- the control API ---- */
API const char *op_phase(const char *name)
{
    static __thread char before[24];
    memcpy(before, op_said_phase, sizeof before);
    op_plain_text(op_said_phase, sizeof op_said_phase, name);
    op_names_changed++;
    return before;
}

API const char *op_tag(const char *tag)
{
    static __thread char before[96];
    memcpy(before, op_said_tag, sizeof before);
    op_plain_text(op_said_tag, sizeof op_said_tag, tag);
    op_names_changed++;
    return before;
}
