/* given.c - the rules that somebody gave a command: in words, or as @FILE. */
#define _GNU_SOURCE
#include "launch.h"
#include "rules.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text of a file, malloc'ed; NULL and a message. */
static char *file_text(const char *path)
{
    char *text = NULL;
    size_t room = 0;
    FILE *f = fopen(path, "re");
    ssize_t n = f ? getdelim(&text, &room, 0, f) : -1;
    if (f && n > 0 && (size_t)n != strlen(text)) {
        fprintf(stderr, "oomproof: error: %s: a NUL byte: not a text of rules\n", path);
        free(text);
        fclose(f);
        return NULL;
    }
    if (f && n < 0 && ferror(f)) {
        free(text);
        text = NULL;
    } else if (f && !text)
        text = strdup("");
    if (!text)
        fprintf(stderr,
                "oomproof: error: %s: %s; --faults @FILE reads rules from a file that is there, "
                "--faults 'cudaMalloc nth=3 -> oom' gives them as words\n",
                *path ? path : "@", strerror(errno));
    if (f) fclose(f);
    return text;
}

const char *op_rules_of_environment(void)
{
    const char *text = getenv("OOMPROOF_FAULTS");
    return text && *text ? text : NULL;
}

int op_rules_given(const char **faults, op_rule *rules)
{
    char error[256];
    const char *from = *faults;
    if (!from) return 0;
    if (*from == '@' && !(*faults = file_text(from + 1))) return -1;
    if (strlen(*faults) > 100000) {
        op_usage("--faults: more than 100000 characters, which the environment does not hold", "");
        return -1;
    }
    int n = op_parse(*faults, rules, error, sizeof error);
    if (n < 0 && *from == '@')
        fprintf(stderr, "oomproof: error: the rules in %s: %s\n", from + 1, error);
    else if (n < 0)
        fprintf(stderr, "oomproof: error: the rules (--faults, OOMPROOF_FAULTS): %s\n", error);
    else if (!n)
        fprintf(
            stderr,
            "oomproof: error: %s%s has no rule: nothing would be failed; give one, as 'cudaMalloc "
            "nth=3 -> oom', or leave --faults out\n",
            *from == '@' ? from + 1 : "the text of --faults", *from == '@' ? "" : " (empty?)");
    return n ? n : -1;
}
