/* SPDX-FileCopyrightText: The Strata authors
 * SPDX-License-Identifier: BSD-3-Clause */
/* Strata's dense and sparse solvers from C, or any language that calls C.
 *
 * Status    every function that can fail returns a strata_status; strata_message() is the sentence
 *           to it. No exception leaves a function, nothing is printed and no process is ended.
 * Kokkos    is started by the first call that needs it, unless the program has started it, and
 *           then ended when the program exits. strata_initialize and strata_finalize do it when
 *           asked. A program that uses Kokkos itself starts it before it calls Strata, which says
 *           STRATA_NOT_READY until then. Once Kokkos was ended, by anyone, a factor's memory is
 *           given back, and all that can be done with it is to destroy it.
 * Sizes     are int64_t. Dense matrices are column-major: element (i, j) is A[i + j * lda].
 * Memory    pointers to matrices may be to the host's memory, or to the device's in a build for
 *           GPUs; the host's is then copied.
 * Threads   may call at once; a strata_factor is one thread's at a time.
 * fork      a child can go on in a build whose Kokkos has no threads and no GPU (Serial), with the
 *           factors it has inherited too; in others it is told STRATA_NOT_READY, as in all where
 *           another thread was in a call. Products of bf16 and fp16 are then made without oneDNN
 *           if the parent has made some with it.
 * exit      static objects may call until the last of them is destroyed; in a build for a GPU,
 *           which ends before they do, they are told STRATA_NOT_READY, and may destroy.
 * Structs   begin with their size, which the caller sets: strata_options o = {.struct_size =
 *           sizeof o}; 0 in every other member of strata_options means the default.
 * Example   strata_factor* factor = NULL;
 *           if (strata_cholesky('L', n, A, n, NULL, &factor) == STRATA_SUCCESS)
 *             strata_solve(factor, 1, b, n, x, n, NULL, NULL);
 *           strata_factor_destroy(factor); (docs/start/c.md has a whole program) */
#ifndef STRATA_H
#define STRATA_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define STRATA_API /* what a program can call */
#else
#define STRATA_API __attribute__((visibility("default"))) /* what a program can call */
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* How a call ended; strata_message() says more. */
typedef enum strata_status {
  STRATA_SUCCESS = 0,               /* all that was asked for was done */
  STRATA_NOT_POSITIVE_DEFINITE = 1, /* the message and `info` name the leading minor */
  STRATA_NOT_CONVERGED = 2,         /* the solution is the best found; the report has its error */
  STRATA_INVALID_ARGUMENT = 3,      /* nothing was written */
  STRATA_NOT_FINITE = 4,            /* NaN or infinity in a matrix or right-hand side */
  STRATA_OUT_OF_MEMORY = 5,         /* no more memory on the host or the device */
  STRATA_VENDOR_ERROR = 6,          /* BLAS, CUDA, HIP, ... */
  STRATA_NOT_READY = 7, /* Kokkos was ended; is the program's own and not started yet; or began in
                         * the process that this was forked from. Or there is no libstrata_c */
  STRATA_INTERNAL_ERROR = 8, /* an error that is neither the caller's nor a library's */
  STRATA_INCOMPLETE = 9,     /* it failed while it overwrote a matrix; the message says why */
  STRATA_SINGULAR = 10 /* a symmetric matrix has no digit to solve with; the message says why */
} strata_status;

/* "success", "not positive definite", ...; "unknown status" for other numbers. */
STRATA_API const char* strata_status_name(int status);

/* The sentence of this thread's last call with a status, of at most 2047 characters; valid until
 * the next. */
STRATA_API const char* strata_message(void);

/* For libraries that build on this one: make `message` this thread's; returns `status`. */
STRATA_API strata_status strata_report_status(strata_status status, char const* message);

/* "major.minor.patch" */
STRATA_API const char* strata_version(void);

