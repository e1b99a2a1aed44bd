// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/Strata_Schedule.hpp>
#include <ooc/detail/Strata_TilePlan.hpp>
#include <ooc/detail/Strata_UseTable.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <random>
#include <vector>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::ooc::detail;

constexpr double never = 1e15;

// A map in which any tile may have any precision.
PrecisionMap any_map(std::int64_t tiles, unsigned seed) {
  std::mt19937 random(seed);
  Precision const all[] = {Precision::fp64, Precision::fp32, Precision::fp16_split, Precision::fp16,
                           Precision::fp8_e4m3};
  PrecisionMap map(tiles);
  for (std::int64_t j = 0; j < tiles; ++j)
    for (std::int64_t i = j + 1; i < tiles; ++i) map.set(i, j, all[random() % 5]);
  return map;
}

struct Uses {
  std::vector<double> own;    // at most one: the tile's own task
  std::vector<double> later;  // as an operand
};

// Every use, one after another, as the executor makes them.
std::map<std::int64_t, Uses> all_uses(TilePlan const& plan, Schedule const& schedule, int device) {
  std::map<std::int64_t, Uses> uses;
  for (int stream = 0; stream < schedule.streams; ++stream) {
    double time = 0;
    for (Task const& task :
         schedule.tasks[static_cast<std::size_t>(device * schedule.streams + stream)]) {
      auto const [i, j] = task;
      uses[plan.key(i, j, plan.map().at(i, j))].own.push_back(time);
      for (std::int64_t k = 0; k < j; ++k, ++time) {
        Precision const form = plan.product(i, j, k);
        uses[plan.key(i, k, form)].later.push_back(time);
        if (i != j) uses[plan.key(j, k, form)].later.push_back(time);
      }
      if (i != j) uses[plan.key(j, j, plan.working(i, j))].later.push_back(time);
      ++time;
    }
  }
  for (auto& [key, times] : uses) std::ranges::sort(times.later);
  return uses;
}

void tells_all_uses(PrecisionMap const& map, Schedule const& schedule) {
  TilePlan const plan(map.tiles() * 8 - 3, 8, map);
  for (int device = 0; device < schedule.devices; ++device) {
    UseTable table(plan, schedule, device);
    auto expected = all_uses(plan, schedule, device);
    for (std::int64_t key = 0; key < static_cast<std::int64_t>(plan.keys()); ++key) {
      auto const& uses = expected[key];
      ASSERT_LE(uses.own.size(), 1u);
      for (auto const* times : {&uses.own, &uses.later})
        for (double const time : *times) {
          ASSERT_EQ(table.next(key), time) << "key " << key;
          table.consume(key);
        }
      ASSERT_EQ(table.next(key), never);
      table.consume(key);  // one more than the schedule has
      ASSERT_EQ(table.next(key), never);
    }
  }
}

TEST(UseTable, TellsTheNextUseOfEachTile) {
  for (std::int64_t const tiles : {1, 2, 3, 7, 12})
    for (int const devices : {1, 2, 3})
      for (int const streams : {1, 3})
        for (std::int64_t const block : {1, 2, 5})
          for (std::int64_t const first : {std::int64_t{0}, tiles / 2, tiles}) {
            auto const schedule = cholesky_schedule(tiles, devices, streams, block, first);
            tells_all_uses(PrecisionMap(tiles), schedule);
            tells_all_uses(any_map(tiles, 3), schedule);
          }
}

// What was used is known without having been asked for.
TEST(UseTable, CountsUsesThatNobodyAskedFor) {
  PrecisionMap const map(4);
  TilePlan const plan(32, 8, map);
  UseTable table(plan, cholesky_schedule(4, 1, 1), 0);
  auto const key = plan.key(2, 0, Precision::fp64);
  auto const times = all_uses(plan, cholesky_schedule(4, 1, 1), 0)[key];
  table.consume(key);
  table.consume(key);
  EXPECT_EQ(table.next(key), times.later[1]);
  UseTable unknown;
  unknown.consume(key);
  EXPECT_EQ(unknown.next(key), never);
}

TEST(UseTable, KnowsTheTileOfEachKey) {
  for (std::int64_t const tiles : {1, 2, 5, 9}) {
    PrecisionMap const map(tiles);
    TilePlan const plan(8 * tiles, 8, map);
    for (std::int64_t j = 0; j < tiles; ++j)
      for (std::int64_t i = j; i < tiles; ++i)
        for (Precision const form :
             {Precision::fp64, Precision::fp32, Precision::fp16, Precision::fp8_e4m3}) {
          auto const tile = plan.tile_of(plan.key(i, j, form));
          EXPECT_EQ(tile.i, i);
          EXPECT_EQ(tile.j, j);
          EXPECT_EQ(tile.form, precision_rank(form));
        }
  }
}

}  // namespace
