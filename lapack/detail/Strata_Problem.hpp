// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LAPACK_PROBLEM_HPP
#define STRATA_LAPACK_PROBLEM_HPP

#include <lapack/detail/Strata_Report.hpp>
#include <lapack/detail/Strata_System.hpp>

#include <cstdint>

namespace strata::lapack::detail {

/// The arguments of one call of any of the routines, and what they return.
template <class T>
struct Problem {
  char uplo = 'L';
  std::int64_t n = 0, nrhs = 0;
  T* A = nullptr;
  std::int64_t lda = 1;
  T* B = nullptr;
  std::int64_t ldb = 1;
  T* X = nullptr;
  std::int64_t ldx = 1;
  T* work = nullptr;
  float* swork = nullptr;
  std::int64_t iter = 0, info = 0;
};

/// Does what LAPACK documents of `routine`. It checks the arguments, and tells XERBLA of a wrong
/// one. It solves the problem in Strata or, below the threshold, in the system's LAPACK.
///
/// Result   as LAPACK; info = -1010, LAPACKE's code of a want of memory, if neither could, for
///          which a sentence on stderr gives the reason.
template <class T>
void solve(Routine routine, Width width, Problem<T>& problem) noexcept;

}  // namespace strata::lapack::detail

#endif
