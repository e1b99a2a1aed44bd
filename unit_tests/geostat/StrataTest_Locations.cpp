// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include <core/Strata_Errors.hpp>
#include <geostat/Strata_Locations.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <numeric>
#include <vector>

namespace {

using namespace strata;
using namespace strata::geostat;

TEST(Locations, DistanceOnTheSphereIsTheGreatCircle) {
  constexpr double radius = 6371.0088, pi = std::numbers::pi;
  Locations const at{{0, 90, 180, 12, 0, -0.1276, 2.3522, 0},
                     {0, 0, 0, 90, 1e-5, 51.5072, 48.8566, 1},
                     Metric::GreatCircle};
  EXPECT_NEAR(at.distance(0, 1), radius * pi / 2, 1e-11 * radius);
  EXPECT_NEAR(at.distance(0, 2), radius * pi, 1e-7 * radius);
  EXPECT_NEAR(at.distance(1, 3), radius * pi / 2, 1e-11 * radius);
  EXPECT_NEAR(at.distance(0, 4), radius * pi / 180 * 1e-5, 1e-12);  // about a metre
  EXPECT_NEAR(at.distance(0, 7), 111.195, 0.001);
  EXPECT_NEAR(at.distance(5, 6), 343.6, 0.5);  // London, Paris
  EXPECT_EQ(at.distance(5, 6), at.distance(6, 5));
  EXPECT_EQ(at.distance(5, 5), 0);
}

TEST(Locations, EuclideanDistanceIsThatOfThePlane) {
  Locations const at{{0, 3}, {0, 4}};
  EXPECT_EQ(at.distance(0, 1), 5);
}

TEST(Locations, MortonOrderIsTheCurveOnASmallGrid) {
  std::vector<double> x, y;
  for (int i = 0; i < 16; ++i) {
    x.push_back(i % 4);
    y.push_back(i / 4);
  }
  EXPECT_EQ(morton_order(x, y),
            (std::vector<std::int64_t>{0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15}));
}

TEST(Locations, MortonOrderIsAPermutationOfAnything) {
  using V = std::vector<double>;
  EXPECT_TRUE(morton_order(V{}, V{}).empty());
  EXPECT_EQ(morton_order(V{3}, V{4}), std::vector<std::int64_t>{0});
  EXPECT_EQ(morton_order(V{1, 1, 1}, V{2, 2, 2}), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(morton_order(V{1.7e308, -1.7e308}, V{0, 0}), (std::vector<std::int64_t>{1, 0}));
  EXPECT_THROW((void)morton_order(V{1, INFINITY}, V{1, 1}), ValueError);
  EXPECT_THROW((void)morton_order(V{1}, V{1, 1}), ShapeError);
}

TEST(Locations, SyntheticOnesFillTheUnitSquareInMortonOrder) {
  for (std::int64_t const n : {0, 1, 2, 16, 17, 1000}) {
    Locations const at = synthetic_locations(n, 3);
    ASSERT_EQ(at.size(), n);
    double const spacing = n > 0 ? 1 / std::ceil(std::sqrt(static_cast<double>(n))) : 1;
    double nearest = 1;
    for (std::int64_t i = 0; i < n; ++i) {
      ASSERT_TRUE(at.x[i] > 0 && at.x[i] < 1 && at.y[i] > 0 && at.y[i] < 1);
      for (std::int64_t j = 0; j < i; ++j) nearest = std::min(nearest, at.distance(i, j));
    }
    EXPECT_GE(nearest, 0.2 * spacing * (1 - 1e-12)) << n;
    std::vector<std::int64_t> in_order(n);
    std::iota(in_order.begin(), in_order.end(), 0);
    EXPECT_EQ(morton_order(at.x, at.y), in_order);
  }
  EXPECT_EQ(synthetic_locations(30, 1).x, synthetic_locations(30, 1).x);
  EXPECT_NE(synthetic_locations(30, 1).x, synthetic_locations(30, 2).x);
  EXPECT_THROW((void)synthetic_locations(-1), ShapeError);
}

TEST(Locations, HilbertOrderIsTheCurveOnASmallGrid) {
  std::vector<double> x, y;
  for (int i = 0; i < 16; ++i) {
    x.push_back(i % 4);
    y.push_back(i / 4);
  }
  EXPECT_EQ(hilbert_order(x, y),
            (std::vector<std::int64_t>{0, 1, 5, 4, 8, 12, 13, 9, 10, 14, 15, 11, 7, 6, 2, 3}));
}

TEST(Locations, NeighboursInHilbertOrderTouch) {
  constexpr int side = 32;
  std::vector<double> x, y;
  for (int i = 0; i < side * side; ++i) {
    x.push_back(i % side);
    y.push_back(i / side);
  }
  auto const order = hilbert_order(x, y);
  std::vector<std::int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (int k = 0; k < side * side; ++k) ASSERT_EQ(sorted[k], k);
  for (int k = 1; k < side * side; ++k)
    ASSERT_EQ(std::abs(x[order[k]] - x[order[k - 1]]) + std::abs(y[order[k]] - y[order[k - 1]]), 1)
        << k;
}

TEST(Locations, TakesNoOrderThatIsNotAPermutation) {
  auto const locations = synthetic_locations(4);
  auto const expect_refused = [&](char const* text, std::vector<std::int64_t> const& order) {
    EXPECT_TRUE(strata::test::throws_with<Error>(text, [&] { (void)locations.permuted(order); }));
  };
  expect_refused("permuted: an order of 2 for 4 locations", {0, 1});
  expect_refused("permuted: the order holds 9, must hold each of 0 to 3 once", {0, 1, 9, 2});
  expect_refused("permuted: the order holds -1, must", {0, -1, 1, 2});
  expect_refused("permuted: the order holds 1, must", {3, 1, 1, 2});
}

TEST(Locations, OrderingsHaveNames) {
  Locations const at{{0, 1, 0, 1}, {0, 0, 1, 1}};
  EXPECT_EQ(order_of(from_name<Ordering>("given"), at), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(order_of(from_name<Ordering>("morton"), at), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(order_of(from_name<Ordering>("hilbert"), at), hilbert_order(at.x, at.y));
  EXPECT_NE(hilbert_order(at.x, at.y), morton_order(at.x, at.y));
  for (Ordering const ordering : enum_values<Ordering>)
    EXPECT_EQ(from_name<Ordering>(name_of(ordering)), ordering);
  try {
    (void)from_name<Ordering>("Peano");
    FAIL();
  } catch (ValueError const& error) {
    EXPECT_STREQ(error.what(), "no ordering 'Peano'; there are given, morton, hilbert");
  }
}

}  // namespace
