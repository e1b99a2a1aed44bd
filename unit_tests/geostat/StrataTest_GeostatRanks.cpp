// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What several ranks find together, beside the same that each rank finds by itself.
#include "StrataTest_Allocations.hpp"
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_Field.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_SameLikelihood.hpp"
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include <core/kokkos_ext/Strata_Team.hpp>
#include <geostat/Strata_Divergence.hpp>
#include <geostat/Strata_LikelihoodGradient.hpp>
#include <geostat/fit/Strata_Fit.hpp>
#include <geostat/fit/Strata_ProfileInterval.hpp>
#include <geostat/kriging/Strata_Prediction.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::geostat;
using namespace strata::test;

template <class Exec>
class GeostatRanks : public testing::Test {};
TYPED_TEST_SUITE(GeostatRanks, Spaces, SpaceNames);

// A field of 150 places in ten rows of tiles.
constexpr MaternCovariance truth{1, 0.1, 0.5, 0.05};

template <class Exec>
struct Field {
  Locations at = synthetic_locations(150);
  std::vector<double> values = synthetic_field(Exec(), truth, at, 5);
};

CovarianceFactorOptions tiles(double accuracy, bool together, RankGrid const& grid = {0, 0}) {
  CovarianceFactorOptions options{PrecisionRule{accuracy}};
  options.tile_size = 16;
  options.devices = make_devices(1, std::size_t{1} << 24);
  options.storage = TileStorage::Host;
  if (together) options.comm = std::make_shared<Communicator const>(test_ranks());
  if (together) options.grid = grid;
  return options;
}

// In the memory of this rank's devices: workers on a host, or the GPUs that there are, in turn.
template <class Exec>
CovarianceFactorOptions on_devices(CovarianceFactorOptions options, int devices) {
  options.storage = TileStorage::Devices;
  options.devices = make_devices(devices, std::size_t{1} << 24);
  if (!strata::runs_on_host<Exec>)
    for (Device& device : options.devices)
      device.id = (test_ranks().rank() * devices + device.id) % Kokkos::num_devices();
  return options;
}

// Its own choice, a row of ranks, and one that is nearly square.
std::vector<RankGrid> grids() {
  int const ranks = test_ranks().size(), cols = ranks % 2 == 0 ? 2 : 1;
  return {{0, 0}, {1, ranks}, {ranks / cols, cols}};
}

// How the text of what one rank has thrown begins.
std::string from(int rank) {
  return test_ranks().size() == 1 ? "" : "rank " + std::to_string(rank) + ": ";
}

template <class Exec>
void have_the_bits_of_one_rank(double accuracy, RankGrid const& grid, int devices = 0) {
  SCOPED_TRACE(testing::Message() << accuracy << " on " << grid.rows << " x " << grid.cols
                                  << " with " << devices << " devices that hold it");
  Exec const exec;
  Field<Exec> const field;
  Locations const places = synthetic_locations(300, 9);
  auto options = tiles(accuracy, true, grid);
  if (devices > 0) options = on_devices<Exec>(options, devices);
  CovarianceFactor<Exec> mine(exec, truth, field.at, options),
      whole(exec, truth, field.at, tiles(accuracy, false));
  for (MaternCovariance const& theta : {truth, MaternCovariance{2, 0.3, 0.8, 0.01}}) {
    mine.refactor(exec, theta);
    whole.refactor(exec, theta);
    for (Mean const mean : {Mean::None, Mean::Constant})
      expect_same(log_likelihood(exec, mine, field.values, mean),
                  log_likelihood(exec, whole, field.values, mean));
  }
  double bytes = static_cast<double>(mine.report().bytes);
  test_ranks().sum({&bytes, 1});
  EXPECT_GE(bytes, static_cast<double>(whole.report().bytes));  // of sums that are wider
  auto const kriged = predict(exec, mine, field.values, places, Mean::Constant),
             alone = predict(exec, whole, field.values, places, Mean::Constant);
  EXPECT_EQ(kriged.mean, alone.mean);
  EXPECT_EQ(kriged.variance, alone.variance);
  EXPECT_EQ(log_likelihood_gradient(exec, mine, field.values).by,
            log_likelihood_gradient(exec, whole, field.values).by);
  if (accuracy > 0) {
    EXPECT_EQ(divergence(exec, mine, -100.0).full, divergence(exec, whole, -100.0).full);
  }
}
TYPED_TEST(GeostatRanks, HaveTheBitsOfOneRank) {
  for (double const accuracy : {0.0, 1e-5})
    for (RankGrid const& grid : grids()) have_the_bits_of_one_rank<TypeParam>(accuracy, grid);
}

