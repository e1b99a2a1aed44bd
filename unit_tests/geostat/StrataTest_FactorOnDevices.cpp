// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Covariance matrices that devices hold together, in tiles, beside the same on the host.
#include "StrataTest_Allocations.hpp"
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_Field.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_SameLikelihood.hpp"
#include "StrataTest_Spaces.hpp"
#include "ooc/StrataTest_Tiles.hpp"
#include <core/kokkos_ext/Strata_Team.hpp>
#include <geostat/Strata_Divergence.hpp>
#include <geostat/Strata_FisherInformation.hpp>
#include <geostat/Strata_LikelihoodGradient.hpp>
#include <geostat/fit/Strata_Fit.hpp>
#include <geostat/kriging/Strata_Prediction.hpp>
#include <ooc/schedule/Strata_TilePlan.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::geostat;
using namespace strata::test;

template <class Exec>
class FactorOnDevices : public testing::Test {};
TYPED_TEST_SUITE(FactorOnDevices, Spaces, SpaceNames);

constexpr int n = 150;
constexpr std::size_t roomy = std::size_t{1} << 26;
constexpr MaternCovariance truth{1, 0.1, 0.5, 0.05};

template <class Exec>
CovarianceFactorOptions tiles_on(TileStorage storage, int devices, double accuracy = 0,
                                 std::size_t budget_bytes = roomy) {
  CovarianceFactorOptions options{PrecisionRule{accuracy}};
  options.tile_size = 16;
  options.storage = storage;
  options.devices = devices_in_turn<Exec>(devices, budget_bytes);
  return options;
}

// All that is asked of a factor, of one that is filled again too.
template <class Exec>
void has_the_bits_of_the_host(int devices, double accuracy) {
  Exec const exec;
  Locations const at = synthetic_locations(n), places = synthetic_locations(20, 9);
  auto const values = some_values(n);
  CovarianceFactor<Exec> host(exec, truth, at,
                              tiles_on<Exec>(TileStorage::Host, devices, accuracy));
  Allocations const allocations;
  CovarianceFactor<Exec> there(exec, truth, at,
                               tiles_on<Exec>(TileStorage::Devices, devices, accuracy));
  EXPECT_EQ(allocations.labels().count("strata::ooc::tile_matrix::chunk"), 0U);
  for (MaternCovariance const& theta : {truth, MaternCovariance{2, 0.3, 0.8, 0.01}}) {
    host.refactor(exec, theta);
    there.refactor(exec, theta);
    ASSERT_FALSE(there.is_whole());
    EXPECT_EQ(there.report().storage, TileStorage::Devices);
    EXPECT_EQ(there.report().no_room, "");
    EXPECT_EQ(there.report().bytes_in, 0U);
    EXPECT_EQ(there.report().bytes_out, 0U);
    EXPECT_EQ(host.report().storage, TileStorage::Host);
    for (Mean const mean : {Mean::None, Mean::Constant})
      expect_same(log_likelihood(exec, there, values, mean),
                  log_likelihood(exec, host, values, mean));
  }
  auto const a = predict(exec, there, values, places, Mean::Constant),
             b = predict(exec, host, values, places, Mean::Constant);
  EXPECT_EQ(a.mean, b.mean);
  EXPECT_EQ(a.variance, b.variance);
  EXPECT_EQ(log_likelihood_gradient(exec, there, values).by,
            log_likelihood_gradient(exec, host, values).by);
  EXPECT_EQ(fisher_information(exec, there).of, fisher_information(exec, host).of);
  EXPECT_EQ(divergence(exec, there, -100.0).full, divergence(exec, host, -100.0).full);
}
TYPED_TEST(FactorOnDevices, HasTheBitsOfTheHost) {
  for (double const accuracy : {0.0, 1e-5})
    for (int const devices : {1, 2, 3}) {
      SCOPED_TRACE(std::to_string(accuracy) + " on " + std::to_string(devices) + " devices");
      has_the_bits_of_the_host<TypeParam>(devices, accuracy);
    }
}

