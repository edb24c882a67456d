/* check.h - for the cases on a card: what they use of Check, where nothing is installed but CUDA. A
 * case is a function that ends its process where it fails; plain.c gives each a process. */
#ifndef PLAIN_CHECK_H
#define PLAIN_CHECK_H
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct TTest {
    const char *name;
    void (*fn)(int);
} TTest;

/* Says where and why, and ends the case. */
void __attribute__((noreturn, format(printf, 3, 4)))
case_fails(const char *file, int line, const char *why, ...);

#define START_TEST(test)                                  \
    static void test##_fn(int _i);                        \
    static const TTest test##_ttest = {#test, test##_fn}; \
    static const TTest *test = &test##_ttest;             \
    static void test##_fn(int _i __attribute__((unused)))
#define END_TEST

#define ck_abort_msg(...) case_fails(__FILE__, __LINE__, __VA_ARGS__)
#define ck_assert_msg(true_, ...)                \
    do {                                         \
        if (!(true_)) ck_abort_msg(__VA_ARGS__); \
    } while (0)
#define ck_assert(true_) ck_assert_msg(true_, "not so: %s", #true_)

#define PLAIN_NUMBERS(type, format, x, op, y)                                                   \
    do {                                                                                        \
        type x_ = (x);                                                                          \
        type y_ = (y);                                                                          \
        ck_assert_msg(x_ op y_, "not so: %s, which is " format ", %s %s, which is " format, #x, \
                      x_, #op, #y, y_);                                                         \
    } while (0)
#define ck_assert_int_eq(x, y)   PLAIN_NUMBERS(intmax_t, "%jd", x, ==, y)
#define ck_assert_int_ge(x, y)   PLAIN_NUMBERS(intmax_t, "%jd", x, >=, y)
#define ck_assert_int_gt(x, y)   PLAIN_NUMBERS(intmax_t, "%jd", x, >, y)
#define ck_assert_int_lt(x, y)   PLAIN_NUMBERS(intmax_t, "%jd", x, <, y)
#define ck_assert_uint_eq(x, y)  PLAIN_NUMBERS(uintmax_t, "%ju", x, ==, y)
#define ck_assert_uint_gt(x, y)  PLAIN_NUMBERS(uintmax_t, "%ju", x, >, y)
#define ck_assert_uint_le(x, y)  PLAIN_NUMBERS(uintmax_t, "%ju", x, <=, y)
#define ck_assert_uint_lt(x, y)  PLAIN_NUMBERS(uintmax_t, "%ju", x, <, y)
#define ck_assert_ptr_eq(x, y)   PLAIN_NUMBERS(const void *, "%p", x, ==, y)
#define ck_assert_ptr_ne(x, y)   PLAIN_NUMBERS(const void *, "%p", x, !=, y)
#define ck_assert_ptr_null(x)    ck_assert_ptr_eq(x, NULL)
#define ck_assert_ptr_nonnull(x) ck_assert_ptr_ne(x, NULL)

#define PLAIN_TEXTS(x, op, y)                                                                 \
    do {                                                                                      \
        const char *x_ = (x), *y_ = (y);                                                      \
        ck_assert_msg(x_ &&y_ &&strcmp(x_, y_) op 0, "not so: %s, \"%s\", %s %s, \"%s\"", #x, \
                      x_ ? x_ : "(none)", #op, #y, y_ ? y_ : "(none)");                       \
    } while (0)
#define ck_assert_str_eq(x, y) PLAIN_TEXTS(x, ==, y)
#define ck_assert_str_ne(x, y) PLAIN_TEXTS(x, !=, y)

#endif
