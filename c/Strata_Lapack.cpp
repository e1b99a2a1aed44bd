// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// LAPACK's potrf, potrs and posv in place, in the matrix' own precision.
#include <c/detail/Strata_LapackCall.hpp>
#include <c/detail/Strata_Options.hpp>
#include <c/detail/Strata_Workbench.hpp>
#include <c/runtime/Strata_Operand.hpp>
#include <c/strata.h>
#include <dense/tree/Strata_InPlace.hpp>

using namespace strata::c;
using namespace strata::c::detail;
using strata::Uplo;
using strata::dense::potrf_in_place, strata::dense::potrs_in_place;

namespace {

template <class T>
strata_status potrf(char const* name, char uplo, std::int64_t n, T* A, std::int64_t lda,
                    strata_options const* options, std::int64_t* info) {
  return lapack_call(name, info, [&](std::int64_t& order) {
    Uplo const triangle = require_triangle(uplo);
    require_order("n", n, 2);
    require_matrix("A", A, n, n, lda, sizeof(T), 3, 4);
    auto const leaf = choices(options).cholesky.leaf_size;
    if (n == 0) return;
    Caller const caller;
    Workbench const bench;
    Exec const& exec = bench.exec();
    Operand<T> const a(exec, A, n, n, lda, part_of(triangle));
    overwrite(a.in_place(),
              [&] { order = potrf_in_place(bench.blas(), triangle, a.matrix(), leaf).order(); });
    overwrite(true, [&] {
      a.write_back(exec, part_of(triangle));
      exec.fence("strata::c::potrf: A is written");
    });
  });
}

template <class T>
strata_status potrs(char const* name, char uplo, std::int64_t n, std::int64_t nrhs, T const* A,
                    std::int64_t lda, T* B, std::int64_t ldb, std::int64_t* info) {
  return lapack_call(name, info, [&](std::int64_t&) {
    Uplo const triangle = require_triangle(uplo);
    require_system(n, nrhs, A, lda, B, ldb);
    if (n == 0 || nrhs == 0) return;
    Caller const caller;
    Workbench const bench;
    Exec const& exec = bench.exec();
    Operand<T const> const a(exec, A, n, n, lda, part_of(triangle));
    Operand<T> const b(exec, B, n, nrhs, ldb, Part::All);
    overwrite(b.in_place(),
              [&] { potrs_in_place(bench.blas(), triangle, a.matrix(), b.matrix()); });
    overwrite(true, [&] {
      b.write_back(exec, Part::All);
      exec.fence("strata::c::potrs: B is written");
    });
  });
}

template <class T>
strata_status posv(char const* name, char uplo, std::int64_t n, std::int64_t nrhs, T* A,
                   std::int64_t lda, T* B, std::int64_t ldb, strata_options const* options,
                   std::int64_t* info) {
  return lapack_call(name, info, [&](std::int64_t& order) {
    Uplo const triangle = require_triangle(uplo);
    require_system(n, nrhs, A, lda, B, ldb);
    auto const leaf = choices(options).cholesky.leaf_size;
    if (n == 0) return;
    Caller const caller;
    Workbench const bench;
    Exec const& exec = bench.exec();
    Operand<T> const a(exec, A, n, n, lda, part_of(triangle));
    Operand<T> const b(exec, B, n, nrhs, ldb, Part::All);
    overwrite(a.in_place() || (nrhs > 0 && b.in_place()), [&] {
      order = potrf_in_place(bench.blas(), triangle, a.matrix(), leaf).order();
      if (order == 0) potrs_in_place(bench.blas(), triangle, a.matrix(), b.matrix());
    });
    overwrite(true, [&] {
      a.write_back(exec, part_of(triangle));
      if (order == 0) b.write_back(exec, Part::All);
      exec.fence("strata::c::posv: A and B are written");
    });
  });
}

}  // namespace

strata_status strata_dpotrf(char uplo, int64_t n, double* A, int64_t lda,
                            strata_options const* options, int64_t* info) {
  return potrf("strata_dpotrf", uplo, n, A, lda, options, info);
}
strata_status strata_spotrf(char uplo, int64_t n, float* A, int64_t lda,
                            strata_options const* options, int64_t* info) {
  return potrf("strata_spotrf", uplo, n, A, lda, options, info);
}
strata_status strata_dpotrs(char uplo, int64_t n, int64_t nrhs, double const* A, int64_t lda,
                            double* B, int64_t ldb, int64_t* info) {
  return potrs("strata_dpotrs", uplo, n, nrhs, A, lda, B, ldb, info);
}
strata_status strata_spotrs(char uplo, int64_t n, int64_t nrhs, float const* A, int64_t lda,
                            float* B, int64_t ldb, int64_t* info) {
  return potrs("strata_spotrs", uplo, n, nrhs, A, lda, B, ldb, info);
}
strata_status strata_dposv(char uplo, int64_t n, int64_t nrhs, double* A, int64_t lda, double* B,
                           int64_t ldb, strata_options const* options, int64_t* info) {
  return posv("strata_dposv", uplo, n, nrhs, A, lda, B, ldb, options, info);
}
strata_status strata_sposv(char uplo, int64_t n, int64_t nrhs, float* A, int64_t lda, float* B,
                           int64_t ldb, strata_options const* options, int64_t* info) {
  return posv("strata_sposv", uplo, n, nrhs, A, lda, B, ldb, options, info);
}
