/* json.c - see json.h. */
#include "json.h"

/* Bytes of the UTF-8 sequence at s, by the table of well-formed sequences (Unicode 15, table 3-7);
 * 0: it is none. */
static int sequence(const unsigned char *s)
{
    static const struct {
        unsigned char first, last, low, high;
        int n;
    } form[] = {
        {0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    for (size_t k = 0; k < sizeof form / sizeof *form; k++) {
        if (*s < form[k].first || *s > form[k].last) continue;
        if (form[k].n > 1 && (s[1] < form[k].low || s[1] > form[k].high)) return 0;
        for (int i = 2; i < form[k].n; i++)
            if (s[i] < 0x80 || s[i] > 0xbf) return 0;
        return form[k].n;
    }
    return 0;
}

void op_json_text(FILE *f, const char *text)
{
    fputc('"', f);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int n = sequence(s);
        if (*s == '"' || *s == '\\')
            fprintf(f, "\\%c", *s);
        else if (*s < 0x20 || *s == 0x7f)
            fprintf(f, "\\u%04x", *s);
        else if (n)
            fwrite(s, 1, (size_t)n, f);
        else
            fputs("\\ufffd", f);
        s += n ? n : 1;
    }
    fputc('"', f);
}