// A rank's products with A are added up device by device, which have bits of their own if it is
// alone.
TYPED_TEST(GeostatRanks, HaveTheBitsOfOneRankOnDevices) {
  for (double const accuracy : {0.0, 1e-5})
    for (RankGrid const& grid : grids())
      for (int devices = 1; devices <= (test_ranks().size() > 1 ? 2 : 1); ++devices)
        have_the_bits_of_one_rank<TypeParam>(accuracy, grid, devices);
}

TYPED_TEST(GeostatRanks, SayTogetherThatItIsNotPositiveDefinite) {
  TypeParam const exec;
  Locations const at = synthetic_locations(100);
  MaternCovariance const smooth{1, 50, 4.5, 0};  // singular to fp64
  CovarianceFactor<TypeParam> const mine(exec, smooth, at, tiles(0, true)),
      whole(exec, smooth, at, tiles(0, false));
  EXPECT_FALSE(mine.info().ok());
  EXPECT_EQ(mine.info().order(), whole.info().order());
}

// Within c n eps of the one whose matrix is whole, c = 10, at a condition of about 100.
TYPED_TEST(GeostatRanks, MakeTheFieldOfOneRank) {
  TypeParam const exec;
  for (std::int64_t const n : {0, 1, 16, 17, 150}) {
    Locations const at = synthetic_locations(n);
    MaternCovariance const theta{3, 0.1, 0.8, 0.5};
    auto const dense = synthetic_field(exec, theta, at, 7);
    for (RankGrid const& grid : grids()) {
      CovarianceFactor<TypeParam> const mine(exec, theta, at, tiles(0, true, grid)),
          whole(exec, theta, at, tiles(0, false));
      auto const field = synthetic_field(mine, 7);
      EXPECT_EQ(field, synthetic_field(whole, 7)) << n;
      ASSERT_EQ(field.size(), dense.size());
      for (std::size_t i = 0; i < field.size(); ++i)
        EXPECT_NEAR(field[i], dense[i], 10 * 150 * 0x1p-52) << n;
      EXPECT_EQ(
          synthetic_field(CovarianceFactor<TypeParam>(
                              exec, theta, at, on_devices<TypeParam>(tiles(0, true, grid), 1)),
                          7),
          field)
          << n;
    }
  }
  CovarianceFactor<TypeParam> const factor(exec, truth, synthetic_locations(50), tiles(0, true));
  EXPECT_NE(synthetic_field(factor, 1), synthetic_field(factor, 2));
}

