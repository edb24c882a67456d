/* distance.c - how far buffers are from those that they are compared with. */
#include "compared.h"
#include <math.h>
#include <stdio.h>

static double value(const void *p, int type, size_t i)
{
    return type == 'd' ? ((const double *)p)[i] : (double)((const float *)p)[i];
}

static double largest(const void *p, int type, size_t n)
{
    double m = 0;
    for (size_t i = 0; i < n; i++) m = fmax(m, fabs(value(p, type, i)));
    return m;
}

double op_distance(const void *a, const void *reference, int type, size_t n, double at_least)
{
    double d = 0, m = fmax(largest(reference, type, n), at_least);
    for (size_t i = 0; i < n; i++) {
        double x = value(a, type, i), y = value(reference, type, i), e = fabs(x - y);
        if (x == y || (isnan(x) && isnan(y))) continue; /* inf, too */
        if (isnan(e)) return e;                         /* nothing after it is larger */
        if (e > d) d = e;
    }
    return d == 0 ? 0 : d / m;
}

static int within_a_tolerance(int i)
{
    return op_is_of_numbers(&op_buffers_all[i]) && op_buffers_all[i].tolerance > 0;
}

double op_least_of(void **reference)
{
    double all = 0;
    for (int i = 0; i < op_nbuffers; i++) {
        const op_compared *b = &op_buffers_all[i];
        if (reference[i] && within_a_tolerance(i))
            all = fmax(all, largest(reference[i], b->type, op_numbers(b)));
    }
    return 1e-3 * all;
}

static double apart(int i, void **a, void **reference, double at_least)
{
    const op_compared *b = &op_buffers_all[i];
    if (!a[i] || !reference[i] || !within_a_tolerance(i)) return 0;
    return op_distance(a[i], reference[i], b->type, op_numbers(b), at_least);
}

double op_worst_apart(void **a, void **reference)
{
    double most = 0, least = op_least_of(reference);
    for (int i = 0; i < op_nbuffers; i++) {
        double d = apart(i, a, reference, least);
        if (isnan(d)) return d;
        most = fmax(most, d);
    }
    return most;
}

double op_length_apart(void **a, void **reference)
{
    double d = 0, all = 0;
    for (int i = 0; i < op_nbuffers; i++) {
        const op_compared *b = &op_buffers_all[i];
        if (!a[i] || !reference[i] || !within_a_tolerance(i)) continue;
        for (size_t k = 0; k < op_numbers(b); k++) {
            double x = value(a[i], b->type, k), y = value(reference[i], b->type, k);
            if (isfinite(y)) all += y * y;
            if (x != y && !(isnan(x) && isnan(y))) d += (x - y) * (x - y);
        }
    }
    return d == 0 ? 0 : sqrt(d / all);
}

void op_note_worst(op_result *r, const op_compared *b, double d)
{
    if (isnan(r->measure) || d <= r->measure) return;
    r->measure = d;
    snprintf(r->worst, sizeof r->worst, "%.63s", b->name);
}

int op_agree(op_result *r, void **a, void **reference, const op_rounding *rounding,
             const char *with)
{
    int ok = 1;
    double least = op_least_of(reference);
    for (int i = 0; i < op_nbuffers; i++) {
        const op_compared *b = &op_buffers_all[i];
        double d = apart(i, a, reference, least), bound = fmax(b->tolerance, rounding->worst);
        if (d > 0 || isnan(d)) op_note_worst(r, b, d);
        if (ok && within_a_tolerance(i) && !(d <= bound)) {
            snprintf(r->why, sizeof r->why, "%.63s is off by %.3g (bound %.3g)%s", b->name, d,
                     bound, with);
            ok = 0;
        }
    }
    if (!ok || rounding->length == 0) return ok;
    double d = op_length_apart(a, reference);
    if (d <= rounding->length) return 1;
    snprintf(r->why, sizeof r->why,
             "what has a tolerance is off by %.3g of its length (bound %.3g)%s", d,
             rounding->length, with);
    return 0;
}
