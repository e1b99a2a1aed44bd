// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What follows a breakdown that only the rounding of tiles has caused.
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "core/io/StrataTest_TemporaryFolder.hpp"
#include "ooc/StrataTest_PlainTiles.hpp"
#include <dense/tree/Strata_Layers.hpp>
#include <geostat/Strata_CovarianceFactor.hpp>
#include <geostat/Strata_MaternTiles.hpp>
#include <ooc/schedule/Strata_Schedule.hpp>
#include <ooc/tiles/detail/Strata_MapLadder.hpp>

#include <gtest/gtest.h>

#include <filesystem>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::geostat;
using namespace strata::test;

template <class Exec>
class OocLadder : public testing::Test {};
TYPED_TEST_SUITE(OocLadder, Spaces, SpaceNames);

constexpr std::int64_t order = 192, tile = 16;

// A smooth field: its smallest eigenvalue is far below what a coarse rule changes the matrix by.
template <class Exec>
TileGenerator<Exec> smooth_field(Exec const& exec, double nu = 1.5) {
  return matern_tiles(exec, MaternCovariance{1, 0.3, nu, 0}, synthetic_locations(order));
}

template <class Exec>
TileMatrix<Exec> matrix_by(PrecisionRule const& rule, double nu = 1.5) {
  Exec const exec;
  return TileMatrix<Exec>::generate(exec, order, tile, smooth_field(exec, nu), rule);
}

// The factor holds on a rung above the first, and has the bits of the rung's rule.
template <class Exec>
void climbs_to(double nu, PrecisionRule const& rule, Rung rung, std::size_t attempts) {
  auto const factor = cholesky(make_devices(1), matrix_by<Exec>(rule, nu));
  auto const& report = factor.report();
  ASSERT_TRUE(factor.info().ok());
  EXPECT_EQ(name_of(report.rung), name_of(rung));
  ASSERT_EQ(report.attempts.size(), attempts);
  for (std::size_t k = 0; k < attempts; ++k) {
    auto const& attempt = report.attempts[k];
    EXPECT_EQ(attempt.info > 0, k + 1 < attempts);
    EXPECT_EQ(attempt.rung == Rung::AsAsked, k == 0);
    EXPECT_EQ(attempt.fill_seconds > 0, k > 0);
    if (k == 0) continue;
    EXPECT_LT(attempt.accuracy, report.attempts[k - 1].accuracy);
    EXPECT_NE(attempt.histogram, report.attempts[k - 1].histogram);
  }
  EXPECT_EQ(report.attempts.back().histogram, report.histogram);
  EXPECT_EQ(factor.matrix().rule().accuracy, report.attempts.back().accuracy);
  PrecisionRule held = rule;
  held.accuracy = report.attempts.back().accuracy;
  auto const fresh = cholesky(make_devices(1), matrix_by<Exec>(held, nu));
  EXPECT_EQ(fresh.report().rung, Rung::AsAsked);
  EXPECT_EQ(fresh.report().attempts.size(), 1u);
  EXPECT_TRUE(same_bits(stored_matrix(factor.matrix()), stored_matrix(fresh.matrix())));
}
TYPED_TEST(OocLadder, GoesOnWithAStricterAccuracy) {
  climbs_to<TypeParam>(1.5, PrecisionRule{1e-2}, Rung::StricterAccuracy, 2);
}
TYPED_TEST(OocLadder, EndsInFp64) { climbs_to<TypeParam>(3.5, PrecisionRule{1e-2}, Rung::Fp64, 3); }

TYPED_TEST(OocLadder, IsNotNeededWhereTheFirstRungHolds) {
  auto const factor = cholesky(make_devices(1), matrix_by<TypeParam>(PrecisionRule{1e-4}));
  EXPECT_TRUE(factor.info().ok());
  EXPECT_EQ(factor.report().rung, Rung::AsAsked);
  ASSERT_EQ(factor.report().attempts.size(), 1u);
  EXPECT_EQ(factor.report().attempts[0].accuracy, 1e-4);
}

TYPED_TEST(OocLadder, CanBeLeftOut) {
  CholeskyOptions options;
  options.ladder = false;
  auto const factor = cholesky(make_devices(1), matrix_by<TypeParam>(PrecisionRule{1e-2}), options);
  EXPECT_GT(factor.info().order(), 0);
  EXPECT_EQ(factor.report().rung, Rung::AsAsked);
  ASSERT_EQ(factor.report().attempts.size(), 1u);
  EXPECT_EQ(factor.report().attempts[0].info, factor.info().order());
}

