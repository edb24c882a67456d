/* driver.c - the bisector without a page: every number of a run, for tests and for the page's
 * worked example. usage: bisector_driver BUDGET_KIB SCENES HEAVY SEED KEPT ALTERNATE HALO ORIGINAL
 * EVERYTHING BUG COLUMN CHUNK; prints one JSON object of arrays. Each line of stdin is one more
 * run, when there are no arguments. */
#include "bisect.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = sizeof(bi_config) / sizeof(int32_t) };

static void put(const char *name, const void *at, size_t n)
{
    const int32_t *x = at;
    printf("\"%s\":[", name);
    for (size_t i = 0; i < n; i++) printf("%s%d", i ? "," : "", (int)x[i]);
    printf("],");
}

static int run(bi_run *r, const bi_config *c)
{
    if (bi_run_batch(r, c) != PT_OK) {
        fprintf(stderr, "bisector_driver: %s\n", pt_error_last()->message);
        return 1;
    }
    printf("{");
    put("nodes", r->node, (size_t)r->nodes * sizeof *r->node / 4);
    put("steps", r->step, (size_t)r->steps * sizeof *r->step / 4);
    put("queue", r->queue, (size_t)r->queued);
    put("totals", &r->totals, sizeof r->totals / 4);
    printf("\"message\":\"%s\"}\n", r->message); /* no quotes in it: codes, sites, sizes */
    fflush(stdout);
    return 0;
}

static int read_config(bi_config *c, const char *text)
{
    int32_t *to = (int32_t *)c;
    for (int i = 0; i < NUMBERS; i++) {
        char *end;
        to[i] = (int32_t)strtol(text, &end, 10);
        if (end == text) return 0;
        text = end;
    }
    return 1;
}

int main(int argc, char **argv)
{
    bi_run r = {0};
    bi_config c;
    char line[512] = "";
    int failed = 0;
    if (argc > 1) {
        for (int i = 1; i < argc; i++) {
            strncat(line, argv[i], sizeof line - strlen(line) - 1);
            strncat(line, " ", sizeof line - strlen(line) - 1);
        }
        failed = read_config(&c, line) ? run(&r, &c) : 2;
    } else {
        while (!failed && fgets(line, sizeof line, stdin))
            failed = read_config(&c, line) ? run(&r, &c) : 2;
    }
    if (failed == 2) fprintf(stderr, "bisector_driver: %d numbers wanted\n", (int)NUMBERS);
    bi_free(&r);
    return failed;
}