/* One line: version, commit, compiler, Kokkos and its backends, the vendors' libraries. */
STRATA_API const char* strata_configuration(void);

/* Start Kokkos, if nobody has. Again is no error. STRATA_NOT_READY once it was ended. */
STRATA_API strata_status strata_initialize(void);

/* End Kokkos, if Strata has started it. STRATA_NOT_READY while there are factors or calls. */
STRATA_API strata_status strata_finalize(void);

/* 1 if `pointer` is to memory that the GPU uses without a copy, in a build for GPUs; else 0. */
STRATA_API int strata_is_device_pointer(void const* pointer);

/* How a solution is refined. */
typedef enum strata_refinement {
  STRATA_REFINE_AUTOMATIC = 0, /* classical while it gains, then CG, then GMRES */
  STRATA_REFINE_NONE = 1,      /* not at all; its error is reported */
  STRATA_REFINE_CLASSICAL = 2, /* corrections by solves with the factor */
  STRATA_REFINE_CG = 3,        /* conjugate gradients that the factor preconditions */
  STRATA_REFINE_GMRES = 4      /* GMRES that the factor preconditions */
} strata_refinement;

/* Choices of a factorisation and of its solves; 0 in a member means the default. */
typedef struct strata_options {
  size_t struct_size;     /* sizeof(strata_options) */
  char const* layers;     /* "fp16,fp16,fp32", farthest from the diagonal first; NULL: automatic */
  int64_t leaf_size;      /* columns of a diagonal leaf */
  double shift;           /* the diagonal is multiplied by 1 + shift at first; in [0, 1] */
  int no_equilibration;   /* factor A as it is, without powers of two on its rows and columns */
  int no_ladder;          /* report a breakdown, rather than try shifts, higher layers, fp64 */
  int refinement;         /* a strata_refinement */
  double tolerance;       /* bound of the normwise backward error; default sqrt(n) 2^-52 */
  int64_t max_iterations; /* applications of the factor to one column */
  int64_t restart;        /* basis vectors of GMRES; default 30 */
  int jitter;             /* 1: where A is not positive definite, factor A with the least power of
                           * ten, of the mean diagonal, on its diagonal; the report has it */
} strata_options;

/* STRATA_INVALID_ARGUMENT if a member is out of range; functions that take options say it, too. */
STRATA_API strata_status strata_check_options(strata_options const* options);

/* Which rung of the ladder held. */
typedef enum strata_rung {
  STRATA_RUNG_AS_ASKED = 0,      /* the layers and the shift that were asked for */
  STRATA_RUNG_SHIFTED = 1,       /* these layers, with a larger shift */
  STRATA_RUNG_HIGHER_LAYERS = 2, /* each layer promoted, without and with shifts */
  STRATA_RUNG_FP64 = 3           /* all in fp64 */
} strata_rung;

/* What was done to a matrix. */
typedef struct strata_factor_report {
  size_t struct_size;   /* sizeof(strata_factor_report) */
  int64_t n, leaf_size; /* order of the matrix, columns of a leaf */
  int64_t info;         /* 0, or the order of the leading minor that is not positive */
  strata_rung rung;     /* rung of the factor */
  int64_t attempts;     /* factorisations tried */
  double shift;         /* shift that the factor has */
  double norm;          /* ||A||_inf */
  int64_t stored_bytes; /* bytes of the factor */
  double seconds;       /* time of all attempts */
  char layers[160];     /* layers of the factor */
  double jitter;        /* added to the diagonal, as a part of the mean diagonal */
} strata_factor_report;

/* What a solve did. */
typedef struct strata_solve_report {
  size_t struct_size;         /* sizeof(strata_solve_report) */
  int converged;              /* 1 if the solution meets the tolerance, else 0 */
  int64_t iterations;         /* applications of the factor to the column that took most */
  int64_t climbs;             /* factorisations on higher rungs, for want of convergence */
  double backward_error;      /* max_j ||r_j||_inf / (||A||_inf ||x_j||_inf + ||b_j||_inf) */
  double hpl_scaled_residual; /* backward_error / (n 2^-52) */
  double seconds;             /* time without the factorisations of climbs */
  /* max_j ||r_j||_inf / (||A||_inf ||x_j||_inf) with D A D, and rounding */
  double relative_residual;
} strata_solve_report;

