// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "ooc/StrataTest_Tiles.hpp"
#include <core/blas/Strata_FlopCount.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/executor/Strata_Simulate.hpp>
#include <ooc/schedule/Strata_Schedule.hpp>
#include <ooc/schedule/Strata_TilePlan.hpp>

#include <gtest/gtest.h>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::test;
using Exec = Kokkos::DefaultHostExecutionSpace;

// On one stream the simulated bytes are those that a run counts.
TEST(Simulate, MovesTheBytesOfARunOnOneStream) {
  for (PrecisionRule const& rule : {PrecisionRule{}, PrecisionRule{1e-5}, integers(14)}) {
    std::int64_t const n = 250, nb = 16;
    auto const matrix = field<Exec>(n, nb, rule, 0.02627);
    std::size_t const least = smallest_budget_bytes(n, nb, matrix.map(), 1);
    for (std::size_t const budget : {least, 3 * least, 10 * least, std::size_t(1) << 30}) {
      for (Variant const variant : enum_values<Variant>) {
        SCOPED_TRACE(std::string(name_of(variant)) + " " + std::to_string(budget));
        CholeskyOptions options;
        options.variant = variant;
        options.streams = 1;
        options.column_block = 1;
        auto const factor =
            cholesky(make_devices(1, budget), field<Exec>(n, nb, rule, 0.02627), options);
        SimulationOptions asked;
        asked.variant = variant;
        asked.budget_bytes = budget;
        auto const found =
            simulate(cholesky_schedule(matrix.tiles(), 1, 1), n, nb, matrix.map(), asked);
        EXPECT_EQ(found.bytes_in, factor.report().bytes_in());
        EXPECT_EQ(found.bytes_out, factor.report().bytes_out());
        EXPECT_EQ(found.bytes_peer, 0u);
      }
    }
  }
}

// The bytes of paper B's figure 8 as docs/figures has it, which depend on the order of the tasks.
TEST(Simulate, MovesTheBytesOfFigureEight) {
  std::int64_t const n = 2048, nb = 64;
  PrecisionMap const map(n / nb);
  auto const bytes_in = [&](Variant variant, std::int64_t block) {
    SimulationOptions options;
    options.variant = variant;
    options.budget_bytes = 2'000'000;
    return simulate(cholesky_schedule(n / nb, 1, 1, block), n, nb, map, options).bytes_in;
  };
  EXPECT_EQ(bytes_in(Variant::V1, 1), 375'140'480u);
  EXPECT_EQ(bytes_in(Variant::V2, 1), 194'456'560u);
  EXPECT_EQ(bytes_in(Variant::V3, 1), 194'456'560u);
  EXPECT_EQ(bytes_in(Variant::V4, 2), 106'475'624u);
}

TEST(Simulate, IsBoundByItsRates) {
  std::int64_t const n = 1600, nb = 100;
  SimulationOptions options;
  options.rates.in_bytes_per_s = options.rates.out_bytes_per_s = 1e15;
  auto const schedule = cholesky_schedule(16, 1, 4);
  PrecisionMap const map(16);
  double const flops = static_cast<double>(potrf_flops(n));
  auto const compute = simulate(schedule, n, nb, map, options);
  EXPECT_GE(compute.seconds, 0.99 * flops / 1e12);
  EXPECT_LE(compute.seconds, 1.1 * flops / 1e12);
  EXPECT_NEAR(compute.busy_seconds[0], flops / 1e12, 0.01 * flops / 1e12);
  EXPECT_NEAR(compute.flop_per_s, flops / compute.seconds, 1);
  options.rates = {};
  options.rates.product_flop_per_s.fill(1e18);
  options.rates.solve_flop_per_s = 1e18;
  auto const copies = simulate(schedule, n, nb, map, options);
  EXPECT_GE(copies.seconds, static_cast<double>(copies.bytes_in) / 1e10);
  EXPECT_LE(copies.seconds, 1.5 * static_cast<double>(copies.bytes_in) / 1e10);
}

TEST(Simulate, OrdersTheVariantsWhereCopiesAreDear) {
  std::int64_t const n = 3200, nb = 100;
  SimulationOptions options;
  PrecisionMap const map(32);
  options.budget_bytes = 4 * smallest_budget_bytes(n, nb, map, 4);
  options.rates.in_bytes_per_s = options.rates.out_bytes_per_s = 2e10;
  double before = 1e300;
  for (Variant const variant : enum_values<Variant>) {
    options.variant = variant;
    int const streams = variant == Variant::Sync ? 1 : 4;
    auto const found = simulate(cholesky_schedule(32, 1, streams), n, nb, map, options);
    EXPECT_LE(found.seconds, 1.001 * before) << name_of(variant);
    before = found.seconds;
  }
}

TEST(Simulate, ScalesOverDevices) {
  std::int64_t const n = 20000, nb = 200;
  SimulationOptions options;
  options.rates.in_bytes_per_s = options.rates.out_bytes_per_s = 1e13;
  options.rates.peer_bytes_per_s = 1e13;
  PrecisionMap const map(100);
  double const one = simulate(cholesky_schedule(100, 1, 4), n, nb, map, options).seconds;
  double const four = simulate(cholesky_schedule(100, 4, 4), n, nb, map, options).seconds;
  EXPECT_GT(one / four, 3.5);
  EXPECT_LE(one / four, 4.0);
}

TEST(Simulate, RefusesWhatCannotBe) {
  PrecisionMap const map(4);
  SimulationOptions options;
  options.rates.in_bytes_per_s = 0;
  auto const run = [&](Schedule const& schedule) {
    return [&, schedule] { (void)simulate(schedule, 32, 8, map, options); };
  };
  auto const schedule = cholesky_schedule(4, 1, 1);
  EXPECT_TRUE(throws_with<ValueError>("rate of copies in is 0", run(schedule)));
  options.rates = {};
  options.budget_bytes = 100;
  EXPECT_TRUE(throws_with<MemoryError>("a budget of 100 bytes, at least 2304", run(schedule)));
  options.budget_bytes = 0;
  auto broken = schedule;
  broken.tasks[0].pop_back();
  EXPECT_TRUE(throws_with<ValueError>("tile (3,3) is never written", run(broken)));
  EXPECT_TRUE(
      throws_with<ShapeError>("a schedule of 5 tile rows", run(cholesky_schedule(5, 1, 1))));
}

}  // namespace
