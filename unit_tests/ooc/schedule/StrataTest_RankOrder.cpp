// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include <core/Strata_Errors.hpp>
#include <ooc/schedule/Strata_RankOrder.hpp>
#include <ooc/schedule/detail/Strata_SchedulePlayer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace {

using namespace strata;
using namespace strata::ooc;
using strata::test::throws_with;

RankOrder order_of(std::int64_t tiles, RankGrid grid, std::int64_t super_panel, int devices = 1,
                   int streams = 2) {
  RankOrder order{tiles, grid, devices, streams};
  order.super_panel = super_panel;
  return order;
}

std::vector<RankGrid> const grids = {{1, 1}, {2, 1}, {1, 2}, {2, 2},
                                     {3, 2}, {2, 3}, {5, 4}, {1, 7}};

TEST(RankOrder, PassesItsCheckOnAnyGrid) {
  for (std::int64_t const tiles : {0, 1, 2, 3, 7, 16, 33}) {
    for (RankGrid const grid : grids) {
      for (std::int64_t const super_panel : {1, 2, 5, 40}) {
        for (int const devices : {1, 2}) {
          for (int const streams : {1, 2, 4}) {
            auto const order = order_of(tiles, grid, super_panel, devices, streams);
            auto const found = check_order(order);
            ASSERT_TRUE(found.ok()) << tiles << ' ' << grid.rows << 'x' << grid.cols << ' '
                                    << super_panel << ' ' << streams << ": " << found.fault;
            ASSERT_EQ(found.tasks, static_cast<std::int64_t>(tile_count(tiles)));
            ASSERT_EQ(found.updates, (tiles - 1) * tiles * (tiles + 1) / 6);
            ASSERT_LE(found.most_tiles, room_of(order));
          }
        }
      }
    }
  }
}

TEST(RankOrder, PassesItsCheckFor200TileRowsOn64Ranks) {
  for (RankGrid const grid : {RankGrid{8, 8}, RankGrid{16, 4}, RankGrid{64, 1}}) {
    for (std::int64_t const super_panel : {1, 4, 10}) {
      auto const order = order_of(200, grid, super_panel);
      auto const found = check_order(order);
      ASSERT_TRUE(found.ok()) << found.fault;
      EXPECT_LE(found.most_tiles, room_of(order));
      // two super-panels' tiles in the rows and columns of a rank
      EXPECT_LE(room_of(order), 2 * super_panel * (200 / grid.rows + 200 / grid.cols + 2));
    }
  }
}

// A rank gets what its tiles need, once: the row operands, the column operands and the diagonal
// tiles.
TEST(RankOrder, BringsEachRankWhatItsTilesNeedOnce) {
  for (std::int64_t const tiles : {1, 5, 12}) {
    for (RankGrid const grid : grids) {
      auto const order = order_of(tiles, grid, 3);
      std::set<std::tuple<int, std::int64_t, std::int64_t>> needed;
      for (std::int64_t j = 0; j < tiles; ++j)
        for (std::int64_t i = j; i < tiles; ++i) {
          int const rank = order.owner(i, j);
          auto const need = [&](std::int64_t row, std::int64_t col) {
            if (order.owner(row, col) != rank) needed.insert({rank, row, col});
          };
          for (std::int64_t k = 0; k < j; ++k) {
            need(i, k);
            need(j, k);
          }
          if (i != j) need(j, j);
        }
      std::set<std::tuple<int, std::int64_t, std::int64_t>> found;
      std::size_t received = 0;
      for (int rank = 0; rank < grid.ranks(); ++rank) {
        auto const messages = messages_of(order, rank);
        std::map<std::pair<std::int64_t, std::int64_t>, int> times;
        for (Message const& m : messages.sends) EXPECT_LE(++times[std::pair(m.row, m.col)], 2);
        received += messages.receives.size();
        for (Message const& m : messages.receives) found.insert({m.to, m.row, m.col});
      }
      EXPECT_EQ(found, needed) << tiles << ' ' << grid.rows << 'x' << grid.cols;
      EXPECT_EQ(received, needed.size());
    }
  }
}

