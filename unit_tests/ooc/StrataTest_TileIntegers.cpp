// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Tiles in fp64 whose products are made of integers.
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "core/io/StrataTest_TemporaryFolder.hpp"
#include "ooc/StrataTest_PlainTiles.hpp"
#include <core/integers/Strata_IntegerBlas.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/schedule/Strata_TilePlan.hpp>
#include <ooc/tiles/detail/Strata_Checkpoint.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::geostat;
using namespace strata::test;

template <class Exec>
class TileIntegers : public testing::Test {};
TYPED_TEST_SUITE(TileIntegers, Spaces, SpaceNames);

// Rows of L so far as integers, by a host's kernels and with all moduli.
class PlainIntegers {
 public:
  using Host = Kokkos::DefaultHostExecutionSpace;

  PlainIntegers(HostMatrix const& L, std::vector<double> const& diagonal, int moduli)
      : L_(L), moduli_(moduli), blas_(Host(), false), units_(diagonal.size()) {
    blas_.bound_units(diagonal.data(), static_cast<std::int64_t>(diagonal.size()), moduli,
                      units_.data());
  }

  /// C -= L(row.., 0..depth) L(col.., 0..depth)^T in one sum.
  void update(MatrixRef<Kokkos::HostSpace> const& C, std::int64_t row, std::int64_t col,
              std::int64_t depth) {
    if (depth == 0) return;
    auto const padded = [](std::int64_t count) { return (count + 15) / 16 * 16; };
    std::int64_t const ld = padded(depth);
    std::vector<std::int8_t> a(static_cast<std::size_t>(moduli_ * padded(C.rows) * ld)),
        b(static_cast<std::size_t>(moduli_ * padded(C.cols) * ld));
    std::vector<std::int32_t> sums(
        static_cast<std::size_t>(moduli_ * padded(C.rows) * padded(C.cols)));
    ResiduePlanes<Kokkos::HostSpace> const A{a.data(), C.rows, depth, ld, ld * padded(C.rows),
                                             moduli_},
        B{b.data(), C.cols, depth, ld, ld * padded(C.cols), moduli_};
    ModularSums<Kokkos::HostSpace> X{
        sums.data(), C.rows, C.cols, padded(C.rows), padded(C.rows) * padded(C.cols), moduli_};
    auto const all = matrix_ref(L_);
    blas_.residues(all.block(row, 0, C.rows, depth), Op::NoTrans, &units_[std::size_t(row)], A);
    blas_.residues(all.block(col, 0, C.cols, depth), Op::NoTrans, &units_[std::size_t(col)], B);
    blas_.multiply(A, B, X, false);
    SumScaling scaling{-1, 1};
    if (row == col) scaling.part = strata::Triangle::Lower;
    blas_.combine(X, &units_[std::size_t(row)], &units_[std::size_t(col)], scaling, C);
  }

 private:
  HostMatrix L_;
  int moduli_;
  IntegerBlas<Host> blas_;
  std::vector<RowUnit> units_;
};

/// The factor of a matrix in fp64 tiles: each tile has one sum of integers, of all columns before.
template <class Exec>
HostMatrix plain_factor(TileMatrix<Exec> const& A, int moduli) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  HostMatrix const L = stored_matrix(A);
  std::int64_t const n = A.order(), nb = A.tile_size();
  std::vector<double> diagonal;
  for (std::int64_t i = 0; i < n; ++i) diagonal.push_back(L(std::size_t(i), std::size_t(i)));
  PlainIntegers products(L, diagonal, moduli);
  LeafBlas<Host> blas{Host()};
  Kokkos::View<std::int64_t, Kokkos::HostSpace> const info("strata::test::info");
  auto const all = matrix_ref(L);
  for (std::int64_t j = 0; j < n; j += nb)
    for (std::int64_t i = j; i < n; i += nb) {
      std::int64_t const rows = std::min(nb, n - i), cols = std::min(nb, n - j);
      PlainTile C(Precision::fp64, rows, cols);
      blas.convert(Op::NoTrans, all.block(i, j, rows, cols), C.matrix());
      products.update(C.matrix(), i, j, j);
      PlainTile const pivot = [&] {
        PlainTile copy(Precision::fp64, cols, cols);
        blas.convert(Op::NoTrans, all.block(j, j, cols, cols), copy.matrix());
        return copy;
      }();
      if (i == j)
        blas.potrf(Uplo::Lower, C.matrix(), j, info);
      else
        blas.trsm(Side::Right, Uplo::Lower, Op::Trans, Diag::NonUnit, 1, pivot.matrix(),
                  C.matrix());
      blas.convert(Op::NoTrans, C.matrix(), all.block(i, j, rows, cols));
    }
  return L;
}

