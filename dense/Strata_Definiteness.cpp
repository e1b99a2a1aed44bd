// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/Strata_Definiteness.hpp>

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <dense/Strata_Cholesky.hpp>

namespace strata::dense::detail {

namespace {

// The first row of the triangle with a number that is not finite; n: none.
template <class ExecutionSpace, class View>
std::int64_t finite_rows(ExecutionSpace const& exec, View const& A) {
  auto const n = static_cast<std::int64_t>(A.extent(0));
  std::int64_t first = n;
  Kokkos::parallel_reduce(
      "strata::dense::is_positive_definite::finite_rows",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, n),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t& found) {
        for (std::int64_t j = 0; j <= i; ++j)
          if (!Kokkos::isfinite(A(i, j)) && i < found) found = i;
      },
      Kokkos::Min<std::int64_t>(first));
  return first < n ? first : n;
}

// The leading block of A, made smaller so that the sums of its rows are finite. Enqueued.
template <class ExecutionSpace, class View, class Block>
void copy_smaller(ExecutionSpace const& exec, View const& A, Block const& block) {
  auto const order = static_cast<std::int64_t>(block.extent(0));
  for_each_element(
      "strata::dense::is_positive_definite::scale", exec, order, order,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        if (i >= j) block(i, j) = 0x1p-64 * A(i, j);
      });
}

}  // namespace

template <class ExecutionSpace>
Info is_positive_definite(ExecutionSpace const& exec, Uplo uplo,
                          ConstMatrixRef<typename ExecutionSpace::memory_space> const& A) {
  STRATA_REQUIRE(ShapeError, A.rows == A.cols, "is_positive_definite: A is ", A.rows, " x ", A.cols,
                 ", must be square");
  Region const region(exec, "strata::dense::is_positive_definite");
  using View = typename CholeskyFactor<ExecutionSpace>::MatrixView;
  auto const n = static_cast<std::size_t>(A.rows), ld = static_cast<std::size_t>(A.ld);
  bool const is_lower = uplo == Uplo::Lower;
  View const view(A.template as<double>(),
                  Kokkos::LayoutStride(n, is_lower ? 1 : ld, n, is_lower ? ld : 1));
  LayerList const fp64{Precision::fp64};
  try {
    return cholesky(exec, view, fp64).info();
  } catch (ValueError const&) {  // a number, or the sum of a row, is not finite
  }
  std::int64_t const rows = finite_rows(exec, view);
  using Block = Kokkos::View<double**, Kokkos::LayoutLeft, typename ExecutionSpace::memory_space>;
  auto const block =
      strata::allocate<Block>(exec, "strata::dense::is_positive_definite::block", rows, rows);
  copy_smaller(exec, view, block);
  Info const found = cholesky(exec, block, fp64).info();
  return found.ok() && rows < A.rows ? Info::breakdown(rows + 1) : found;
}

#define STRATA_INSTANTIATE(Exec)                                  \
  template Info is_positive_definite(Exec const& exec, Uplo uplo, \
                                     ConstMatrixRef<Exec::memory_space> const& A);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