/* A Cholesky factorisation in layers; opaque. */
typedef struct strata_factor strata_factor;

/* Factor the symmetric positive definite A, of which the triangle `uplo` ('L' or 'U') is read.
 *
 * Shape     A: n x n, n >= 0, lda >= max(1, n). A is not changed; host builds and device pointers:
 *           it is not copied either, so it must stay as it is until the factor is destroyed.
 * Result    *factor, to be destroyed; also with STRATA_NOT_POSITIVE_DEFINITE, when only
 *           strata_factor_describe and strata_factor_destroy take it. Otherwise *factor is NULL. */
STRATA_API strata_status strata_cholesky(char uplo, int64_t n, double const* A, int64_t lda,
                                         strata_options const* options, strata_factor** factor);

/* Solve A X = B, refined to fp64 backward error.
 *
 * Shape     B, X: n x nrhs, nrhs >= 0, ldb, ldx >= max(1, n); X must overlap neither B nor A.
 * Result    X. The refinement's members of `options` are used, in this call alone; NULL: the
 *           options of strata_cholesky. report may be NULL. */
STRATA_API strata_status strata_solve(strata_factor* factor, int64_t nrhs, double const* B,
                                      int64_t ldb, double* X, int64_t ldx,
                                      strata_options const* options, strata_solve_report* report);

/* What was done to the matrix. */
STRATA_API strata_status strata_factor_describe(strata_factor const* factor,
                                                strata_factor_report* report);

/* An estimate of the condition number of D A D (A with no_equilibration) in the 1-norm, by two or
 * three solves of a few columns.
 *
 * Result    *value, seldom below a third of the true one; infinite if it is not known. */
STRATA_API strata_status strata_condition(strata_factor* factor, double* value);

/* About how far off a solution may be in its largest entries: the condition times the relative
 * residual of `solve`, at most 1. It is 1 where the report is NULL or too short to have the
 * residual. */
STRATA_API double strata_forward_error(strata_solve_report const* solve, double condition);

/* The decimal digits that such an error leaves, 0 to 16. */
STRATA_API double strata_digits(double forward_error);

/* log det A, and how far off it may be.
 *
 * Result    |*value - log det A| is less than *error but for about one case in a thousand,
 *           rounding in fp64 included. Infinite if unknown. error may be NULL. */
STRATA_API strata_status strata_log_determinant(strata_factor* factor, double* value,
                                                double* error);

/* The lower triangle of L, A ~ L L^T; what is above it in `L` is not touched. ldl >= max(1, n). */
STRATA_API strata_status strata_factor_copy(strata_factor const* factor, double* L, int64_t ldl);

/* Factor A in fp64, unless the factor is as accurate. What follows refuses any other factor. */
STRATA_API strata_status strata_factor_promote(strata_factor* factor);

/* X = W B with W = L^-1, A = L L^T: what has the covariance A becomes white. X = W^T B: noise gets
 * A^-1. X = L Z: it gets A. B, X: n x m. X may be B, but must not overlap A. */
STRATA_API strata_status strata_whiten(strata_factor* factor, int64_t m, double const* B,
                                       int64_t ldb, double* X, int64_t ldx);
STRATA_API strata_status strata_whiten_transposed(strata_factor* factor, int64_t m, double const* B,
                                                  int64_t ldb, double* X, int64_t ldx);
STRATA_API strata_status strata_sample(strata_factor* factor, int64_t m, double const* Z,
                                       int64_t ldz, double* X, int64_t ldx);

