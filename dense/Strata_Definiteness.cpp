// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/Strata_Definiteness.hpp>

#include <core/blas/Strata_LeafBlas.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <dense/Strata_InPlace.hpp>

#include <algorithm>

namespace strata::dense::detail {

namespace {

// The triangle alone, in blocks of columns.
template <class ExecutionSpace, class Source, class Target>
void copy_triangle(LeafBlas<ExecutionSpace>& blas, Uplo uplo, Source const& A, Target const& L) {
  constexpr std::int64_t width = 128;
  for (std::int64_t j = 0; j < A.rows; j += width) {
    std::int64_t const cols = std::min(width, A.rows - j);
    std::int64_t const first = uplo == Uplo::Lower ? j : 0;
    std::int64_t const rows = uplo == Uplo::Lower ? A.rows - j : j + cols;
    blas.convert(Op::NoTrans, A.block(first, j, rows, cols), L.block(first, j, rows, cols));
  }
}

}  // namespace

// chol of the leading blocks of orders ..., n / 16, n / 4, n. Those before the one that answers take a 64th of its flops, or
// where its first quarter holds and little more, a tenth of what potrf does before it breaks down.
template <class ExecutionSpace>
Info is_positive_definite(ExecutionSpace const& exec, Uplo uplo,
                          ConstMatrixRef<typename ExecutionSpace::memory_space> const& A) {
  STRATA_REQUIRE(ShapeError, A.rows == A.cols, "is_positive_definite: A is ", A.rows, " x ", A.cols,
                 ", must be square");
  Region const region(exec, "strata::dense::is_positive_definite");
  using Space = typename ExecutionSpace::memory_space;
  constexpr std::int64_t fewest = 64;
  std::int64_t const n = A.rows;
  auto const factor = strata::allocate<Kokkos::View<double*, Kokkos::LayoutLeft, Space>>(
      exec, "strata::dense::is_positive_definite::L", n * n);
  LeafBlas<ExecutionSpace> blas(exec);
  std::int64_t part = 1;  // n of it, rounded up
  while (n / part > fewest) part *= 4;
  for (;; part /= 4) {
    std::int64_t const order = (n + part - 1) / part;
    MatrixRef<Space> const L{factor.data(),   order,  order, std::max<std::int64_t>(1, order),
                             Precision::fp64, nullptr};
    copy_triangle(blas, uplo, A.block(0, 0, order, order), L);
    Info const found = potrf_in_place(blas, uplo, L);
    if (!found.ok() || part == 1) return found;
  }
}

#define STRATA_INSTANTIATE(Exec)                                  \
  template Info is_positive_definite(Exec const& exec, Uplo uplo, \
                                     ConstMatrixRef<typename Exec::memory_space> const& A);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
