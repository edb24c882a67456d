/* events.c - see events.h. A file is a row of records: length, its checksum, the message, its
 * checksum; a message is a protobuf Event, put together by hand from the few fields that it needs.
 */
#define _GNU_SOURCE
#include "loop/events.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct pt_events {
    int fd;
    off_t size; /* of the whole records */
    uint32_t table[256];
    char path[PATH_MAX];
};

/* A message that is being put together; what goes into one is bounded by PT_EVENTS_TAG. */
typedef struct message {
    size_t n;
    unsigned char byte[PT_EVENTS_TAG + 64];
} message;

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
/* numbers of fields */
enum { EVENT_TIME = 1, EVENT_STEP = 2, EVENT_VERSION = 3, EVENT_SUMMARY = 5, EVENT_SESSION = 7 };
enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE = 2, SESSION_STATUS = 1, SESSION_START = 1 };

static void put_fixed(message *m, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++) m->byte[m->n++] = (unsigned char)(x >> 8 * i);
}

static void put_varint(message *m, uint64_t x)
{
    for (; x > 0x7f; x >>= 7) m->byte[m->n++] = (unsigned char)(x | 0x80);
    m->byte[m->n++] = (unsigned char)x;
}

static void put_key(message *m, int field, int type)
{
    put_varint(m, (uint64_t)field << 3 | (uint64_t)type);
}

static void put_bytes(message *m, int field, const void *bytes, size_t n)
{
    put_key(m, field, BYTES);
    put_varint(m, n);
    memcpy(m->byte + m->n, bytes, n);
    m->n += n;
}

static void start_event(message *m, int64_t step)
{
    struct timespec now;
    uint64_t bits;
    clock_gettime(CLOCK_REALTIME, &now);
    double seconds = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    memcpy(&bits, &seconds, sizeof bits);
    m->n = 0;
    put_key(m, EVENT_TIME, FIXED64);
    put_fixed(m, bits, 8);
    put_key(m, EVENT_STEP, VARINT);
    put_varint(m, (uint64_t)step);
}

/* CRC-32C, reflected. */
static void fill_table(uint32_t *table)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t r = i;
        for (int k = 0; k < 8; k++) r = r >> 1 ^ (r & 1 ? 0x82f63b78u : 0);
        table[i] = r;
    }
}

/* Rotated and moved on: a checksum over bytes that hold checksums says little otherwise. */
static uint32_t checksum(const uint32_t *table, const unsigned char *byte, size_t n)
{
    uint32_t r = 0xffffffffu;
    for (size_t i = 0; i < n; i++) r = r >> 8 ^ table[(r ^ byte[i]) & 0xff];
    r ^= 0xffffffffu;
    return (r >> 15 | r << 17) + 0xa282ead8u;
}

/* 0, or errno. */
static int put_all(int fd, const unsigned char *byte, size_t n, off_t at)
{
    while (n) {
        ssize_t k = pwrite(fd, byte, n, at);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return k < 0 ? errno : ENOSPC;
        byte += k;
        at += k;
        n -= (size_t)k;
    }
    return 0;
}

/* A record is in the file whole or not at all: readers give up on a file with half of one. */
static pt_status put_record(pt_events *e, const message *m)
{
    message r = {0};
    put_fixed(&r, m->n, 8);
    put_fixed(&r, checksum(e->table, r.byte, 8), 4);
    memcpy(r.byte + r.n, m->byte, m->n);
    r.n += m->n;
    put_fixed(&r, checksum(e->table, m->byte, m->n), 4);
    int why = put_all(e->fd, r.byte, r.n, e->size);
    if (!why) {
        e->size += (off_t)r.n;
        return PT_OK;
    }
    if (ftruncate(e->fd, e->size) != 0)
        return pt_fail(PT_ERR_HOST, "%s: cannot be written: %s; its end is damaged: %s", e->path,
                       strerror(why), strerror(errno));
    return pt_fail(PT_ERR_HOST, "%s: cannot be written: %s", e->path, strerror(why));
}