/* A bound of ||W A W^T - I||_2; infinite where nothing can be said. */
STRATA_API strata_status strata_whitening_error(strata_factor* factor, double* error);

/* x = diag(A^-1); X = A^-1; values[k] = entry (rows[k], cols[k]) of A^-1, from 0, on the host; Q =
 * B^T A^-1 B, B: n x k. Entry (i, j) is off by *error sqrt(q_ii q_jj) at most; error may be NULL. */
STRATA_API strata_status strata_inverse_diagonal(strata_factor* factor, double* x, double* error);
STRATA_API strata_status strata_inverse(strata_factor* factor, double* X, int64_t ldx,
                                        double* error);
STRATA_API strata_status strata_inverse_entries(strata_factor* factor, int64_t count,
                                                int64_t const* rows, int64_t const* cols,
                                                double* values, double* error);
STRATA_API strata_status strata_quadratic_form(strata_factor* factor, int64_t k, double const* B,
                                               int64_t ldb, double* Q, int64_t ldq, double* error);

/* A + V V^T or A - V V^T instead of A, V: n x k. m rows and columns more, behind the last, B: (n +
 * m) x m, its last m rows a lower triangle. Without k rows and columns, from 0. No positive definite
 * matrix: the factor is what it was. The first change copies A: the caller's is free then. */
STRATA_API strata_status strata_rank_update(strata_factor* factor, int64_t k, double const* V,
                                            int64_t ldv);
STRATA_API strata_status strata_rank_downdate(strata_factor* factor, int64_t k, double const* V,
                                              int64_t ldv);
STRATA_API strata_status strata_append(strata_factor* f, int64_t m, double const* B, int64_t ldb);
STRATA_API strata_status strata_remove(strata_factor* factor, int64_t k, int64_t const* rows);

/* NULL is no error. The message stays as it is. */
STRATA_API void strata_factor_destroy(strata_factor* factor);

/* A symmetric matrix that need not be definite, A = L D L^T in layers; opaque. */
typedef struct strata_symmetric strata_symmetric;

/* What was done to it. */
typedef struct strata_symmetric_report {
  size_t struct_size;           /* sizeof(strata_symmetric_report) */
  int64_t n, attempts;          /* order of the matrix, factorisations tried */
  int64_t stored_bytes;         /* bytes of the factor */
  double norm, growth, seconds; /* ||A||_inf; growth, 0 if not known; time of all attempts */
  char rung[16];                /* "layers" or "fp64", without pivoting, or "pivoted" */
  char layers[160];             /* layers of the factor */
} strata_symmetric_report;

/* As strata_cholesky. Of what options say of a factor layers alone may be given, of fp32, tf32 and
 * fp16_split, or fp64. With STRATA_SINGULAR *factor is there, too, to describe and to destroy. */
STRATA_API strata_status strata_symmetric_create(char uplo, int64_t n, double const* A, int64_t lda,
                                                 strata_options const* options,
                                                 strata_symmetric** factor);
/* As strata_solve and the others of a strata_factor; the refinement is GMRES, or classical. */
STRATA_API strata_status strata_symmetric_solve(strata_symmetric* factor, int64_t nrhs,
                                                double const* B, int64_t ldb, double* X,
                                                int64_t ldx, strata_options const* options,
                                                strata_solve_report* report);
STRATA_API strata_status strata_symmetric_describe(strata_symmetric const* factor,
                                                   strata_symmetric_report* report);
STRATA_API strata_status strata_symmetric_condition(strata_symmetric* factor, double* value);
/* How many eigenvalues are above and below 0; both -1 where rounding may have changed a sign. */
STRATA_API strata_status strata_symmetric_inertia(strata_symmetric* factor, int64_t* positive,
                                                  int64_t* negative);
/* The sign of det A, 0 where it is not decided, and log |det A|. value and error may be NULL. */
STRATA_API strata_status strata_symmetric_log_determinant(strata_symmetric* factor, int* sign,
                                                          double* value, double* error);
