// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_PADDED_MATRIX_HPP
#define STRATATEST_PADDED_MATRIX_HPP

#include <core/Strata_MatrixRef.hpp>

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

namespace strata::test {

using Index = std::int64_t;
using Element = std::function<double(Index, Index)>;

inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

inline bool in_triangle(Uplo uplo, Index i, Index j) {
  return uplo == Uplo::Lower ? i >= j : i <= j;
}

/// Uniform in (-1, 1), the same numbers for the same seed.
inline Element noise(unsigned seed) {
  return [engine = std::mt19937(seed)](Index, Index) mutable {
    return std::ldexp(static_cast<double>(engine()), -31) - 1;
  };
}

/// The error that tests allow in a sum of `terms` products: their roundings, relative to the sum of
/// magnitudes, and the rounding of the result.
inline double allowed(Precision operand, Precision result, Index terms, double magnitudes,
                      double value) {
  double const sums = operand == Precision::fp64 ? 0x1p-53 : 0x1p-24;
  double const unit = traits(operand).bytes == 1 ? 0x1p-12 : 0;  // FP8 matrix units: CudaFp8Gemm
  return (static_cast<double>(terms + 4) * sums + unit) * magnitudes +
         1.01 * traits(result).unit_roundoff * std::abs(value) +
         traits(result).min_normal * traits(result).unit_roundoff;
}

/// A matrix in a space's memory with NaN in its padding, and the numbers that it was made of.
template <class Space>
class PaddedMatrix {
  using Memory = typename Space::memory_space;

 public:
  PaddedMatrix(Space const& exec, Precision precision, Index rows, Index cols, Index ld,
               Element const& element, double scale = 0)
      : exec_(exec),
        bytes_(Kokkos::view_alloc(exec, "strata::test::matrix"),
               static_cast<std::size_t>(ld * cols) * traits(precision).bytes),
        scale_(Kokkos::view_alloc(exec, "strata::test::scale")),
        factor_(scale == 0 ? 1 : scale),
        start_(static_cast<std::size_t>(ld * cols), not_a_number),
        ref_{bytes_.data(), rows, cols, ld, precision, scale == 0 ? nullptr : scale_.data()} {
    for (Index j = 0; j < cols; ++j)
      for (Index i = 0; i < rows; ++i) start_[static_cast<std::size_t>(i + j * ld)] = element(i, j);
    auto const host = Kokkos::create_mirror_view(Kokkos::HostSpace(), bytes_);
    with_type(precision, [&]<class T>(std::type_identity<T>) {
      for (std::size_t k = 0; k < start_.size(); ++k) {
        T const stored = static_cast<T>(start_[k]);
        start_[k] = static_cast<double>(stored);
        std::memcpy(host.data() + k * sizeof(T), &stored, sizeof(T));
      }
    });
    Kokkos::deep_copy(exec_, bytes_, host);
    Kokkos::deep_copy(exec_, scale_, factor_);
    exec_.fence();
  }

  MatrixRef<Memory> const& ref() const { return ref_; }
  /// op(A)(i, j) as it was at the start, scale included.
  double operator()(Index i, Index j, Op op = Op::NoTrans) const {
    return factor_ * start_[position(op == Op::NoTrans ? i : j, op == Op::NoTrans ? j : i)];
  }
  double symmetric(Uplo uplo, Index i, Index j) const {
    return in_triangle(uplo, i, j) ? (*this)(i, j) : (*this)(j, i);
  }
  std::size_t position(Index i, Index j) const { return static_cast<std::size_t>(i + j * ref_.ld); }

  /// The stored numbers as they are now, at position(i, j).
  std::vector<double> now() const {
    auto const host = Kokkos::create_mirror_view(Kokkos::HostSpace(), bytes_);
    Kokkos::deep_copy(exec_, host, bytes_);
    exec_.fence();
    std::vector<double> result(start_.size());
    with_type(ref_.precision, [&]<class T>(std::type_identity<T>) {
      for (std::size_t k = 0; k < result.size(); ++k) {
        T stored;
        std::memcpy(&stored, host.data() + k * sizeof(T), sizeof(T));
        result[k] = static_cast<double>(stored);
      }
    });
    return result;
  }
  /// Elements outside of `written`, padding among them, are as they were.
  testing::AssertionResult kept(std::function<bool(Index, Index)> const& written) const {
    std::vector<double> const current = now();
    for (Index j = 0; j < ref_.cols; ++j)
      for (Index i = 0; i < ref_.ld; ++i) {
        double const before = start_[position(i, j)], after = current[position(i, j)];
        bool const same = before == after || (std::isnan(before) && std::isnan(after));
        if (!same && !(i < ref_.rows && written(i, j)))
          return testing::AssertionFailure()
                 << "(" << i << ", " << j << ") was " << before << ", is " << after;
      }
    return testing::AssertionSuccess();
  }

 private:
  Space exec_;
  Kokkos::View<char*, Memory> bytes_;
  Kokkos::View<double, Memory> scale_;
  double factor_;
  std::vector<double> start_;
  MatrixRef<Memory> ref_;
};

}  // namespace strata::test

#endif
