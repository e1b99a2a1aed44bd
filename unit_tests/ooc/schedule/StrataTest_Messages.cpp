// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include <core/Strata_Errors.hpp>
#include <ooc/schedule/Strata_RankOrder.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>

#include <gtest/gtest.h>

#include <set>
#include <tuple>
#include <utility>

namespace {

using namespace strata;
using namespace strata::ooc;
using strata::test::throws_with;

// Of whole tasks, on a column of ranks.
RankOrder order_of(std::int64_t tiles, int ranks, std::int64_t first = 0, std::int64_t block = 1) {
  RankOrder order{tiles, {ranks, 1}};
  order.first_column = first;
  order.column_block = block;
  return order;
}

std::vector<RankMessages> all_messages(std::int64_t tiles, int ranks, std::int64_t first = 0) {
  std::vector<RankMessages> messages;
  for (int rank = 0; rank < ranks; ++rank)
    messages.push_back(messages_of(order_of(tiles, ranks, first), rank));
  return messages;
}

RankCheck check(std::int64_t tiles, int ranks, int devices = 1, int streams = 1,
                std::int64_t block = 1, std::int64_t first = 0) {
  return check_messages(cholesky_schedule(tiles, ranks * devices, streams, block, first, ranks),
                        all_messages(tiles, ranks, first),
                        room_of(order_of(tiles, ranks, first, block)));
}

TEST(Messages, PassTheirCheckForAnyRanks) {
  for (std::int64_t const tiles : {0, 1, 2, 3, 7, 16, 33}) {
    for (int const ranks : {1, 2, 3, 4, 6, 7, 40}) {
      for (int const devices : {1, 2}) {
        for (int const streams : {1, 3}) {
          for (std::int64_t const block : {1, 2, 4, 8}) {
            auto const found = check(tiles, ranks, devices, streams, block);
            ASSERT_TRUE(found.ok()) << tiles << ' ' << ranks << ' ' << block << found.fault;
            ASSERT_EQ(found.tasks, static_cast<std::int64_t>(tile_count(tiles)));
            ASSERT_LE(found.most_tiles, room_of(order_of(tiles, ranks, 0, block)));
          }
        }
      }
    }
  }
}

// From a column on, where the others are there: rows before it go nowhere.
TEST(Messages, PassTheirCheckFromAnyColumn) {
  for (std::int64_t const tiles : {1, 2, 7, 16}) {
    for (int const ranks : {1, 2, 3, 4, 6, 20}) {
      for (std::int64_t const block : {1, 4}) {
        for (std::int64_t first = 0; first <= tiles; ++first) {
          auto const found = check(tiles, ranks, 2, 2, block, first);
          ASSERT_TRUE(found.ok()) << tiles << ' ' << ranks << ' ' << first << found.fault;
          for (auto const& messages : all_messages(tiles, ranks, first))
            for (auto const& m : messages.receives) ASSERT_GE(m.row, first);
        }
      }
    }
  }
}

TEST(Messages, PassTheirCheckFor200TileRowsOn64Ranks) {
  for (std::int64_t const block : {1, 4}) {
    auto const found = check(200, 64, 1, 2, block);
    ASSERT_TRUE(found.ok()) << found.fault;
    EXPECT_LE(found.most_tiles, 2 * block * 200);
  }
}

// Each rank gets each tile that it needs once: those of a row above one of its own.
TEST(Messages, CarryEachTileOnceToEachRankThatNeedsIt) {
  for (std::int64_t const tiles : {1, 5, 9}) {
    for (int const ranks : {1, 2, 3, 6, 12}) {
      std::set<std::pair<int, std::int64_t>> needed;
      for (std::int64_t row = 0; row < tiles; ++row)
        for (std::int64_t below = row + 1; below < tiles; ++below)
          if (int const rank = owner_of({ranks, 1}, 0, tiles, below, row);
              rank != owner_of({ranks, 1}, 0, tiles, row, row))
            needed.insert({rank, row});
      std::size_t expected = 0;
      for (auto const& [rank, row] : needed) expected += static_cast<std::size_t>(row + 1);
      std::set<std::tuple<int, std::int64_t, std::int64_t>> found;
      std::size_t received = 0;
      for (auto const& messages : all_messages(tiles, ranks)) {
        for (auto const& m : messages.receives) {
          EXPECT_TRUE(needed.contains({m.to, m.row}));
          found.insert({m.to, m.row, m.col});
        }
        received += messages.receives.size();
      }
      EXPECT_EQ(received, expected);
      EXPECT_EQ(found.size(), expected);
    }
  }
}

TEST(Messages, NameWhatIsWrong) {
  auto const schedule = cholesky_schedule(6, 3, 1, 1, 0, 3);
  auto const good = all_messages(6, 3);
  auto const fault = [&](auto const& change, std::int64_t room = 100) {
    auto messages = good;
    change(messages);
    return check_messages(schedule, messages, room).fault;
  };
  EXPECT_EQ(fault([](auto&) {}), "");
  EXPECT_EQ(fault([](auto& m) { m[1].sends.pop_back(); }),
            "deadlock: rank 0 waits in task (5,4) for tile (4,4)");
  EXPECT_EQ(fault([](auto& m) {
              m[1].receives.pop_back();
              m[2].receives.clear();
            }),
            "deadlock: rank 0 waits in task (5,2) for tile (2,0)");
  EXPECT_EQ(fault([](auto& m) { m[0].sends.push_back({5, 5, 0, 1}); }),
            "a send without a receive: tile (5,5) from rank 0 to rank 1");
  EXPECT_EQ(fault([](auto& m) { m[1].receives.push_back({5, 5, 2, 1}); }),
            "a receive without a send: tile (5,5) from rank 2 to rank 1");
  EXPECT_EQ(
      fault([](auto& m) { std::swap(m[1].sends.at(4), m[1].sends.at(5)); }),
      "tile (4,1) from rank 1 to rank 0 meets the receive of tile (4,0) from rank 1 to rank 0");
  EXPECT_EQ(fault([](auto&) {}, 1), "deadlock: rank 0 waits in task (5,1) for tile (1,1)");
  auto strange = schedule;
  std::swap(strange.tasks[0], strange.tasks[1]);
  EXPECT_EQ(check_messages(strange, good, 100).fault,
            "rank 0 writes tile (1,0), which is not its own");
}

TEST(Messages, CountBytesInStoredPrecision) {
  PrecisionMap map(3);
  map.set(1, 0, Precision::fp32);
  std::vector<Message> const messages = {{1, 0, 1, 0}, {2, 2, 0, 1}};
  EXPECT_EQ(bytes_of(messages, 20, 8, map), ooc::tile_copy_bytes(Precision::fp32, 8, 8) +
                                                ooc::tile_copy_bytes(Precision::fp64, 4, 4));
}

TEST(Messages, RefuseARankThatIsNone) {
  EXPECT_TRUE(throws_with<ValueError>("messages: rank 2 of 2",
                                      [] { (void)messages_of(order_of(3, 2), 2); }));
}

}  // namespace