// Whatever the first rung took for the minor, the last tells A's.
template <class Exec>
void tells_the_minor_of_an_indefinite_matrix() {
  Exec const exec;
  for (std::int64_t const bad : {3, 40, 99}) {
    HostMatrix const A = matern_matrix(100, 0.3);
    A(bad, bad) = 0.01;
    for (int const devices : {1, 3}) {
      auto const factor =
          cholesky(make_devices(devices),
                   TileMatrix<Exec>::from_view(exec, on_space<Exec>(A), tile, PrecisionRule{1e-3}));
      EXPECT_EQ(factor.info().order(), bad + 1);
      EXPECT_EQ(factor.report().rung, Rung::Fp64);
      EXPECT_GE(factor.report().attempts.size(), 2u);
      EXPECT_GT(factor.report().attempts.front().info, 0);
      EXPECT_EQ(factor.report().attempts.back().info, bad + 1);
      EXPECT_EQ(factor.report().attempts.back().accuracy, 0);
    }
  }
}
TYPED_TEST(OocLadder, TellsTheMinorOfAnIndefiniteMatrix) {
  if (!std::is_same_v<typename TypeParam::memory_space, Kokkos::HostSpace>)
    GTEST_SKIP() << "three devices";
  tells_the_minor_of_an_indefinite_matrix<TypeParam>();
}

TYPED_TEST(OocLadder, RefusesARungThatExceedsTheMemory) {
  TypeParam const exec;
  TileMatrixOptions options{PrecisionRule{1e-2}};
  auto const first = matrix_by<TypeParam>(options.rule);
  options.max_bytes = first.report().bytes;
  auto matrix = TileMatrix<TypeParam>::generate(exec, order, tile, smooth_field(exec), options);
  EXPECT_TRUE(throws_with<MemoryError>(
      "with tiles below fp64, and the next rung of the ladder can't be had: tile matrix: n = 192",
      [&] { (void)cholesky(make_devices(1), std::move(matrix)); }));
}

// Each rung has its own columns, from which all of them are taken up.
TYPED_TEST(OocLadder, GoesOnFromTheCheckpointsOfItsRungs) {
  TemporaryFolder const folder;
  CholeskyOptions options;
  options.checkpoint.folder = folder.path();
  options.streams = 1;  // so that the columns that the breakdown leaves whole are always the same
  auto const whole = cholesky(make_devices(1), matrix_by<TypeParam>(PrecisionRule{1e-2}), options);
  std::int64_t kept = 0;
  for (auto const& entry : std::filesystem::directory_iterator(folder.path()))
    kept += entry.path().filename().string().starts_with("column_");
  EXPECT_GT(kept, 0);
  EXPECT_LE(kept * tile, whole.report().attempts[0].info);
  EXPECT_GE((kept + 2) * tile, whole.report().attempts[0].info);  // but the one behind the diagonal
  options.on_task = [&](Task const& task) {
    EXPECT_GE(task.col, kept) << "a column is made again";
  };
  auto const again = cholesky(make_devices(1), matrix_by<TypeParam>(PrecisionRule{1e-2}), options);
  EXPECT_EQ(again.report().first_column, order / tile);
  EXPECT_EQ(again.report().attempts.size(), whole.report().attempts.size());
  EXPECT_TRUE(same_bits(stored_matrix(again.matrix()), stored_matrix(whole.matrix())));
}

TYPED_TEST(OocLadder, RoundsAMatrixAnewAsIfMadeSo) {
  auto matrix = matrix_by<TypeParam>(PrecisionRule{1e-3});
  for (double const accuracy : {1e-6, 0.0, 1e-4}) {
    matrix.round_anew(PrecisionRule{accuracy});
    auto const fresh = matrix_by<TypeParam>(PrecisionRule{accuracy});
    EXPECT_EQ(matrix.hash(), fresh.hash());
    EXPECT_EQ(matrix.report().bytes, fresh.report().bytes);
    EXPECT_TRUE(same_bits(stored_matrix(matrix), stored_matrix(fresh)));
  }
  EXPECT_TRUE(
      throws_with<ValueError>("the accuracy is 2", [&] { matrix.round_anew(PrecisionRule{2}); }));
  EXPECT_EQ(matrix.rule().accuracy, 1e-4);
}

TYPED_TEST(OocLadder, LeavesAMatrixAsItIsThatItCantHold) {
  TypeParam const exec;
  TileMatrixOptions options{PrecisionRule{1e-2}};
  options.max_bytes = matrix_by<TypeParam>(options.rule).report().bytes;
  auto matrix = TileMatrix<TypeParam>::generate(exec, order, tile, smooth_field(exec), options);
  HostMatrix const before = stored_matrix(matrix);
  EXPECT_TRUE(throws_with<MemoryError>(std::to_string(options.max_bytes) + " are allowed",
                                       [&] { matrix.round_anew(PrecisionRule{}); }));
  EXPECT_TRUE(same_bits(stored_matrix(matrix), before));
  EXPECT_EQ(matrix.rule().accuracy, 1e-2);
}

