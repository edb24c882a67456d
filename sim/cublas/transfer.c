/* transfer.c - vectors and matrices between host and device: cublasSetVector and its like, which
 * need no handle. A range that is not the device's is CUBLAS_STATUS_MAPPING_ERROR, and no error of
 * the device. The asynchronous forms work at once. */
#include "handle.h"
#include <string.h>

/* rows x columns elements of `size` bytes, from one leading dimension to another */
static void move(int64_t rows, int64_t columns, size_t size, const char *from, int64_t lda,
                 char *to, int64_t ldb)
{
    for (int64_t j = 0; j < columns; j++)
        memcpy(to + (size_t)(j * ldb) * size, from + (size_t)(j * lda) * size, (size_t)rows * size);
}

/* A vector with a stride is a matrix of one row. */
static cublasStatus_t transfer(int64_t rows, int64_t columns, int64_t size, const void *A,
                               int64_t lda, void *B, int64_t ldb, int to_device)
{
    if (rows < 0 || columns < 0 || size <= 0 || lda <= 0 || ldb <= 0 || lda < rows || ldb < rows)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (rows == 0 || columns == 0) return CUBLAS_STATUS_SUCCESS;
    if (!A || !B) return CUBLAS_STATUS_INVALID_VALUE;
    if (sim_device_error()) return CUBLAS_STATUS_MAPPING_ERROR;
    int64_t ld = to_device ? ldb : lda;
    size_t bytes = (size_t)((columns - 1) * ld + rows) * (size_t)size;
    if (!sim_device_holds(to_device ? B : A, bytes)) return CUBLAS_STATUS_MAPPING_ERROR;
    if (to_device)
        B = RANGE(B, bytes, 1);
    else
        A = RANGE(A, bytes, 0);
    move(rows, columns, (size_t)size, A, lda, B, ldb);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t strided(int64_t n, int64_t size, const void *x, int64_t incx, void *y,
                              int64_t incy, int to_device)
{
    if (incx <= 0 || incy <= 0 || size <= 0) return CUBLAS_STATUS_INVALID_VALUE;
    return n <= 0 ? CUBLAS_STATUS_SUCCESS : transfer(1, n, size, x, incx, y, incy, to_device);
}

#define VECTOR(name, suffix, whole, to_device)                                                    \
    API cublasStatus_t cublas##name##Vector##suffix(whole n, whole size, const void *x,           \
                                                    whole incx, void *y, whole incy)              \
    {                                                                                             \
        return strided(n, size, x, incx, y, incy, to_device);                                     \
    }                                                                                             \
    API cublasStatus_t cublas##name##VectorAsync##suffix(                                         \
        whole n, whole size, const void *x, whole incx, void *y, whole incy, cudaStream_t stream) \
    {                                                                                             \
        (void)stream;                                                                             \
        return strided(n, size, x, incx, y, incy, to_device);                                     \
    }                                                                                             \
    API cublasStatus_t cublas##name##Matrix##suffix(whole rows, whole columns, whole size,        \
                                                    const void *A, whole lda, void *B, whole ldb) \
    {                                                                                             \
        return transfer(rows, columns, size, A, lda, B, ldb, to_device);                          \
    }                                                                                             \
    API cublasStatus_t cublas##name##MatrixAsync##suffix(whole rows, whole columns, whole size,   \
                                                         const void *A, whole lda, void *B,       \
                                                         whole ldb, cudaStream_t stream)          \
    {                                                                                             \
        (void)stream;                                                                             \
        return transfer(rows, columns, size, A, lda, B, ldb, to_device);                          \
    }
VECTOR(Set, , int, 1)
VECTOR(Get, , int, 0)
VECTOR(Set, _64, int64_t, 1)
VECTOR(Get, _64, int64_t, 0)
