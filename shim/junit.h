/* junit.h - results as JUnit XML, which ctest's dashboards, CI services and `oomproof report` read.
 */
#ifndef OP_JUNIT_H
#define OP_JUNIT_H
#include <stdio.h>

typedef struct op_junit_suite {
    const char *name;
    int tests, failures, errors, skipped;
    double seconds;
} op_junit_suite;

void op_junit_open(FILE *f, const op_junit_suite *s);
/* 0; else f has an error. */
int op_junit_close(FILE *f);
/* Text as it may stand in an attribute or an element. */
void op_xml(FILE *f, const char *text);

#endif
