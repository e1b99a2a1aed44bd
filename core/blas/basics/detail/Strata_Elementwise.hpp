// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_ELEMENTWISE_HPP
#define STRATA_ELEMENTWISE_HPP

#include <core/Strata_MatrixRef.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdint>

namespace strata::detail {

/// The part of a matrix that is read and written.
enum class Part { Full, Lower, Upper };

constexpr Part part_of(Uplo uplo) { return uplo == Uplo::Lower ? Part::Lower : Part::Upper; }

/// alpha times up to two scales, which may lie in device memory.
struct Factor {
  double alpha = 1;
  double const* first = nullptr;
  double const* second = nullptr;

  KOKKOS_FUNCTION double operator()() const {
    return alpha * (first ? *first : 1.0) * (second ? *second : 1.0);
  }
};

/// Whether `x` may be passed as a factor of the arithmetic type: it must not overflow or underflow
/// there.
inline bool is_representable(Precision precision, double x) {
  double const magnitude = std::abs(x);
  return precision == Precision::fp64 || x == 0 ||
         (magnitude >= traits(precision).min_normal && magnitude <= traits(precision).max_finite);
}

/// The rows of column `j` that belong to `part`: [begin, end).
struct RowRange {
  std::int64_t begin, end;
  KOKKOS_FUNCTION RowRange(Part part, std::int64_t j, std::int64_t rows)
      : begin(part == Part::Lower ? (j < rows ? j : rows) : 0),
        end(part == Part::Upper ? (j + 1 < rows ? j + 1 : rows) : rows) {}
};

/// target = op(source), each element rounded once; `part` is the target's and needs Op::NoTrans
/// unless Full.
template <class Exec>
void convert(Exec const& exec, Op op, Part part,
             ConstMatrixRef<typename Exec::memory_space> const& source,
             MatrixRef<typename Exec::memory_space> const& target);

/// C = factor * product + beta * C in double, each element rounded once; beta = 0 overwrites.
///
/// `product` is fp32 or fp64, or has no data, which stands for 0.
template <class Exec>
void combine(Exec const& exec, Part part, Factor const& factor,
             ConstMatrixRef<typename Exec::memory_space> const& product, double beta,
             MatrixRef<typename Exec::memory_space> const& C);

}  // namespace strata::detail

#endif
