// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "ooc/StrataTest_PlainTiles.hpp"
#include <geostat/Strata_MaternTiles.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/schedule/Strata_TilePlan.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::geostat;
using namespace strata::test;

template <class Exec>
class OocCholesky : public testing::Test {};
TYPED_TEST_SUITE(OocCholesky, Spaces, SpaceNames);

// Every variant, number of devices and streams, and budget gives the bits of the plain factor.
template <class Exec>
void gives_the_same_bits(std::int64_t n, std::int64_t nb, double range, PrecisionRule const& rule,
                         std::int64_t column_block = 1) {
  Exec const exec;
  auto const generator =
      matern_tiles(exec, MaternCovariance{1, range, 0.5, 0}, synthetic_locations(n));
  auto const make = [&] { return TileMatrix<Exec>::generate(exec, n, nb, generator, rule); };
  auto const matrix = make();
  for (Precision const precision : rule.precisions)
    EXPECT_TRUE(rule.accuracy == 0 || matrix.map().holds(precision)) << traits(precision).name;
  HostMatrix expected;
  std::int64_t info = -1;
  if constexpr (std::is_same_v<typename Exec::memory_space, Kokkos::HostSpace>) {
    expected = plain_cholesky(matrix, info);
    ASSERT_EQ(info, 0);
  }
  for (int count = 1; count <= 4; ++count) {
    for (int streams = 1; streams <= 4; ++streams) {
      std::size_t const least = smallest_budget_bytes(n, nb, matrix.map(), streams);
      for (Variant const variant : enum_values<Variant>) {
        for (std::size_t const budget : {least, 2 * least, std::size_t(1) << 28}) {
          SCOPED_TRACE(std::string(name_of(variant)) + " on " + std::to_string(count) +
                       " devices, " + std::to_string(streams) + " streams, " +
                       std::to_string(budget) + " bytes");
          CholeskyOptions options;
          options.variant = variant;
          options.streams = streams;
          options.column_block = column_block;
          auto const factor = cholesky(devices_of<Exec>(count, budget), make(), options);
          ASSERT_TRUE(factor.info().ok());
          HostMatrix const L = stored_matrix(factor.matrix());
          if (expected.size() == 0) expected = L;
          ASSERT_TRUE(same_bits(L, expected));
          for (auto const& device : factor.report().devices) ASSERT_LE(device.budget_bytes, budget);
        }
      }
    }
  }
}
TYPED_TEST(OocCholesky, HasTheSameBitsWhateverTheMachineInFp64) {
  gives_the_same_bits<TypeParam>(61, 8, 0.1, {});
}
TYPED_TEST(OocCholesky, HasTheSameBitsWhateverTheMachineInFourPrecisions) {
  gives_the_same_bits<TypeParam>(200, 16, 0.02627, PrecisionRule{1e-5});
}
TYPED_TEST(OocCholesky, HasTheSameBitsWhateverTheMachineInSplitTiles) {
  PrecisionRule rule{1e-6};
  rule.precisions = {Precision::fp64, Precision::fp16_split, Precision::fp16};
  gives_the_same_bits<TypeParam>(100, 8, 0.05, rule);
}
TYPED_TEST(OocCholesky, HasTheSameBitsInTwoPrecisionsAndBlocksOfColumns) {
  PrecisionRule rule{1e-6};
  rule.precisions = {Precision::fp64, Precision::fp32};
  gives_the_same_bits<TypeParam>(61, 8, 0.1, rule, 3);
}

