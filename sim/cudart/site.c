/* site.c - where memory was allocated and freed, for messages; kept only under
 * OOMPROOF_SIM_CHECK=1, as walking a stack costs more than an allocation. */
#define _GNU_SOURCE
#include "state.h"
#include <dlfcn.h>
#include <execinfo.h>
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

/* The first frame that is neither in this library nor in one that stands between it and the
 * program. */
static int programs_own(const void *address, Dl_info *info)
{
    Dl_info here;
    if (!dladdr(address, info) || !info->dli_fname) return 0;
    if (dladdr(sim_device_marker, &here) && here.dli_fbase == info->dli_fbase) return 0;
    const char *slash = strrchr(info->dli_fname, '/'), *name = slash ? slash + 1 : info->dli_fname;
    return strncmp(name, "liboomproof", 11) != 0;
}

const char *sim_site_text(const sim_site *s, const char *lead, char *out, size_t room)
{
    *out = 0;
    for (int i = 0; i < s->n; i++) {
        Dl_info info;
        if (!programs_own(s->frame[i], &info)) continue;
        const char *slash = strrchr(info.dli_fname, '/'),
                   *file = slash ? slash + 1 : info.dli_fname;
        size_t offset = (size_t)((const char *)s->frame[i] - (const char *)info.dli_fbase);
        if (info.dli_sname)
            snprintf(out, room, ", %s %s in %s+%#zx", lead, info.dli_sname, file, offset);
        else
            snprintf(out, room, ", %s %s+%#zx", lead, file, offset);
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
    *f = (struct freed){.address = address, .bytes = bytes, .made = *made};
    sim_site_take(&f->gone);
}

int sim_site_find_freed(uint64_t address, char *out, size_t room)
{
    char made[160], gone[160];
    for (unsigned i = nfreed; i > 0 && i + KEPT > nfreed; i--) {
        const struct freed *f = &freed[(i - 1) % KEPT];
        if (address - f->address >= f->bytes) continue;
        snprintf(out, room, " (%zu bytes%s%s)", f->bytes,
                 sim_site_text(&f->made, "made at", made, sizeof made),
                 sim_site_text(&f->gone, "freed at", gone, sizeof gone));
        return 1;
    }
    return 0;
}
