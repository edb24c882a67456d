/* case.h - how a suite of cases is written.
 *
 * A suite is cases/<area>/<suite>.c plus <suite>.def, one line a case:
 *     CASE(name_of_the_behaviour, seconds, labels)
 * CMake reads the .def and registers one ctest test "<suite>.<name>" a line; the C file includes
 * it through CASE_MAIN, so a case cannot be written and not run. Each runs in its own process.
 * With the label `gpu` it is built against NVIDIA's libraries too, by the preset of that name, and
 * runs on a card (plain.c in the place of case.c); OOMPROOF_GPU is defined there.
 *
 *     #include "case.h"
 *     START_TEST(a_b_c) { ... ck_assert_msg(...); } END_TEST
 *     static const case_entry cases[] = {
 *     #include "suite.def"
 *     };
 *     CASE_MAIN("suite")
 */
#ifndef CASE_H
#define CASE_H
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct case_entry {
    const char *name;
    double seconds;     /* of a processor, after which it hangs: many times what it takes */
    const char *labels; /* `gpu`: what it shows must be so on a card too, and it runs on one */
    const TTest *const *test;
} case_entry;

/* Runs the case named by argv[1] (all without one); exit code 0 when it ran and passed. */
int case_main(const char *suite, const case_entry *cases, int n, int argc, char **argv);

/* A line of a .def inside the table of cases. */
#define CASE(name, seconds, labels) {#name, seconds, #labels, &name},

#define CASE_MAIN(suite)                                                                 \
    int main(int argc, char **argv)                                                      \
    {                                                                                    \
        return case_main(suite, cases, (int)(sizeof cases / sizeof *cases), argc, argv); \
    }

#endif