STRATA_API void strata_symmetric_destroy(strata_symmetric* factor);

/* Whether the symmetric A is positive definite, where its factor is not wanted. The answer is the
 * same as strata_cholesky's in fp64. It takes hardly longer than LAPACK's potrf takes to the minor
 * that fails.
 *
 * Shape     A: n x n, n >= 0, lda >= max(1, n). The triangle `uplo` ('L' or 'U') is read; nothing
 *           is changed.
 * Result    *info is 0 if it is; or the order of the first leading minor that is not positive, or
 *           has a NaN or an infinity in its last row. Both are answers: the status is
 *           STRATA_SUCCESS, and strata_message() says the second in words. With any other status
 *           *info is -1.
 * Memory    about n^2 / 2 numbers; builds for GPUs: n^2 more for a host's A. */
STRATA_API strata_status strata_is_positive_definite(char uplo, int64_t n, double const* A,
                                                     int64_t lda, int64_t* info);

/* LAPACK's operations in place, in full precision, by Strata. uplo, shapes and results as LAPACK
 * documents them; *info is LAPACK's. It is 0, -i for the i-th of LAPACK's arguments, or the order
 * of the leading minor that is not positive (then the status is STRATA_NOT_POSITIVE_DEFINITE). A
 * pivot that is NaN or infinite counts as not positive. Of `options` the leaf size is used. A and
 * B are as they were unless the status is STRATA_SUCCESS, STRATA_NOT_POSITIVE_DEFINITE or
 * STRATA_INCOMPLETE. */
STRATA_API strata_status strata_dpotrf(char uplo, int64_t n, double* A, int64_t lda,
                                       strata_options const* options, int64_t* info);
STRATA_API strata_status strata_spotrf(char uplo, int64_t n, float* A, int64_t lda,
                                       strata_options const* options, int64_t* info);
STRATA_API strata_status strata_dpotrs(char uplo, int64_t n, int64_t nrhs, double const* A,
                                       int64_t lda, double* B, int64_t ldb, int64_t* info);
STRATA_API strata_status strata_spotrs(char uplo, int64_t n, int64_t nrhs, float const* A,
                                       int64_t lda, float* B, int64_t ldb, int64_t* info);
STRATA_API strata_status strata_dposv(char uplo, int64_t n, int64_t nrhs, double* A, int64_t lda,
                                      double* B, int64_t ldb, strata_options const* options,
                                      int64_t* info);
STRATA_API strata_status strata_sposv(char uplo, int64_t n, int64_t nrhs, float* A, int64_t lda,
                                      float* B, int64_t ldb, strata_options const* options,
                                      int64_t* info);

/* LAPACK's dsposv: factor in lower precision, refine, and if that fails do all in fp64.
 *
 * Shape     A: n x n; B, X: n x nrhs; none may overlap another.
 * Result    if *iter >= 0, it is the number of refinements, and A is as it was. X solves A X = B
 *           with ||r_j||_inf <= sqrt(n) ||A||_inf ||x_j||_inf 2^-53, where r_j is computed in fp64
 *           as LAPACK's is. Else *iter is
 *             -1  nrhs > n / 64: in low precision it would take longer,
 *             -2  a number does not fit the low precision's range after equilibration,
 *             -3  the factorisation in low precision broke down,
 *            -31  the refinement did not converge,
 *           Then A holds its fp64 factor, and X the solution with this factor. Layers, leaf size
 *           and max_iterations of `options` are used. Layers that are given are tried however large
 *           nrhs is. By default layers of bf16 over fp32 (processors with matrix units for it, n >=
 *           4096) or fp16 over fp32 (GPUs) are tried, then fp32. */
STRATA_API strata_status strata_dsposv(char uplo, int64_t n, int64_t nrhs, double* A, int64_t lda,
                                       double const* B, int64_t ldb, double* X, int64_t ldx,
                                       strata_options const* options, int64_t* iter, int64_t* info);

