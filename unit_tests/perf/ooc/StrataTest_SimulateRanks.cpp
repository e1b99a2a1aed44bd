// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include <core/blas/Strata_FlopCount.hpp>
#include <ooc/schedule/Strata_RankOrder.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>

#include <gtest/gtest.h>
#include <perf/ooc/Strata_SimulateRanks.hpp>

#include <algorithm>
#include <numeric>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::study;
using strata::test::throws_with;

RankOrder order_on_grid(std::int64_t tiles, RankGrid grid, std::int64_t super_panel,
                        int devices = 1, int streams = 2) {
  RankOrder order{tiles, grid, devices, streams};
  order.super_panel = super_panel;
  return order;
}

PrecisionMap mixed_map(std::int64_t tiles) {
  PrecisionMap map(tiles);
  for (std::int64_t j = 0; j < tiles; ++j)
    for (std::int64_t i = j + 1; i < tiles; ++i)
      if (i - j > 2) map.set(i, j, i - j > 4 ? Precision::fp16 : Precision::fp32);
  return map;
}

// Of each rank the bytes that the messages have, sent and received.
TEST(SimulateRanks, SendsTheBytesOfTheSchedule) {
  std::int64_t const nb = 10, tiles = 14, n = tiles * nb - 3;
  for (PrecisionMap const& map : {PrecisionMap(tiles), mixed_map(tiles)}) {
    for (RankGrid const grid : {RankGrid{1, 1}, RankGrid{2, 1}, RankGrid{3, 1}, RankGrid{4, 1},
                                RankGrid{6, 1}, RankGrid{2, 2}, RankGrid{2, 3}, RankGrid{20, 2}}) {
      for (std::int64_t const super_panel : {0, 1, 4}) {
        if (super_panel == 0 && grid.cols > 1) continue;
        for (int const devices : {1, 2}) {
          auto const order = order_on_grid(tiles, grid, super_panel, devices);
          auto const found = simulate(order, n, nb, map, Rates{});
          ASSERT_EQ(found.ranks.size(), static_cast<std::size_t>(grid.ranks()));
          for (int rank = 0; rank < grid.ranks(); ++rank) {
            auto const messages = messages_of(order, rank);
            auto const& part = found.ranks[static_cast<std::size_t>(rank)];
            EXPECT_EQ(part.bytes_sent, bytes_of(messages.sends, n, nb, map));
            EXPECT_EQ(part.bytes_received, bytes_of(messages.receives, n, nb, map));
            EXPECT_LE(part.copy_bytes, static_cast<std::uint64_t>(room_of(order)) *
                                           ooc::tile_bytes(Precision::fp64, nb, nb));
          }
        }
      }
    }
  }
}

// One rank whose memory suffices is what the simulation of caches plays, but for when copies begin.
TEST(SimulateRanks, OneRankTakesTheTimeOfTheCachesThatHoldAll) {
  std::int64_t const nb = 100, tiles = 24, n = tiles * nb;
  PrecisionMap const map(tiles);
  for (int const devices : {1, 2, 4}) {
    for (int const streams : {1, 4}) {
      SimulationOptions options;
      options.rates.in_bytes_per_s = options.rates.out_bytes_per_s = 5e10;
      options.rates.peer_bytes_per_s = 1e11;
      options.rates.factor_flop_per_s = 2e11;
      auto const cached = simulate(cholesky_schedule(tiles, devices, streams), n, nb, map, options);
      auto const found =
          simulate(order_on_grid(tiles, {1, 1}, 0, devices, streams), n, nb, map, options.rates);
      EXPECT_NEAR(found.seconds, cached.seconds, 0.1 * cached.seconds) << devices << ' ' << streams;
      EXPECT_EQ(found.ranks[0].bytes_out, cached.bytes_out);
      if (devices == 1) {
        EXPECT_EQ(found.ranks[0].bytes_in, cached.bytes_in);
      }
      double const busy =
          std::accumulate(cached.busy_seconds.begin(), cached.busy_seconds.end(), 0.0);
      EXPECT_NEAR(found.ranks[0].busy_seconds, busy, 1e-9 * busy);
    }
  }
}

// Two ranks and two tile rows, by hand: POTRF, its tile to the other rank, TRSM, SYRK, POTRF, and
// home.
TEST(SimulateRanks, TwoTileRowsOnTwoRanksByHand) {
  std::int64_t const nb = 64, n = 128;
  PrecisionMap const map(2);
  Rates rates;
  rates.product_flop_per_s.fill(1e9);
  rates.solve_flop_per_s = 5e8;
  rates.factor_flop_per_s = 2e8;
  rates.in_bytes_per_s = 4e8;
  rates.out_bytes_per_s = 2e8;
  rates.network_bytes_per_s = 1e8;
  rates.message_seconds = 1e-3;
  double const bytes = nb * nb * 8 + 24, potrf = static_cast<double>(potrf_flops(nb)) / 2e8;
  double const trsm = static_cast<double>(trsm_flops(nb, nb)) / 5e8;
  double const syrk = static_cast<double>(syrk_flops(nb, nb)) / 1e9;
  double const first = bytes / 4e8 + potrf + bytes / 2e8;         // home on rank 1
  double const there = first + 1e-3 + bytes / 1e8 + bytes / 4e8;  // on rank 0's device
  auto const found = simulate(order_on_grid(2, {2, 1}, 0, 1, 1), n, nb, map, rates);
  EXPECT_NEAR(found.seconds, there + trsm + syrk + potrf + bytes / 2e8, 1e-12);
  EXPECT_NEAR(found.chain_seconds,
              2 * potrf + trsm + syrk + bytes / 2e8 + 1e-3 + bytes / 1e8 + bytes / 4e8, 1e-12);
  EXPECT_EQ(found.ranks[1].bytes_sent, static_cast<std::uint64_t>(bytes));
  EXPECT_EQ(found.ranks[0].bytes_sent, 0u);
  EXPECT_NEAR(found.network_seconds, bytes / 1e8, 1e-12);
  EXPECT_NEAR(found.work_seconds, trsm + syrk + potrf, 1e-12);
}

