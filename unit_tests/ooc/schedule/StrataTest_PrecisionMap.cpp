// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include <core/Strata_Errors.hpp>
#include <dense/tree/Strata_BlockTree.hpp>
#include <ooc/schedule/Strata_PrecisionMap.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace {

using namespace strata;
using namespace strata::ooc;
using strata::test::throws_with;

// Norms of a matrix whose tiles decay by a factor with the distance from the diagonal.
TileNorms decaying(std::int64_t tiles, double factor) {
  TileNorms norms{tiles, std::vector<double>(tile_count(tiles)),
                  std::vector<double>(static_cast<std::size_t>(tiles), 1.0)};
  for (std::int64_t j = 0; j < tiles; ++j)
    for (std::int64_t i = j; i < tiles; ++i)
      norms.squares[tile_number(i, j, tiles)] = std::pow(factor, 2.0 * static_cast<double>(i - j));
  return norms;
}

TEST(PrecisionMap, NumbersTheTilesOfATriangleByColumns) {
  std::size_t expected = 0;
  for (std::int64_t j = 0; j < 5; ++j)
    for (std::int64_t i = j; i < 5; ++i) EXPECT_EQ(tile_number(i, j, 5), expected++);
  EXPECT_EQ(tile_count(5), expected);
  EXPECT_EQ(tile_count(0), 0u);
}

// Tiles below the diagonal stand for those above it, too.
TEST(PrecisionMap, TheNormIsThatOfTheWholeMatrix) {
  TileNorms const norms{3, {1, 10, 100, 2, 20, 4}, {1, 1, 1}};
  EXPECT_DOUBLE_EQ(norms.frobenius(), std::sqrt(1 + 2 + 4 + 2 * (10 + 100 + 20.0)));
  EXPECT_EQ(TileNorms{}.frobenius(), 0);
}

TEST(PrecisionMap, FollowsThePapersInequalityTileByTile) {
  std::int64_t const tiles = 12;
  TileNorms const norms = decaying(tiles, 0.05);
  PrecisionRule rule{1e-6};
  rule.operand_rule = false;
  PrecisionMap const map = precision_map(norms, rule);
  double const whole = norms.frobenius();
  std::array<std::int64_t, 4> seen{};
  for (std::int64_t j = 0; j < tiles; ++j) {
    for (std::int64_t i = j; i < tiles; ++i) {
      double const norm = std::sqrt(norms.squares[tile_number(i, j, tiles)]);
      Precision expected = Precision::fp64;
      for (Precision const p : {Precision::fp32, Precision::fp16, Precision::fp8_e4m3})
        if (i != j && 12 * norm <= 1e-6 / traits(p).unit_roundoff * whole) expected = p;
      EXPECT_EQ(map.at(i, j), expected) << i << ", " << j;
      ++seen[static_cast<std::size_t>(precision_rank(expected))];
    }
  }
  EXPECT_EQ(map.histogram(), seen);
  for (std::int64_t const count : seen) EXPECT_GT(count, 0);
}

TEST(PrecisionMap, BoundsTheProductsOfATileByTheOperandRule) {
  // Row 2 of column 0 is tiny and would be rounded coarsely, but meets the huge row 1 in products.
  TileNorms norms{3, std::vector<double>(6, 0.0), {1e6, 1e6, 1e6}};
  for (std::int64_t i = 0; i < 3; ++i) norms.squares[tile_number(i, i, 3)] = 1e6;
  norms.squares[tile_number(1, 0, 3)] = 1e4;
  norms.squares[tile_number(2, 0, 3)] = 1e-2;
  PrecisionRule rule{1e-3};
  EXPECT_EQ(precision_map(norms, rule).at(2, 0), Precision::fp16);
  EXPECT_EQ(precision_map(norms, rule).at(1, 0),
            Precision::fp16);  // which meets others, not itself
  rule.operand_rule = false;
  EXPECT_EQ(precision_map(norms, rule).at(2, 0), Precision::fp8_e4m3);
}

