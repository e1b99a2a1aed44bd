// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/executor/detail/Strata_UseTable.hpp>
#include <ooc/schedule/Strata_RankOrder.hpp>
#include <ooc/schedule/Strata_TilePlan.hpp>

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

using Lanes = std::vector<std::vector<Visit>>;

struct Uses {
  std::vector<double> own;    // visits to the tile, in the order of their updates
  std::vector<double> later;  // as an operand
};

// Every use, one after another, as the executor makes them.
std::map<std::int64_t, Uses> all_uses(TilePlan const& plan, Lanes const& lanes) {
  std::map<std::int64_t, Uses> uses;
  std::map<std::int64_t, std::map<std::int64_t, double>> own;  // by key and first update
  for (auto const& lane : lanes) {
    double time = 0;
    for (auto const& [i, j, first, last, is_last] : lane) {
      own[plan.key(i, j, plan.map().at(i, j))][first] = time;
      for (std::int64_t k = first; k < last; ++k, ++time) {
        Precision const form = plan.product(i, j, k);
        uses[plan.key(i, k, form)].later.push_back(time);
        if (i != j) uses[plan.key(j, k, form)].later.push_back(time);
      }
      if (!is_last) continue;
      if (i != j) uses[plan.key(j, j, plan.working(i, j))].later.push_back(time);
      ++time;
    }
  }
  for (auto const& [key, times] : own)
    for (auto const& [first, time] : times) uses[key].own.push_back(time);
  for (auto& [key, times] : uses) std::ranges::sort(times.later);
  return uses;
}

void tells_all_uses(PrecisionMap const& map, Lanes const& lanes) {
  TilePlan const plan(map.tiles() * 8 - 3, 8, map);
  UseTable table(plan, lanes);
  auto expected = all_uses(plan, lanes);
  for (std::int64_t key = 0; key < static_cast<std::int64_t>(plan.keys()); ++key) {
    auto const& uses = expected[key];
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

// Of each rank and device, those of its streams.
void tells_all_uses(RankOrder const& order) {
  for (int rank = 0; rank < order.grid.ranks(); ++rank) {
    auto const lanes = visits_of(order, rank);
    for (int device = 0; device < order.devices; ++device) {
      auto const first = lanes.begin() + std::ptrdiff_t{device} * order.streams;
      Lanes const part(first, first + order.streams);
      tells_all_uses(PrecisionMap(order.tiles), part);
      tells_all_uses(any_map(order.tiles, 3), part);
    }
  }
}

TEST(UseTable, TellsTheNextUseOfEachTile) {
  for (std::int64_t const tiles : {1, 2, 3, 7, 12})
    for (int const devices : {1, 2, 3})
      for (int const streams : {1, 3})
        for (std::int64_t const block : {1, 2, 5})
          for (std::int64_t const first : {std::int64_t{0}, tiles / 2, tiles}) {
            RankOrder order{tiles, {1, 1}, devices, streams};
            order.column_block = block;
            order.first_column = first;
            tells_all_uses(order);
          }
}

// Tiles that are visited several times.
TEST(UseTable, TellsTheNextUseInSuperPanels) {
  for (std::int64_t const tiles : {1, 2, 7, 12})
    for (RankGrid const grid : {RankGrid{1, 1}, RankGrid{2, 2}, RankGrid{1, 3}})
      for (int const streams : {1, 3})
        for (std::int64_t const super_panel : {1, 2, 5})
          for (std::int64_t const first : {std::int64_t{0}, tiles / 2}) {
            RankOrder order{tiles, grid, 2, streams, super_panel};
            order.first_column = first;
            tells_all_uses(order);
          }
}

// What was used is known without having been asked for.
TEST(UseTable, CountsUsesThatNobodyAskedFor) {
  PrecisionMap const map(4);
  TilePlan const plan(32, 8, map);
  auto const lanes = visits_of(RankOrder{4, {1, 1}}, 0);
  UseTable table(plan, lanes);
  auto const key = plan.key(2, 0, Precision::fp64);
  auto const times = all_uses(plan, lanes)[key];
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
        for (Precision const form : {Precision::fp64, Precision::fp32, Precision::fp16,
                                     Precision::fp8_e4m3, Precision::int8x14}) {
          auto const tile = plan.tile_of(plan.key(i, j, form));
          EXPECT_EQ(tile.i, i);
          EXPECT_EQ(tile.j, j);
          EXPECT_EQ(tile.form, TilePlan::form_of(form));
        }
  }
}

}  // namespace