TEST(SimulateRanks, IsBoundByWorkOrLinksOrTheChain) {
  std::int64_t const nb = 100, tiles = 48, n = tiles * nb;
  PrecisionMap const map(tiles);
  auto const order = order_on_grid(tiles, {2, 2}, 4);
  double const flops = static_cast<double>(potrf_flops(n));
  Rates rates;
  rates.in_bytes_per_s = rates.out_bytes_per_s = rates.network_bytes_per_s = 1e14;
  auto const work = simulate(order, n, nb, map, rates);
  EXPECT_GE(work.seconds, work.work_seconds);
  EXPECT_GE(work.seconds, flops / 4e12);
  EXPECT_LE(work.seconds, 1.2 * flops / 4e12);
  EXPECT_NEAR(work.flop_per_s * work.seconds, flops, 1e-3 * flops);
  rates.network_bytes_per_s = 1e9;
  auto const links = simulate(order, n, nb, map, rates);
  EXPECT_GE(links.seconds, links.network_seconds);
  EXPECT_LE(links.seconds, 1.5 * links.network_seconds);
  rates = {};
  rates.message_seconds = 1;
  auto const latency = simulate(order, n, nb, map, rates);
  EXPECT_GE(latency.seconds, latency.chain_seconds);
  EXPECT_GE(latency.chain_seconds, 2.0 * (tiles - 1));
  EXPECT_LE(latency.seconds, 1.2 * latency.chain_seconds);
}

// On the grid each rank gets less with more ranks; of rows round the ranks nearly all of L.
TEST(SimulateRanks, AGridReceivesLessAndScalesFurther) {
  std::int64_t const nb = 1024, tiles = 96, n = tiles * nb;
  PrecisionMap const map(tiles);
  Rates rates;
  rates.product_flop_per_s.fill(50e12);
  rates.solve_flop_per_s = 15e12;
  rates.in_bytes_per_s = rates.out_bytes_per_s = rates.network_bytes_per_s = 5e10;
  auto const rows = simulate(order_on_grid(tiles, {16, 1}, 0), n, nb, map, rates);
  auto const grid = simulate(order_on_grid(tiles, {4, 4}, 4), n, nb, map, rates);
  auto const most = [](RankSimulation const& s) {
    std::uint64_t bytes = 0;
    for (auto const& rank : s.ranks) bytes = std::max(bytes, rank.bytes_received);
    return static_cast<double>(bytes);
  };
  EXPECT_LT(most(grid), 0.6 * most(rows));
  EXPECT_LT(grid.seconds, 0.5 * rows.seconds);
}

// Where the tiles do not fit they come and go once a super-panel, and each is sent as often.
TEST(SimulateRanks, MovesTilesOnceASuperPanelWhereTheyDoNotFit) {
  std::int64_t const nb = 32, tiles = 30, n = tiles * nb, super_panel = 5;
  PrecisionMap const map(tiles);
  auto const order = order_on_grid(tiles, {1, 1}, super_panel);
  auto const tile = static_cast<std::uint64_t>(nb * nb * 8);
  auto const found = simulate(order, n, nb, map, Rates{}, 40 * tile);
  EXPECT_FALSE(found.is_resident);
  std::uint64_t visits = 0;
  for (std::int64_t step = 0; step < order.steps(); ++step)
    visits += static_cast<std::uint64_t>(order.visits_in(0, step));
  EXPECT_GE(found.ranks[0].bytes_in, visits * tile);
  EXPECT_LE(found.ranks[0].bytes_in, visits * (tile + 256));
  EXPECT_GE(found.ranks[0].bytes_out, visits * tile);
  auto const all = simulate(order, n, nb, map, Rates{}, 1000 * tile);
  EXPECT_TRUE(all.is_resident);
  EXPECT_LT(all.seconds, found.seconds);
}

TEST(SimulateRanks, RefusesWhatCannotBe) {
  PrecisionMap const map(4);
  Rates rates;
  auto const run = [&](RankOrder const& order, std::size_t budget = 0) {
    return [&, order, budget] { (void)simulate(order, 32, 8, map, rates, budget); };
  };
  EXPECT_TRUE(throws_with<ShapeError>("an order of 5 tile rows and a map of 4",
                                      run(order_on_grid(5, {1, 1}, 1))));
  EXPECT_TRUE(throws_with<ValueError>("a grid of 2 x 2 without super-panels",
                                      run(order_on_grid(4, {2, 2}, 0))));
  EXPECT_TRUE(throws_with<MemoryError>("whole tasks on several ranks need",
                                       run(order_on_grid(4, {2, 1}, 0), 100)));
  EXPECT_TRUE(throws_with<MemoryError>("are needed for two super-panels",
                                       run(order_on_grid(4, {2, 1}, 1), 100)));
  auto late = order_on_grid(4, {2, 1}, 1);
  late.first_column = 2;
  EXPECT_TRUE(throws_with<ValueError>("an order from column 2, must be of the whole", run(late)));
  rates.network_bytes_per_s = 0;
  EXPECT_TRUE(
      throws_with<ValueError>("the rate of messages is 0", run(order_on_grid(4, {2, 1}, 1))));
  rates = {};
  rates.message_seconds = -1;
  EXPECT_TRUE(throws_with<ValueError>("-1 s for a message", run(order_on_grid(4, {2, 1}, 1))));
}

}  // namespace