TEST(PrecisionMap, KeepsToThePrecisionsAllowed) {
  TileNorms const norms = decaying(12, 0.05);
  PrecisionRule rule{1e-6};
  rule.precisions = {Precision::fp64};
  EXPECT_FALSE(precision_map(norms, rule).is_mixed());
  rule.precisions = {Precision::fp64, Precision::fp16};
  auto const two = precision_map(norms, rule).histogram();
  EXPECT_GT(two[0], 0);
  EXPECT_EQ(two[1], 0);
  EXPECT_GT(two[2], 0);
  EXPECT_EQ(two[3], 0);
  rule.accuracy = 0;
  EXPECT_FALSE(precision_map(norms, rule).is_mixed());
}

TEST(PrecisionMap, TakesTheModuliThatAnAccuracyNeeds) {
  TileNorms norms{4, std::vector<double>(10, 1.0), std::vector<double>(4, 1.0)};
  auto const moduli = [&](double accuracy, int most) {
    PrecisionRule rule{accuracy};
    rule.precisions = {integer_precision(most)};
    return precision_map(norms, rule).moduli();
  };
  // theta 4 <= accuracy 4
  EXPECT_EQ(moduli(1e-5, 14), 6);
  EXPECT_EQ(moduli(1e-8, 14), 7);
  EXPECT_EQ(moduli(1e-9, 14), 8);
  EXPECT_EQ(moduli(1e-9, 7), 7);
  EXPECT_EQ(moduli(0, 14), 14);
}

// What integers do and what low tiles do is within half of the accuracy each.
TEST(PrecisionMap, SharesTheAccuracyBetweenIntegersAndLowTiles) {
  TileNorms const norms = decaying(8, 0.05);
  std::vector<Precision> const low = {Precision::fp32, Precision::fp16, Precision::fp8_e4m3};
  auto const of = [&](double accuracy, Precision first, bool rounds) {
    PrecisionRule rule{accuracy};
    rule.precisions = {first};
    if (rounds) rule.precisions.insert(rule.precisions.end(), low.begin(), low.end());
    rule.fewer_moduli = false;
    return precision_map(norms, rule);
  };
  for (int const moduli : {6, 7, 8}) {
    double const least =
        traits(integer_precision(moduli)).unit_roundoff * 8 / norms.frobenius();  // trace 8
    EXPECT_EQ(of(1.5 * least, Precision::int8x14, false).moduli(), moduli);
    EXPECT_EQ(of(1.5 * least, Precision::int8x14, true).moduli(), moduli + 1);
    auto const both = of(2.5 * least, Precision::int8x14, true);
    EXPECT_EQ(both.moduli(), moduli);
    EXPECT_EQ(both.histogram(), of(1.25 * least, Precision::fp64, true).histogram());
    EXPECT_GT(both.histogram()[1], 0);
  }
}

// In the position of fp32, with an error four times fp32's.
TEST(PrecisionMap, TakesSplitTilesInThePlaceOfFp32) {
  TileNorms const norms = decaying(12, 0.05);
  PrecisionRule rule{1e-6, {Precision::fp64, Precision::fp32}, false}, split = rule;
  split.precisions = {Precision::fp64, Precision::fp16_split};
  PrecisionMap const map = precision_map(norms, split);
  EXPECT_GT(map.histogram()[1], 0);
  EXPECT_EQ(map.histogram()[2] + map.histogram()[3], 0);
  EXPECT_TRUE(map.holds(Precision::fp16_split));
  EXPECT_FALSE(map.holds(Precision::fp32));
  EXPECT_EQ(map.to_text()[2], 'S');
  rule.accuracy /= 4;
  PrecisionMap const fp32s = precision_map(norms, rule);
  EXPECT_EQ(map.histogram(), fp32s.histogram());
  EXPECT_NE(map.hash(), fp32s.hash());
}

