/* rooms.c - generated rooms: floor, walls, table, chairs, cupboard, lamp. Every number is a hash of
 * (seed, room, counter), so a room is the same on every machine and in every order. */
#include "data.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

typedef struct source {
    uint64_t key, at;
} source;
static double uniform(source *s)
{
    return (double)(mix(s->key + s->at++) >> 11) / 9007199254740992.0;
}

/* Pareto with exponent 1: half of the rooms are below twice the smallest, one in a hundred above a
 * hundred times. Cut off at the largest. */
int64_t pt_room_points(uint64_t seed, int i, const pt_room *r)
{
    source s = {mix(seed) ^ mix((uint64_t)i + 1000003), 0};
    int64_t least = r->least > 0 ? r->least : PT_ROOM_LEAST;
    if (least > r->most) least = r->most;
    double n = (double)least / (1 - uniform(&s) * (1 - (double)least / 300000.0));
    int64_t points = (int64_t)n;
    if (points > r->most) points = r->most;
    return points < least ? least : points;
}

/* A rectangle in space: a corner, two edges; its area says how many points it gets. */
typedef struct patch {
    double at[3], u[3], v[3], area;
    int label;
} patch;

typedef struct room {
    patch p[128];
    int n;
    double area;
} room;

static void add(room *r, int label, double x, double y, double z, double ux, double uy, double uz,
                double vx, double vy, double vz)
{
    if (r->n == 128) return;
    double c[3] = {uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx};
    patch *p = &r->p[r->n++];
    *p = (patch){{x, y, z},
                 {ux, uy, uz},
                 {vx, vy, vz},
                 sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2]),
                 label};
    r->area += p->area;
}

static void box(room *r, int label, double x, double y, double z, double w, double d, double h)
{
    add(r, label, x, y, z + h, w, 0, 0, 0, d, 0);
    add(r, label, x, y, z, w, 0, 0, 0, 0, h);
    add(r, label, x, y + d, z, w, 0, 0, 0, 0, h);
    add(r, label, x, y, z, 0, d, 0, 0, 0, h);
    add(r, label, x + w, y, z, 0, d, 0, 0, 0, h);
}

enum { FLOOR, WALL, TABLE, CHAIR, CUPBOARD, LAMP, SHELF, DOOR, LABELS };

/* A shelf is a cupboard without front: three sides, a back and boards. A door is a slab in front of
 * a wall, a hand's breadth off it. */
static void furnish_more(room *r, source *s, double w, double d, double h, double unit)
{
    for (int k = 0; k < 2; k++) {
        double x = uniform(s) * (w - 0.8 * unit), y = d - 0.42 * unit, wide = 0.8 * unit;
        double deep = 0.4 * unit, high = 0.75 * h;
        add(r, SHELF, x, y, 0, 0, deep, 0, 0, 0, high);
        add(r, SHELF, x + wide, y, 0, 0, deep, 0, 0, 0, high);
        add(r, SHELF, x, y + deep, 0, wide, 0, 0, 0, 0, high);
        for (int b = 0; b < 4; b++)
            add(r, SHELF, x, y, high * (0.25 + 0.25 * b), wide, 0, 0, 0, deep, 0);
    }
    for (int k = 0; k < 2; k++) {
        double at = uniform(s), off = 0.15 * unit, wide = 0.9 * unit, high = 0.85 * h;
        if (k)
            box(r, DOOR, off, at * (d - wide), 0, 0.05 * unit, wide, high);
        else
            box(r, DOOR, at * (w - wide), off, 0, wide, 0.05 * unit, high);
    }
}

