/* nearest.c - what was meant by a word that is none: the names that it is part of, else the one
 * that the fewest changes of a letter make of it. A word far from all is answered by none. */
#include "heard.h"
#include "rules.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Levenshtein distance; 99 for words too long to be meant */
int op_letters_apart(const char *a, const char *b)
{
    int row[96], n = (int)strlen(b);
    if (n > 90 || strlen(a) > 90) return 99;
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 1; *a; a++, i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int up = row[j];
            int best = diagonal + (tolower((unsigned char)*a) != tolower((unsigned char)b[j - 1]));
            if (up + 1 < best) best = up + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = up;
            row[j] = best;
        }
    }
    return row[n];
}

enum { BEGINS = -2, INSIDE = -1, MOST = 3 };
typedef struct nearest {
    const char *word, *best[MOST];
    int least, n;
} nearest;

static int is_inside(const char *word, const char *candidate)
{
    size_t k = strlen(word);
    for (; k >= 4 && strlen(candidate) >= k; candidate++)
        if (!strncasecmp(word, candidate, k)) return 1;
    return 0;
}

/* Of names that are equally near, the first one; of those that the word is part of, the first
 * three.
 */
static void consider(nearest *n, const char *candidate)
{
    size_t k = strlen(n->word);
    int d = k >= 3 && !strncasecmp(n->word, candidate, k) ? BEGINS
            : is_inside(n->word, candidate)               ? INSIDE
                                                          : op_letters_apart(n->word, candidate);
    if (d > 0 && d > 1 + (int)k / 3) return; /* more than that is another word */
    if (d < n->least) n->least = d, n->n = 0;
    if (d == n->least && n->n < (d == INSIDE ? MOST : 1)) n->best[n->n++] = candidate;
}

/* "a", "a or b", "a, b or c", until the next call; NULL: none is near. */
static const char *said(const nearest *n)
{
    static char text[MOST * (OP_HEARD_NAME + 4)];
    size_t at = 0;
    *text = 0;
    for (int i = 0; i < n->n && at < sizeof text; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s",
                               i == 0          ? ""
                               : i == n->n - 1 ? " or "
                                               : ", ",
                               n->best[i]);
    return *text ? text : NULL;
}

/* A pattern is near to a name by its letters, as is a part of one: what is not near comes last. */
static int rank(const char *pattern, const char *name)
{
    char plain[OP_HEARD_NAME];
    size_t n = 0;
    for (; *pattern && n < sizeof plain - 1; pattern++)
        if (*pattern != '*' && *pattern != '?') plain[n++] = *pattern;
    plain[n] = 0;
    return n && (is_inside(plain, name) || is_inside(name, plain)) ? -1
                                                                   : op_letters_apart(plain, name);
}

const char *op_heard_near(const op_heard *h, const char *pattern)
{
    nearest n = {.n = 0};
    uint32_t taken = h->taken < OP_HEARD ? h->taken : OP_HEARD;
    for (uint32_t i = 0; i < taken; i++)
        if (op_glob(pattern, h->name[i])) return NULL;
    for (uint32_t i = 0; i < taken; i++) { /* the nearest stay at the front */
        const char *name = h->name[i];
        int at = n.n, twice = 0;
        for (int k = 0; k < n.n; k++) twice |= !strcmp(n.best[k], name);
        if (twice || !*name) continue;
        while (at > 0 && rank(pattern, name) < rank(pattern, n.best[at - 1])) at--;
        for (int k = n.n < MOST ? n.n : MOST - 1; k > at; k--) n.best[k] = n.best[k - 1];
        if (at < MOST) n.best[at] = name;
        n.n += n.n < MOST;
    }
    return said(&n);
}

const char *op_nearest(const char *word, const char *const *words)
{
    nearest n = {.word = word, .least = 99};
    for (; *words; words++) consider(&n, *words);
    return said(&n);
}

const char *op_nearest_call(const char *word)
{
    nearest n = {.word = word, .least = 99};
    for (int i = 0; i < OP_CALLS; i++) consider(&n, op_table[i].name);
    return said(&n);
}

const char *op_nearest_code(const char *word)
{
    nearest n = {.word = word, .least = 99};
    for (const op_code *c = op_codes; c->name; c++) consider(&n, c->name);
    return said(&n);
}