TYPED_TEST(FactorOnDevices, IsFilledAgainInItsMemory) {
  TypeParam const exec;
  CovarianceFactor<TypeParam> factor(exec, truth, synthetic_locations(n),
                                     tiles_on<TypeParam>(TileStorage::Devices, 2));
  auto const* const data = factor.factor().matrix().data(0, 0);
  Allocations const allocations;
  for (double const range : {0.2, 0.3, 0.05}) {
    factor.refactor(exec, {1, range, 0.5, 0.05});
    EXPECT_EQ(factor.factor().matrix().data(0, 0), data);
  }
  for (char const* label : {"strata::ooc::tile_matrix::piece", "strata::ooc::tile_matrix::chunk",
                            "strata::ooc::device::pool"})
    EXPECT_EQ(allocations.labels().count(label), 0U) << label;
}

// Low tiles break down, and wider ones take their place on the devices.
TYPED_TEST(FactorOnDevices, ClimbsTheLadderThere) {
  TypeParam const exec;
  MaternCovariance const smooth{1, 0.3, 3.5, 0};
  Locations const at = synthetic_locations(384);
  auto const made = [&](TileStorage storage) {
    auto options = tiles_on<TypeParam>(storage, 2, 1e-2);
    options.tile_size = 8;
    return CovarianceFactor<TypeParam>(exec, smooth, at, options);
  };
  auto const there = made(TileStorage::Devices), host = made(TileStorage::Host);
  ASSERT_EQ(host.report().rung, Rung::Fp64);
  EXPECT_EQ(there.report().rung, Rung::Fp64);
  EXPECT_EQ(there.report().storage, TileStorage::Devices);
  EXPECT_EQ(there.factor_log_determinant(), host.factor_log_determinant());
}

FitOptions options_of_fit() {
  FitOptions options;
  options.start = {0.5, 0.2, 0.5, 0.1};
  options.lower = {0.01, 0.005, 0.1, 1e-6};
  options.upper = {100, 5, 3, 10};
  options.fixed = {false, false, true, false};
  options.tolerance = 1e-3;
  return options;
}

TYPED_TEST(FactorOnDevices, FitsToTheBitsOfTheHost) {
  if (!can_fit()) GTEST_SKIP() << "without NLopt";
  TypeParam const exec;
  Locations const at = synthetic_locations(n);
  auto const values = some_values(n);
  for (double const accuracy : {0.0, 1e-4})
    for (int const devices : {1, 2, 3}) {
      auto options = options_of_fit();
      options.factor = tiles_on<TypeParam>(TileStorage::Host, devices, accuracy);
      auto const host = fit(exec, at, values, options);
      options.factor = tiles_on<TypeParam>(TileStorage::Devices, devices, accuracy);
      auto const there = fit(exec, at, values, options);
      EXPECT_EQ(there.reason, host.reason);
      EXPECT_EQ(there.evaluations, host.evaluations);
      EXPECT_EQ(parameters_of(there.theta), parameters_of(host.theta));
      expect_same(there.likelihood, host.likelihood);
      EXPECT_EQ(there.factor->report().storage, TileStorage::Devices);
    }
}

// GPUs hold it if they have room; workers on a host leave it to the host.
TYPED_TEST(FactorOnDevices, AreChosenIfTheyAreGpusWithRoom) {
  TypeParam const exec;
  bool const on_host = strata::runs_on_host<TypeParam>;
  Locations const at = synthetic_locations(n);
  CovarianceFactor<TypeParam> const open(exec, truth, at,
                                         tiles_on<TypeParam>(TileStorage::Automatic, 2));
  EXPECT_EQ(open.report().storage, on_host ? TileStorage::Host : TileStorage::Devices);
  auto const pool = smallest_budget_bytes(n, 16, PrecisionMap(10), 4);
  CovarianceFactor<TypeParam> const tight(exec, truth, at,
                                          tiles_on<TypeParam>(TileStorage::Automatic, 2, 0, pool));
  EXPECT_EQ(tight.report().storage, TileStorage::Host);
  EXPECT_EQ(tight.report().no_room.empty(), on_host) << tight.report().no_room;
  EXPECT_TRUE(throws_with<MemoryError>("to factor them, and has " + std::to_string(pool), [&] {
    CovarianceFactor<TypeParam>(exec, truth, at,
                                tiles_on<TypeParam>(TileStorage::Devices, 2, 0, pool));
  }));
}

}  // namespace