template <class Exec>
void has_the_same_bits(std::int64_t n, std::int64_t nb, double range, PrecisionRule const& rule) {
  auto const make = [&] { return field<Exec>(n, nb, rule, range); };
  auto const matrix = make();
  int const moduli = matrix.map().moduli();
  ASSERT_GT(moduli, 0);
  HostMatrix expected;
  if (!matrix.map().holds(Precision::fp32) && strata::runs_on_host<Exec>)
    expected = plain_factor(matrix, moduli);
  for (int count = 1; count <= 3; ++count)
    for (int const streams : {1, 3}) {
      std::size_t const least = smallest_budget_bytes(n, nb, matrix.map(), streams);
      for (Variant const variant : enum_values<Variant>)
        for (std::size_t const budget : {least, 2 * least, std::size_t(1) << 28, std::size_t(0)}) {
          SCOPED_TRACE(strata::detail::message(name_of(variant), " on ", count, " devices, ",
                                               streams, " streams, ", budget, " bytes"));
          CholeskyOptions options;
          options.variant = variant;
          options.streams = streams;
          options.column_block = 1;
          auto const factor = cholesky(devices_of<Exec>(count, budget), make(), options);
          ASSERT_TRUE(factor.info().ok());
          ASSERT_EQ(factor.report().attempts.size(), 1u);
          HostMatrix const L = stored_matrix(factor.matrix());
          if (expected.size() == 0) expected = L;
          ASSERT_TRUE(same_bits(L, expected));
          for (auto const& device : factor.report().devices)
            if (budget > 0) ASSERT_LE(device.budget_bytes, budget);
        }
    }
}
TYPED_TEST(TileIntegers, HaveTheBitsOfOneSumWithAllModuliWhateverTheMachine) {
  has_the_same_bits<TypeParam>(61, 8, 0.1, integers(14));
  auto const weak = field<TypeParam>(100, 17, integers(14), 0.01).map();
  ASSERT_LT(moduli_of(weak.at(5, 1)), 14);  // with products
  has_the_same_bits<TypeParam>(100, 17, 0.01, integers(14));
  has_the_same_bits<TypeParam>(49, 16, 0.1, integers(6));
}
TYPED_TEST(TileIntegers, HaveTheSameBitsBesideTilesInLowPrecision) {
  has_the_same_bits<TypeParam>(120, 10, 0.02627, integers(14, 1e-5));
}

// Columns that are fetched as fp64 tiles become integers on the device: a run moves the bytes of
// fp64's, but for what the integers take of the pool's room.
TYPED_TEST(TileIntegers, MoveTheBytesOfFp64) {
  CholeskyOptions options;
  options.streams = 1;
  auto const devices = devices_of<TypeParam>(1, std::size_t(1) << 28);
  auto const fp64 = cholesky(devices, field<TypeParam>(96, 8), options);
  auto const with_integers = cholesky(devices, field<TypeParam>(96, 8, integers(14)), options);
  EXPECT_EQ(with_integers.report().bytes_in(), fp64.report().bytes_in());
  EXPECT_EQ(with_integers.report().bytes_out(), fp64.report().bytes_out());
}

// The largest |H - L L^T|_ij / (h_ii h_jj)^(1/2), in long double.
template <class Exec>
double largest_error(TileMatrix<Exec> const& A, HostMatrix const& L) {
  HostMatrix const H = stored_matrix(A);
  double largest = 0;
  for (std::size_t j = 0; j < L.extent(0); ++j)
    for (std::size_t i = j; i < L.extent(0); ++i) {
      long double sum = H(i, j);
      for (std::size_t k = 0; k <= j; ++k) sum -= static_cast<long double>(L(i, k)) * L(j, k);
      largest =
          std::max(largest, std::abs(static_cast<double>(sum)) / std::sqrt(H(i, i) * H(j, j)));
    }
  return largest;
}

// Their standard deviation is at most 0.41 theta: 4 of them are passed by none of 2e4 entries.
TYPED_TEST(TileIntegers, RoundAsTheirUnitsSay) {
  std::int64_t const n = 200, nb = 24;
  auto const fp64 = cholesky(devices_of<TypeParam>(1), field<TypeParam>(n, nb, {}, 0.2));
  double const of_fp64 =
      largest_error(field<TypeParam>(n, nb, {}, 0.2), stored_matrix(fp64.matrix()));
  for (int const moduli : {6, 7, 8, 9, 10, 11, 12, 13, 14, 16}) {
    auto const rule = integers(moduli);
    CholeskyOptions options;
    options.ladder = false;
    auto const factor =
        cholesky(devices_of<TypeParam>(1), field<TypeParam>(n, nb, rule, 0.2), options);
    ASSERT_TRUE(factor.info().ok()) << moduli;
    EXPECT_EQ(factor.report().moduli, moduli);
    EXPECT_EQ(factor.matrix().map().is_mixed(), moduli < 14);
    double const error =
        largest_error(field<TypeParam>(n, nb, rule, 0.2), stored_matrix(factor.matrix()));
    double const theta = traits(integer_precision(moduli)).unit_roundoff;
    if (moduli >= 14) {
      EXPECT_LE(error, 2 * of_fp64) << moduli;
    } else {
      EXPECT_LE(error, 4.5 * 0.41 * theta + 2 * of_fp64) << moduli;
      EXPECT_GE(error, theta / 8) << moduli;
    }
  }
}

