// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include <core/Strata_Errors.hpp>
#include <geostat/vecchia/Strata_ConditioningBlocks.hpp>
#include <geostat/vecchia/Strata_MaximinOrder.hpp>
#include <geostat/vecchia/Strata_OrderedNeighbours.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace strata;
using namespace strata::geostat;

// Places of several kinds: spread out, in clusters of very different sizes, on a line, many copies.
Locations some_places(std::string const& kind, std::int64_t n) {
  Locations at = synthetic_locations(n, 5);
  at.numbers.clear();
  for (std::size_t i = 0; i < at.x.size(); ++i) {
    double const which = static_cast<double>(i % 7);
    if (kind == "clusters") {
      at.x[i] = which + std::pow(10, -which) * at.x[i];
      at.y[i] = which * which + std::pow(10, -which) * at.y[i];
    } else if (kind == "line") {
      at.y[i] = 3 * at.x[i] + 1e6;
    } else if (kind == "copies") {
      at.x[i] = std::floor(8 * at.x[i]);
      at.y[i] = std::floor(8 * at.y[i]);
    } else if (kind == "globe") {
      at.x[i] = 360 * at.x[i] - 180;
      at.y[i] = 180 * at.y[i] - 90;
    }
  }
  if (kind == "globe") at.metric = Metric::GreatCircle;
  return at;
}

char const* const kinds[] = {"spread", "clusters", "line", "copies", "globe"};

// The distance by which places are ordered: in space on the sphere.
double distance_in_space(Locations const& at, std::int64_t i, std::int64_t j) {
  double const d = at.distance(i, j);
  constexpr double radius = 6371.0088;
  return at.metric == Metric::Euclidean ? d : 2 * std::sin(d / radius / 2);
}

TEST(MaximinOrder, EachPlaceIsNearlyTheFarthestFromThoseBefore) {
  for (auto const* kind : kinds) {
    auto const at = some_places(kind, 400);
    std::int64_t const n = at.size();
    auto const order = maximin_order(at);
    ASSERT_EQ(std::set<std::int64_t>(order.begin(), order.end()).size(), order.size()) << kind;
    ASSERT_EQ(static_cast<std::int64_t>(order.size()), n) << kind;
    std::vector<double> nearest(static_cast<std::size_t>(n), HUGE_VAL);
    for (std::int64_t k = 0; k < n; ++k) {
      auto const here = order[static_cast<std::size_t>(k)];
      double farthest = 0;
      for (std::int64_t l = k; k > 0 && l < n; ++l)
        farthest = std::max(farthest,
                            nearest[static_cast<std::size_t>(order[static_cast<std::size_t>(l)])]);
      if (k > 0) {
        EXPECT_GE(nearest[static_cast<std::size_t>(here)], (std::sqrt(0.5) - 1e-9) * farthest)
            << kind << " position " << k;
      }
      for (std::int64_t i = 0; i < n; ++i)
        nearest[static_cast<std::size_t>(i)] =
            std::min(nearest[static_cast<std::size_t>(i)], distance_in_space(at, i, here));
    }
  }
}

TEST(MaximinOrder, CopiesComeLastAsTheyAre) {
  Locations at = some_places("spread", 10);
  at.x.insert(at.x.end(), {at.x[3], at.x[3], at.x[7]});
  at.y.insert(at.y.end(), {at.y[3], at.y[3], at.y[7]});
  auto const order = maximin_order(at);
  std::vector<std::int64_t> const last(order.end() - 3, order.end());
  EXPECT_TRUE(std::ranges::is_sorted(last));
  // Of places 3, 10 and 11, and of 7 and 12, all but one are last.
  std::set<std::int64_t> const threes{3, 10, 11}, sevens{7, 12};
  EXPECT_EQ(std::ranges::count_if(last, [&](auto i) { return threes.contains(i); }), 2);
  EXPECT_EQ(std::ranges::count_if(last, [&](auto i) { return sevens.contains(i); }), 1);
}

TEST(MaximinOrder, NoneAndOneAndManyOfOnePlace) {
  EXPECT_TRUE(maximin_order(Locations{}).empty());
  EXPECT_EQ(maximin_order({{1}, {2}}), std::vector<std::int64_t>{0});
  std::vector<double> const same(50, 3.0);
  EXPECT_EQ(maximin_order({same, same}).size(), 50u);
  EXPECT_THROW((void)maximin_order({{1, std::nan("")}, {0, 0}}), ValueError);
}

