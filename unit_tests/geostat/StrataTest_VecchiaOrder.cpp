// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/Strata_Errors.hpp>
#include <core/problems/Strata_Random.hpp>
#include <geostat/neighbours/Strata_ConditioningBlocks.hpp>
#include <geostat/neighbours/Strata_MaximinOrder.hpp>
#include <geostat/neighbours/Strata_OrderedNeighbours.hpp>
#include <geostat/neighbours/detail/Strata_PlacesInSpace.hpp>

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
namespace detail = strata::geostat::detail;

template <class Space>
class MaximinOrderTest : public testing::Test {};
TYPED_TEST_SUITE(MaximinOrderTest, strata::test::Spaces, strata::test::SpaceNames);
template <class Space>
class OrderedNeighboursTest : public testing::Test {};
TYPED_TEST_SUITE(OrderedNeighboursTest, strata::test::Spaces, strata::test::SpaceNames);
template <class Space>
class ConditioningBlocksTest : public testing::Test {};
TYPED_TEST_SUITE(ConditioningBlocksTest, strata::test::Spaces, strata::test::SpaceNames);

// Places of several kinds: spread out, in clusters of very different sizes, most in one small ball,
// on a line. Or many copies, a grid with many ties, places in a cube.
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
    } else if (kind == "ball" && i % 10 != 0) {
      at.x[i] = 0.5 + 1e-6 * at.x[i];
      at.y[i] = 0.5 + 1e-6 * at.y[i];
    } else if (kind == "grid") {
      at.x[i] = 0.1 * static_cast<double>(i % 20);
      at.y[i] = 0.1 * static_cast<double>(i / 20);
    } else if (kind == "globe") {
      at.x[i] = 360 * at.x[i] - 180;
      at.y[i] = 180 * at.y[i] - 90;
    }
  }
  if (kind == "globe") at.metric = Metric::GreatCircle;
  if (kind == "cube") {
    at.further.resize(1);
    for (std::size_t i = 0; i < at.x.size(); ++i) at.further[0].push_back(uniform(4, i));
  }
  return at;
}

char const* const kinds[] = {"spread", "clusters", "ball", "line",
                             "copies", "grid",     "cube", "globe"};

// The distance by which places are ordered: in space on the sphere.
double distance_in_space(Locations const& at, std::int64_t i, std::int64_t j) {
  double const d = at.distance(i, j);
  constexpr double radius = 6371.0088;
  return at.metric == Metric::Euclidean ? d : 2 * std::sin(d / radius / 2);
}

