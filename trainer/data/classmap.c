/* classmap.c - "raw label [name]" a line. */
#include "data.h"
#include "read.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int number(const char *s, int max, int *out)
{
    char *end;
    long v = strtol(s, &end, 10);
    if (!isdigit((unsigned char)*s) || *end || v < 0 || v > max) return 0;
    *out = (int)v;
    return 1;
}

pt_status pt_class_map_load(const char *path, pt_class_map *out)
{
    unsigned char *bytes = NULL;
    size_t n;
    pt_status st = PT_OK;
    int line = 0, others = PT_IGNORE, known[256] = {0};
    char *save = NULL;
    memset(out, 0, sizeof *out);
    for (int i = 0; i < 256; i++) out->to[i] = PT_IGNORE;
    TRY(pt_slurp_text(path, &bytes, &n));
    for (char *l = (char *)bytes; l; l = save) {
        char raw[32], label[32];
        int r, v;
        save = strchr(l, '\n');
        if (save) *save++ = 0;
        line++;
        l[strcspn(l, "#\r")] = 0;
        int words = sscanf(l, "%31s %31s", raw, label);
        if (words < 1) continue;
        if (words < 2) {
            st = pt_fail(PT_ERR_INPUT, "%s: line %d: expected \"raw label\", found \"%s\"", path,
                         line, raw);
            goto done;
        }
        if (!strcmp(label, "ignore"))
            v = PT_IGNORE;
        else if (!number(label, PT_MAX_CLASSES - 1, &v)) {
            st = pt_fail(PT_ERR_INPUT, "%s: line %d: label \"%s\" is neither ignore nor 0..%d",
                         path, line, label, PT_MAX_CLASSES - 1);
            goto done;
        }
        if (v >= out->classes) out->classes = v + 1;
        if (!strcmp(raw, "*"))
            others = v;
        else if (!number(raw, 255, &r)) {
            st = pt_fail(PT_ERR_INPUT, "%s: line %d: class \"%s\" is neither * nor 0..255", path,
                         line, raw);
            goto done;
        } else if (known[r]) {
            st = pt_fail(PT_ERR_INPUT, "%s: line %d: class %d is mapped twice", path, line, r);
            goto done;
        } else {
            known[r] = 1;
            out->to[r] = v;
        }
    }
    for (int i = 0; i < 256; i++)
        if (!known[i]) out->to[i] = others;
    if (out->classes < 1) st = pt_fail(PT_ERR_INPUT, "%s: no class has a label", path);
done:
    free(bytes);
    return st;
}