/* Many small systems of one order in one call, for kriging by neighbours or Gaussian processes by
 * group. A_b X_b = B_b is solved in place for b = 0, ..., count - 1, in fp64 (d) or fp32 (s). The
 * results are as from LAPACK's potrf, potrs and posv. The message names the first wrong argument.
 *
 * Shape     A_b: n x n at A + b * stride_a. Only the triangle `uplo` is read and written. In a
 *           GPU's memory the vendor's routines, which do orders above 512, write to the other
 *           triangle, too. B_b: n x nrhs at B + b * stride_b; n, nrhs, count >= 0, leading
 *           dimensions >= max(1, n). No two may overlap: if count > 1, stride_a >= (n - 1) * lda +
 *           n and stride_b >= (nrhs - 1) * ldb + n. A_b and B_b may take turns.
 * Result    info[b]: 0, or the order of the first leading minor of A_b that is not positive, or
 *           NaN; A_b then has no defined numbers, and the B_b of posv is as it was (but not in a
 *           build for GPUs, n > 512). If there is such a system, the status is
 *           STRATA_NOT_POSITIVE_DEFINITE. The message says how many there are and names the first.
 *           All other systems are solved as if it were not there. potrs: where there is no factor,
 *           B_b gets no defined numbers. A and B are as they were unless the status is
 *           STRATA_SUCCESS, STRATA_NOT_POSITIVE_DEFINITE or STRATA_INCOMPLETE.
 * Memory    info and other results may be in the device's memory, as matrices may.
 * Error     as for Cholesky in the type given: nothing is scaled or refined. */
STRATA_API strata_status strata_dpotrf_batched(char uplo, int64_t n, double* A, int64_t lda,
                                               int64_t stride_a, int64_t count, int64_t* info);
STRATA_API strata_status strata_spotrf_batched(char uplo, int64_t n, float* A, int64_t lda,
                                               int64_t stride_a, int64_t count, int64_t* info);
STRATA_API strata_status strata_dpotrs_batched(char uplo, int64_t n, int64_t nrhs, double const* A,
                                               int64_t lda, int64_t stride_a, double* B,
                                               int64_t ldb, int64_t stride_b, int64_t count);
STRATA_API strata_status strata_spotrs_batched(char uplo, int64_t n, int64_t nrhs, float const* A,
                                               int64_t lda, int64_t stride_a, float* B, int64_t ldb,
                                               int64_t stride_b, int64_t count);
STRATA_API strata_status strata_dposv_batched(char uplo, int64_t n, int64_t nrhs, double* A,
                                              int64_t lda, int64_t stride_a, double* B, int64_t ldb,
                                              int64_t stride_b, int64_t count, int64_t* info);
STRATA_API strata_status strata_sposv_batched(char uplo, int64_t n, int64_t nrhs, float* A,
                                              int64_t lda, int64_t stride_a, float* B, int64_t ldb,
                                              int64_t stride_b, int64_t count, int64_t* info);

/* log_determinants[b] = log det A_b from its factor in the triangle `uplo` of L_b, in fp64; NaN
 * where info[b], as the factorisation has left it, is not 0. */
STRATA_API strata_status strata_dlog_determinants_batched(char uplo, int64_t n, double const* L,
                                                          int64_t ldl, int64_t stride_l,
                                                          int64_t count, int64_t const* info,
                                                          double* log_determinants);
STRATA_API strata_status strata_slog_determinants_batched(char uplo, int64_t n, float const* L,
                                                          int64_t ldl, int64_t stride_l,
                                                          int64_t count, int64_t const* info,
                                                          double* log_determinants);

/* errors[b] = ||B_b - A_b X_b|| / (||A_b|| ||X_b|| + ||B_b||) of its worst column, in maximum
 * norms, with residuals in fp64. It says how well X_b solves the system. A_b and B_b must be as
 * before the solve. Infinity where X_b holds an infinity or a NaN. */
