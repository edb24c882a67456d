/* ptx2c.c - prints the C of one kernel of a PTX file, or lists the kernels. For people and tests.
 */
#include "ptx.h"
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    if (!f) return NULL;
    if (fseek(f, 0, SEEK_END) == 0) {
        long n = ftell(f);
        rewind(f);
        if (n >= 0 && (text = malloc((size_t)n + 1))) *bytes = fread(text, 1, (size_t)n, f);
    }
    fclose(f);
    return text;
}

int main(int argc, char **argv)
{
    const sim_ptx_kernel *k;
    char error[256];
    size_t bytes = 0;
    int in_strips = argc > 1 && !strcmp(argv[1], "--strips");
    if (in_strips) argc--, argv++;
    if (argc < 2 || argc > 3 || argv[1][0] == '-') {
        fprintf(stderr,
                "usage: ptx2c [--strips] FILE.ptx [KERNEL]\n"
                "Prints the C that the simulated device compiles for KERNEL; without KERNEL, each\n"
                "kernel's name and how many of its instructions are not supported.\n"
                "--strips: for eight threads at a time, as for kernels that run often.\n");
        return 2;
    }
    char *text = read_file(argv[1], &bytes);
    if (!text) {
        fprintf(stderr, "ptx2c: %s cannot be read\n", argv[1]);
        return 2;
    }
    sim_ptx *m = sim_ptx_parse(text, bytes, error, sizeof error);
    free(text);
    if (!m) {
        fprintf(stderr, "ptx2c: %s: %s\n", argv[1], error);
        return 2;
    }
    int n = sim_ptx_kernels(m, &k), found = 0, refused = 0;
    FILE *null = argc == 2 ? fopen("/dev/null", "w") : NULL;
    for (int i = 0; i < n; i++) {
        if (argc == 3 && strcmp(k[i].name, argv[2])) continue;
        found = 1;
        int r = sim_ptx_emit(m, i, in_strips, argc == 3 ? stdout : null);
        if (r) refused = 1;
        if (argc == 2)
            printf("%s: %d not supported\n", k[i].name, r);
        else if (r)
            fprintf(stderr, "ptx2c: %d instructions of %s are not supported\n", r, k[i].name);
    }
    if (null) fclose(null);
    sim_ptx_free(m);
    if (argc == 3 && !found) {
        fprintf(stderr, "ptx2c: %s has no kernel %s\n", argv[1], argv[2]);
        return 2;
    }
    return refused;
}
