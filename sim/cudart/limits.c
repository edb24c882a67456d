/* limits.c - sizes from the environment: what the host lets pinned memory have, what other programs
 * take of the card while this one runs, and what is left to the host itself. */
#define _GNU_SOURCE
#include "state.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "8GiB" "512MiB" "48M" "1000000" -> bytes; 0: not understood */
size_t sim_parse_size(const char *s)
{
    char *end;
    if (*s < '0' || *s > '9') return 0;
    errno = 0;
    double v = strtod(s, &end);
    size_t unit = 1;
    if (*end == 'K' || *end == 'k')
        unit = 1024;
    else if (*end == 'M' || *end == 'm')
        unit = MIB;
    else if (*end == 'G' || *end == 'g')
        unit = 1024 * MIB;
    else if (*end == 'T' || *end == 't')
        unit = (size_t)1 << 40;
    if (unit > 1) end++;
    if (unit > 1 && !strncmp(end, "iB", 2))
        end += 2;
    else if (*end == 'B')
        end++;
    if (*end || errno || v * (double)unit > 4e12) return 0;
    return (size_t)(v * (double)unit);
}

/* OOMPROOF_SIM_PRESSURE=REQUEST:SIZE[/PIECE],...: from this allocation request on (1 is the first
 * of the process), somebody else holds SIZE of the card, so scattered that what is free lies in
 * pieces of PIECE: a larger request fails however much is free. */
enum { STEPS = 64 };
static struct {
    unsigned long long request;
    size_t bytes, piece;
} step[STEPS];
static int nsteps;
static unsigned long long requests;

static int parse_pressure(const char *s)
{
    char *copy = strdup(s), *save = NULL;
    int ok = copy != NULL;
    for (char *p = copy ? strtok_r(copy, ",", &save) : NULL; p && ok;
         p = strtok_r(NULL, ",", &save)) {
        char *end;
        errno = 0;
        unsigned long long at = strtoull(p, &end, 10);
        int over = errno;
        char *size = *end == ':' ? end + 1 : end, *slash = strchr(size, '/');
        if (slash) *slash = 0;
        size_t bytes = sim_parse_size(size), piece = slash ? sim_parse_size(slash + 1) : SIZE_MAX;
        ok = nsteps < STEPS && *p >= '0' && *p <= '9' && !over && *end == ':' &&
             (bytes || !strcmp(size, "0")) && piece && (!nsteps || at > step[nsteps - 1].request);
        if (ok) {
            step[nsteps].request = at;
            step[nsteps].bytes = bytes;
            step[nsteps++].piece = piece;
        }
    }
    free(copy);
    if (!ok)
        sim_say("OOMPROOF_SIM_PRESSURE=%s: expected up to %d of REQUEST:SIZE or REQUEST:SIZE/PIECE "
                "with commas between, requests ascending, like 1:64MiB,200:1GiB/2MiB,300:0",
                s, STEPS);
    return ok;
}

void sim_pressure_count(void)
{
    requests++;
}

size_t sim_pressure(size_t *piece)
{
    int i = 0;
    while (i < nsteps && step[i].request <= requests) i++;
    *piece = i ? step[i - 1].piece : SIZE_MAX;
    return i ? step[i - 1].bytes : 0;
}

static size_t host_limit = SIZE_MAX, host_taken, host_keep;
static int keep_is_set;

/* 1 and taken: the host has so much for pinned and managed memory. */
int sim_host_take(size_t bytes)
{
    if (bytes > host_limit - host_taken) return 0;
    host_taken += bytes;
    return 1;
}

void sim_host_give(size_t bytes)
{
    host_taken -= bytes;
}

/* A line "Name:  123 kB" of /proc/meminfo; 0: not there. */
static size_t meminfo(const char *text, const char *name)
{
    const char *p = strstr(text, name);
    return p ? (size_t)strtoull(p + strlen(name), NULL, 10) * 1024 : 0;
}

static size_t number_in(const char *path)
{
    char text[64] = "";
    FILE *f = fopen(path, "re");
    if (f && !fgets(text, sizeof text, f)) *text = 0;
    if (f) fclose(f);
    return *text >= '0' && *text <= '9' ? (size_t)strtoull(text, NULL, 10) : SIZE_MAX;
}

/* What the host still has, by its own figures and by those of the control group it runs in. */
static size_t host_available(size_t *total)
{
    char text[2048] = "";
    FILE *f = fopen("/proc/meminfo", "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = 0;
    *total = meminfo(text, "MemTotal:");
    size_t left = meminfo(text, "MemAvailable:");
    size_t most = number_in("/sys/fs/cgroup/memory.max"),
           now = number_in("/sys/fs/cgroup/memory.current");
    if (most != SIZE_MAX && now != SIZE_MAX && most < *total) {
        *total = most;
        if (most - (now < most ? now : most) < left) left = most - (now < most ? now : most);
    }
    return *total ? left : SIZE_MAX;
}

/* Device memory is the host's, page by page as it is touched. Before it is handed out, and now and
 * then at a launch: a message and a failed call, where the system would kill. */
int sim_host_has(size_t bytes)
{
    static size_t since;
    static int calls;
    size_t total;
    since += bytes;
    if (since < 256 * MIB && ++calls % 64) return 1;
    since = 0;
    size_t left = host_available(&total), keep = keep_is_set ? host_keep : total / 20;
    if (left > keep) return 1;
    since = 256 * MIB; /* ask again next time */
    sim_say("the host has %zu MiB of memory left, and %zu MiB are kept for it: the simulated card "
            "cannot be filled further; take a smaller one (OOMPROOF_SIM_MEMORY), or set "
            "OOMPROOF_SIM_HOST_KEEP",
            left / MIB, keep / MIB);
    return 0;
}

static int size_of(const char *name, size_t *out)
{
    const char *s = getenv(name);
    if (!s || !*s) return 1;
    *out = sim_parse_size(s);
    if (*out || !strcmp(s, "0")) return 2;
    sim_say("%s=%s: not a size like 8GiB or 512MiB", name, s);
    return 0;
}

int sim_limits_start(void)
{
    const char *s = getenv("OOMPROOF_SIM_PRESSURE");
    int keep = size_of("OOMPROOF_SIM_HOST_KEEP", &host_keep);
    keep_is_set = keep == 2;
    return keep && size_of("OOMPROOF_SIM_HOST_MEMORY", &host_limit) &&
           (!s || !*s || parse_pressure(s));
}
