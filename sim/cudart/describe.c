/* describe.c - what an address is, in words, for messages about one that must not be used. */
#include "pages.h"
#include <stdio.h>

/* The blocks of the program that begin before and behind an address. */
static void neighbours(uint64_t address, const block **before, const block **behind)
{
    *before = *behind = NULL;
    for (const block *b = M.first; b; b = b->next) {
        if (b->state != USED) continue;
        if (b->address <= address && (!*before || b->address > (*before)->address)) *before = b;
        if (b->address > address && (!*behind || b->address < (*behind)->address)) *behind = b;
    }
}

/* "12 bytes past the end of an allocation of 400 bytes, made at ..." */
static void say(char *out, size_t room, uint64_t distance, const char *how, const block *b)
{
    char site[300];
    if (b->name)
        snprintf(out, room, "%llu bytes %s the variable %s of %zu bytes",
                 (unsigned long long)distance, how, b->name, b->asked);
    else
        snprintf(out, room, "%llu bytes %s an allocation of %zu bytes%s",
                 (unsigned long long)distance, how, b->asked,
                 sim_site_text(&b->allocated, "made at", site, sizeof site));
}

/* Not in a block of the program. The nearest one is named where it is near; without a record of
 * what was freed that may have nothing to do with it. */
static void outside(uint64_t address, const block *before, const block *behind, char *out,
                    size_t room)
{
    char near[500];
    uint64_t past = before ? address - before->address - before->asked : UINT64_MAX;
    uint64_t ahead = behind ? behind->address - address : UINT64_MAX;
    int sure = sim_checking() || !sim_memory_is_device((void *)(uintptr_t)address) ||
               (before && address - before->address < before->bytes);
    if (past >= SIM_GAP && ahead >= SIM_GAP) {
        char freed[700];
        if (sim_site_find_freed(address, SIM_GAP, freed, sizeof freed))
            snprintf(out, room, "beside an allocation that was freed%s", freed);
        else
            snprintf(out, room, "a device address that is not allocated%s",
                     sure ? "" : " (freed before, or past the end of a block)");
        return;
    }
    if (past <= ahead)
        say(near, sizeof near, past, "past the end of", before);
    else
        say(near, sizeof near, ahead, "before", behind);
    if (sure)
        snprintf(out, room, "%s", near);
    else
        snprintf(out, room,
                 "a device address that is not allocated (freed before, or %s; "
                 "OOMPROOF_SIM_CHECK=1 tells which)",
                 near);
}

const char *sim_memory_describe(uint64_t address)
{
    static char text[900];
    char freed[700];
    const block *before, *behind;
    int device = sim_memory_is_device((void *)(uintptr_t)address);
    if (address < 4096) return "the null pointer, or close to it";
    neighbours(address, &before, &behind);
    if (before && address - before->address < before->asked) {
        say(text, sizeof text, address - before->address, "into", before);
    } else if (sim_site_find_freed(address, 0, freed, sizeof freed)) {
        snprintf(text, sizeof text, "in %s that was freed%s",
                 device ? "an allocation" : "memory of the host", freed);
    } else if (device || (!sim_checking() && M.base - address <= PAGE)) {
        /* in front of a card's first block there is a page that nothing uses */
        outside(address, before, behind, text, sizeof text);
    } else {
        const char *host = sim_host_describe(address);
        return host ? host : "not a device address, nor one of the host";
    }
    return text;
}
