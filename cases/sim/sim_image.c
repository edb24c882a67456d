/* sim_image.c - fat binaries: PTX plain, packed in each way that nvcc has, damaged, or not there.
 */
#define _GNU_SOURCE
#include "case.h"
#include "fatbin.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBE OOMPROOF_BUILD_DIR "/cases/sim_probe_"

static void says(const char *program, const char *environment, const char *wanted, const char *also)
{
    char command[400], text[2000];
    snprintf(command, sizeof command, "%s " PROBE "%s 2>&1", environment, program);
    FILE *f = popen(command, "r");
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = 0;
    pclose(f);
    ck_assert_msg(strstr(text, wanted) && strstr(text, also),
                  "%s: wanted \"%s\" and \"%s\" in:\n%s", command, wanted, also, text);
}

START_TEST(what_nvcc_makes_by_default_runs)
{
#ifdef OOMPROOF_ZSTD
    says("default", "", "probe 0 1", "");
#else
    says("default", "", "probe 209 0", "zstd, which this build lacks");
#endif
}
END_TEST

START_TEST(packed_ptx_is_unpacked)
{
    says("plain", "", "probe 0 1", "");
    says("lz4", "", "probe 0 1", "");
#ifdef OOMPROOF_ZSTD
    says("zstd", "", "probe 0 1", "");
#endif
}
END_TEST

START_TEST(a_kernel_without_ptx_is_209_or_skipped_and_counted)
{
    says("none", "", "probe 209 0", "it holds no PTX: build with nvcc -gencode");
    /* linking drops it, so that advice would lead in a circle */
    says("linked", "", "probe 209 0", "whatever -gencode says: build without relocatable");
    says("none", "OOMPROOF_SIM_NO_PTX=skip", "probe 0 0",
         "1 launches of kernels without PTX were skipped");
    says("none", "OOMPROOF_SIM_NO_PTX=maybe", "probe 209 0", "expected fail or skip");
}
END_TEST

/* The first fat binary with something in it of a program; *bytes: its length. */
static unsigned char *image_of(const char *program, size_t *bytes)
{
    char path[300];
    snprintf(path, sizeof path, PROBE "%s", program);
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s cannot be read", path);
    unsigned char *all = malloc(4 << 20);
    size_t n = fread(all, 1, 4 << 20, f);
    fclose(f);
    for (size_t i = 0; i + 16 < n; i++) {
        uint64_t follow;
        memcpy(&follow, all + i + 8, 8);
        if (memcmp(all + i, "\x50\xed\x55\xba\x01\x00\x10\x00", 8) || !follow ||
            follow > n - i - 16)
            continue;
        *bytes = 16 + (size_t)follow;
        unsigned char *image = malloc(*bytes);
        memcpy(image, all + i, *bytes);
        free(all);
        return image;
    }
    ck_abort_msg("no fat binary in %s", path);
}

/* Reads a copy of exactly n bytes, so that a sanitizer sees what lies beyond. */
static int readable(const unsigned char *image, size_t n)
{
    unsigned char *copy = malloc(n ? n : 1);
    memcpy(copy, image, n);
    sim_fatbin_text t = {0};
    const char *reason = sim_fatbin_find(copy, n, &t);
    ck_assert(reason ? *reason && !t.text : t.text && t.bytes <= (size_t)512 << 20);
    size_t at = reason ? 0 : (size_t)(t.text - (const char *)copy);
    if (!reason && !t.owned)
        ck_assert_msg(at <= n && t.bytes <= n - at, "text outside of the image");
    free(t.owned);
    free(copy);
    return !reason;
}

START_TEST(every_prefix_and_every_changed_byte_is_read_or_refused)
{
    static const char *const programs[] = {"plain", "lz4", "zstd", "default", "none"};
    int refused = 0;
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
        size_t n;
        unsigned char *image = image_of(programs[p], &n);
        for (size_t k = 0; k < n; k++) refused += !readable(image, k);
        for (size_t k = 0; k < n; k++)
            for (int bit = 0; bit < 8; bit += 3) {
                image[k] ^= (unsigned char)(1 << bit);
                refused += !readable(image, n);
                image[k] ^= (unsigned char)(1 << bit);
            }
        free(image);
    }
    ck_assert_int_ge(refused, 100);
}
END_TEST

static const case_entry cases[] = {
#include "sim_image.def"
};
CASE_MAIN("sim_image")