static void furnish(room *r, source *s, double size, int classes)
{
    double w = size * (0.8 + 0.4 * uniform(s)), d = size * (0.8 + 0.4 * uniform(s)),
           h = fmin(2.6, 0.6 * size);
    double unit = fmin(1, size / 4);
    add(r, FLOOR, 0, 0, 0, w, 0, 0, 0, d, 0);
    add(r, WALL, 0, 0, 0, w, 0, 0, 0, 0, h);
    add(r, WALL, 0, 0, 0, 0, d, 0, 0, 0, h);
    if (uniform(s) < 0.7) add(r, WALL, w, 0, 0, 0, d, 0, 0, 0, h);
    int tables = 1 + (int)(w * d / 20);
    for (int t = 0; t < tables && t < 6; t++) {
        double x = uniform(s) * (w - 1.4 * unit), y = uniform(s) * (d - unit);
        add(r, TABLE, x, y, 0.75 * unit, 1.4 * unit, 0, 0, 0, 0.8 * unit, 0);
        for (int c = 0; c < 2; c++) {
            double cx = x + (0.1 + 0.7 * c) * unit, cy = y + 0.85 * unit;
            add(r, CHAIR, cx, cy, 0.45 * unit, 0.45 * unit, 0, 0, 0, 0.45 * unit, 0);
            add(r, CHAIR, cx, cy + 0.45 * unit, 0.45 * unit, 0.45 * unit, 0, 0, 0, 0, 0.5 * unit);
        }
    }
    box(r, CUPBOARD, uniform(s) * (w - 0.8 * unit), 0.02, 0, 0.8 * unit, 0.4 * unit, 0.75 * h);
    /* y before x: two draws in one call would come in the compiler's order */
    double y = d * (0.3 + 0.4 * uniform(s)), x = w * (0.3 + 0.4 * uniform(s));
    box(r, LAMP, x, y, 0, 0.06, 0.06, 0.7 * h);
    if (classes > PT_ROOM_CLASSES) furnish_more(r, s, w, d, h, unit);
}

static pt_status allocate(pt_scene *out, int64_t n)
{
    out->n = n;
    out->coord = malloc(sizeof(float) * 3 * (size_t)n);
    out->feature = malloc(sizeof(float) * PT_FEATURES * (size_t)n);
    out->label = malloc(sizeof(int32_t) * (size_t)n);
    if (out->coord && out->feature && out->label) return PT_OK;
    pt_scene_free(out);
    return pt_fail(PT_ERR_HOST, "no host memory for a room of %lld points", (long long)n);
}

pt_status pt_room_make(uint64_t seed, int i, const pt_room *how, pt_scene *out)
{
    static const float colour[LABELS][3] = {
        {0.45f, 0.35f, 0.25f}, {0.85f, 0.85f, 0.8f}, {0.6f, 0.4f, 0.2f}, {0.2f, 0.3f, 0.6f},
        {0.5f, 0.5f, 0.5f},    {0.9f, 0.8f, 0.3f},   {0.5f, 0.5f, 0.5f}, {0.85f, 0.85f, 0.8f}};
    source s = {mix(mix(seed) + (uint64_t)i * 7919), 0};
    int64_t n = pt_room_points(seed, i, how);
    float voxel = how->voxel;
    room r = {.n = 0};
    *out = (pt_scene){.voxel = voxel};
    snprintf(out->name, sizeof out->name, "room-%d", i);
    pt_status st = allocate(out, n);
    if (st != PT_OK) return st;
    /* The room grows with its points so that a voxel's surface is nearly always hit: about two
     * points to a voxel-sized square, whatever the voxel. area of the surfaces of a room of size s:
     * about 4 s^2. */
    double size = voxel * sqrt((double)n / 4 / 4);
    furnish(&r, &s, size < 6 * voxel ? 6 * voxel : size, how->classes);
    for (int64_t k = 0; k < n; k++) {
        double pick = uniform(&s) * r.area, a = uniform(&s), b = uniform(&s);
        int p = 0;
        while (p < r.n - 1 && pick >= r.p[p].area) pick -= r.p[p++].area;
        for (int c = 0; c < 3; c++) {
            double x = r.p[p].at[c] + a * r.p[p].u[c] + b * r.p[p].v[c] + 0.2 * voxel * uniform(&s);
            out->coord[3 * k + c] = (float)(x > 0 ? x : 0);
        }
        float *f = out->feature + PT_FEATURES * k;
        for (int c = 0; c < 3; c++) {
            float x = colour[r.p[p].label][c] + 0.2f * (float)(uniform(&s) - 0.5);
            f[c] = x < 0 ? 0 : x > 1 ? 1 : x;
        }
        f[3] = 0.5f + 0.3f * (float)(uniform(&s) - 0.5);
        f[4] = out->coord[3 * k + 2] / (64 * voxel);
        f[5] = 1;
        out->label[k] = r.p[p].label;
    }
    return PT_OK;
}
