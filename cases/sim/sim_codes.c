/* sim_codes.c - every error code of the toolkit's headers has its name in the simulated libraries,
 * and words of its own. */
#include "calls.h"
#include "case.h"
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

static const op_code codes[] = {
#include "codes.inc"
    {NULL, OP_CUDA, 0}};

/* Of two names for one number, either will do. */
static int is_a_name(const char *name, const op_code *of)
{
    for (const op_code *c = codes; c->name; c++)
        if (c->lib == of->lib && c->code == of->code && !strcmp(name, c->name)) return 1;
    return 0;
}

START_TEST(every_code_has_its_name_and_words)
{
    int seen[4] = {0};
    for (const op_code *c = codes; c->name; c++) {
        const char *name = NULL, *words = "words";
        if (c->lib == OP_DRIVER) continue;
        if (c->lib == OP_CUDA) {
            name = cudaGetErrorName((cudaError_t)c->code);
            words = cudaGetErrorString((cudaError_t)c->code);
        } else if (c->lib == OP_CUBLAS) {
            name = cublasGetStatusName((cublasStatus_t)c->code);
            words = cublasGetStatusString((cublasStatus_t)c->code);
        } else {
            name = cudnnGetErrorString((cudnnStatus_t)c->code);
        }
        ck_assert_msg(is_a_name(name, c), "%s (%d): named %s", c->name, c->code, name);
        ck_assert_msg(*words && !strstr(words, "unrecognized") && !strstr(words, "unknown status"),
                      "%s: \"%s\"", c->name, words);
        seen[c->lib]++;
    }
    ck_assert_int_ge(seen[OP_CUDA], 100);
    ck_assert_int_ge(seen[OP_CUBLAS], 10);
    ck_assert_int_ge(seen[OP_CUDNN], 30);
    ck_assert_str_eq(cudaGetErrorName((cudaError_t)54321), "unrecognized error code");
    ck_assert_str_eq(cudaGetErrorString((cudaError_t)304), "operating system");
    ck_assert_str_eq(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
}
END_TEST

static const case_entry cases[] = {
#include "sim_codes.def"
};
CASE_MAIN("sim_codes")