static pt_status make_folder(const char *folder)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/", folder) >= (int)sizeof path - 64)
        return pt_fail(PT_ERR_INPUT, "too long for the name of a folder: %s", folder);
    for (char *at = path + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return pt_fail(PT_ERR_INPUT, "%s: cannot be made: %s; name another folder", path,
                           strerror(errno));
        *at = '/';
    }
    return PT_OK;
}

#define NAME   "events.out.tfevents."
#define NEWEST 9999999999LL /* ten digits: names sort as their numbers do */

/* Readers take files in the order of their names: a name after all that are there, also when two
 * runs start in the same second or the clock was set back. */
static pt_status new_file(const char *folder, pt_events *e)
{
    long long number = (long long)time(NULL);
    DIR *d = opendir(folder);
    if (!d)
        return pt_fail(PT_ERR_INPUT, "%s: cannot be read: %s; name another folder", folder,
                       strerror(errno));
    for (struct dirent *f; (f = readdir(d));) {
        if (strncmp(f->d_name, NAME, sizeof NAME - 1)) continue;
        long long there = strtoll(f->d_name + sizeof NAME - 1, NULL, 10);
        if (there >= number && there < NEWEST) number = there + 1;
    }
    closedir(d);
    do {
        snprintf(e->path, sizeof e->path, "%s/" NAME "%010lld.pointtrain", folder, number);
        e->fd = open(e->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (e->fd < 0 && errno == EEXIST && number++ < NEWEST); /* another run was faster */
    if (e->fd >= 0) return PT_OK;
    return pt_fail(PT_ERR_INPUT, "%s: cannot be written: %s; name another folder", e->path,
                   strerror(errno));
}

/* A reader that meets a start drops what it has read from that step on. */
static pt_status put_start(pt_events *e, int64_t step)
{
    static const char version[] = "brain.Event:2";
    pt_status st = PT_OK;
    message m, session = {0};
    start_event(&m, 0);
    put_bytes(&m, EVENT_VERSION, version, sizeof version - 1);
    TRY(put_record(e, &m));
    put_key(&session, SESSION_STATUS, VARINT);
    put_varint(&session, SESSION_START);
    start_event(&m, step);
    put_bytes(&m, EVENT_SESSION, session.byte, session.n);
    TRY(put_record(e, &m));
done:
    return st;
}

pt_status pt_events_open(const char *folder, int64_t step, pt_events **out)
{
    pt_status st = PT_OK;
    pt_events *e = calloc(1, sizeof *e);
    *out = NULL;
    if (!e) return pt_fail(PT_ERR_HOST, "no host memory for an event file");
    e->fd = -1;
    fill_table(e->table);
    TRY(make_folder(folder));
    TRY(new_file(folder, e));
    st = put_start(e, step);
    if (st != PT_OK) unlink(e->path);
done:
    if (st == PT_OK) {
        *out = e;
        return PT_OK;
    }
    if (e->fd >= 0) close(e->fd);
    free(e);
    return st;
}

pt_status pt_events_scalar(pt_events *e, int64_t step, const char *tag, double value)
{
    char name[PT_EVENTS_TAG];
    size_t n = strlen(tag);
    float narrow = (float)value;
    uint32_t bits;
    message m, one = {0}, summary = {0};
    if (n == 0 || n > sizeof name)
        return pt_fail(PT_ERR_INTERNAL, "a tag of %zu bytes; 1 to %d are possible", n,
                       PT_EVENTS_TAG);
    for (size_t i = 0; i < n; i++) name[i] = tag[i] < 0x20 || tag[i] > 0x7e ? '_' : tag[i];
    memcpy(&bits, &narrow, sizeof bits);
    put_bytes(&one, VALUE_TAG, name, n);
    put_key(&one, VALUE_SIMPLE, FIXED32);
    put_fixed(&one, bits, 4);
    put_bytes(&summary, SUMMARY_VALUE, one.byte, one.n);
    start_event(&m, step);
    put_bytes(&m, EVENT_SUMMARY, summary.byte, summary.n);
    return put_record(e, &m);
}

pt_status pt_events_close(pt_events *e)
{
    pt_status st = PT_OK;
    if (!e) return PT_OK;
    if (close(e->fd) != 0)
        st = pt_fail(PT_ERR_HOST, "%s: cannot be written: %s", e->path, strerror(errno));
    free(e);
    return st;
}
