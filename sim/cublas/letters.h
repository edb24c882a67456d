/* letters.h - cuBLAS's names of triangles, sides and operations as OpenBLAS has them. */
#ifndef SIM_CUBLAS_LETTERS_H
#define SIM_CUBLAS_LETTERS_H
#include <cblas.h>
#include <cublas_v2.h>

static inline CBLAS_TRANSPOSE sim_trans(cublasOperation_t t)
{
    return t == CUBLAS_OP_N ? CblasNoTrans : CblasTrans; /* of real numbers C is T */
}
static inline CBLAS_UPLO sim_uplo(cublasFillMode_t u)
{
    return u == CUBLAS_FILL_MODE_LOWER ? CblasLower : CblasUpper;
}
static inline CBLAS_SIDE sim_side(cublasSideMode_t s)
{
    return s == CUBLAS_SIDE_LEFT ? CblasLeft : CblasRight;
}
static inline CBLAS_DIAG sim_diag(cublasDiagType_t d)
{
    return d == CUBLAS_DIAG_UNIT ? CblasUnit : CblasNonUnit;
}
static inline int sim_side_ok(cublasSideMode_t s)
{
    return s == CUBLAS_SIDE_LEFT || s == CUBLAS_SIDE_RIGHT;
}
static inline int sim_diag_ok(cublasDiagType_t d)
{
    return d == CUBLAS_DIAG_UNIT || d == CUBLAS_DIAG_NON_UNIT;
}

#endif
