/* case.c - runs the cases of a suite under Check, one process each, and prints how to repeat a
 * failure. A name that matches no case is an error: a test that did not run has not passed.
 *
 * The seconds of a case are there to end one that hangs, and are seconds of a processor: however
 * busy the machine is, a case that works takes what it always takes. One that waits for ever uses
 * no processor; it is ended by the clock, so late that a busy machine is no reason. */
#include "case.h"
#include <sys/resource.h>
#include <unistd.h>

enum { WAIT = 300, WAITS = 10 }; /* the limit of ctest, in cases/CMakeLists.txt, follows them */

static const case_entry *chosen_case[512];
static int chosen, current;

/* In the process of a case: SIGXCPU ends it. Threads of one process add up, hence for each. */
static void limit_processor(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    double seconds = chosen_case[current - 1]->seconds;
    rlim_t s = (rlim_t)(seconds * (double)(processors > 0 ? processors : 1)) + 1;
    struct rlimit limit = {.rlim_cur = s, .rlim_max = s + 5};
    ck_assert_int_eq(setrlimit(RLIMIT_CPU, &limit), 0);
}

/* Before the process of a case is made: Check does not say which it is. */
static void next_case(void)
{
    current++;
}

int case_main(const char *suite, const case_entry *cases, int n, int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : NULL;
    Suite *s = suite_create(suite);
    for (int i = 0; i < n; i++) {
        if (only && strcmp(only, cases[i].name) != 0) continue;
        TCase *t = tcase_create(cases[i].name);
        tcase_set_timeout(t, WAIT + cases[i].seconds * WAITS);
        tcase_add_unchecked_fixture(t, next_case, NULL);
        tcase_add_checked_fixture(t, limit_processor, NULL);
        tcase_add_test(t, *cases[i].test);
        suite_add_tcase(s, t);
        if (chosen == (int)(sizeof chosen_case / sizeof *chosen_case)) abort();
        chosen_case[chosen++] = &cases[i];
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
