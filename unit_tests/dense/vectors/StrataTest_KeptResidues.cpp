// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Products of a symmetric matrix that is kept as integers.
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_SpdSystem.hpp"
#include <core/Strata_MatrixRef.hpp>
#include <dense/vectors/detail/Strata_KeptResidues.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace {

using namespace strata;
using namespace strata::test;
using dense::detail::KeptResidues;

template <class Exec>
class KeptResiduesOn : public testing::Test {};
TYPED_TEST_SUITE(KeptResiduesOn, Spaces, SpaceNames);

PlainMatrix uniform_block(std::size_t rows, std::size_t cols, unsigned seed) {
  PlainMatrix X(rows, cols);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> numbers(-1, 1);
  for (double& x : X.data) x = numbers(random);
  return X;
}

/// One triangle of a symmetric matrix, and NaN in the other.
PlainMatrix stored_triangle_of(PlainMatrix A, Uplo uplo) {
  for (std::size_t j = 0; j < A.cols; ++j)
    for (std::size_t i = 0; i < A.rows; ++i)
      if (uplo == Uplo::Lower ? i < j : i > j) A(i, j) = std::numeric_limits<double>::quiet_NaN();
  return A;
}

struct KeptProduct {
  PlainMatrix Y;
  double error;
};

/// Y - D A D X in columns of a block with room for more.
template <class Exec>
KeptProduct subtract_product(PlainMatrix const& A, std::vector<double> const& d,
                             PlainMatrix const& X, PlainMatrix const& Y, Uplo uplo, int moduli,
                             std::int64_t edge = 0, std::int64_t room = 1) {
  Exec const exec;
  auto const a = OnDevice<Exec>::copy(stored_triangle_of(A, uplo), 3),
             x = OnDevice<Exec>::copy(X, 2), y = OnDevice<Exec>::copy(Y, 1);
  using Scaling = typename KeptResidues<Exec>::Scaling;
  Kokkos::View<double const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const
      on_host(d.data(), d.size());
  Scaling const scaling =
      Kokkos::create_mirror_view_and_copy(typename Exec::memory_space(), on_host);
  IntegerBlas<Exec> integers(exec);
  KeptResidues<Exec> kept(exec, integers, uplo, matrix_ref(a), d.empty() ? Scaling() : scaling,
                          moduli, static_cast<std::int64_t>(X.cols) + room, edge);
  kept.subtract(x, y);
  exec.fence("strata::test::kept_residues");
  return {OnDevice<Exec>::read(y), kept.error()};
}

/// The largest error of a column over its 2-norm, in long double, and what the last rounding is.
double largest_product_error(PlainMatrix const& A, std::vector<double> const& d,
                             PlainMatrix const& X, PlainMatrix const& Y, PlainMatrix const& found) {
  double largest = 0;
  for (std::size_t j = 0; j < X.cols; ++j) {
    double norm = 0, most = 0;
    for (std::size_t i = 0; i < X.rows; ++i) norm = std::hypot(norm, X(i, j));
    for (std::size_t i = 0; i < X.rows; ++i) {
      long double sum = Y(i, j);
      for (std::size_t k = 0; k < X.rows; ++k) {
        long double const h = d.empty() ? A(i, k) : static_cast<long double>(d[i]) * A(i, k) * d[k];
        sum -= h * X(k, j);
      }
      double const off = std::abs(static_cast<double>(sum - found(i, j)));
      most = std::max(most, off - 0x1p-52 * std::abs(found(i, j)));
    }
    if (norm > 0) largest = std::max(largest, most / norm);
    if (norm == 0) {
      EXPECT_EQ(most, 0);
    }
  }
  return largest;
}

template <class Exec>
void is_as_precise_as_said(std::size_t n, std::size_t cols, int moduli, bool scaled) {
  PlainMatrix A = with_spectrum(geometric_spectrum(n, 1e4));
  std::vector<double> d;
  if (scaled) {
    A = badly_scaled(A, 60);
    for (std::size_t i = 0; i < n; ++i) d.push_back(std::exp2(-std::ilogb(A(i, i)) / 2));
  }
  PlainMatrix X = uniform_block(n, cols, 3), Y = uniform_block(n, cols, 4);
  for (std::size_t j = 0; j < cols; ++j)  // columns of all sizes, and one of zeros
    for (std::size_t i = 0; i < n; ++i) {
      double const size = j % 4 == 1 ? 1e200 : j % 4 == 2 ? 1e-200 : j % 4 == 3 ? 0 : 1;
      X(i, j) *= size;
      Y(i, j) *= size;
    }
  for (Uplo const uplo : {Uplo::Lower, Uplo::Upper}) {
    auto const [found, error] = subtract_product<Exec>(A, d, X, Y, uplo, moduli);
    double const off = largest_product_error(A, d, X, Y, found);
    EXPECT_LE(off, error) << n << ' ' << cols << ' ' << moduli << ' ' << scaled;
    if (n >= 100 && moduli < 12) {
      EXPECT_GE(off, error / 40) << "a bound that says little";
    }
    EXPECT_EQ(subtract_product<Exec>(A, d, X, Y, uplo, moduli, 0, 700).Y.data, found.data);
    for (std::int64_t const edge : {16, 48})
      EXPECT_EQ(subtract_product<Exec>(A, d, X, Y, uplo, moduli, edge).Y.data, found.data) << edge;
  }
}
TYPED_TEST(KeptResiduesOn, AreAsPreciseAsTheySay) {
  for (std::size_t const n : {1, 2, 15, 16, 17, 127, 129, 150})
    for (std::size_t const cols : {1, 4, 17})
      for (bool const scaled : {false, true}) is_as_precise_as_said<TypeParam>(n, cols, 7, scaled);
  for (int const moduli : {6, 8, 14}) is_as_precise_as_said<TypeParam>(100, 5, moduli, true);
}

template <class Exec>
void keeps_what_is_not_finite_apart() {
  std::size_t const n = 40;
  PlainMatrix const A = with_spectrum(geometric_spectrum(n, 10)), Y = uniform_block(n, 3, 5);
  PlainMatrix X = uniform_block(n, 3, 6);
  auto const whole = subtract_product<Exec>(A, {}, X, Y, Uplo::Lower, 7).Y;
  for (double const bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    X(7, 1) = bad;
    auto const found = subtract_product<Exec>(A, {}, X, Y, Uplo::Lower, 7).Y;
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_TRUE(std::isnan(found(i, 1)));
      EXPECT_EQ(found(i, 0), whole(i, 0));
      EXPECT_EQ(found(i, 2), whole(i, 2));
    }
  }
}
TYPED_TEST(KeptResiduesOn, KeepAColumnThatIsNotFiniteApart) {
  keeps_what_is_not_finite_apart<TypeParam>();
}

TYPED_TEST(KeptResiduesOn, DoNothingWithNothing) {
  PlainMatrix const none(0, 0), A = with_spectrum(geometric_spectrum(20, 10));
  EXPECT_EQ(
      subtract_product<TypeParam>(none, {}, PlainMatrix(0, 3), PlainMatrix(0, 3), Uplo::Lower, 7)
          .Y.data.size(),
      0u);
  EXPECT_EQ(
      subtract_product<TypeParam>(A, {}, PlainMatrix(20, 0), PlainMatrix(20, 0), Uplo::Lower, 7)
          .Y.data.size(),
      0u);
}

}  // namespace
