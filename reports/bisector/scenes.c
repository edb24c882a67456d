/* scenes.c - the synthetic batch of the bisector: the trainer's generated rooms, sparser. */
#include "bisect.h"
#include <stdlib.h>

/* A room has about two points to a voxel-sized square. Its voxels made SPARSE times smaller, nearly
 * every point is a voxel of its own, so that a few thousand points already are as wide as several
 * halos: the cuts of a scan of a hundred thousand points at the price of a small one. */
#define SPARSE     6
#define ROOM_VOXEL 0.3f

enum { UNIFORM_LEAST = 1000, UNIFORM_MOST = 12000, HEAVY_MOST = 60000 };

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Room sizes are heavy-tailed by themselves; for a given size, the first room that is at least as
 * large is cut off at it. */
static pt_status room(const bi_config *c, int s, pt_scene *out)
{
    uint64_t seed = mix((uint64_t)(uint32_t)c->seed);
    int number = s;
    pt_room how = {.most = HEAVY_MOST, .classes = PT_ROOM_CLASSES, .voxel = ROOM_VOXEL};
    if (!c->heavy) {
        how.most = UNIFORM_LEAST +
                   (int64_t)(mix(seed + (uint64_t)s + 1) % (UNIFORM_MOST - UNIFORM_LEAST + 1));
        while (pt_room_points(seed, number, &how) < how.most) number += BI_MAX_SCENES;
    }
    return pt_room_make(seed, number, &how, out);
}

static void make_column(pt_scene *s)
{
    for (int64_t i = 0; i < s->n; i++) {
        s->coord[3 * i] = s->coord[3 * i + 1] = 0;
        s->coord[3 * i + 2] = (float)i * s->voxel;
    }
}

pt_status bi_scenes(bi_run *r)
{
    pt_status st = PT_OK;
    for (int s = 0; s < r->config.scenes; s++) {
        pt_scene *scene = &r->scene[s];
        bi_config c = r->config;
        int column = c.column && s == 0;
        if (column) c.heavy = 0;
        TRY(room(&c, s, scene));
        scene->voxel = ROOM_VOXEL / SPARSE;
        if (column) make_column(scene);
        r->totals.scene_points[s] = (int32_t)scene->n;
        r->totals.points += (int32_t)scene->n;
        if (!(r->owner[s] = malloc(sizeof(int32_t) * (size_t)scene->n)))
            return pt_fail(PT_ERR_HOST, "no memory for a scene of %lld points",
                           (long long)scene->n);
        for (int64_t i = 0; i < scene->n; i++) r->owner[s][i] = -1;
    }
done:
    return st;
}
