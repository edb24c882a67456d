/* moments.c - see moments.h */
#include "net/moments.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

pt_status pt_moments_open(pt_moments *m, int norms, const int *channels)
{
    *m = (pt_moments){.norms = norms};
    for (int k = 0; k < norms; k++) m->size += pt_moments_size(channels[k]);
    m->channels = malloc(sizeof *m->channels * (size_t)norms);
    m->whole = calloc(m->size, sizeof *m->whole);
    if (m->channels && m->whole) {
        memcpy(m->channels, channels, sizeof *channels * (size_t)norms);
        return PT_OK;
    }
    pt_moments_close(m);
    return pt_fail(PT_ERR_HOST, "no host memory for the statistics of %d norms", norms);
}

void pt_moments_close(pt_moments *m)
{
    free(m->channels);
    free(m->whole);
    free(m->piece);
    *m = (pt_moments){0};
}

void pt_moments_reset(pt_moments *m)
{
    m->pieces = 0;
    if (m->whole) memset(m->whole, 0, m->size * sizeof *m->whole);
}

pt_status pt_moments_reserve(pt_moments *m)
{
    if (m->pieces < m->room) return PT_OK;
    int64_t room = 2 * m->room + 1;
    double *p = realloc(m->piece, sizeof *p * m->size * (size_t)room);
    if (!p)
        return pt_fail(PT_ERR_HOST, "no host memory for the statistics of piece %lld of a batch",
                       (long long)m->pieces);
    m->piece = p;
    m->room = room;
    return PT_OK;
}

void pt_moments_add(pt_moments *m, const double *set)
{
    double *a = m->whole;
    const double *b = set;
    memcpy(m->piece + (size_t)m->pieces++ * m->size, set, m->size * sizeof *set);
    for (int k = 0; k < m->norms; k++) {
        int c = m->channels[k];
        double na = a[0], nb = b[0], n = na + nb;
        for (int i = 1; nb > 0 && i <= c; i++) {
            double d = b[i] - a[i];
            a[i] += d * (nb / n);
            a[c + i] += b[c + i] + d * d * (na * nb / n);
        }
        a[0] = n;
        a += pt_moments_size(c);
        b += pt_moments_size(c);
    }
}

void pt_moments_running(const pt_moments *m, double momentum, const real *before, real *after)
{
    const double *a = m->whole;
    for (int k = 0; k < m->norms; k++) {
        int c = m->channels[k];
        for (int i = 0; i < 2 * c; i++) {
            double batch = i < c ? a[1 + i] : a[1 + i] / (a[0] - 1);
            double old = (double)before[i];
            after[i] = a[0] < 2 ? before[i] : (real)(old + momentum * (batch - old));
        }
        a += pt_moments_size(c);
        before += 2 * c;
        after += 2 * c;
    }
}

pt_norm_bias pt_moments_bias(const pt_moments *m, double epsilon)
{
    pt_norm_bias out = {0};
    size_t at = 0;
    for (int k = 0; k < m->norms; k++) {
        int c = m->channels[k];
        const double *w = m->whole + at;
        for (int64_t p = 0; w[0] > 0 && p < m->pieces; p++) {
            const double *used = m->piece + (size_t)p * m->size + at + 1 + 2 * c;
            for (int i = 0; i < c; i++) {
                double sd = sqrt(w[1 + c + i] / w[0] + epsilon);
                out.mean = fmax(out.mean, fabs(used[i] - w[1 + i]) / sd);
                out.scale = fmax(out.scale, fabs(1 / (used[c + i] * sd) - 1));
            }
        }
        if (k == 0) {
            out.first_mean = out.mean;
            out.first_scale = out.scale;
        }
        at += pt_moments_size(c);
    }
    return out;
}
