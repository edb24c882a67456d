/* classmap.c - "from to [name]" a line. */
#include "data.h"
#include "read.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNSAID = PT_IGNORE - 1 };

static int number(const char *s, int max, int *out)
{
    char *end;
    long v = strtol(s, &end, 10);
    if (!isdigit((unsigned char)*s) || *end || v < 0 || v > max) return 0;
    *out = (int)v;
    return 1;
}

static pt_status one_line(const char *path, int line, const char *text, unsigned char *known,
                          int *others, pt_class_map *out)
{
    char raw[32], label[32];
    int r, v, words = sscanf(text, "%31s %31s", raw, label);
    if (words < 1) return PT_OK;
    if (words < 2)
        return pt_fail(PT_ERR_INPUT, "%s: line %d: expected \"from to\", found \"%s\"", path, line,
                       raw);
    if (!strcmp(label, "ignore"))
        v = PT_IGNORE;
    else if (!number(label, PT_MAX_CLASSES - 1, &v))
        return pt_fail(PT_ERR_INPUT, "%s: line %d: label \"%s\" is neither ignore nor 0..%d", path,
                       line, label, PT_MAX_CLASSES - 1);
    if (v >= out->classes) out->classes = v + 1;
    if (!strcmp(raw, "*")) {
        if (*others != UNSAID)
            return pt_fail(PT_ERR_INPUT, "%s: line %d: * is mapped twice", path, line);
        *others = v;
        return PT_OK;
    }
    if (!number(raw, PT_RAW_CLASSES - 1, &r))
        return pt_fail(PT_ERR_INPUT, "%s: line %d: class \"%s\" is neither * nor 0..%d", path, line,
                       raw, PT_RAW_CLASSES - 1);
    if (known[r])
        return pt_fail(PT_ERR_INPUT, "%s: line %d: class %d is mapped twice", path, line, r);
    known[r] = 1;
    out->to[r] = v;
    return PT_OK;
}

pt_status pt_class_map_parse(const char *path, char *text, pt_class_map *out)
{
    unsigned char known[PT_RAW_CLASSES] = {0};
    int line = 0, others = UNSAID;
    out->classes = 0;
    for (char *l = text, *next; l; l = next) {
        next = strchr(l, '\n');
        if (next) *next++ = 0;
        l[strcspn(l, "#\r")] = 0;
        pt_status st = one_line(path, ++line, l, known, &others, out);
        if (st != PT_OK) return st;
    }
    for (int i = 0; i < PT_RAW_CLASSES; i++)
        if (!known[i]) out->to[i] = others == UNSAID ? PT_IGNORE : others;
    return out->classes ? PT_OK : pt_fail(PT_ERR_INPUT, "%s: no class has a label", path);
}

pt_status pt_class_map_load(const char *path, pt_class_map *out)
{
    unsigned char *bytes = NULL;
    size_t n;
    pt_status st = pt_slurp_text(path, &bytes, &n);
    if (st == PT_OK) st = pt_class_map_parse(path, (char *)bytes, out);
    free(bytes);
    return st;
}
