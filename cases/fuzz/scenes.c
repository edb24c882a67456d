/* scenes.c - libFuzzer target: any bytes as a scene of any format, or as a class map. What is read
 * must be whole, what is refused must name its file, and no refusal may be for want of memory: the
 * sizes in a header are checked before anything is allocated by them.
 *
 * Input: a byte that chooses the format (numbers after the last: a class map), for each further
 * file of it two bytes of length, then the files, the first last. */
#include "read.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* In place of trainer/error.c, which needs the CUDA headers. */
static pt_error last;
const pt_error *pt_error_last(void)
{
    return &last;
}
pt_status pt_fail_at(const char *file, int line, pt_status status, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(last.message, sizeof last.message, format, ap);
    va_end(ap);
    last.file = file;
    last.line = line;
    return status;
}

static unsigned char *copy_of(const uint8_t *p, size_t n)
{
    unsigned char *copy = malloc(n ? n : 1); /* of exactly this size, for ASan */
    if (!copy) abort();
    memcpy(copy, p, n);
    return copy;
}

static void one_class_map(const uint8_t *data, size_t n)
{
    static pt_class_map map;
    char *text = malloc(n + 1);
    if (!text) abort();
    memcpy(text, data, n);
    text[n] = 0;
    pt_status st = pt_class_map_parse("dir/0", text, &map);
    if (st != PT_OK && (st != PT_ERR_INPUT || strncmp(last.message, "dir/0: ", 7))) abort();
    for (int i = 0; st == PT_OK && i < PT_RAW_CLASSES; i++)
        if (map.to[i] < PT_IGNORE || map.to[i] >= map.classes) abort();
    free(text);
}

static void check(const pt_scene *s, size_t bytes)
{
    if (s->n < 1 || (size_t)s->n > 88 * bytes) abort(); /* 88: LZF at its best */
    for (int64_t i = 0; i < s->n; i++) {
        for (int a = 0; a < 3; a++)
            if (!isfinite(s->coord[3 * i + a]) || s->coord[3 * i + a] < 0) abort();
        for (int c = 0; c < 4; c++)
            if (!(s->feature[PT_FEATURES * i + c] >= 0 && s->feature[PT_FEATURES * i + c] <= 1))
                abort();
        if (s->label[i] < PT_IGNORE || s->label[i] >= PT_RAW_CLASSES) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const names[PT_MAX_PARTS] = {"dir/0", "dir/1", "dir/2", "dir/3"};
    pt_part part[PT_MAX_PARTS] = {{0}};
    unsigned char *bytes[PT_MAX_PARTS] = {0};
    pt_raw raw = {0};
    pt_scene scene = {.voxel = 0.05f};
    const pt_format *f = pt_formats;
    size_t formats = 0, size[PT_MAX_PARTS] = {0};
    while (pt_formats[formats].ending) formats++;
    if (n < 1) return 0;
    if (*data >= formats) {
        one_class_map(data + 1, n - 1);
        return 0;
    }
    f += *data;
    data++;
    n--;
    int parts = 1;
    for (; parts < PT_MAX_PARTS && f->part[parts - 1][0]; parts++) {
        if (n < 2) return 0;
        size[parts] = (size_t)(data[0] | data[1] << 8);
        data += 2;
        n -= 2;
    }
    for (int p = 1; p < parts; p++) {
        if (size[p] > n) size[p] = n;
        /* length 0: the file is not there, where that is allowed */
        if (size[p] || f->needed) bytes[p] = copy_of(data, size[p]);
        part[p] = (pt_part){names[p], bytes[p], size[p]};
        data += size[p];
        n -= size[p];
    }
    bytes[0] = copy_of(data, n);
    part[0] = (pt_part){names[0], bytes[0], n};
    pt_status st = f->parse(part, &raw);
    if (st == PT_OK) st = pt_finish_scene(names[0], &raw, NULL, &scene);
    if (st == PT_OK)
        check(&scene, n);
    else if (st != PT_ERR_INPUT || strncmp(last.message, "dir/", 4))
        abort();
    pt_scene_free(&scene);
    pt_raw_free(&raw);
    for (int p = 0; p < PT_MAX_PARTS; p++) free(bytes[p]);
    return 0;
}
