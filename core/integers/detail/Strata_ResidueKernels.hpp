// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_RESIDUE_KERNELS_HPP
#define STRATA_DETAIL_RESIDUE_KERNELS_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/integers/Strata_Residues.hpp>

#include <cstdint>

namespace strata::detail {

/// The numbers of op(A) by row and column, with the stride of each.
struct Strided {
  double const* data;
  std::int64_t rows, cols, row_stride, col_stride;

  template <class ConstMatrix>
  static Strided of(ConstMatrix const& A, Op op) {
    if (op == Op::NoTrans) return {A.template as<double>(), A.rows, A.cols, 1, A.ld};
    return {A.template as<double>(), A.cols, A.rows, A.ld, 1};
  }
};

/// `IntegerBlas::bound_units`.
template <class Exec>
void bound_units(Exec const& exec, Strided const& H, int moduli, RowUnit* units);

/// What measuring a row's norm takes: its largest exponent, and the sum of the squares of its
/// numbers as integers of at most 2^16.
struct RowSize {
  std::uint64_t squares;
  std::int32_t exponent;
};

/// `IntegerBlas::measure_units`; `sizes` has room for each row.
template <class Exec>
void measure_units(Exec const& exec, Strided const& A, int moduli, RowSize* sizes, RowUnit* units);

/// `IntegerBlas::residues`.
template <class Exec>
void residues(Exec const& exec, Strided const& A, RowUnit const* units,
              ResiduePlanes<typename Exec::memory_space> const& planes, RowCheck const& check);

/// `IntegerBlas::combine`.
template <class Exec>
void combine_sums(Exec const& exec, ModularSums<typename Exec::memory_space> const& X,
                  RowUnit const* rows, RowUnit const* cols, SumScaling const& scaling,
                  MatrixRef<typename Exec::memory_space> const& C);

/// Each sum becomes the smallest number that is the same modulo p.
template <class Exec>
void reduce_sums(Exec const& exec, ModularSums<typename Exec::memory_space> const& X);

/// C_p = A_p B_p^T or C_p + A_p B_p^T by a kernel of this library, on every backend.
template <class Exec>
void multiply_residues(Exec const& exec, ResiduePlanes<typename Exec::memory_space> const& A,
                       ResiduePlanes<typename Exec::memory_space> const& B,
                       ModularSums<typename Exec::memory_space> const& C, bool accumulate);

}  // namespace strata::detail

#endif
