/* classify.c - the taxonomy, code by code. */
#include "classify.h"
#include "case.h"

static const struct {
    pt_lib lib;
    int code;
    const char *call;
    pt_class class;
} table[] = {
    {PT_LIB_CUDA, 2, "cudaMalloc", PT_CLASS_OOM},
    {PT_LIB_CUDA, 2, "cudaLaunchKernel", PT_CLASS_OOM},
    {PT_LIB_CUDA, 2, "cudaMallocHost", PT_CLASS_HOST},
    {PT_LIB_CUDA, 2, "cudaHostAlloc", PT_CLASS_HOST},
    {PT_LIB_CUDA, 2, "cudaHostRegister", PT_CLASS_HOST},
    {PT_LIB_CUDA, 1, "cudaMalloc", PT_CLASS_NO},
    {PT_LIB_CUDA, 3, "cudaMalloc", PT_CLASS_NO},
    {PT_LIB_CUDA, 9, "cudaLaunchKernel", PT_CLASS_NO},
    {PT_LIB_CUDA, 46, "cudaSetDevice", PT_CLASS_AMBIGUOUS},
    {PT_LIB_CUDA, 214, "cudaMalloc", PT_CLASS_FATAL},
    {PT_LIB_CUDA, 700, "cudaMalloc", PT_CLASS_FATAL},
    {PT_LIB_CUDA, 701, "cudaLaunchKernel", PT_CLASS_NO},
    {PT_LIB_CUDA, 710, "cudaFree", PT_CLASS_FATAL},
    {PT_LIB_CUDA, 716, "cudaFree", PT_CLASS_FATAL},
    {PT_LIB_CUDA, 719, "cudaStreamSynchronize", PT_CLASS_FATAL},
    {PT_LIB_CUDA, 720, "cudaLaunchKernel", PT_CLASS_NO},
    {PT_LIB_CUDA, 801, "cudaMallocAsync", PT_CLASS_NO},
    {PT_LIB_CUDA, 901, "cudaMalloc", PT_CLASS_NO},
    {PT_LIB_CUDA, 999, "cudaMalloc", PT_CLASS_FATAL},
    {PT_LIB_CUBLAS, 3, "cublasSgemm", PT_CLASS_OOM},
    {PT_LIB_CUBLAS, 1, "cublasCreate", PT_CLASS_AMBIGUOUS},
    {PT_LIB_CUBLAS, 1, "cublasCreate_v2", PT_CLASS_AMBIGUOUS},
    {PT_LIB_CUBLAS, 1, "cublasSgemm", PT_CLASS_NO},
    {PT_LIB_CUBLAS, 7, "cublasSgemm", PT_CLASS_NO},
    {PT_LIB_CUBLAS, 8, "cublasSgemm", PT_CLASS_NO},
    {PT_LIB_CUBLAS, 13, "cublasSgemm", PT_CLASS_AMBIGUOUS},
    {PT_LIB_CUBLAS, 14, "cublasSgemm", PT_CLASS_AMBIGUOUS},
    {PT_LIB_CUBLAS, 15, "cublasSgemm", PT_CLASS_NO},
    {PT_LIB_CUDNN, 4004, "cudnnSoftmaxForward", PT_CLASS_OOM},
    {PT_LIB_CUDNN, 4003, "cudnnSoftmaxForward", PT_CLASS_HOST}, /* the legacy ALLOC_FAILED */
    {PT_LIB_CUDNN, 4000, "cudnnSoftmaxForward", PT_CLASS_AMBIGUOUS},
    {PT_LIB_CUDNN, 4002, "cudnnSoftmaxForward", PT_CLASS_NO},
    {PT_LIB_CUDNN, 5000, "cudnnSoftmaxForward", PT_CLASS_AMBIGUOUS},
    {PT_LIB_CUDNN, 5003, "cudnnSoftmaxForward", PT_CLASS_AMBIGUOUS},
    {PT_LIB_CUDNN, 6000, "cudnnSoftmaxForward", PT_CLASS_NO},
    {PT_LIB_CUDNN, 1001, "cudnnCreate", PT_CLASS_AMBIGUOUS},
    {PT_LIB_CUDNN, 1001, "cudnnSoftmaxForward", PT_CLASS_NO},
    {PT_LIB_CUDNN, 2006, "cudnnSoftmaxForward", PT_CLASS_NO},
    {PT_LIB_CUDNN, 3000, "cudnnBatchNormalizationForwardTraining", PT_CLASS_NO},
    {PT_LIB_CUDNN, 3010, "cudnnSoftmaxForward", PT_CLASS_NO},
    {PT_LIB_NONE, 2, "", PT_CLASS_NO},
};

START_TEST(every_code_has_the_class_of_the_table)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        pt_error e = {.status = PT_ERR_DEVICE, .lib = table[i].lib, .code = table[i].code};
        snprintf(e.call, sizeof e.call, "%s", table[i].call);
        pt_class got = pt_classify(&e);
        ck_assert_msg(got == table[i].class, "%s code %d from %s is \"%s\", not \"%s\"",
                      pt_lib_name(e.lib), e.code, e.call, pt_class_name(got),
                      pt_class_name(table[i].class));
    }
    pt_error nan = {.status = PT_ERR_NAN}, host = {.status = PT_ERR_HOST},
             bug = {.status = PT_ERR_INTERNAL};
    ck_assert_int_eq(pt_classify(&nan), PT_CLASS_NO);
    ck_assert_int_eq(pt_classify(&host), PT_CLASS_HOST);
    ck_assert_int_eq(pt_classify(&bug), PT_CLASS_NO);
}
END_TEST

START_TEST(each_class_has_a_name_of_its_own)
{
    for (int a = 0; a <= PT_CLASS_FATAL; a++)
        for (int b = 0; b < a; b++)
            ck_assert_str_ne(pt_class_name((pt_class)a), pt_class_name((pt_class)b));
    ck_assert_str_eq(pt_class_name(PT_CLASS_OOM), "out of memory");
    ck_assert_str_eq(pt_class_name(PT_CLASS_FATAL), "fatal");
}
END_TEST

static const case_entry cases[] = {
#include "classify.def"
};
CASE_MAIN("classify")
