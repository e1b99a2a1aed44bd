// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_EQUILIBRATE_HPP
#define STRATA_DETAIL_EQUILIBRATE_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/memory/Strata_Pieces.hpp>
#include <dense/refine/detail/Strata_LeafBlocks.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::dense::detail {

/// Where an analysis of a matrix of order n works; without values.
template <class MemorySpace>
struct AnalysisRoom {
  Kokkos::View<double*, MemorySpace> scaling;
  Kokkos::View<double* [2], MemorySpace> sums;  ///< sums of rows

  void lay_out(Pieces& pieces, std::int64_t n) {
    pieces.lay_out(scaling, n);
    pieces.lay_out(sums, n);
  }
};

/// What one look at a symmetric matrix tells before it is factored.
template <class MemorySpace>
struct Analysis {
  Kokkos::View<double*, MemorySpace>
      d;  ///< powers of two with d_i^2 a_ii in [1/2, 2], or all the same; empty: all are 1
  double smallest_scaling = 1, largest_scaling = 1;  ///< least and largest number of d
  std::int64_t bad_diagonal = 0;     ///< 1-based index of the first a_ii <= 0; 0: none
  double norm = 0, scaled_norm = 0;  ///< ||A||_inf and ||D A D||_inf
  double largest_diagonal = 0;       ///< largest number on the diagonal of D A D
};

/// Check that A is finite, choose the scaling and measure both norms.
///
/// A matrix that is not to be equilibrated is scaled as a whole if its norm is not in [2^-600,
/// 2^600]. Else roundings of subnormal numbers would be no small part of them, or products of
/// entries would leave the range of fp64.
///
/// Shape    A: n x n fp64, of which the triangle `uplo` is read. On a device the same pass loads
///          what is `into`, where A is equilibrated: the lower triangle of D A D, its diagonal
///          times 1 + shift.
/// Sync     fences `exec`, once where A is finite. Memory: `room`, in which d lies.
/// Throws   ValueError naming the first non-finite entry, column by column.
/// Source   Higham and Pranesh, SIAM J. Sci. Comput. 43 (2021), section 3; deviation: powers of
///          two.
template <class ExecutionSpace>
Analysis<typename ExecutionSpace::memory_space> analyse(
    ExecutionSpace const& exec, Uplo uplo,
    ConstMatrixRef<typename ExecutionSpace::memory_space> const& A, bool equilibrate,
    AnalysisRoom<typename ExecutionSpace::memory_space> const& room,
    LeafBlocks<typename ExecutionSpace::memory_space> const& into = {});

/// V(i, j) = d_i U(i, j); an empty d is the identity. V may be U.
template <class ExecutionSpace, class ScalingView, class InBlock, class OutBlock>
void scale_rows(ExecutionSpace const& exec, ScalingView const& d, InBlock const& U,
                OutBlock const& V, std::int64_t rows, std::int64_t cols);

}  // namespace strata::dense::detail

#include <core/kokkos_ext/Strata_ForEachElement.hpp>

namespace strata::dense::detail {

template <class ExecutionSpace, class ScalingView, class InBlock, class OutBlock>
void scale_rows(ExecutionSpace const& exec, ScalingView const& d, InBlock const& U,
                OutBlock const& V, std::int64_t rows, std::int64_t cols) {
  bool const scaled = d.extent(0) > 0;
  strata::for_each_element(
      "strata::dense::scale_rows", exec, rows, cols, KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        V(i, j) = scaled ? d(i) * U(i, j) : U(i, j);
      });
}

}  // namespace strata::dense::detail

#endif