// ||A - D^-1 L L^T D^-1||_F <= c n eps ||A||_F, at the sizes where tiles begin and end.
template <class Exec>
void reconstructs_the_matrix() {
  Exec const exec;
  for (std::int64_t const n : {0, 1, 15, 16, 17, 33, 100}) {
    SCOPED_TRACE(n);
    HostMatrix const A = matern_matrix(n, 0.1, 4);
    auto const factor =
        cholesky(devices_of<Exec>(2, 0), TileMatrix<Exec>::from_view(exec, on_space<Exec>(A), 16));
    ASSERT_TRUE(factor.info().ok());
    HostMatrix const L = stored_matrix(factor.matrix());
    auto const& d = factor.matrix().scaling();
    double error = 0, norm = 0, log_det = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      auto const column = static_cast<std::size_t>(j);
      log_det += 2 * std::log(L(j, j) / d[column]);
      for (std::int64_t i = j; i < n; ++i) {
        long double sum = 0;
        for (std::int64_t k = 0; k <= j; ++k) sum += static_cast<long double>(L(i, k)) * L(j, k);
        double const exact = A(i, j) * d[static_cast<std::size_t>(i)] * d[column];
        error += std::pow(static_cast<double>(sum) - exact, 2);
        norm += exact * exact;
      }
    }
    EXPECT_LE(std::sqrt(error), static_cast<double>(n) * 0x1p-52 * std::sqrt(norm));
    EXPECT_NEAR(factor.log_determinant(), log_det, 1e-12 * static_cast<double>(n));
  }
}
TYPED_TEST(OocCholesky, ReconstructsMatricesOfAnyOrder) { reconstructs_the_matrix<TypeParam>(); }

template <class Exec>
void reports_the_minor() {
  Exec const exec;
  std::int64_t const n = 50, nb = 8;
  for (std::int64_t bad = 0; bad < n; bad += (bad % nb == 0 || bad % nb == nb - 2) ? 1 : 5) {
    HostMatrix const A = matern_matrix(n, 0.1);
    A(bad, bad) = bad % 2 == 0 ? -1.0 : 0.01;  // the first has no minor, nor has the second
    for (int const count : {1, 3}) {
      CholeskyOptions options;
      options.streams = 2;
      auto const factor =
          cholesky(devices_of<Exec>(count, 0),
                   TileMatrix<Exec>::from_view(exec, on_space<Exec>(A), nb), options);
      EXPECT_EQ(factor.info().order(), bad + 1);
      EXPECT_TRUE(throws_with<ValueError>("minor of order " + std::to_string(bad + 1),
                                          [&] { (void)factor.log_determinant(); }));
    }
  }
}
TYPED_TEST(OocCholesky, ReportsTheGlobalOrderOfTheFailingMinor) { reports_the_minor<TypeParam>(); }

template <class Exec>
void solves_to_fp64(PrecisionRule const& rule, dense::Refine refine) {
  Exec const exec;
  std::int64_t const n = 300, nrhs = 3;
  HostMatrix const A = matern_matrix(n, 0.05, 2), X = known_solution(n, nrhs);
  auto const device = on_space<Exec>(A);
  auto factor =
      cholesky(devices_of<Exec>(2, 0), TileMatrix<Exec>::from_view(exec, device, 32, rule));
  ASSERT_TRUE(factor.info().ok());
  using Block = typename TileFactor<Exec>::Block;
  Block const Y("strata::test::Y", n, nrhs), B("strata::test::B", n, nrhs);
  factor.apply(exec, on_space<Exec>(X), B);
  HostMatrix const product = HostMatrix("strata::test::product", n, nrhs);
  Kokkos::deep_copy(product, B);
  for (std::int64_t c = 0; c < nrhs; ++c)
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = 0, size = 0;
      for (std::int64_t k = 0; k < n; ++k) {
        sum += A(i, k) * X(k, c);
        size += std::abs(A(i, k) * X(k, c));
      }
      ASSERT_NEAR(product(i, c), sum, 1e-13 * size);
    }
  auto const report = factor.solve(exec, B, Y, {.refine = refine});
  EXPECT_TRUE(report.converged);
  EXPECT_LE(report.backward_error, std::sqrt(300.0) * 0x1p-52);
  HostMatrix const Z = HostMatrix("strata::test::Z", n, nrhs);
  Kokkos::deep_copy(Z, Y);
  for (std::int64_t c = 0; c < nrhs; ++c)
    for (std::int64_t i = 0; i < n; ++i)
      EXPECT_NEAR(Z(i, c), X(i, c), 1e-9 * (1 + std::abs(X(i, c))));
}
TYPED_TEST(OocCholesky, SolvesToFp64AccuracyFromAnyPrecision) {
  solves_to_fp64<TypeParam>({}, dense::Refine::Classical);
  solves_to_fp64<TypeParam>(PrecisionRule{1e-4}, dense::Refine::Cg);
  solves_to_fp64<TypeParam>(PrecisionRule{1e-4}, dense::Refine::Gmres);
  using P = Precision;
  solves_to_fp64<TypeParam>(PrecisionRule{1e-5, {P::fp64, P::fp16_split, P::fp16}, true},
                            dense::Refine::Gmres);
}

