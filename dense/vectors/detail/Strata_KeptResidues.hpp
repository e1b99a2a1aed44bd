// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DENSE_DETAIL_KEPT_RESIDUES_HPP
#define STRATA_DENSE_DETAIL_KEPT_RESIDUES_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/integers/Strata_IntegerBlas.hpp>
#include <core/memory/Strata_Buffer.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace strata::dense::detail {

/// A symmetric matrix H = D A D by the remainders of its integers, kept for products with blocks of
/// many columns.
///
/// Row i is rounded to whole multiples of a unit of its norm ||h_i||, once. A column of X has a
/// unit of its own norm. `IntegerBlas` says how a product of such integers is made.
///
/// Shape    A: n x n fp64, of which the triangle `uplo` is read; d: n powers of two, or empty for
///          D = 1. Both are read by the constructor alone.
/// Memory   S n^2 bytes; S n m for products with up to m columns, and 4 S m for each of up to 8192
///          rows. The constructor takes 48 n m bytes more and gives them back, so that a
///          refinement finds them.
/// Error    |Y - H X|_ij <= sqrt(n) theta (1 + sqrt(n) theta / 4) ||h_i|| ||x_j|| + u |Y_ij| as of
///          `IntegerBlas`, with a standard deviation of at most 0.41 theta ||h_i|| ||x_j||. A
///          column that is not finite makes its column of Y NaN.
/// Bits     the same for every size of blocks.
/// Throws   MemoryError.
template <class ExecutionSpace>
class KeptResidues {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using Block = Kokkos::View<double**, Kokkos::LayoutLeft, memory_space>;
  using Scaling = Kokkos::View<double const*, memory_space>;

  /// `integers` must outlive this object; `edge`: rows of a block, a multiple of 16; 0: chosen.
  KeptResidues(ExecutionSpace const& exec, IntegerBlas<ExecutionSpace>& integers, Uplo uplo,
               ConstMatrixRef<memory_space> const& A, Scaling const& d, int moduli,
               std::int64_t most_columns, std::int64_t edge = 0);

  /// Y = Y - H X, rounded once. Enqueued.
  void subtract(Block const& X, Block const& Y);

  /// What an entry of a product with a column of norm 1 is hardly ever off by: 2 theta max ||h_i||,
  /// five standard deviations.
  double error() const { return error_; }

 private:
  using Planes = ResiduePlanes<memory_space>;
  using Sums = ModularSums<memory_space>;
  void take_memory();
  double measure_rows(Uplo uplo, ConstMatrixRef<memory_space> const& A, Scaling const& d);
  void take_rows(Uplo uplo, ConstMatrixRef<memory_space> const& A, Scaling const& d, double* tile);

  void warm_up();
  std::int64_t multiplied(std::int64_t cols) const;
  Sums multiply(std::int64_t row, std::int64_t rows, std::int64_t cols);

  ExecutionSpace exec_;
  IntegerBlas<ExecutionSpace>& integers_;
  std::int64_t n_, edge_, most_columns_;
  int moduli_;
  double error_ = 0;
  Buffer<ExecutionSpace> kept_, room_;
  Planes rows_, columns_;  // of H and of X
  RowUnit *row_units_ = nullptr, *column_units_ = nullptr;
  double* squares_ = nullptr;  // ||h_i||^2
  std::int32_t* sums_ = nullptr;
};

}  // namespace strata::dense::detail

#endif