// Of a map that is mixed, what changes no tile is left out, and fp64 is always last.
TEST(MapLadder, HasARungForEachMapThatDiffers) {
  TileNorms norms;
  norms.tiles = 2;
  auto const rungs = [&](double off, double accuracy) {
    norms.squares = {1, off * off, 1};
    norms.traces = {1, 1};
    std::vector<double> list;
    for (auto const& step : ooc::detail::map_ladder(norms, PrecisionRule{accuracy}))
      list.push_back(step.rule.accuracy);
    return list;
  };
  using List = std::vector<double>;
  EXPECT_EQ(rungs(1, 0), List{0});
  EXPECT_EQ(rungs(1, 1e-12), List{1e-12});                   // all is fp64
  EXPECT_EQ(rungs(1e-30, 1e-2), (List{1e-2, 0}));            // fp8 at all accuracies
  EXPECT_EQ(rungs(0.1, 1e-1), (List{1e-1, 1e-3, 1e-5, 0}));  // fp8, fp16, fp32
  EXPECT_EQ(rungs(0.1, 1e-7), (List{1e-7, 0}));              // fp32, which goes to fp64
}

std::vector<std::string> layers_of(std::vector<CholeskyAttempt> const& attempts) {
  std::vector<std::string> names;
  for (auto const& attempt : attempts)
    names.push_back(attempt.layers.empty() ? "fp64" : dense::LayerList(attempt.layers).name());
  return names;
}

TEST(MapLadder, PromotesLayers) {
  TileNorms const norms{4, std::vector<double>(10, 1.0), {1, 1, 1, 1}};
  auto const rungs = [&](char const* layers) {
    std::vector<std::string> names;
    for (auto const& [rung, rule] : ooc::detail::map_ladder(norms, layered(layers)))
      names.push_back(std::string(name_of(rung)) + ": " +
                      (rule.layers.empty() ? "fp64" : dense::LayerList(rule.layers).name()));
    return names;
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(rungs("fp64"), List{"as asked: fp64"});
  EXPECT_EQ(rungs("fp64,fp64,fp16"),
            List{"as asked: fp64,fp64,fp16"});  // 4 tile rows have two layers
  EXPECT_EQ(rungs("fp8_e4m3,fp32"), (List{"as asked: fp8_e4m3,fp32", "higher layers: fp16,fp64",
                                          "higher layers: fp32,fp64", "fp64: fp64"}));
}

// A field that is too smooth for its layers has the factor of those that hold, and a solution to
// fp64's backward error.
TYPED_TEST(OocLadder, GoesOnWithHigherLayers) {
  TypeParam const exec;
  for (auto const& [nu, layers] :
       {std::pair(0.5, "fp16x3,fp32"), std::pair(1.5, "fp8_e4m3,fp16"), std::pair(3.5, "fp16")}) {
    SCOPED_TRACE(layers);
    auto factor = cholesky(make_devices(1), matrix_by<TypeParam>(layered(layers), nu));
    ASSERT_TRUE(factor.info().ok());
    using Block = typename TileFactor<TypeParam>::Block;
    Block const B("strata::test::B", order, 2), X("strata::test::X", order, 2);
    Kokkos::deep_copy(B, 1.0);
    auto const solved = factor.solve(exec, B, X);
    EXPECT_TRUE(solved.converged);
    EXPECT_LE(solved.backward_error, std::sqrt(double(order)) * 0x1p-52);
    auto const& attempts = factor.report().attempts;
    EXPECT_EQ(layers_of({attempts.front()}).front(), dense::LayerList::parse(layers).name());
    EXPECT_EQ(attempts.front().accuracy, 0);
    EXPECT_EQ(attempts.size() == 1, nu == 0.5);
    if (nu == 3.5) {
      EXPECT_EQ(layers_of(attempts), (std::vector<std::string>{"fp16", "fp32", "fp64"}));
    }
  }
}

TYPED_TEST(OocLadder, IsInTheReportOfACovarianceFactor) {
  TypeParam const exec;
  CovarianceFactorOptions options(PrecisionRule{1e-2});
  options.tile_size = tile;
  MaternCovariance const covariance{1, 0.3, 1.5, 0};
  CovarianceFactor<TypeParam> const factor(exec, covariance, synthetic_locations(order), options);
  auto const& report = factor.report();
  EXPECT_TRUE(factor.info().ok());
  EXPECT_EQ(report.rung, Rung::StricterAccuracy);
  ASSERT_EQ(report.attempts.size(), 2u);
  EXPECT_EQ(report.tiles, report.attempts[1].histogram);
  EXPECT_GE(report.fill_seconds, report.attempts[1].fill_seconds);
  EXPECT_GE(report.factor_seconds,
            report.attempts[0].factor_seconds + report.attempts[1].factor_seconds);
}

}  // namespace