/// A X = B of which X is known, and A is factored.
template <class Exec>
struct SolvableSystem {
  using Block = typename TileFactor<Exec>::Block;
  static constexpr std::int64_t n = 77;

  explicit SolvableSystem(std::int64_t columns)
      : X(known_solution(n, columns)),
        factor(cholesky(
            devices_of<Exec>(1, 0),
            TileMatrix<Exec>::from_view(exec, on_space<Exec>(matern_matrix(n, 0.1, 2)), 16))),
        B("strata::test::B", n, columns) {
    factor.apply(exec, on_space<Exec>(X), B);
  }

  Exec exec;
  HostMatrix X;
  TileFactor<Exec> factor;
  Block B;
};

// Row-major with padding, single columns of one, a const B, and in place.
template <class Exec>
void solves_views_of_any_layout() {
  SolvableSystem<Exec> system(2);
  Exec const& exec = system.exec;
  auto& factor = system.factor;
  auto const& B = system.B;
  constexpr std::int64_t n = SolvableSystem<Exec>::n;
  typename TileFactor<Exec>::Block const Y("strata::test::Y", n, 2);
  EXPECT_TRUE(factor.solve(exec, B, Y).converged);
  auto const expected = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), Y);

  using Padded = Kokkos::View<double**, Kokkos::LayoutRight, typename Exec::memory_space>;
  Padded const padded("strata::test::padded", n, 5);
  auto const rows = Kokkos::subview(padded, Kokkos::ALL, std::pair(1, 3));
  auto const row_major = [&] {
    Padded const dense("strata::test::dense", n, 5);
    Kokkos::deep_copy(dense, padded);
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), dense);
  };
  Kokkos::deep_copy(exec, padded, 7.0);
  Kokkos::View<double const**, Kokkos::LayoutLeft, typename Exec::memory_space> const constant = B;
  EXPECT_TRUE(factor.solve(exec, constant, rows).converged);
  auto host = row_major();
  for (std::int64_t i = 0; i < n; ++i) {
    EXPECT_EQ(host(i, 0), 7);
    EXPECT_EQ(host(i, 3), 7);
    for (std::int64_t c = 0; c < 2; ++c) EXPECT_EQ(host(i, 1 + c), expected(i, c));
  }
  auto const column = Kokkos::subview(padded, Kokkos::ALL, 4);
  Kokkos::deep_copy(exec, column, Kokkos::subview(B, Kokkos::ALL, 1));
  EXPECT_TRUE(factor.solve(exec, column, column).converged);
  host = row_major();
  for (std::int64_t i = 0; i < n; ++i) EXPECT_NEAR(host(i, 4), expected(i, 1), 1e-10);
  EXPECT_TRUE(throws_with<ShapeError>("solve: B is 77 x 2, X 77 x 5, A of order 77",
                                      [&] { (void)factor.solve(exec, B, padded); }));
}
TYPED_TEST(OocCholesky, SolvesViewsOfAnyLayout) { solves_views_of_any_layout<TypeParam>(); }