TEST(OrderedNeighbours, AreThoseOfAllPairs) {
  for (auto const* kind : kinds)
    for (std::int64_t const m : {0, 1, 7, 30}) {
      auto const at = some_places(kind, 300);
      auto const order = maximin_order(at);
      auto const lists = ordered_neighbours(at, order, m);
      for (std::size_t k = 0; k < order.size(); ++k) {
        std::vector<std::pair<double, std::size_t>> all;  // by distance, then by rank
        for (std::size_t l = 0; l < k; ++l)
          all.emplace_back(distance_in_space(at, order[k], order[l]), l);
        std::ranges::sort(all);
        auto const found = lists.of(order[k]);
        ASSERT_EQ(found.size(), std::min(k, static_cast<std::size_t>(m))) << kind;
        for (std::size_t j = 0; j < found.size(); ++j)  // those as far as each other may change
          ASSERT_NEAR(distance_in_space(at, order[k], found[j]), all[j].first,
                      1e-12 * (1 + all[j].first))
              << kind << " " << m << " neighbour " << j << " of " << order[k];
        std::set<std::int32_t> const different(found.begin(), found.end());
        ASSERT_EQ(different.size(), found.size());
      }
    }
}

TEST(OrderedNeighbours, OfNewPlacesAreTheNearest) {
  auto const at = some_places("clusters", 200), of = some_places("spread", 37);
  auto const lists = nearest_neighbours(at, of, 5);
  for (std::int64_t i = 0; i < of.size(); ++i) {
    std::vector<double> all;
    auto const k = static_cast<std::size_t>(i);
    for (std::size_t j = 0; j < at.x.size(); ++j)
      all.push_back(std::hypot(at.x[j] - of.x[k], at.y[j] - of.y[k]));
    auto const found = lists.of(i);
    ASSERT_EQ(found.size(), 5u);
    double const last = all[static_cast<std::size_t>(found[4])];
    EXPECT_LE(std::ranges::count_if(all, [&](double d) { return d < last - 1e-12; }), 4);
  }
  EXPECT_EQ(nearest_neighbours(at, of, 1000).of(3).size(), 200u);
  EXPECT_TRUE(nearest_neighbours(Locations{}, of, 5).members.empty());
}

TEST(OrderedNeighbours, RefusesWhatIsNoOrder) {
  auto const at = some_places("spread", 4);
  std::vector<std::int64_t> const twice{0, 1, 1, 3}, few{0, 1, 2};
  EXPECT_NE(test::message_of<ValueError>([&] {
              (void)ordered_neighbours(at, twice, 2);
            }).find("position 2"),
            std::string::npos);
  EXPECT_THROW((void)ordered_neighbours(at, few, 2), ValueError);
  EXPECT_THROW((void)ordered_neighbours(at, maximin_order(at), -1), ValueError);
}

// Each location answers once, and is conditioned on its neighbours, all of which come before it.
void check_blocks(ConditioningBlocks const& blocks, NeighbourLists const& neighbours,
                  std::vector<std::int64_t> const& order) {
  std::vector<std::size_t> rank(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) rank[static_cast<std::size_t>(order[k])] = k;
  std::vector<int> answers(order.size(), 0);
  for (std::size_t b = 0; b + 1 < blocks.offsets.size(); ++b) {
    std::vector<std::int32_t> const members(blocks.members.begin() + blocks.offsets[b],
                                            blocks.members.begin() + blocks.offsets[b + 1]);
    for (std::size_t k = 1; k < members.size(); ++k)
      ASSERT_LT(rank[static_cast<std::size_t>(members[k - 1])],
                rank[static_cast<std::size_t>(members[k])]);
    for (auto r = blocks.response_offsets[b]; r < blocks.response_offsets[b + 1]; ++r) {
      auto const here =
          members[static_cast<std::size_t>(blocks.responses[static_cast<std::size_t>(r)])];
      ++answers[static_cast<std::size_t>(here)];
      for (auto const other : neighbours.of(here))
        ASSERT_NE(std::ranges::find(members, other), members.end());
    }
  }
  EXPECT_EQ(std::ranges::count(answers, 1), static_cast<std::ptrdiff_t>(order.size()));
}

TEST(ConditioningBlocks, ConditionEachLocationOnItsNeighboursAtLeast) {
  for (auto const* kind : kinds) {
    auto const at = some_places(kind, 500);
    auto const order = maximin_order(at);
    auto const neighbours = ordered_neighbours(at, order, 12);
    auto const alone = blocks_of_neighbours(neighbours, order);
    auto const grouped = grouped_blocks(neighbours, order, 26);
    check_blocks(alone, neighbours, order);
    check_blocks(grouped, neighbours, order);
    EXPECT_EQ(alone.size(), 500);
    EXPECT_LT(grouped.size(), 350) << kind;
    EXPECT_LE(grouped.largest(), 26) << kind;
    EXPECT_LT(grouped.pairs(), alone.pairs()) << kind;
  }
}

}  // namespace
