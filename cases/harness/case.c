/* case.c - runs the cases of a suite under Check, one process each, and prints how to repeat a
 * failure. A name that matches no case is an error: a test that did not run has not passed. */
#include "case.h"

int case_main(const char *suite, const case_entry *cases, int n, int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : NULL;
    Suite *s = suite_create(suite);
    int chosen = 0;
    for (int i = 0; i < n; i++) {
        if (only && strcmp(only, cases[i].name) != 0) continue;
        TCase *t = tcase_create(cases[i].name);
        tcase_set_timeout(t, cases[i].seconds);
        tcase_add_test(t, *cases[i].test);
        suite_add_tcase(s, t);
        chosen++;
    }
    if (!chosen) {
        fprintf(stderr, "%s: no case named %s; the cases are:\n", suite, only ? only : "(any)");
        for (int i = 0; i < n; i++) fprintf(stderr, "  %s\n", cases[i].name);
        return 2;
    }
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r), ran = srunner_ntests_run(r);
    if (failed || ran != chosen)
        fprintf(stderr, "repeat: ctest --test-dir build -R '^%s\\.%s$' --output-on-failure\n",
                suite, only ? only : "");
    srunner_free(r);
    return failed || ran != chosen;
}
