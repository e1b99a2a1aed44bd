// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include <core/Strata_Errors.hpp>
#include <ooc/schedule/Strata_PrecisionMap.hpp>
#include <ooc/schedule/Strata_Schedule.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace {

using namespace strata;
using namespace strata::ooc;
using strata::test::throws_with;

// Updates of all tiles: sum of the column numbers.
std::int64_t updates_of(std::int64_t tiles, std::int64_t first) {
  std::int64_t sum = 0;
  for (std::int64_t j = first; j < tiles; ++j) sum += j * (tiles - j);
  return sum;
}

TEST(Schedule, PassesItsCheckForAnyMachine) {
  for (std::int64_t const tiles : {0, 1, 2, 3, 7, 16, 33, 200}) {
    for (int const devices : {1, 2, 3, 4, 7, 16}) {
      for (int const streams : {1, 2, 4}) {
        for (std::int64_t const block : {1, 4}) {
          auto const check = check_schedule(cholesky_schedule(tiles, devices, streams, block));
          ASSERT_TRUE(check.ok()) << tiles << ' ' << devices << ' ' << streams << check.fault;
          ASSERT_EQ(check.tasks, static_cast<std::int64_t>(tile_count(tiles)));
          ASSERT_EQ(check.updates, updates_of(tiles, 0));
        }
      }
    }
  }
}

TEST(Schedule, PassesItsCheckForEverySmallOrder) {
  for (std::int64_t tiles = 0; tiles <= 40; ++tiles)
    for (int devices = 1; devices <= 16; ++devices)
      ASSERT_TRUE(check_schedule(cholesky_schedule(tiles, devices, 3, 1 + devices % 3)).ok());
}

TEST(Schedule, GoesOnFromAnyColumn) {
  for (std::int64_t first = 0; first <= 12; ++first) {
    auto const check = check_schedule(cholesky_schedule(12, 3, 2, 2, first));
    EXPECT_TRUE(check.ok()) << check.fault;
    EXPECT_EQ(check.updates, updates_of(12, first));
  }
}

TEST(Schedule, DealsRowsToDevicesAndTasksToStreams) {
  auto const schedule = cholesky_schedule(4, 2, 2);
  EXPECT_EQ(to_string(schedule),
            "device 0 stream 0: (0,0) (2,1)\n"
            "device 0 stream 1: (2,0) (2,2)\n"
            "device 1 stream 0: (1,0) (3,0) (3,2)\n"
            "device 1 stream 1: (1,1) (3,1) (3,3)\n");
  EXPECT_EQ(to_string(cholesky_schedule(3, 1, 1, 2)),
            "device 0 stream 0: (0,0) (1,0) (1,1) (2,0) (2,1) (2,2)\n");
}

// A column's last rows need no diagonal tile any more while another stream makes the next.
TEST(Schedule, MakesTheNextDiagonalAheadOfTheLastRows) {
  std::int64_t const tiles = 13;
  int const streams = 2;
  for (std::int64_t const first : {0, 4}) {
    auto const lanes = cholesky_schedule(tiles, 1, streams, 1, first).tasks;
    auto const dealt = [&](Task const& task) {
      for (std::size_t lane = 0; lane < lanes.size(); ++lane)
        if (auto const at = std::ranges::find(lanes[lane], task); at != lanes[lane].end())
          return streams * (at - lanes[lane].begin()) + static_cast<std::ptrdiff_t>(lane);
      return std::ptrdiff_t{-1};
    };
    for (std::int64_t j = first + 1; j + 1 < tiles; ++j)
      EXPECT_LT(dealt({j, j}), dealt({tiles - 1, j - 1})) << j;
  }
}

// Where the only stream makes the diagonal tile itself, nothing is gained by an early one.
TEST(Schedule, GoesColumnByColumnOnOneStream) {
  EXPECT_EQ(to_string(cholesky_schedule(3, 1, 1)),
            "device 0 stream 0: (0,0) (1,0) (2,0) (1,1) (2,1) (2,2)\n");
}

// Any two tasks of one stream exchanged: refused, or still right.
TEST(Schedule, IsRefusedWhereAnExchangeMakesADeadlock) {
  auto const good = cholesky_schedule(6, 2, 2);
  int refused = 0;
  for (std::size_t lane = 0; lane < good.tasks.size(); ++lane) {
    for (std::size_t t = 0; t + 1 < good.tasks[lane].size(); ++t) {
      auto broken = good;
      std::swap(broken.tasks[lane][t], broken.tasks[lane].back());
      auto const check = check_schedule(broken);
      EXPECT_TRUE(check.ok() || check.fault.starts_with("deadlock: device")) << check.fault;
      refused += !check.ok();
    }
  }
  EXPECT_GT(refused, 5);
  auto broken = cholesky_schedule(2, 1, 1);
  std::swap(broken.tasks[0][0], broken.tasks[0][1]);
  EXPECT_EQ(check_schedule(broken).fault,
            "deadlock: device 0 stream 0 waits in task (1,0) for tile (0,0)");
}

TEST(Schedule, IsRefusedWhereATileIsMissingOrWrittenTwice) {
  auto const good = cholesky_schedule(5, 2, 1);
  auto missing = good;
  missing.tasks[1].erase(missing.tasks[1].begin());
  EXPECT_EQ(check_schedule(missing).fault, "tile (1,0) is never written");
  auto twice = good;
  twice.tasks[0].push_back({1, 0});
  EXPECT_EQ(check_schedule(twice).fault, "tile (1,0) is written twice");
  for (Task const& task : {Task{0, 1}, Task{5, 0}, Task{-1, -1}}) {
    auto outside = good;
    outside.tasks[0].push_back(task);
    EXPECT_TRUE(check_schedule(outside).fault.ends_with("is not a tile to be factored"));
  }
  auto early = cholesky_schedule(5, 2, 1, 1, 2);
  early.tasks[0].push_back({4, 1});
  EXPECT_EQ(check_schedule(early).fault, "task (4,1) is not a tile to be factored");
  auto lanes = good;
  lanes.streams = 2;
  EXPECT_TRUE(check_schedule(lanes).fault.starts_with("sizes: 5 tile rows"));
}

TEST(Schedule, RefusesSizesOutOfRange) {
  EXPECT_TRUE(throws_with<ShapeError>("-1 tile rows", [] { (void)cholesky_schedule(-1, 1, 1); }));
  EXPECT_TRUE(
      throws_with<ShapeError>("from column 4", [] { (void)cholesky_schedule(3, 1, 1, 1, 4); }));
  EXPECT_TRUE(throws_with<ValueError>("0 devices", [] { (void)cholesky_schedule(3, 0, 1); }));
  EXPECT_TRUE(throws_with<ValueError>("0 streams", [] { (void)cholesky_schedule(3, 1, 0); }));
  EXPECT_TRUE(throws_with<ValueError>("blocks of 0", [] { (void)cholesky_schedule(3, 1, 1, 0); }));
}

}  // namespace
