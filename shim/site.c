/* site.c - see site.h. Frames are found by frame pointers, which costs little, and by backtrace
 * where they lead nowhere; functions by the symbol table of the module's file, since most are not
 * exported. */
#define _GNU_SOURCE
#include "site.h"
#include "calls.h"
#include "calm.h"
#include "driver.h"
#include "state.h"
#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH = 12, TABLE = 4096, MOST = 65536 }; /* call sites that there is room for */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- functions of a module, by address ---- */
typedef struct module {
    const void *base;
    char name[64];
    const char *image; /* the mapped file; NULL: not readable */
    size_t bytes;
    const ElfW(Sym) * symbol;
    size_t nsymbols;
    const char *text;
    unsigned asked; /* the last turn of dlclose that did */
    struct module *next;
} module;
static module *modules;

static void find_symbols(module *m)
{
    const ElfW(Ehdr) *e = (const void *)m->image;
    if (m->bytes < sizeof *e || memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_shoff > m->bytes ||
        (m->bytes - e->e_shoff) / sizeof(ElfW(Shdr)) < e->e_shnum)
        return;
    const ElfW(Shdr) *s = (const void *)(m->image + e->e_shoff);
    for (int i = 0; i < e->e_shnum; i++) {
        if (s[i].sh_type != SHT_SYMTAB && !(s[i].sh_type == SHT_DYNSYM && !m->symbol)) continue;
        if (s[i].sh_link >= e->e_shnum || s[i].sh_offset > m->bytes ||
            m->bytes - s[i].sh_offset < s[i].sh_size || s[s[i].sh_link].sh_offset > m->bytes)
            continue;
        m->symbol = (const void *)(m->image + s[i].sh_offset);
        m->nsymbols = s[i].sh_size / sizeof *m->symbol;
        m->text = m->image + s[s[i].sh_link].sh_offset;
    }
}

static module *module_at(const Dl_info *info)
{
    for (module *m = modules; m; m = m->next)
        if (m->base == info->dli_fbase) return m;
    module *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    const char *path = info->dli_fname ? info->dli_fname : "?", *slash = strrchr(path, '/');
    struct stat st;
    m->base = info->dli_fbase;
    snprintf(m->name, sizeof m->name, "%.63s", slash ? slash + 1 : path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0) {
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p != MAP_FAILED) m->image = p, m->bytes = (size_t)st.st_size;
    }
    if (fd >= 0) close(fd);
    if (m->image) find_symbols(m);
    m->next = modules;
    modules = m;
    return m;
}

/* The beginning of the function by the table of the unwinder, which `strip` leaves: sorted pairs of
 * (function, its description) of 4 bytes, relative to the table's header. 0: it is not there. */
static uint64_t start_by_frames(const module *m, uint64_t at)
{
    enum { UDATA4 = 0x03, DATAREL_SDATA4 = 0x3b };
    const ElfW(Ehdr) *e = (const void *)m->image;
    if (!e || m->bytes < sizeof *e || e->e_phoff > m->bytes ||
        (m->bytes - e->e_phoff) / sizeof(ElfW(Phdr)) < e->e_phnum)
        return 0;
    const ElfW(Phdr) *h = (const void *)(m->image + e->e_phoff);
    int i = 0;
    while (i < e->e_phnum && h[i].p_type != PT_GNU_EH_FRAME) i++;
    if (i == e->e_phnum || h[i].p_filesz < 12 || h[i].p_offset > m->bytes ||
        m->bytes - h[i].p_offset < h[i].p_filesz)
        return 0;
    const unsigned char *t = (const void *)(m->image + h[i].p_offset);
    uint32_t n;
    memcpy(&n, t + 8, 4);
    if (t[0] != 1 || t[2] != UDATA4 || t[3] != DATAREL_SDATA4 || n > (h[i].p_filesz - 12) / 8)
        return 0;
    uint64_t found = 0;
    for (uint32_t low = 0, high = n; low < high;) {
        uint32_t middle = low + (high - low) / 2;
        int32_t offset;
        memcpy(&offset, t + 12 + 8 * (size_t)middle, 4);
        uint64_t start = h[i].p_vaddr + (uint64_t)(int64_t)offset;
        if (start <= at)
            found = start, low = middle + 1;
        else
            high = middle;
    }
    return found;
}

/* Name and start of the function; "" where the module has no symbol for it. */
static const char *function_at(const module *m, const void *address, uint64_t *start)
{
    uint64_t at = (uint64_t)((const char *)address - (const char *)m->base);
    const ElfW(Ehdr) *e = (const void *)m->image;
    const ElfW(Sym) *best = NULL;
    if (e && e->e_type == ET_EXEC) at = (uint64_t)(uintptr_t)address;
    for (size_t i = 0; i < m->nsymbols; i++) {
        const ElfW(Sym) *s = &m->symbol[i];
        if (ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_value <= at &&
            at < s->st_value + s->st_size && (!best || s->st_value > best->st_value))
            best = s;
    }
    *start = best ? best->st_value : start_by_frames(m, at);
    return best ? m->text + best->st_name : "";
}