TYPED_TEST(MaximinOrderTest, EachPlaceIsNearlyTheFarthestFromThoseBefore) {
  TypeParam const exec;
  for (auto const* kind : kinds) {
    auto const at = some_places(kind, 400);
    std::int64_t const n = at.size();
    auto const order = maximin_order(exec, at);
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

// One place after the other, by the definition; those too near each other are missing.
template <int D>
std::vector<std::int64_t> greedy_order(Locations const& at) {
  auto places = detail::places_in_space<D>(at);
  auto const size = detail::move_to_origin(places);
  double const extent = std::sqrt(detail::squared_distance(size, detail::Place<D>{}));
  std::vector<std::int64_t> left(places.size()), order;
  std::iota(left.begin(), left.end(), 0);
  std::ranges::sort(left, {}, [](auto i) { return random_bits(0, static_cast<std::uint64_t>(i)); });
  auto const place = [&](std::int64_t i) { return places[static_cast<std::size_t>(i)]; };
  for (double r = 1.01 * extent; !left.empty() && r > 0x1p-40 * extent; r /= std::sqrt(2.0))
    std::erase_if(left, [&](std::int64_t i) {
      for (auto const j : order)
        if (detail::squared_distance(place(i), place(j)) < r * r) return false;
      order.push_back(i);
      return true;
    });
  return order;
}

TYPED_TEST(MaximinOrderTest, IsWhatOneAfterTheOtherMakesOfEachLayer) {
  TypeParam const exec;
  for (auto const* kind : kinds) {
    auto const at = some_places(kind, 1500);
    auto const expected =
        detail::dimension_of_places(at) == 2 ? greedy_order<2>(at) : greedy_order<3>(at);
    auto order = maximin_order(exec, at);
    ASSERT_GE(order.size(), expected.size()) << kind;
    order.resize(expected.size());
    EXPECT_EQ(order, expected) << kind;
  }
}

TYPED_TEST(MaximinOrderTest, CopiesComeLastAsTheyAre) {
  TypeParam const exec;
  Locations at = some_places("spread", 10);
  at.x.insert(at.x.end(), {at.x[3], at.x[3], at.x[7]});
  at.y.insert(at.y.end(), {at.y[3], at.y[3], at.y[7]});
  auto const order = maximin_order(exec, at);
  std::vector<std::int64_t> const last(order.end() - 3, order.end());
  EXPECT_TRUE(std::ranges::is_sorted(last));
  // Of places 3, 10 and 11, and of 7 and 12, all but one are last.
  std::set<std::int64_t> const threes{3, 10, 11}, sevens{7, 12};
  EXPECT_EQ(std::ranges::count_if(last, [&](auto i) { return threes.contains(i); }), 2);
  EXPECT_EQ(std::ranges::count_if(last, [&](auto i) { return sevens.contains(i); }), 1);
}

TYPED_TEST(MaximinOrderTest, NoneAndOneAndManyOfOnePlace) {
  TypeParam const exec;
  EXPECT_TRUE(maximin_order(exec, Locations{}).empty());
  EXPECT_EQ(maximin_order(exec, {{1}, {2}}), std::vector<std::int64_t>{0});
  std::vector<double> const same(50, 3.0);
  EXPECT_EQ(maximin_order(exec, {same, same}).size(), 50u);
  EXPECT_THROW((void)maximin_order(exec, {{1, std::nan("")}, {0, 0}}), ValueError);
}

// Distances as they are compared: those that are equal in fp64 come by rank.
template <int D>
void expect_those_of_all_pairs(Locations const& at, std::vector<std::int64_t> const& order,
                               NeighbourLists const& lists, std::int64_t m) {
  auto const places = detail::places_in_space<D>(at);
  for (std::size_t k = 0; k < order.size(); ++k) {
    std::vector<std::pair<double, std::size_t>> all;  // by distance, then by rank
    for (std::size_t l = 0; l < k; ++l)
      all.emplace_back(detail::squared_distance(places[static_cast<std::size_t>(order[l])],
                                                places[static_cast<std::size_t>(order[k])]),
                       l);
    std::ranges::sort(all);
    auto const found = lists.of(order[k]);
    ASSERT_EQ(found.size(), std::min(k, static_cast<std::size_t>(m)));
    for (std::size_t j = 0; j < found.size(); ++j)
      ASSERT_EQ(found[j], order[all[j].second]) << m << " neighbour " << j << " of " << order[k];
  }
}

TYPED_TEST(OrderedNeighboursTest, AreThoseOfAllPairs) {
  TypeParam const exec;
  for (auto const* kind : kinds)
    for (std::int64_t const m : {0, 1, 7, 30, 1000}) {
      auto const at = some_places(kind, 300);
      auto const maximin = maximin_order(exec, at);
      // Other orders, too: as they are, and from both ends to the middle.
      std::vector<std::int64_t> as_they_are(300), ends;
      std::iota(as_they_are.begin(), as_they_are.end(), 0);
      for (std::int64_t i = 0; i < 150; ++i) ends.insert(ends.end(), {i, 299 - i});
      for (auto const& order : {maximin, as_they_are, ends}) {
        SCOPED_TRACE(kind);
        auto const lists = ordered_neighbours(exec, at, order, m);
        if (detail::dimension_of_places(at) == 2)
          expect_those_of_all_pairs<2>(at, order, lists, m);
        else
          expect_those_of_all_pairs<3>(at, order, lists, m);
      }
    }
}

TYPED_TEST(OrderedNeighboursTest, OfFewAreAll) {
  TypeParam const exec;
  EXPECT_TRUE(ordered_neighbours(exec, Locations{}, {}, 5).members.empty());
  auto const one = ordered_neighbours(exec, {{1}, {2}}, std::vector<std::int64_t>{0}, 5);
  EXPECT_EQ(one.offsets, (std::vector<std::int64_t>{0, 0}));
  auto const two = ordered_neighbours(exec, {{1, 2}, {2, 2}}, std::vector<std::int64_t>{1, 0}, 5);
  EXPECT_EQ(two.members, std::vector<std::int32_t>{1});
}

// Each cell of a cube once, and each a neighbour of the one before.
template <int D>
void expect_steps_of_one(std::size_t side) {
  std::vector<detail::Place<D>> places(static_cast<std::size_t>(std::pow(side, D)));
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::size_t rest = i;
    for (auto& coordinate : places[i].at) {
      coordinate = static_cast<double>(rest % side);
      rest /= side;
    }
  }
  auto const along = detail::curve_through(places);
  ASSERT_EQ(std::set<std::int32_t>(along.begin(), along.end()).size(), places.size());
  for (std::size_t k = 1; k < along.size(); ++k)
    ASSERT_EQ(detail::squared_distance(places[static_cast<std::size_t>(along[k - 1])],
                                       places[static_cast<std::size_t>(along[k])]),
              1)
        << D << " " << k;
}

TEST(PlacesInSpace, AlongHilbertsCurveEachTouchesTheOneBefore) {
  expect_steps_of_one<2>(16);
  expect_steps_of_one<3>(8);
  expect_steps_of_one<8>(2);
}

TYPED_TEST(OrderedNeighboursTest, OfNewPlacesAreTheNearest) {
  TypeParam const exec;
  auto const at = some_places("clusters", 200), of = some_places("spread", 37);
  auto const lists = nearest_neighbours(exec, at, of, 5);
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
  EXPECT_EQ(nearest_neighbours(exec, at, of, 1000).of(3).size(), 200u);
  EXPECT_TRUE(nearest_neighbours(exec, Locations{}, of, 5).members.empty());
}

TYPED_TEST(OrderedNeighboursTest, RefusesWhatIsNoOrder) {
  TypeParam const exec;
  auto const at = some_places("spread", 4);
  std::vector<std::int64_t> const twice{0, 1, 1, 3}, few{0, 1, 2};
  EXPECT_NE(test::message_of<ValueError>([&] {
              (void)ordered_neighbours(exec, at, twice, 2);
            }).find("position 2"),
            std::string::npos);
  EXPECT_THROW((void)ordered_neighbours(exec, at, few, 2), ValueError);
  EXPECT_THROW((void)ordered_neighbours(exec, at, maximin_order(exec, at), -1), ValueError);
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

// Entries of the blocks' squares where all pairs of neighbours are tried one after the other.
std::int64_t pairs_of_all_joined(NeighbourLists const& neighbours,
                                 std::vector<std::int64_t> const& order, std::size_t most) {
  using Set = std::set<std::int32_t>;
  std::vector<Set> members(order.size());
  std::vector<std::size_t> block(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto const others = neighbours.of(static_cast<std::int64_t>(i));
    members[i] = Set(others.begin(), others.end());
    members[i].insert(static_cast<std::int32_t>(i));
    block[i] = i;
  }
  for (std::size_t l = 0; l < most; ++l)
    for (std::size_t i = 0; i < order.size(); ++i) {
      auto const others = neighbours.of(static_cast<std::int64_t>(i));
      if (l >= others.size()) continue;
      std::size_t const a = block[i], b = block[static_cast<std::size_t>(others[l])];
      if (a == b) continue;
      Set both = members[a];
      both.insert(members[b].begin(), members[b].end());
      std::size_t const na = members[a].size(), nb = members[b].size(), c = both.size();
      if (c > most || c * c > na * na + nb * nb) continue;
      members[a] = both;
      members[b].clear();
      std::ranges::replace(block, b, a);
    }
  std::int64_t sum = 0;
  for (auto const& one : members) {
    auto const count = static_cast<std::int64_t>(one.size());
    sum += count * (count + 1) / 2;
  }
  return sum;
}

TYPED_TEST(ConditioningBlocksTest, ConditionEachLocationOnItsNeighboursAtLeast) {
  TypeParam const exec;
  for (auto const* kind : kinds) {
    SCOPED_TRACE(kind);
    auto const at = some_places(kind, 500);
    auto const order = maximin_order(exec, at);
    auto const neighbours = ordered_neighbours(exec, at, order, 12);
    auto const alone = blocks_of_neighbours(exec, at, neighbours, order);
    auto const grouped = grouped_blocks(exec, at, neighbours, order, 26);
    check_blocks(alone, neighbours, order);
    check_blocks(grouped, neighbours, order);
    EXPECT_EQ(alone.size(), 500);
    EXPECT_LT(grouped.size(), 350);
    EXPECT_LE(grouped.largest(), 26);
    EXPECT_LT(grouped.pairs(), alone.pairs());
    // Windows cost some pairs, whose blocks are smaller.
    EXPECT_LT(static_cast<double>(grouped.pairs()),
              1.12 * static_cast<double>(pairs_of_all_joined(neighbours, order, 26)));
  }
}

TYPED_TEST(ConditioningBlocksTest, AreTheSameOnAllBackends) {
  TypeParam const exec;
  Kokkos::DefaultHostExecutionSpace const host;
  for (auto const* kind : {"spread", "copies", "globe"}) {
    auto const at = some_places(kind, 3000);
    auto const order = maximin_order(host, at);
    EXPECT_EQ(maximin_order(exec, at), order);
    auto const neighbours = ordered_neighbours(host, at, order, 30);
    EXPECT_EQ(ordered_neighbours(exec, at, order, 30).members, neighbours.members);
    auto const expected = grouped_blocks(host, at, neighbours, order, 62),
               blocks = grouped_blocks(exec, at, neighbours, order, 62);
    EXPECT_EQ(blocks.offsets, expected.offsets) << kind;
    EXPECT_EQ(blocks.members, expected.members) << kind;
    EXPECT_EQ(blocks.responses, expected.responses) << kind;
    EXPECT_EQ(blocks.response_offsets, expected.response_offsets) << kind;
  }
}

TYPED_TEST(ConditioningBlocksTest, OfNoneAndOfListsThatAreNotTheirs) {
  TypeParam const exec;
  EXPECT_EQ(grouped_blocks(exec, Locations{}, NeighbourLists{}, {}, 10).size(), 0);
  auto const at = some_places("spread", 4);
  EXPECT_NE(test::message_of<ShapeError>([&] {
              (void)grouped_blocks(exec, at, NeighbourLists{}, maximin_order(exec, at), 10);
            }).find("0 lists of neighbours for 4"),
            std::string::npos);
}

}  // namespace