// Where A says nothing of what fills in, too few moduli are taken. This is seen, and all are.
template <class Exec>
void takes_all_where_sums_outgrow(bool has_folder) {
  Exec const exec;
  std::int64_t const nb = 16, tiles = 5;
  HostMatrix const A = matrix_that_fills_in(nb);
  auto const make = [&](PrecisionRule const& rule) {
    return TileMatrix<Exec>::from_view(exec, on_space<Exec>(A), nb, rule);
  };
  ASSERT_LT(moduli_of(make(integers(14)).map().at(4, 3)), 14);
  CholeskyOptions options;
  TemporaryFolder const folder;
  if (has_folder) options.checkpoint.folder = folder.path();
  auto const factor = cholesky(devices_of<Exec>(1), make(integers(14)), options);
  ASSERT_TRUE(factor.info().ok());
  auto const& attempts = factor.report().attempts;
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].outcome, Outcome::Overflowed);
  EXPECT_EQ(attempts[1].outcome, Outcome::Held);
  EXPECT_EQ(attempts[1].rung, Rung::AsAsked);
  EXPECT_EQ(factor.report().moduli_histogram[14 - least_moduli], 10);
  EXPECT_EQ(factor.report().first_column, 0);  // none is another attempt's, though bits may be
  if (has_folder) {
    auto const again = cholesky(devices_of<Exec>(1), make(integers(14)), options);
    EXPECT_EQ(again.report().attempts.size(), 2u);
    EXPECT_EQ(again.report().first_column, tiles);
    EXPECT_EQ(ooc::detail::parts_in(folder / "all_moduli", tiles).size(), tiles);
    EXPECT_LT(ooc::detail::parts_in(folder.path(), tiles).size(), tiles);
  }
  auto all = integers(14);
  all.fewer_moduli = false;
  auto const expected = cholesky(devices_of<Exec>(1), make(all));
  EXPECT_TRUE(same_bits(stored_matrix(factor.matrix()), stored_matrix(expected.matrix())));
  options.ladder = false;  // which takes all at once
  options.checkpoint.folder = "";
  auto const at_once = cholesky(devices_of<Exec>(1), make(integers(14)), options);
  EXPECT_TRUE(same_bits(stored_matrix(at_once.matrix()), stored_matrix(expected.matrix())));
  EXPECT_EQ(at_once.report().moduli_histogram, expected.report().moduli_histogram);
}
TYPED_TEST(TileIntegers, TakeAllModuliWhereTheirSumsOutgrowFew) {
  takes_all_where_sums_outgrow<TypeParam>(false);
}
TYPED_TEST(TileIntegers, KeepNoColumnWhoseSumsOutgrewTheirModuli) {
  takes_all_where_sums_outgrow<TypeParam>(true);
}

// Rows that outgrow their norm would be taken for others modulo P, and the matrix for definite.
template <class Exec>
void finds_the_minor(double entry) {
  Exec const exec;
  std::int64_t const n = 50, nb = 8;
  for (std::int64_t const bad : {8, 23, 49}) {
    HostMatrix const A = matern_matrix(n, 0.1);
    A(bad, 3) = A(3, bad) = entry;
    for (int const moduli : {6, 9, 14}) {
      CholeskyOptions options;
      options.ladder = false;
      auto const factor = cholesky(
          devices_of<Exec>(2),
          TileMatrix<Exec>::from_view(exec, on_space<Exec>(A), nb, integers(moduli)), options);
      EXPECT_EQ(factor.info().order(), bad + 1) << moduli << " moduli, entry " << entry;
    }
    auto const climbed =
        cholesky(devices_of<Exec>(2),
                 TileMatrix<Exec>::from_view(exec, on_space<Exec>(A), nb, integers(14)));
    EXPECT_EQ(climbed.info().order(), bad + 1);
    EXPECT_EQ(climbed.report().rung, Rung::Fp64);
  }
}
TYPED_TEST(TileIntegers, FindTheMinorOfARowThatOutgrowsItsNorm) {
  for (double const entry : {100.0, 1e8, 1e150}) finds_the_minor<TypeParam>(entry);
}