// What is factored already is not made again, and rows before it go nowhere.
TEST(RankOrder, GoesOnFromAnyColumn) {
  for (std::int64_t const tiles : {1, 2, 7, 16}) {
    for (RankGrid const grid : grids) {
      for (std::int64_t const super_panel : {0, 1, 3, 40}) {
        if (super_panel == 0 && grid.cols > 1) continue;
        for (std::int64_t first = 0; first <= tiles; ++first) {
          auto order = order_of(tiles, grid, super_panel, 2, 2);
          order.first_column = first;
          auto const found = check_order(order);
          ASSERT_TRUE(found.ok()) << tiles << ' ' << grid.rows << 'x' << grid.cols << ' '
                                  << super_panel << ' ' << first << ": " << found.fault;
          ASSERT_EQ(found.tasks, static_cast<std::int64_t>(tile_count(tiles - first)));
          for (int rank = 0; rank < grid.ranks(); ++rank)
            for (Message const& m : messages_of(order, rank).receives) ASSERT_GE(m.row, first);
        }
      }
    }
  }
}

// A tile is on one rank. Rows of whole tasks go there and back. No rank has much more than its
// share of the updates, i (i + 1) / 2 of row i.
TEST(RankOrder, DealsRowsThereAndBack) {
  auto const owners = [](std::int64_t tiles, RankGrid grid, std::int64_t super_panel) {
    auto const order = order_of(tiles, grid, super_panel);
    std::string text;
    for (std::int64_t i = 0; i < tiles; ++i) text += std::to_string(order.owner(i, i / 2));
    return text;
  };
  EXPECT_EQ(owners(16, {3, 1}, 0), "2210012210012210");
  EXPECT_EQ(owners(7, {3, 1}, 1), "0120120");
  EXPECT_EQ(owners(3, {4, 1}, 0), "210");
  for (int const ranks : {1, 2, 3, 4, 7}) {
    for (std::int64_t const tiles : {0, 1, 5, 8 * ranks, 9 * ranks, 8 * ranks + 3}) {
      auto const order = order_of(tiles, {ranks, 1}, 0);
      std::vector<double> updates(static_cast<std::size_t>(ranks), 0);
      double sum = 0;
      for (std::int64_t i = 0; i < tiles; ++i) {
        double const of_row = static_cast<double>(i * (i + 1)) / 2;
        updates[static_cast<std::size_t>(order.owner(i, 0))] += of_row;
        sum += of_row;
      }
      for (int rank = 0; rank < ranks; ++rank)
        for (std::int64_t step = 0; step < tiles; ++step) {
          std::int64_t visits = 0;
          for (std::int64_t i = step; i < tiles; ++i) visits += order.owner(i, 0) == rank;
          EXPECT_EQ(order.visits_in(rank, step), visits);
        }
      if (tiles >=
          8 * ranks) {  // round the ranks the last one of seven would have 1.17 of its share
        EXPECT_LE(*std::ranges::max_element(updates) * ranks, 1.03 * sum) << ranks << ' ' << tiles;
      }
    }
  }
}

// Without super-panels.
TEST(RankOrder, OfWholeTasksIsTheSchedule) {
  for (int const ranks : {1, 2, 3, 6}) {
    for (std::int64_t const block : {1, 3}) {
      RankOrder order{13, {ranks, 1}, 2, 2};
      order.column_block = block;
      auto const schedule = cholesky_schedule(13, 2 * ranks, 2, block, 0, ranks);
      EXPECT_EQ(visits_of(order), ooc::detail::visits_of(schedule));
      EXPECT_TRUE(check_order(order).ok());
    }
  }
}

