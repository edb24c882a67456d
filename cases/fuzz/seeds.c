/* seeds.c - writes the files of cases/data/files.c into a folder, as scenes.c takes them. */
#include "../data/files.h"
#include <stdio.h>
#include <string.h>

/* The endings in the order of trainer/data/formats.c. */
static int format_of(const char *name)
{
    static const char *const endings[] = {".las", ".laz", ".ply",      ".pcd",
                                          ".bin", ".f32", "coord.npy", ".npy"};
    for (int i = 0; i < 8; i++)
        if (strlen(name) >= strlen(endings[i]) &&
            !strcmp(name + strlen(name) - strlen(endings[i]), endings[i]))
            return i;
    return -1;
}

static int write_seed(const char *folder, int number, const made *m)
{
    char path[512];
    snprintf(path, sizeof path, "%s/seed-%02d", folder, number);
    FILE *f = fopen(path, "wb");
    if (!f) return 0;
    fputc(format_of(m->file[0]), f);
    for (int p = 1; p < m->parts; p++) {
        fputc((int)(m->n[p] & 255), f);
        fputc((int)(m->n[p] >> 8), f);
    }
    for (int p = 1; p < m->parts; p++) fwrite(m->bytes[p], 1, m->n[p], f);
    fwrite(m->bytes[0], 1, m->n[0], f);
    return fclose(f) == 0;
}

int main(int argc, char **argv)
{
    static made m;
    int ok = argc == 2;
    for (int k = 0; ok && k < made_count(); k++) {
        make(k, 3, 0, &m);
        ok = write_seed(argv[1], k, &m);
    }
    char path[512];
    snprintf(path, sizeof path, "%s/seed-map", ok ? argv[1] : "");
    FILE *f = ok ? fopen(path, "wb") : NULL;
    if (!f) return 1;
    fputs("\377# a class map\n1 0 ground\n2 ignore\n65535 63\n* 5\n", f);
    return fclose(f) != 0;
}
