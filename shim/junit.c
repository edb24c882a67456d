/* junit.c - see junit.h. */
#include "junit.h"
#include <string.h>

void op_xml(FILE *f, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (strchr("<>&\"\n", c)) /* a bare line end in an attribute is read as a blank */
            fprintf(f, "&#%d;", c);
        else
            fputc(c < 0x20 || c > 0x7e ? '?' : c, f);
    }
}

void op_junit_open(FILE *f, const op_junit_suite *s)
{
    fprintf(f,
            "<?xml version=\"1.0\"?>\n<testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" "
            "errors=\"%d\" skipped=\"%d\" time=\"%.3f\">\n",
            s->name, s->tests, s->failures, s->errors, s->skipped, s->seconds);
}

int op_junit_close(FILE *f)
{
    fputs("</testsuite>\n", f);
    return ferror(f) || fflush(f) != 0;
}