// Two super-panels of what a rank gets, or as many of its longest rows as two blocks have columns;
// no rank's depends on what another one needs.
TEST(RankOrder, HasRoomForWhatARankGetsOfTwoSteps) {
  for (auto const& [grid, super_panel, block] :
       {std::tuple(RankGrid{3, 1}, 0, 1), std::tuple(RankGrid{2, 1}, 0, 3),
        std::tuple(RankGrid{1, 1}, 0, 2), std::tuple(RankGrid{3, 2}, 2, 1),
        std::tuple(RankGrid{1, 4}, 3, 1), std::tuple(RankGrid{1, 1}, 3, 1)}) {
    auto order = order_of(13, grid, super_panel);
    order.column_block = block;
    for (std::int64_t const first : {0, 5, 13}) {
      order.first_column = first;
      std::int64_t most = 0;
      for (int rank = 0; rank < grid.ranks(); ++rank) {
        std::vector<std::int64_t> steps(static_cast<std::size_t>(order.steps()) + 1, 0);
        for (Message const& m : messages_of(order, rank).receives)
          ++steps[static_cast<std::size_t>(order.step_of_tile(m.row, m.col))];
        std::int64_t room = 0;
        if (super_panel > 0) {
          for (std::size_t s = 0; s + 1 < steps.size(); ++s)
            room = std::max(room, steps[s] + steps[s + 1]);
        } else {
          std::ranges::sort(steps, std::greater());
          for (std::int64_t s = 0; s < 2 * block; ++s) room += steps[static_cast<std::size_t>(s)];
        }
        EXPECT_EQ(room_of(order, rank), room) << grid.rows << 'x' << grid.cols << ' ' << rank;
        most = std::max(most, room);
      }
      EXPECT_EQ(room_of(order), most);
    }
  }
}

// Stream s of device d of a rank is the one that all have there.
TEST(RankOrder, OfOneRankIsItsPart) {
  for (std::int64_t const super_panel : {0, 2}) {
    auto const order = order_of(13, {3, super_panel > 0 ? 2 : 1}, super_panel, 2, 3);
    auto const all = visits_of(order);
    for (int rank = 0; rank < order.grid.ranks(); ++rank) {
      auto const part = visits_of(order, rank);
      ASSERT_EQ(part.size(), 6u);
      for (int device = 0; device < 2; ++device)
        for (int stream = 0; stream < 3; ++stream)
          EXPECT_EQ(part[static_cast<std::size_t>(device * 3 + stream)],
                    all[order.lane(rank, device, stream)]);
    }
  }
}

TEST(RankOrder, ChoosesAGridByItself) {
  std::map<int, RankGrid> const expected = {{1, {1, 1}}, {2, {2, 1}}, {3, {3, 1}},  {4, {4, 1}},
                                            {5, {5, 1}}, {6, {3, 2}}, {12, {4, 3}}, {64, {8, 8}}};
  for (auto const& [ranks, grid] : expected) {
    EXPECT_EQ(automatic_grid(ranks), grid) << ranks;
    EXPECT_EQ(automatic_super_panel(grid), ranks > 4 ? 4 : 0) << ranks;
  }
  EXPECT_EQ(automatic_super_panel({2, 2}), 4);
}

TEST(RankOrder, ReadsAGrid) {
  EXPECT_EQ(grid_from("4x8"), (RankGrid{4, 8}));
  EXPECT_EQ(grid_from("12x1"), (RankGrid{12, 1}));
  for (char const* const text :
       {"", "4", "x8", "4x", "4x8x", "4 x 8", "0x2", "2x-1", "2X2", "99999999999x1", "2x2 "})
    EXPECT_TRUE(throws_with<ValueError>(std::string(text) + " is no grid of ranks, as 4x8", [=] {
      (void)grid_from(text);
    })) << text;
}

TEST(RankOrder, RefusesMoreRanksThanAnIntCounts) {
  RankOrder order{10, {65536, 65536}, 1, 1, 4};
  EXPECT_TRUE(throws_with<ValueError>("a grid of 65536 x 65536 is of too many ranks",
                                      [&] { order.check(); }));
}