template <class Exec>
void has_the_log_determinant(double range, double nu, PrecisionRule const& rule) {
  Exec const exec;
  std::int64_t const n = 400, nb = 32;
  auto const tiles =
      matern_tiles(exec, MaternCovariance{1, range, nu, 1e-6}, synthetic_locations(n));
  auto const make = [&](PrecisionRule const& one) {
    return TileMatrix<Exec>::generate(exec, n, nb, tiles, one);
  };
  auto const fp64 = cholesky(devices_of<Exec>(1), make({})),
             factor = cholesky(devices_of<Exec>(1), make(rule));
  ASSERT_TRUE(fp64.info().ok() && factor.info().ok());
  ASSERT_EQ(factor.report().rung, Rung::AsAsked);
  double const exact = fp64.log_determinant(), bar = fp64.rounding_error(exec);
  if (factor.matrix().map().is_mixed()) {
    auto const found = factor.log_determinant(exec, {});
    EXPECT_LE(std::abs(found.value - exact), found.error() + bar) << range;
    return;
  }
  HostMatrix const L = stored_matrix(fp64.matrix());
  double sum = 0;
  for (std::size_t i = 0; i < L.extent(0); ++i) sum += std::abs(2 * std::log(L(i, i)));
  EXPECT_LE(std::abs(factor.log_determinant() - exact), bar + factor.rounding_error(exec));
  EXPECT_LE(std::abs(factor.log_determinant() - exact), 1e-13 * sum) << range;
}
TYPED_TEST(TileIntegers, HaveFp64sLogDeterminant) {
  for (auto const& [range, nu] : {std::pair{0.02, 0.5}, {0.2, 0.5}, {0.05, 1.5}})
    for (PrecisionRule const& rule : {integers(14), layered("fp64_int8"), layered("int8x15")})
      has_the_log_determinant<TypeParam>(range, nu, rule);
}
TYPED_TEST(TileIntegers, StateTheErrorOfALogDeterminantWithFewModuli) {
  for (double const range : {0.02, 0.2})
    for (PrecisionRule const& rule :
         {integers(8), layered("int8x10"), integers(14, 1e-8), integers(14, 1e-5)})
      has_the_log_determinant<TypeParam>(range, 0.5, rule);
}

// Solves are refined to fp64 whatever the moduli are.
template <class Exec>
void solves(PrecisionRule const& rule) {
  Exec const exec;
  std::int64_t const n = 300;
  HostMatrix const A = matern_matrix(n, 0.05, 2), X = known_solution(n, 2);
  auto factor =
      cholesky(devices_of<Exec>(1), TileMatrix<Exec>::from_view(exec, on_space<Exec>(A), 32, rule));
  HostMatrix const B("strata::test::B", n, 2);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < 2; ++j)
      for (std::int64_t k = 0; k < n; ++k) B(i, j) += A(i, k) * X(k, j);
  auto const b = on_space<Exec>(B), x = on_space<Exec>(B);
  auto const report = factor.solve(exec, b, x);
  EXPECT_TRUE(report.converged);
  EXPECT_LE(report.backward_error, 1e-15);
}
TYPED_TEST(TileIntegers, SolveToFp64) {
  for (int const moduli : {6, 8, 14}) solves<TypeParam>(integers(moduli));
}

TEST(IntegerMaps, MapsTakeFewerModuliForSmallTiles) {
  TileNorms norms{4, std::vector<double>(10, 1.0), std::vector<double>(4, 1.0)};
  for (std::int64_t k = 0; k < 3; ++k) norms.squares[tile_number(3, k, 4)] = 1e-40;
  auto rule = integers(14);
  auto const map = precision_map(norms, rule);
  EXPECT_EQ(map.to_text(), "D\naD\naiD\nabbD\n");  // of the first column there are no products
  EXPECT_FALSE(map.is_mixed());
  EXPECT_EQ(map.moduli(), 14);
  auto const count = map.moduli_histogram();
  EXPECT_EQ(std::accumulate(count.begin(), count.end(), std::int64_t{0}), 6);
  rule.fewer_moduli = false;
  EXPECT_EQ(precision_map(norms, rule).to_text(), "D\niD\niiD\niiiD\n");
  EXPECT_EQ(precision_map(norms, rule).hash(), map.hash());  // the integers are the same
  EXPECT_NE(precision_map(norms, integers(13)).hash(), map.hash());
}

TEST(IntegerMaps, RulesRefuseTwoUnits) {
  EXPECT_TRUE(throws_with<ValueError>("layers of 9 and of 14 moduli",
                                      [] { layered("int8x9,int8x14").check(); }));
  layered("int8x9,fp64").check();
  auto rule = integers(9, 1e-3);
  rule.precisions.push_back(Precision::int8x7);
  EXPECT_THROW(rule.check(), ValueError);
}

}  // namespace