STRATA_API strata_status strata_dbackward_errors_batched(
    char uplo, int64_t n, int64_t nrhs, double const* A, int64_t lda, int64_t stride_a,
    double const* X, int64_t ldx, int64_t stride_x, double const* B, int64_t ldb, int64_t stride_b,
    int64_t count, double* errors);
STRATA_API strata_status strata_sbackward_errors_batched(
    char uplo, int64_t n, int64_t nrhs, float const* A, int64_t lda, int64_t stride_a,
    float const* X, int64_t ldx, int64_t stride_x, float const* B, int64_t ldb, int64_t stride_b,
    int64_t count, double* errors);

/* Choices of a sparse solver; 0 or NULL in a member means the default. */
typedef struct strata_sparse_options {
  size_t struct_size;         /* sizeof(strata_sparse_options) */
  char const* solver;         /* name for strata solve --method: "auto", "cg", "gmres", ... */
  char const* preconditioner; /* "auto", "none", "jacobi", "gs", "amg", ... */
  char const* precision;      /* the preconditioner's: "fp32", "fp64", "fp16", "bf16" */
  double tolerance;           /* bound of ||b - A x|| / ||b||; default 1e-10 */
  int64_t max_iterations;     /* most of all attempts together; default 10000 */
  int64_t restart;            /* basis vectors of GMRES; default 50 */
  int64_t block_size;         /* unknowns of a node, one after the other; default: the library's */
  int preconditioner_only;    /* 1: for strata_sparse_precondition alone, not for solves */
  void const* mpi_comm; /* an MPI_Comm, by its address, in a build with MPI: each rank has rows of
                               * its own. NULL: this process alone */
  double absolute_tolerance; /* a residual ||b - A x|| that will do, too; default: none */
  char const* stop; /* what tolerance bounds: "residual", of CG "preconditioned", "energy" */
} strata_sparse_options;

/* What a sparse solve did; strata solve's JSON has the same names. */
typedef struct strata_sparse_report {
  size_t struct_size;        /* sizeof(strata_sparse_report) */
  int solved;                /* 1 if x is as good as was asked for, or as fp64 has it */
  int64_t iterations;        /* iterations of all attempts */
  int64_t attempts;          /* methods and precisions that ran */
  int64_t levels;            /* levels of the preconditioner */
  double relative_residual;  /* ||b - A x|| / ||b|| in the 2-norm */
  double backward_error;     /* |b - A x| / (|A| |x| + |b|) in the maximum norm */
  double condition_at_least; /* a lower bound of the condition of the scaled matrix */
  double forward_error;      /* an estimate of |x - A^-1 b| / |x|; NaN: nothing is known */
  int digits; /* decimal digits of the largest entry that are right, at most; -1: unknown */
  double incompatible;          /* the part of b that a singular A has no solution for */
  double operator_complexity;   /* entries of all levels over the matrix' entries */
  int64_t preconditioner_bytes; /* bytes of this rank */
  double set_up_seconds;        /* time to make the solver */
  double solve_seconds;         /* time of this solve */
  char status[32];              /* "converged", "rounding limit", ... */
  char solver[16];              /* the last that ran */
  char preconditioner[16];      /* the one that was used */
  char precision[16];           /* the last preconditioner's */
  int64_t columns_abreast;      /* columns that CG solved for in step with it, itself included */
  int has_old_pattern;          /* 1: multigrid kept what depends on the pattern from old values */
} strata_sparse_report;

/* A sparse matrix and what solves with it; opaque. One thread's at a time. */
typedef struct strata_sparse strata_sparse;

