// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_CHANGE_KERNELS_HPP
#define STRATA_DETAIL_CHANGE_KERNELS_HPP

#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <dense/vectors/Strata_StridedMatrix.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

// What becomes of a matrix and its factor, element by element, when rows come, go or change.
namespace strata::dense::detail {

/// X = B, the lower triangle alone where `lower`. Enqueued.
template <class ExecutionSpace, class In, class Out>
void copy_elements(ExecutionSpace const& exec, In const& B, Out const& X, std::int64_t rows,
                   std::int64_t cols, bool lower) {
  strata::for_each_element(
      "strata::dense::cholesky::copy", exec, rows, cols,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        if (!lower || i >= j) X(i, j) = B(i, j);
      });
}

/// max |v_ij|. Fences.
template <class ExecutionSpace>
double largest_of(ExecutionSpace const& exec, StridedMatrix<double const> const& V) {
  double largest = 0;
  Kokkos::parallel_reduce(
      "strata::dense::cholesky::largest",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0,
                                                                           V.rows * V.cols),
      KOKKOS_LAMBDA(std::int64_t k, double& found) {
        double const v = Kokkos::abs(V(k % V.rows, k / V.rows));
        found = v > found ? v : found;
      },
      Kokkos::Max<double>(largest));
  return largest;
}

/// The first row of which a_ii - sum_j v_ij^2 is not positive beyond its rounding; without one more
/// than there are. Fences.
template <class ExecutionSpace, class Matrix, class Block>
std::int64_t first_bad_diagonal(ExecutionSpace const& exec, Matrix const& A, Block const& V) {
  auto const k = static_cast<std::int64_t>(V.extent(1));
  double const rounded = static_cast<double>(k + 1) * 0x1p-52;
  std::int64_t first = 0;
  Kokkos::parallel_reduce(
      "strata::dense::cholesky::downdated_diagonal",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(
          exec, 0, static_cast<std::int64_t>(V.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t& found) {
        double sum = 0;
        for (std::int64_t j = 0; j < k; ++j) sum += V(i, j) * V(i, j);
        if (!(A(i, i) - sum > rounded * A(i, i)) && i < found) found = i;
      },
      Kokkos::Min<std::int64_t>(first));
  return first;
}

/// q = D, an empty one being 1. Enqueued.
template <class ExecutionSpace, class ScalingView, class OutView>
void copy_scaling(ExecutionSpace const& exec, ScalingView const& d, OutView const& q) {
  bool const scaled = d.extent(0) > 0;
  Kokkos::parallel_for(
      "strata::dense::cholesky::copy_scaling",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, q.extent(0)),
      KOKKOS_LAMBDA(std::int64_t i) { q(i) = scaled ? d(i) : 1; });
}

/// q = D / q, an empty one being 1; whether one of q is not 1. Fences.
template <class ExecutionSpace, class ScalingView, class OutView>
bool scaling_change(ExecutionSpace const& exec, ScalingView const& d, OutView const& q) {
  bool const scaled = d.extent(0) > 0;
  int changed = 0;
  Kokkos::parallel_reduce(
      "strata::dense::cholesky::scaling_change",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, q.extent(0)),
      KOKKOS_LAMBDA(std::int64_t i, int& found) {
        q(i) = (scaled ? d(i) : 1) / q(i);
        if (q(i) != 1) found = 1;
      },
      Kokkos::Max<int>(changed));
  return changed == 1;
}

/// L's last rows: S^T, and the lower triangle T. Enqueued.
template <class ExecutionSpace, class Block>
void set_last_rows(ExecutionSpace const& exec, Block const& S, Block const& T, std::int64_t n,
                   Block const& L) {
  strata::for_each_element(
      "strata::dense::cholesky::append", exec, static_cast<std::int64_t>(T.extent(0)),
      static_cast<std::int64_t>(L.extent(1)), KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        if (j < n)
          L(n + i, j) = S(j, i);
        else if (n + i >= j)
          L(n + i, j) = T(i, j - n);
      });
}

/// The lower triangle of X = A's, bordered by B. Enqueued.
template <class ExecutionSpace, class Matrix, class Block>
void border(ExecutionSpace const& exec, Matrix const& A, StridedMatrix<double const> const& B,
            std::int64_t n, Block const& X) {
  auto const order = static_cast<std::int64_t>(X.extent(0));
  strata::for_each_element(
      "strata::dense::cholesky::border", exec, order, order,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        if (i < j) return;
        if (i < n)
          X(i, j) = A(i, j);
        else
          X(i, j) = j < n ? B(j, i - n) : B(i, j - n);
      });
}

/// The lower triangle of X = A's in the rows and columns `kept`. Enqueued.
template <class ExecutionSpace, class Matrix, class Indices, class Block>
void keep_rows(ExecutionSpace const& exec, Matrix const& A, Indices const& kept, Block const& X) {
  auto const order = static_cast<std::int64_t>(X.extent(0));
  strata::for_each_element(
      "strata::dense::cholesky::keep_rows", exec, order, order,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        if (i >= j) X(i, j) = A(kept(i), kept(j));
      });
}

/// V = the columns `gone` of the lower triangle L, of its rows `kept`. Enqueued.
template <class ExecutionSpace, class Indices, class Block>
void lost_columns(ExecutionSpace const& exec, Block const& L, Indices const& kept,
                  Indices const& gone, Block const& V) {
  strata::for_each_element(
      "strata::dense::cholesky::lost_columns", exec, static_cast<std::int64_t>(V.extent(0)),
      static_cast<std::int64_t>(V.extent(1)), KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        V(i, j) = kept(i) > gone(j) ? L(kept(i), gone(j)) : 0;
      });
}

}  // namespace strata::dense::detail

#endif
