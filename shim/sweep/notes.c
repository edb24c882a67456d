/* notes.c - what a program says wrongly by oomproof.h: told once, by the sweep or, outside of one,
 * where it runs. */
#include "sweep.h"
#include <stdio.h>
#include <string.h>

void op_sweep_note(const char *function, const char *text)
{
    static const char *told[8]; /* one text a function: addresses of literals */
    int i = 0;
    while (i < 8 && told[i] && told[i] != text) i++;
    if (i == 8 || told[i]) return;
    told[i] = text;
    if (!op_sweep) {
        fprintf(stderr, "oomproof: %s: %s\n", function, text);
        return;
    }
    if (op_sweep->role != OP_REFERENCE) return; /* it has said so before */
    size_t n = strlen(op_sweep->note);
    snprintf(op_sweep->note + n, sizeof op_sweep->note - n, "oomproof: note: %s: %s\n", function,
             text);
}