/* Set up for the sparse A: choose a method and a preconditioner, and make the preconditioner.
 *
 * Shape     A: n rows, row i has the entries begin[i] to begin[i + 1] - 1, with 0-based columns in
 *           any order; one that is listed twice counts as the sum. On several ranks the rows are
 *           numbered rank by rank, and columns are of the whole matrix. All three arrays are in
 *           the host's memory, or all in the device's. From there the host has counts, begin[n]
 *           among them, and the matrix only where "ic", "ilu" or "direct" factors it.
 * Result    *solver, to be destroyed; NULL where the status is not STRATA_SUCCESS. The arrays may
 *           go afterwards.
 * Ranks     collective, as are all calls with a solver of several ranks. */
STRATA_API strata_status strata_sparse_set_up(int64_t n, int64_t const* begin,
                                              int64_t const* column, double const* value,
                                              strata_sparse_options const* options,
                                              strata_sparse** solver);
STRATA_API strata_status strata_sparse_set_up_int32(int64_t n, int32_t const* begin,
                                                    int32_t const* column, double const* value,
                                                    strata_sparse_options const* options,
                                                    strata_sparse** solver);

/* Other values in the same places, `entries` of them. What depends on the places alone is kept from
 * the set-up on, with preconditioner_only or where a tenth of a host's memory holds it, else from the
 * first update on. If it fails the solver has the old values. */
STRATA_API strata_status strata_sparse_update(strata_sparse* solver, int64_t entries,
                                              double const* value);

/* Solve A X = B from X as given.
 *
 * Shape     B, X: n x nrhs, nrhs >= 0, ldb, ldx >= max(1, n); X must not overlap B.
 * Columns   CG on one process solves for up to eight in step, which read the matrix together.
 * Result    X, the best that was found. STRATA_NOT_CONVERGED if a column is not solved; report,
 *           which may be NULL, is of the first column that is not, else of the last.
 *           strata_message() says what is odd about the matrix or X, also with STRATA_SUCCESS. */
STRATA_API strata_status strata_sparse_solve(strata_sparse* solver, int64_t nrhs, double const* B,
                                             int64_t ldb, double* X, int64_t ldx,
                                             strata_sparse_report* report);

/* z = M^-1 r, the preconditioner by itself, for Krylov methods of others. Made at the first call
 * unless preconditioner_only was given. r and z have n numbers and must not overlap. */
STRATA_API strata_status strata_sparse_precondition(strata_sparse* solver, double const* r,
                                                    double* z);

/* What is known before a solve: the choice, the levels; with preconditioner_only that and
 * has_old_pattern alone. */
STRATA_API strata_status strata_sparse_describe(strata_sparse const* solver,
                                                strata_sparse_report* report);

/* NULL is no error. The message stays as it is. */
STRATA_API void strata_sparse_destroy(strata_sparse* solver);

/* The rest is in libstrata_lapack alone, the drop-in for LAPACK. */

/* Its settings, as the environment variable STRATA_LAPACK gives them at the first call:
 * "threshold=512,layers=auto,leaf=0,trace=0,lapack=". Settings that `text` leaves out stay.
 *   threshold  smaller matrices go to the system's LAPACK; default 512, in builds for GPUs 1024
 *   layers     of dsposv, joined by colons (bf16:bf16:fp32); auto: see strata_dsposv
 *   leaf       columns of a leaf; 0: chosen for the size
 *   trace      1: at exit of a process that has called any, print to stderr how many calls of each
 *              routine Strata and the system's LAPACK did, with the program's name and process
 *   lapack     path of the system's LAPACK, from the next call on; empty: the next in the
 *              process's order, or liblapack.so.3
 * Text that is not understood changes nothing and is STRATA_INVALID_ARGUMENT. */
STRATA_API strata_status strata_lapack_configure(char const* text);

/* How many calls of `routine` ("dpotrf") Strata has done and how many the system's LAPACK. Calls
 * of both integer sizes count; calls with invalid arguments, of order 0 and by LAPACK itself do
 * not. A forked process begins at 0. */
STRATA_API strata_status strata_lapack_calls(char const* routine, int64_t* by_strata,
                                             int64_t* by_system);

#ifdef __cplusplus
}
#endif

#endif
