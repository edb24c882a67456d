/* limits.c - cases that work and cases that hang, run by limits.sh, which knows what the harness
 * has to say of each. They are no cases of their own. */
#include "case.h"

START_TEST(works)
{
    volatile unsigned n = 0;
    while (n < 1000000) n++;
}
END_TEST

START_TEST(spins)
{
    for (volatile int on = 1; on;) continue;
}
END_TEST

START_TEST(fails)
{
    ck_assert_msg(0, "this one is wrong");
}
END_TEST

static const case_entry cases[] = {CASE(works, 1, none) CASE(spins, 1, none) CASE(fails, 1, none)};
CASE_MAIN("limits")