/* ---- return addresses that were seen ---- */
typedef struct seen {
    void *address;
    char *site; /* NULL: in a function that allocates: look further down */
    const module *m;
    uint64_t start; /* of the function */
} seen;
/* Another one when it is three quarters full, or a module was unloaded. */
typedef struct seen_table {
    size_t slots, taken;
    seen entry[];
} seen_table;
static seen_table *table;

static int ordinal(const module *m, uint64_t start)
{
    int n = 1;
    for (size_t i = 0; i < table->slots; i++)
        n += table->entry[i].address && table->entry[i].m == m && table->entry[i].start == start;
    return n;
}

static size_t home(const seen_table *in, const void *address)
{
    return (uintptr_t)address * 0x9e3779b97f4a7c15u >> 32 & (in->slots - 1);
}

/* Entries are only added, and an address is there once the rest of its entry is: no lock to read.
 */
static seen *known(const void *address)
{
    seen_table *in = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
    if (!in) return NULL;
    for (size_t k = home(in, address);; k = (k + 1) & (in->slots - 1)) { /* a quarter is free */
        void *at = __atomic_load_n(&in->entry[k].address, __ATOMIC_ACQUIRE);
        if (at == address) return &in->entry[k];
        if (!at) return NULL;
    }
}

static seen *place(seen_table *in, const void *address)
{
    size_t k = home(in, address);
    while (in->entry[k].address) k = (k + 1) & (in->slots - 1);
    return &in->entry[k];
}

/* Under the lock: without what gone was of (NULL: nothing). Others may be reading the old table,
 * which stays for good: a call site is in use as long as a trace is. 0: there is no memory. */
static int make_anew(size_t slots, const module *gone)
{
    seen_table *fresh = calloc(1, sizeof *fresh + slots * sizeof(seen));
    if (!fresh) return 0;
    fresh->slots = slots;
    for (size_t i = 0; table && i < table->slots; i++) {
        seen *s = &table->entry[i];
        if (!s->address || (gone && s->m == gone)) continue;
        *place(fresh, s->address) = *s;
        fresh->taken++;
    }
    __atomic_store_n(&table, fresh, __ATOMIC_RELEASE);
    return 1;
}

/* Under the lock. 0: there is no room for one more. */
static int has_room(void)
{
    static int told;
    if (table && 4 * (table->taken + 1) <= 3 * table->slots) return 1;
    size_t slots = table ? 2 * table->slots : TABLE;
    if (slots <= MOST && make_anew(slots, NULL)) return 1;
    if (!told)
        fprintf(stderr,
                "oomproof: more than %d call sites: further ones are \"?\", which no site= names\n",
                (int)(table ? table->taken : 0));
    told = 1;
    return 0;
}

/* Under the lock. NULL: there is no room. */
static seen *enter(void *address, const Dl_info *info)
{
    seen *before = known(address);
    if (before) return before;
    if (!has_room()) return NULL;
    uint64_t start = 0;
    char text[96];
    module *m = info ? module_at(info) : NULL;
    const char *f = m ? function_at(m, (char *)address - 1, &start) : "";
    int n = ordinal(m, start);
    if (*f)
        snprintf(text, sizeof text, "%.30s:%.50s#%d", m->name, f, n);
    else if (start)
        snprintf(text, sizeof text, "%.30s:+0x%llx#%d", m->name, (unsigned long long)start, n);
    else
        snprintf(text, sizeof text, "%.30s:?#%d", m ? m->name : "?", n);
    seen *s = place(table, address);
    s->site = op_glob("*alloc*", f) ? NULL : strdup(text);
    s->m = m;
    s->start = start;
    table->taken++;
    __atomic_store_n(&s->address, address, __ATOMIC_RELEASE);
    return s;
}

/* The loader is asked before: it holds its lock while constructors run, and these may call. */
static seen *look_up(void *address)
{
    Dl_info info;
    seen *s = known(address);
    if (s) return s;
    const int found = dladdr(address, &info);
    pthread_mutex_lock(&lock);
    s = enter(address, found ? &info : NULL);
    pthread_mutex_unlock(&lock);
    return s;
}

/* ---- frames ---- */
void op_site_start(void)
{
    static int done;
    void *here;
    if (!__atomic_exchange_n(&done, 1, __ATOMIC_RELAXED)) backtrace(&here, 1);
}

static int on_stack(void *const *frame)
{
    static __thread char *lo LOCAL, *hi LOCAL;
    if (!hi) {
        pthread_attr_t a;
        size_t n;
        void *p;
        if (pthread_getattr_np(pthread_self(), &a) != 0) return 0;
        if (pthread_attr_getstack(&a, &p, &n) == 0) lo = p, hi = lo + n;
        pthread_attr_destroy(&a);
    }
    return (char *)frame >= lo && (char *)(frame + 2) <= hi &&
           (uintptr_t)frame % sizeof *frame == 0;
}

