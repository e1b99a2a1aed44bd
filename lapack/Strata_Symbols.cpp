// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The Fortran symbols that this library stands in for, of both integer widths.
#include <c/strata.h>
#include <lapack/detail/Strata_Problem.hpp>

#include <cstdint>

using namespace strata::lapack::detail;

namespace {

template <class Int>
constexpr Width width_of = sizeof(Int) == 8 ? Width::Int64 : Width::Int32;

template <class T, class Int>
void potrf(Routine routine, char const* uplo, Int const* n, T* A, Int const* lda, Int* info) {
  Problem<T> p{.uplo = *uplo, .n = *n, .A = A, .lda = *lda};
  solve(routine, width_of<Int>, p);
  *info = static_cast<Int>(p.info);
}

// potrs and posv.
template <class T, class Int>
void solve_system(Routine routine, char const* uplo, Int const* n, Int const* nrhs, T const* A,
                  Int const* lda, T* B, Int const* ldb, Int* info) {
  Problem<T> p{.uplo = *uplo, .n = *n, .nrhs = *nrhs, .A = const_cast<T*>(A), .lda = *lda};
  p.B = B;
  p.ldb = *ldb;
  solve(routine, width_of<Int>, p);
  *info = static_cast<Int>(p.info);
}

template <class Int>
void mixed(char const* uplo, Int const* n, Int const* nrhs, double* A, Int const* lda,
           double const* B, Int const* ldb, double* X, Int const* ldx, double* work, float* swork,
           Int* iter, Int* info) {
  Problem<double> p{.uplo = *uplo, .n = *n, .nrhs = *nrhs, .A = A, .lda = *lda};
  p.B = const_cast<double*>(B);
  p.ldb = *ldb;
  p.X = X;
  p.ldx = *ldx;
  p.work = work;
  p.swork = swork;
  solve(Routine::Dsposv, width_of<Int>, p);
  *iter = static_cast<Int>(p.iter);
  *info = static_cast<Int>(p.info);
}

}  // namespace

extern "C" {

STRATA_API void spotrf_(char const* uplo, std::int32_t const* n, float* A, std::int32_t const* lda,
                        std::int32_t* info) {
  potrf(Routine::Spotrf, uplo, n, A, lda, info);
}
STRATA_API void spotrs_(char const* uplo, std::int32_t const* n, std::int32_t const* nrhs,
                        float const* A, std::int32_t const* lda, float* B, std::int32_t const* ldb,
                        std::int32_t* info) {
  solve_system(Routine::Spotrs, uplo, n, nrhs, A, lda, B, ldb, info);
}
STRATA_API void sposv_(char const* uplo, std::int32_t const* n, std::int32_t const* nrhs, float* A,
                       std::int32_t const* lda, float* B, std::int32_t const* ldb,
                       std::int32_t* info) {
  solve_system<float>(Routine::Sposv, uplo, n, nrhs, A, lda, B, ldb, info);
}
STRATA_API void dpotrf_(char const* uplo, std::int32_t const* n, double* A, std::int32_t const* lda,
                        std::int32_t* info) {
  potrf(Routine::Dpotrf, uplo, n, A, lda, info);
}
STRATA_API void dpotrs_(char const* uplo, std::int32_t const* n, std::int32_t const* nrhs,
                        double const* A, std::int32_t const* lda, double* B,
                        std::int32_t const* ldb, std::int32_t* info) {
  solve_system(Routine::Dpotrs, uplo, n, nrhs, A, lda, B, ldb, info);
}
STRATA_API void dposv_(char const* uplo, std::int32_t const* n, std::int32_t const* nrhs, double* A,
                       std::int32_t const* lda, double* B, std::int32_t const* ldb,
                       std::int32_t* info) {
  solve_system<double>(Routine::Dposv, uplo, n, nrhs, A, lda, B, ldb, info);
}
STRATA_API void dsposv_(char const* uplo, std::int32_t const* n, std::int32_t const* nrhs,
                        double* A, std::int32_t const* lda, double const* B,
                        std::int32_t const* ldb, double* X, std::int32_t const* ldx, double* work,
                        float* swork, std::int32_t* iter, std::int32_t* info) {
  mixed(uplo, n, nrhs, A, lda, B, ldb, X, ldx, work, swork, iter, info);
}

STRATA_API void spotrf_64_(char const* uplo, std::int64_t const* n, float* A,
                           std::int64_t const* lda, std::int64_t* info) {
  potrf(Routine::Spotrf, uplo, n, A, lda, info);
}
STRATA_API void spotrs_64_(char const* uplo, std::int64_t const* n, std::int64_t const* nrhs,
                           float const* A, std::int64_t const* lda, float* B,
                           std::int64_t const* ldb, std::int64_t* info) {
  solve_system(Routine::Spotrs, uplo, n, nrhs, A, lda, B, ldb, info);
}
STRATA_API void sposv_64_(char const* uplo, std::int64_t const* n, std::int64_t const* nrhs,
                          float* A, std::int64_t const* lda, float* B, std::int64_t const* ldb,
                          std::int64_t* info) {
  solve_system<float>(Routine::Sposv, uplo, n, nrhs, A, lda, B, ldb, info);
}
STRATA_API void dpotrf_64_(char const* uplo, std::int64_t const* n, double* A,
                           std::int64_t const* lda, std::int64_t* info) {
  potrf(Routine::Dpotrf, uplo, n, A, lda, info);
}
STRATA_API void dpotrs_64_(char const* uplo, std::int64_t const* n, std::int64_t const* nrhs,
                           double const* A, std::int64_t const* lda, double* B,
                           std::int64_t const* ldb, std::int64_t* info) {
  solve_system(Routine::Dpotrs, uplo, n, nrhs, A, lda, B, ldb, info);
}
STRATA_API void dposv_64_(char const* uplo, std::int64_t const* n, std::int64_t const* nrhs,
                          double* A, std::int64_t const* lda, double* B, std::int64_t const* ldb,
                          std::int64_t* info) {
  solve_system<double>(Routine::Dposv, uplo, n, nrhs, A, lda, B, ldb, info);
}
STRATA_API void dsposv_64_(char const* uplo, std::int64_t const* n, std::int64_t const* nrhs,
                           double* A, std::int64_t const* lda, double const* B,
                           std::int64_t const* ldb, double* X, std::int64_t const* ldx,
                           double* work, float* swork, std::int64_t* iter, std::int64_t* info) {
  mixed(uplo, n, nrhs, A, lda, B, ldb, X, ldx, work, swork, iter, info);
}

}  // extern "C"