// As `dense` has them, whose tree has a leaf for each tile row.
TEST(PrecisionMap, FollowsTheLayersOfATree) {
  using Exec = Kokkos::DefaultHostExecutionSpace;
  dense::LayerList const layers = dense::LayerList::parse("fp8_e4m3,fp16x2,fp32,fp64");
  PrecisionRule rule;
  rule.layers.assign(layers.begin(), layers.end());
  for (std::int64_t const tiles : {1, 2, 3, 5, 8, 13, 40}) {
    auto const map = precision_map(decaying(tiles, 1), rule);
    dense::BlockTree<dense::LayerList, Exec> const tree(Exec(), 8 * tiles, layers, 8);
    std::size_t below = 0;
    for (auto const& node : tree.nodes()) {
      std::int64_t const begin = node.begin / 8, cut = begin + node.first_size / 8;
      if (node.is_leaf()) {
        EXPECT_EQ(map.at(begin, begin), Precision::fp64);
        continue;
      }
      for (std::int64_t j = begin; j < cut; ++j)
        for (std::int64_t i = cut; i < begin + node.size / 8; ++i, ++below)
          EXPECT_EQ(map.at(i, j), layers.at_depth(static_cast<std::size_t>(node.depth)))
              << i << ", " << j << " of " << tiles;
    }
    EXPECT_EQ(below + static_cast<std::size_t>(tiles), tile_count(tiles));
  }
  EXPECT_EQ(precision_map(decaying(5, 1), rule).to_text(), "D\nHD\nHHD\nQQQD\nQQQHD\n");
}

TEST(PrecisionMap, IsPrintedAsAPicture) {
  PrecisionMap map(3);
  map.set(1, 0, Precision::fp32);
  map.set(2, 0, Precision::fp8_e4m3);
  map.set(2, 1, Precision::fp16);
  EXPECT_EQ(map.to_text(), "D\nSD\nQHD\n");
  std::string const picture = map.to_ppm(2);
  EXPECT_EQ(picture.substr(0, 11), "P6\n6 6\n255\n");
  EXPECT_EQ(picture.size(), 11u + 6 * 6 * 3);
  EXPECT_EQ(picture.substr(picture.size() - 3), picture.substr(11, 3));  // both on the diagonal
  EXPECT_EQ(picture.substr(11 + 6 * 3 - 3, 3), "\xff\xff\xff");          // above it
}

TEST(PrecisionMap, HasAHashThatTellsMapsApart) {
  PrecisionMap map(4), other(4);
  EXPECT_EQ(map.hash(), other.hash());
  other.set(3, 1, Precision::fp16);
  EXPECT_NE(map.hash(), other.hash());
  EXPECT_NE(map.hash(), PrecisionMap(5).hash());
  EXPECT_FALSE(map == other);
}

TEST(PrecisionMap, RefusesWhatIsNoRule) {
  auto const check = [](PrecisionRule const& rule) { return [rule] { rule.check(); }; };
  EXPECT_TRUE(throws_with<ValueError>("accuracy is 2, must be in [0, 1)", check({2.0})));
  EXPECT_TRUE(throws_with<ValueError>("first precision must be fp64",
                                      check({1e-5, {Precision::fp32}, true})));
  EXPECT_TRUE(throws_with<ValueError>(
      "fp32 does not follow fp16",
      check({1e-5, {Precision::fp64, Precision::fp16, Precision::fp32}, true})));
  EXPECT_TRUE(throws_with<ValueError>(
      "fp16_split does not follow fp32",
      check({1e-5, {Precision::fp64, Precision::fp32, Precision::fp16_split}, true})));
  EXPECT_TRUE(throws_with<ValueError>("not in tf32",
                                      check({1e-5, {Precision::fp64, Precision::tf32}, true})));
  EXPECT_TRUE(throws_with<ValueError>("not in bf16",
                                      check({1e-5, {Precision::fp64, Precision::bf16}, true})));
  PrecisionRule layered;
  layered.layers = {Precision::fp16, Precision::fp32};
  layered.check();
  EXPECT_TRUE(layered.may_mix());
  layered.accuracy = 1e-3;
  EXPECT_TRUE(throws_with<ValueError>("an accuracy of 0.001 and layers", check(layered)));
  layered.accuracy = 0;
  layered.layers = {Precision::bf16, Precision::fp32};
  EXPECT_TRUE(throws_with<ValueError>("fp8_e4m3, not in bf16", check(layered)));
  PrecisionMap map(2);
  EXPECT_TRUE(throws_with<ValueError>("tile 1, 1 is on the diagonal",
                                      [&] { map.set(1, 1, Precision::fp32); }));
  EXPECT_TRUE(throws_with<ValueError>("0 pixels", [&] { (void)map.to_ppm(0); }));
  EXPECT_TRUE(throws_with<ShapeError>("3 norms and 0 traces of 1 tile rows",
                                      [] { (void)precision_map({1, {1, 2, 3}, {}}, {}); }));
}

}  // namespace
