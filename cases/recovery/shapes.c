/* shapes.c - see shapes.h */
#include "shapes.h"
#include <stdio.h>
#include <stdlib.h>

const char *shape_name(shape_kind k)
{
    static const char *const name[] = {"room", "pole", "line", "same", "clusters", "strays"};
    return name[k];
}

double shape_random(uint64_t seed, uint64_t counter)
{
    uint64_t x =
        seed * 0x9e3779b97f4a7c15u + counter; /* splitmix64's finaliser, Steele et al. 2014 */
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return (double)(x >> 11) / 9007199254740992.0;
}

pt_scene shape_make(shape_kind kind, int64_t n, int classes, uint64_t seed)
{
    pt_scene s = {.n = n, .voxel = 0.05f};
    snprintf(s.name, sizeof s.name, "%s-%lld", shape_name(kind), (long long)n);
    s.coord = calloc((size_t)n * 3, sizeof *s.coord);
    s.feature = calloc((size_t)n * PT_FEATURES, sizeof *s.feature);
    s.label = calloc((size_t)n, sizeof *s.label);
    for (int64_t i = 0; i < n; i++) {
        float *x = s.coord + 3 * i;
        double u[3];
        for (int a = 0; a < 3; a++) u[a] = shape_random(seed, (uint64_t)(3 * i + a));
        switch (kind) {
        case SHAPE_ROOM:
            for (int a = 0; a < 3; a++) x[a] = (float)(u[a] * (a == 2 ? 2.5 : 6));
            break;
        case SHAPE_POLE: x[2] = (float)(u[2] * 9); break;
        case SHAPE_LINE: x[0] = (float)(u[0] * 40); break;
        case SHAPE_SAME:
        case SHAPE_KINDS: break;
        case SHAPE_CLUSTERS:
            for (int a = 0; a < 3; a++) x[a] = (float)(u[a] + (i % 10 ? 5000 : 0));
            break;
        case SHAPE_STRAYS:
            for (int a = 0; a < 3; a++) x[a] = (float)(u[a] * 0.01);
            if (i < 20) x[0] = x[1] = (float)(1 << i);
            break;
        }
        for (int c = 0; c < PT_FEATURES; c++)
            s.feature[i * PT_FEATURES + c] =
                (float)shape_random(seed + 1, (uint64_t)(i * PT_FEATURES + c));
        s.label[i] = (int32_t)(i % classes);
    }
    return s;
}