TYPED_TEST(GeostatRanks, RefuseAFieldTogether) {
  TypeParam const exec;
  Locations const at = synthetic_locations(100);
  CovarianceFactor<TypeParam> const broken(exec, {1, 50, 4.5, 0}, at, tiles(0, true)),
      low(exec, {1, 0.02, 0.5, 0}, at, tiles(1e-2, true));
  EXPECT_TRUE(throws_with<ValueError>(
      from(0) +
          "synthetic field: the covariance matrix of matern:1,50,4.5,0 at these 100 locations "
          "is not positive definite: the leading minor of order " +
          std::to_string(broken.info().order()) + " is not positive",
      [&] { (void)synthetic_field(broken); }));
  EXPECT_TRUE(throws_with<ValueError>(from(0) + "synthetic field: the factor has tiles below fp64",
                                      [&] { (void)synthetic_field(low); }));
  CovarianceFactor<TypeParam> const there(exec, truth, at,
                                          on_devices<TypeParam>(tiles(0, true), 1));
  int const last = test_ranks().size() - 1;
  bool const is_last = test_ranks().rank() == last;  // asked here: all ranks make the communicator
  {
    FailingAllocations const failing("strata::ooc::tile_matrix::copy", [&] { return is_last; });
    EXPECT_TRUE(throws_with<MemoryError>(from(last) + "strata::ooc::tile_matrix::copy",
                                         [&] { (void)synthetic_field(there); }));
  }
  EXPECT_EQ(synthetic_field(there).size(), 100U);
}

FitOptions options_of_fit(double accuracy, bool together) {
  FitOptions options;
  options.start = {0.5, 0.2, 0.5, 0.1};
  options.lower = {0.01, 0.005, 0.1, 1e-6};
  options.upper = {100, 5, 3, 10};
  options.fixed = {false, false, true, false};
  options.tolerance = 1e-3;
  options.factor = tiles(accuracy, together);
  return options;
}

template <class Exec>
void expect_same_fit(FitOptions const& mine, FitOptions const& whole) {
  Field<Exec> const field;
  auto const together = fit(Exec(), field.at, field.values, mine),
             alone = fit(Exec(), field.at, field.values, whole);
  EXPECT_TRUE(alone.converged) << alone.reason;
  EXPECT_EQ(together.converged, alone.converged);
  EXPECT_EQ(together.reason, alone.reason);
  EXPECT_EQ(together.evaluations, alone.evaluations);
  EXPECT_EQ(together.evaluations_in_fp64, alone.evaluations_in_fp64);
  EXPECT_EQ(parameters_of(together.theta), parameters_of(alone.theta));
  expect_same(together.likelihood, alone.likelihood);
}

TYPED_TEST(GeostatRanks, FitToTheBitsOfOneRank) {
  if (!can_fit()) GTEST_SKIP() << "without NLopt";
  for (Search const search : enum_values<Search>) {
    FitOptions mine = options_of_fit(0, true), whole = options_of_fit(0, false);
    mine.search = whole.search = search;
    expect_same_fit<TypeParam>(mine, whole);
  }
  expect_same_fit<TypeParam>(options_of_fit(1e-4, true), options_of_fit(1e-4, false));
  FitOptions there = options_of_fit(1e-4, true);
  there.factor = on_devices<TypeParam>(there.factor, 1);
  expect_same_fit<TypeParam>(there, options_of_fit(1e-4, false));
}

TYPED_TEST(GeostatRanks, FindTheIntervalsOfOneRank) {
  if (!can_fit()) GTEST_SKIP() << "without NLopt";
  TypeParam const exec;
  Field<TypeParam> const field;
  FitOptions options = options_of_fit(0, true);
  options.fixed = {false, false, true, true};
  auto const interval = [&](bool together) {
    options.factor = tiles(0, together);
    DeviceTeam<TypeParam> const team(options.factor.devices);
    auto const found = fit(exec, team, field.at, field.values, options);
    return profile_interval(exec, team, field.at, field.values, options, found.theta, 1);
  };
  auto const mine = interval(true), whole = interval(false);
  EXPECT_EQ(mine.lower.value, whole.lower.value);
  EXPECT_EQ(mine.upper.value, whole.upper.value);
  EXPECT_EQ(mine.evaluations, whole.evaluations);
}

// --- what goes wrong ---

