/* site.c - where memory was allocated and freed, for messages; kept only under
 * OOMPROOF_SIM_CHECK=1, as walking a stack costs more than an allocation. */
#define _GNU_SOURCE
#include "state.h"
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sim_checking(void)
{
    static int check = -1;
    if (check < 0) {
        const char *s = getenv("OOMPROOF_SIM_CHECK");
        check = s && *s == '1';
    }
    return check;
}

void sim_site_take(sim_site *s)
{
    void *frame[SIM_SITE_FRAMES + 3] = {0};
    s->n = 0;
    if (!sim_checking()) return;
    int n = backtrace(frame, SIM_SITE_FRAMES + 3);
    for (int i = 1; i < n && s->n < SIM_SITE_FRAMES; i++) s->frame[s->n++] = frame[i];
}

/* Where a call was made: neither in this library nor in one that stands between it and the program.
 * at: as the file has it. */
static int programs_own(const void *call, Dl_info *info, uint64_t *at)
{
    Dl_info here;
    struct link_map *map = NULL;
    if (!dladdr1(call, info, (void **)&map, RTLD_DL_LINKMAP) || !info->dli_fname || !map) return 0;
    if (dladdr(sim_device_marker, &here) && here.dli_fbase == info->dli_fbase) return 0;
    const char *slash = strrchr(info->dli_fname, '/'), *name = slash ? slash + 1 : info->dli_fname;
    *at = (uint64_t)(uintptr_t)call - map->l_addr;
    return strncmp(name, "liboomproof", 11) != 0;
}

/* A function of the toolkit's headers around a call of the same name, like cudaMalloc<int>: a local
 * or weak one, whose C++ name begins with the length of that name and the name. */
static int wraps_a_call(const char *symbol)
{
    char name[64], *end;
    if (strncmp(symbol, "_Z", 2) != 0) return 0;
    symbol += symbol[2] == 'L' ? 3 : 2;
    unsigned long n = strtoul(symbol, &end, 10);
    if (n < 5 || n >= sizeof name || strncmp(end, "cuda", 4) != 0 || strlen(end) < n) return 0;
    memcpy(name, end, n);
    name[n] = 0;
    return dlsym(RTLD_DEFAULT, name) != NULL;
}

const char *sim_site_text(const sim_site *s, const char *lead, char *out, size_t room)
{
    *out = 0;
    for (int i = 0; i < s->n; i++) {
        Dl_info info;
        uint64_t at;
        char symbol[128];
        int global = 1;
        /* the call, not what comes behind it */
        if (!programs_own((const char *)s->frame[i] - 1, &info, &at)) continue;
        int known = sim_symbol(info.dli_fname, at, symbol, sizeof symbol, &global);
        if (known && !global && wraps_a_call(symbol)) continue;
        const char *slash = strrchr(info.dli_fname, '/'),
                   *file = slash ? slash + 1 : info.dli_fname;
        if (known || info.dli_sname)
            snprintf(out, room, ", %s %s in %s+%#llx", lead, known ? symbol : info.dli_sname, file,
                     (unsigned long long)at);
        else
            snprintf(out, room, ", %s %s+%#llx", lead, file, (unsigned long long)at);
        break;
    }
    return out;
}

/* The latest frees, youngest overwrites oldest. */
enum { KEPT = 32768 };
static struct freed {
    uint64_t address;
    size_t bytes;
    sim_site made, gone;
} freed[KEPT];
static unsigned nfreed;

void sim_site_freed(uint64_t address, size_t bytes, const sim_site *made)
{
    if (!sim_checking()) return;
    struct freed *f = &freed[nfreed++ % KEPT];
    *f = (struct freed){.address = address, .bytes = bytes};
    if (!made) return;
    f->made = *made;
    sim_site_take(&f->gone);
}

int sim_site_find_freed(uint64_t address, uint64_t around, char *out, size_t room)
{
    char made[300], gone[300];
    for (unsigned i = nfreed; i > 0 && i + KEPT > nfreed; i--) {
        const struct freed *f = &freed[(i - 1) % KEPT];
        if (address + around - f->address >= f->bytes + 2 * around) continue;
        snprintf(out, room, " (%zu bytes%s%s)", f->bytes,
                 sim_site_text(&f->made, "made at", made, sizeof made),
                 sim_site_text(&f->gone, "freed at", gone, sizeof gone));
        return 1;
    }
    return 0;
}