// v'v for v = L^-1 D b is the quadratic form b' A^-1 b, and D L^-T v solves.
template <class Exec>
void half_solves() {
  SolvableSystem<Exec> system(1);
  Exec const& exec = system.exec;
  auto const& X = system.X;
  auto& factor = system.factor;
  auto const& V = system.B;
  constexpr std::int64_t n = SolvableSystem<Exec>::n;
  double form = 0;
  HostMatrix const host("strata::test::host", n, 1);
  Kokkos::deep_copy(host, V);
  for (std::int64_t i = 0; i < n; ++i) form += host(i, 0) * X(i, 0);
  factor.half_solve(exec, Op::NoTrans, V);
  Kokkos::deep_copy(host, V);
  double squares = 0;
  for (std::int64_t i = 0; i < n; ++i) squares += host(i, 0) * host(i, 0);
  EXPECT_NEAR(squares, form, 1e-11 * form);
  factor.half_solve(exec, Op::Trans, V);
  Kokkos::deep_copy(host, V);
  for (std::int64_t i = 0; i < n; ++i) EXPECT_NEAR(host(i, 0), X(i, 0), 1e-10);
  typename TileFactor<Exec>::Block const W("strata::test::W", n + 1, 1);
  EXPECT_TRUE(throws_with<ShapeError>("78 rows, the matrix has 77",
                                      [&] { factor.half_solve(exec, Op::NoTrans, W); }));
  EXPECT_TRUE(throws_with<ShapeError>("solve: B is 77 x 1, X 78 x 1, A of order 77",
                                      [&] { (void)factor.solve(exec, V, W); }));
  EXPECT_TRUE(throws_with<ShapeError>("apply: X is 78 x 1", [&] { factor.apply(exec, W, V); }));
}
TYPED_TEST(OocCholesky, SolvesWithEitherHalf) { half_solves<TypeParam>(); }

template <class Exec>
void corrects_the_log_determinant() {
  Exec const exec;
  std::int64_t const n = 256;
  auto const generator =
      matern_tiles(exec, MaternCovariance{2, 0.05, 0.5, 0}, synthetic_locations(n));
  auto const exact =
      cholesky(devices_of<Exec>(1, 0), TileMatrix<Exec>::generate(exec, n, 32, generator));
  auto const low =
      cholesky(devices_of<Exec>(1, 0),
               TileMatrix<Exec>::generate(exec, n, 32, generator, PrecisionRule{1e-3}));
  ASSERT_TRUE(low.info().ok());
  double const error = std::abs(low.log_determinant() - exact.log_determinant());
  auto const estimate = low.log_determinant(exec, {});
  EXPECT_GT(error, 1e-6);
  EXPECT_LE(std::abs(estimate.value - exact.log_determinant()), estimate.error());
  EXPECT_GT(low.report().operand_excess, 0);
  EXPECT_EQ(exact.report().operand_excess, 0);
}
TYPED_TEST(OocCholesky, CorrectsTheLogDeterminantOfALowFactor) {
  corrects_the_log_determinant<TypeParam>();
}

// Of c A no less than of A, whose rounding is the same, also where c A is not equilibrated.
template <class Exec>
void states_the_rounding_of_a_matrix_of_any_size() {
  Exec const exec;
  auto const error_of = [&](double c, bool equilibrate) {
    auto const generator =
        matern_tiles(exec, MaternCovariance{c, 0.5, 1.5, 0}, synthetic_locations(61));
    TileMatrixOptions options;
    options.equilibrate = equilibrate;
    auto const factor =
        cholesky(devices_of<Exec>(1), TileMatrix<Exec>::generate(exec, 61, 8, generator, options));
    EXPECT_TRUE(factor.info().ok());
    return factor.rounding_error(exec);
  };
  double const plain = error_of(1, true);
  EXPECT_LT(plain, 1e-6);
  for (double const c : {0x1p-20, 1.0, 0x1p+20}) {
    EXPECT_GE(error_of(c, false), plain) << c;
    EXPECT_GE(error_of(c, true), plain) << c;
  }
}
TYPED_TEST(OocCholesky, StatesTheRoundingOfAMatrixOfAnySize) {
  states_the_rounding_of_a_matrix_of_any_size<TypeParam>();
}

}  // namespace
