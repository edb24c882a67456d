/* forms.c - every form of an instruction that the translator accepts does what the PTX manual says:
 * a differential test of each, so that none can be added without one. */
#include "formkit.h"
#include <string.h>

const family *const form_families[] = {&form_integers, &form_bits,   &form_floats, &form_compares,
                                       &form_converts, &form_halves, &form_moves,  &form_memory,
                                       &form_atomics,  &form_warps};
const int form_family_count = sizeof form_families / sizeof *form_families;

START_TEST(every_accepted_form_has_a_differential_test)
{
    size_t n, missing = 0;
    form *all = forms_all(&n);
    char names[2000] = "";
    for (size_t i = 0; i < n; i++)
        if (!form_family(&all[i]) && missing++ < 20) {
            strncat(names, " ", sizeof names - strlen(names) - 1);
            strncat(names, all[i].name, sizeof names - strlen(names) - 1);
        }
    ck_assert_msg(!missing, "%zu of %zu forms have no differential test:%s", missing, n, names);
    ck_assert_uint_gt(n, 2000);
    printf("%zu forms\n", n);
    free(all);
}
END_TEST

/* The word stands in the text by itself. */
static int names(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = text; (p = strstr(p, word)); p += n) {
        const char *around = "abcdefghijklmnopqrstuvwxyz0123456789_";
        if ((p == text || !strchr(around, p[-1])) && (!p[n] || !strchr(around, p[n]))) return 1;
    }
    return 0;
}

START_TEST(the_census_in_the_readme_names_every_opcode)
{
    size_t n;
    form *all = forms_all(&n);
    static char readme[1 << 18];
    FILE *f = fopen(OOMPROOF_SOURCE_DIR "/sim/README.md", "r");
    ck_assert_ptr_nonnull(f);
    readme[fread(readme, 1, sizeof readme - 1, f)] = 0;
    fclose(f);
    char *census = strstr(readme, "## Census"), *end;
    ck_assert_ptr_nonnull(census);
    if ((end = strstr(census, "\nNot handled"))) *end = 0;
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(names(census, all[i].op), "sim/README.md, census: %s is not there",
                      all[i].op);
    char count[40];
    snprintf(count, sizeof count, "%zu forms", n);
    ck_assert_msg(strstr(census, count) != NULL, "sim/README.md, census: it is %s now", count);
    free(all);
}
END_TEST

#define FAMILY(name, x) \
    START_TEST(name)    \
    {                   \
        forms_check(x); \
    }                   \
    END_TEST
FAMILY(integer_arithmetic, &form_integers)
FAMILY(bits_and_fields, &form_bits)
FAMILY(floating_point, &form_floats)
FAMILY(comparisons, &form_compares)
FAMILY(conversions, &form_converts)
FAMILY(half_precision, &form_halves)
FAMILY(moves_and_spaces, &form_moves)
FAMILY(loads_and_stores, &form_memory)
FAMILY(atomics_and_copies, &form_atomics)
FAMILY(warps_and_blocks, &form_warps)

static const case_entry cases[] = {
#include "forms.def"
};
CASE_MAIN("forms")