const char *op_site_of(void *caller, void *frame_)
{
    void **frame = frame_;
    const char *site = NULL;
    seen *s = known(caller), *first;
    if (s && s->site) return s->site;
    op_calm calm;
    op_calm_begin(&calm);
    first = s = look_up(caller);
    if (!s) __atomic_fetch_add(&op_shared->sites_lost, 1, __ATOMIC_RELAXED);
    if (s) site = s->site;
    for (int i = 0; !site && i < DEPTH && on_stack(frame); i++) {
        void **next = *frame;
        if (next <= frame || !on_stack(next)) break;
        frame = next;
        if (!frame[1] || !(s = look_up(frame[1]))) break;
        site = s->site;
    }
    if (!site && first) { /* no frame pointers in there */
        void *address[DEPTH + 4];
        int n = backtrace(address, DEPTH + 4), from = 0;
        while (from < n && address[from] != caller) from++;
        for (int i = from + 1; !site && i < n; i++)
            if ((s = look_up(address[i]))) site = s->site;
    }
    op_calm_end(&calm);
    return site ? site : "?";
}

/* ---- modules that go ---- */
static int is_gone(const module *m)
{
    Dl_info info;
    const char *slash;
    if (!dladdr(m->base, &info) || info.dli_fbase != m->base || !info.dli_fname) return 1;
    slash = strrchr(info.dli_fname, '/');
    return strncmp(m->name, slash ? slash + 1 : info.dli_fname, sizeof m->name - 1) != 0;
}

/* One that this turn has not asked the loader about; NULL: there is none left. */
static module *unasked(unsigned turn)
{
    pthread_mutex_lock(&lock);
    module *m = modules;
    while (m && m->asked >= turn) m = m->next;
    if (m) m->asked = turn;
    pthread_mutex_unlock(&lock);
    return m;
}

static void forget(module *m)
{
    pthread_mutex_lock(&lock);
    module **at = &modules;
    while (*at && *at != m) at = &(*at)->next;
    if (*at) {
        *at = m->next;
        if (table) make_anew(table->slots, m);
        if (m->image) munmap((void *)(uintptr_t)m->image, m->bytes);
    }
    pthread_mutex_unlock(&lock);
}

/* Another module may come to lie where this one was. */
API int dlclose(void *handle)
{
    static unsigned turns;
    static int (*cached)(void *);
    int (*real)(void *) = __atomic_load_n(&cached, __ATOMIC_RELAXED);
    if (!real) {
        real = (int (*)(void *))op_dlsym(RTLD_NEXT, "dlclose");
        __atomic_store_n(&cached, real, __ATOMIC_RELAXED);
    }
    int e = real(handle);
    OP_WITHIN;
    op_calm calm;
    op_calm_begin(&calm);
    const unsigned turn = __atomic_add_fetch(&turns, 1, __ATOMIC_RELAXED);
    for (module *m; (m = unasked(turn));)
        if (is_gone(m)) forget(m);
    op_calm_end(&calm);
    return e;
}

void op_site_hold(void)
{
    pthread_mutex_lock(&lock);
}
void op_site_free(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}
void op_site_let_go(void)
{
    pthread_mutex_unlock(&lock);
}

void op_stack_text(char *text, size_t bytes, int most, int files)
{
    void *address[64];
    Dl_info self, info;
    size_t used = 0;
    int n = backtrace(address, 64), last = 0;
    text[0] = 0;
    if (!dladdr(__extension__(void *) op_stack_text, &self)) return;
    op_calm calm;
    op_calm_begin(&calm);
    for (int i = 0; i < n && !last && most > 0; i++) {
        uint64_t start = 0;
        /* the address before: a call may be the last thing in its function */
        if (!dladdr((char *)address[i] - 1, &info) || info.dli_fbase == self.dli_fbase) continue;
        pthread_mutex_lock(&lock);
        module *m = module_at(&info);
        const char *f = m ? function_at(m, (char *)address[i] - 1, &start) : "";
        char function[128];
        snprintf(function, sizeof function, "%s", f); /* its module may go */
        f = function;
        pthread_mutex_unlock(&lock);
        last = !strcmp(f, "main");
        char one[200];
        if (*f && files)
            snprintf(one, sizeof one, "%s%.80s (%.63s)", used ? " < " : "", f, m->name);
        else if (*f)
            snprintf(one, sizeof one, "%s%.120s", used ? " < " : "", f);
        else if (m && start)
            snprintf(one, sizeof one, "%s%.30s:+0x%llx", used ? " < " : "", m->name,
                     (unsigned long long)start);
        else
            snprintf(one, sizeof one, "%s%.30s:?", used ? " < " : "", m ? m->name : "?");
        size_t more = strlen(one);
        if (used + more >= bytes) break;
        memcpy(text + used, one, more + 1);
        used += more;
        most--;
    }
    op_calm_end(&calm);
}
