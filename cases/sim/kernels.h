/* kernels.h - the kernels of the cases, by name: for C they are the addresses that cudaLaunchKernel
 * takes, for nvcc their declarations. */
#ifndef SIM_KERNELS_H
#define SIM_KERNELS_H

#ifdef __CUDACC__
#define KERNEL(name, parameters) extern "C" __global__ void name parameters
#define HOST                     extern "C" void
#define LINE(name, n)            extern "C" const int name = n
extern "C" const int assert_line;
#else
#define KERNEL(name, parameters) void name parameters
#define HOST                     void
extern const int assert_line;
#endif

/* ---- sim_grid ---- */
enum { REDUCE_THREADS = 256 };
KERNEL(block_reduce, (const int *in, int n, long long *out));
KERNEL(early_exit, (int live, int *out));
KERNEL(reverse_dynamic, (int *io, int n));
KERNEL(block_votes, (const int *in, int *out));
enum { WARP_ROWS = 11 };
KERNEL(warp_operations, (unsigned *out));
KERNEL(warp_after_exit, (unsigned *out));
KERNEL(indices, (unsigned *out));
enum { INT_ATOMICS = 9 };
KERNEL(atomics_int, (int *io));
KERNEL(atomics_float, (float *f, double *d));
KERNEL(multiply_by_cas, (unsigned long long *io));
KERNEL(wait_for_later_thread, (volatile int *flag, int *out));
KERNEL(wait_for_ever, (volatile int *flag));
KERNEL(wait_for_next_block, (volatile int *flag, int *out));
KERNEL(meet_by_hand, (unsigned *arrived, int rounds, int *io));
KERNEL(say, (int i, double d));
KERNEL(local_array, (int n, int *out));
KERNEL(big_local_array, (int n, int *out));
KERNEL(use_variables, (int *out));
KERNEL(where_variables_are, (int **out));
KERNEL(spaces, (const int *global, int *out));

/* Functions of one argument, each with a namesake in libm (f added for float). */
#define MATH_ANGLES(X) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan)
#define MATH_HYPER(X)  X(sinh) X(cosh) X(tanh) X(asinh) X(erf) X(erfc) X(lgamma) X(tgamma)
#define MATH_POWERS(X) X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sqrt) X(cbrt)
#define MATH_ROUND(X)  X(floor) X(ceil) X(trunc) X(rint) X(round) X(fabs)
#define MATH_ONE(X)    MATH_ANGLES(X) MATH_HYPER(X) MATH_POWERS(X) MATH_ROUND(X)
#define MATH_TWO(X)    X(pow) X(fmod) X(remainder) X(atan2) X(hypot) X(copysign) X(fmin) X(fmax)
KERNEL(math_float, (const float *x, const float *y, int n, float *out));
KERNEL(math_double, (const double *x, const double *y, int n, double *out));

/* ---- sim_errors, sim_memory ---- */
KERNEL(store, (int *p, long long index, int value));
KERNEL(store_each, (long long *const *p, int n));
KERNEL(store_after_free, (int after, int *out));
KERNEL(free_twice, (int *out));
KERNEL(load_vector, (const char *p, float *out));
KERNEL(store_shared, (int index, int *out));
KERNEL(trap_in_thread, (int thread));
KERNEL(assert_less, (int a, int b));
KERNEL(barrier_for_half, (int *out));
KERNEL(mask_without_caller, (int *out));
KERNEL(exotic, (int take, unsigned *out));
KERNEL(tensor_core, (float x, unsigned *out));

/* by the typed wrapper of the toolkit, as compiled without optimisation */
HOST allocate_by_type(int **out, unsigned long n);
HOST store_by_chevrons(unsigned threads, int *p, int value); /* <<<1, threads>>> */

#endif