// What is wrong with an order that was changed.
TEST(RankOrder, CheckNamesWhatIsWrong) {
  auto const order = order_of(6, {2, 2}, 2);
  std::vector<RankMessages> good;
  for (int rank = 0; rank < 4; ++rank) good.push_back(messages_of(order, rank));
  auto const fault = [&](auto const& change, std::int64_t room = 100) {
    auto played = ooc::detail::played(order);
    auto messages = good;
    change(played.lanes, messages);
    return ooc::detail::play(played, messages, std::vector<std::int64_t>(4, room)).fault;
  };
  EXPECT_EQ(fault([](auto&, auto&) {}), "");
  // rank 0's streams are lanes 0 and 1: (0,0), (2,0), (4,0); (2,2), (4,2), (4,4)
  EXPECT_EQ(fault([](auto& lanes, auto&) { std::swap(lanes[0][3].first, lanes[0][3].last); }),
            "task (2,2) is not a tile to be factored");
  EXPECT_EQ(fault([](auto& lanes, auto&) { lanes[0][3].first = 1; }),
            "deadlock: rank 0 waits in task (2,2) for tile (2,2)");
  EXPECT_EQ(fault([](auto& lanes, auto&) { lanes[0].insert(lanes[0].begin() + 3, lanes[0][3]); }),
            "tile (2,2) has its updates from column 0 on behind those to column 2");
  EXPECT_EQ(fault([](auto& lanes, auto&) {
              lanes[0][3].is_last = true;
              lanes[0][3].last = 2;
            }),
            "tile (2,2) is written twice");
  EXPECT_EQ(
      fault([](auto&, auto& m) { m[0].sends.erase(m[0].sends.begin()); }),
      "tile (2,0) from rank 0 to rank 2 meets the receive of tile (0,0) from rank 0 to rank 2");
  // rank 3 passes on what it got
  EXPECT_EQ(
      fault([](auto&, auto& m) { std::erase(m[3].sends, Message{3, 2, 3, 1}); }),
      "tile (3,3) from rank 3 to rank 1 meets the receive of tile (3,2) from rank 3 to rank 1");
  EXPECT_EQ(
      fault([](auto&, auto& m) { std::erase(m[1].receives, Message{3, 2, 3, 1}); }),
      "tile (3,2) from rank 3 to rank 1 meets the receive of tile (3,3) from rank 3 to rank 1");
  EXPECT_EQ(fault([](auto&, auto& m) { m[3].sends.clear(); }),
            "deadlock: rank 0 waits in task (2,2) for tile (2,1)");
  EXPECT_NE(fault([](auto&, auto&) {}, room_of(order) / 4), "");
}

TEST(RankOrder, RefusesWhatCannotBe) {
  auto const check = [](RankOrder const& order) { return [order] { order.check(); }; };
  EXPECT_TRUE(throws_with<ShapeError>("-1 tile rows", check(order_of(-1, {1, 1}, 1))));
  auto late = order_of(4, {1, 1}, 1);
  late.first_column = 5;
  EXPECT_TRUE(throws_with<ShapeError>("4 tile rows from column 5", check(late)));
  EXPECT_TRUE(throws_with<ValueError>("a grid of 0 x 2, 1 devices, 2 streams",
                                      check(order_of(4, {0, 2}, 1))));
  EXPECT_TRUE(
      throws_with<ValueError>("super-panels of -1 columns", check(order_of(4, {1, 2}, -1))));
  EXPECT_TRUE(throws_with<ValueError>("a grid of 2 x 2 without super-panels, must be of one column",
                                      check(order_of(4, {2, 2}, 0))));
  EXPECT_TRUE(throws_with<ValueError>("messages: rank 4 of 4",
                                      [] { (void)messages_of(order_of(4, {2, 2}, 1), 4); }));
}

}  // namespace