TYPED_TEST(GeostatRanks, ThrowTogetherWhatOneThrows) {
  TypeParam const exec;
  Field<TypeParam> const field;
  int const last = test_ranks().size() - 1;
  bool const is_last = test_ranks().rank() == last;
  auto values = field.values;
  if (is_last) values[20] = NAN;
  EXPECT_TRUE(throws_with<ValueError>(from(last) + "log_likelihood: value 21 is nan", [&] {
    (void)log_likelihood(exec, truth, field.at, values, Mean::None, tiles(0, true));
  }));
  CovarianceFactor<TypeParam> factor(exec, truth, field.at, tiles(0, true));
  Locations places = synthetic_locations(4);
  if (is_last) places.x[2] = INFINITY;
  EXPECT_TRUE(throws_with<ValueError>(from(last),
                                      [&] { (void)predict(exec, factor, field.values, places); }));
  auto small = tiles(0, true);
  if (is_last) small.max_bytes = 5000;
  EXPECT_TRUE(throws_with<MemoryError>(from(last) + "tile matrix: n = 150", [&] {
    CovarianceFactor<TypeParam> const refused(exec, truth, field.at, small);
  }));
  auto narrow = on_devices<TypeParam>(tiles(0, true), 1);
  if (is_last) narrow.devices.front().budget_bytes = 1000;
  EXPECT_TRUE(throws_with<MemoryError>(from(last) + "tile matrix: device ", [&] {
    CovarianceFactor<TypeParam> const refused(exec, truth, field.at, narrow);
  }));
  MaternCovariance const bad{1, -0.1, 0.5, 0};
  EXPECT_TRUE(throws_with<ValueError>(from(0), [&] { factor.refactor(exec, bad); }));
  factor.refactor(exec, truth);
  EXPECT_TRUE(factor.info().ok());
}

// One rank alone may listen.
TYPED_TEST(GeostatRanks, FitWhereOneListens) {
  if (!can_fit()) GTEST_SKIP() << "without NLopt";
  Field<TypeParam> const field;
  FitOptions options = options_of_fit(0, true);
  std::int64_t heard = 0;
  bool const is_last = test_ranks().rank() == test_ranks().size() - 1;
  if (is_last) options.on_step = [&](FitStep const&) { ++heard; };
  auto const found = fit(TypeParam(), field.at, field.values, options);
  EXPECT_EQ(heard, is_last ? found.evaluations : 0);
  EXPECT_EQ(found.theta.range,
            fit(TypeParam(), field.at, field.values, options_of_fit(0, false)).theta.range);
}

TYPED_TEST(GeostatRanks, EndAFitTogether) {
  if (!can_fit()) GTEST_SKIP() << "without NLopt";
  TypeParam const exec;
  Field<TypeParam> const field;
  int const last = test_ranks().size() - 1;
  FitOptions options = options_of_fit(0, true);
  options.on_step = [&](FitStep const& step) {
    if (test_ranks().rank() == last && step.evaluation == 3) throw IoError("the log is full");
  };
  EXPECT_TRUE(throws_with<IoError>(from(last) + "the log is full",
                                   [&] { (void)fit(exec, field.at, field.values, options); }));
  auto const full = [&](double) {
    if (test_ranks().rank() == last) throw IoError("the log is full");
  };
  CovarianceFactor<TypeParam> factor(exec, truth, field.at, tiles(0, true));
  EXPECT_TRUE(throws_with<IoError>(from(last) + "the log is full", [&] {
    (void)log_likelihood_gradient(exec, factor, field.values, Mean::None, {true, true, false, true},
                                  full);
  }));
  EXPECT_TRUE(throws_with<IoError>(from(last) + "the log is full", [&] {
    (void)predict(exec, factor, field.values, synthetic_locations(4), Mean::None,
                  {.on_progress = full});
  }));
  if (test_ranks().rank() == last) options.start.range = 7;
  EXPECT_TRUE(throws_with<ValueError>(from(last) + "fit: range starts at 7",
                                      [&] { (void)fit(exec, field.at, field.values, options); }));
}

}  // namespace
