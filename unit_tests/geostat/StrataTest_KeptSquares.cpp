// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_RandomSquares.hpp"
#include "StrataTest_Spaces.hpp"
#include <geostat/detail/Strata_KeptSquares.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

using strata::geostat::detail::SquarePlan;
using strata::test::RandomSquares;

template <class Space>
class KeptSquaresTest : public testing::Test {};
TYPED_TEST_SUITE(KeptSquaresTest, strata::test::Spaces, strata::test::SpaceNames);

// The sum of n^2 products, within c n^2 eps of the sum of their magnitudes; c = 1.
TYPED_TEST(KeptSquaresTest, AddUpToTheTracesOfLoops) {
  for (std::int64_t const width : {1, 3, 8})
    for (std::int64_t const n : {1, 2, 7, 8, 9, 16, 50})
      for (std::size_t const matrices : {1, 2}) {
        RandomSquares const some(n, matrices);
        auto const found = some.traces<TypeParam>(width, nullptr);
        for (std::size_t k = 0; k < matrices; ++k)
          for (std::size_t l = k; l < matrices; ++l) {
            auto const [trace, magnitude] = some.by_loops(k, l);
            EXPECT_NEAR(
                found[k][l], trace,
                static_cast<double>(n * n) * std::numeric_limits<double>::epsilon() * magnitude)
                << n << " in blocks of " << width << ": " << k << " " << l;
          }
      }
}

TYPED_TEST(KeptSquaresTest, OfNothingAreNothing) {
  EXPECT_EQ(RandomSquares(0, 2).traces<TypeParam>(1, nullptr),
            (std::vector<std::vector<double>>{{0, 0}, {0, 0}}));
  EXPECT_TRUE(RandomSquares(9, 0).traces<TypeParam>(4, nullptr).empty());
}

// What is stated is what is kept, square after square.
TEST(SquarePlanTest, StatesTheMostThatARankKeeps) {
  for (std::int64_t blocks = 0; blocks <= 40; ++blocks)
    for (int ranks = 1; ranks <= 50; ++ranks) {
      SquarePlan const plan{blocks, ranks};
      std::vector<std::int64_t> kept(static_cast<std::size_t>(ranks), 0);
      std::int64_t most = 0, most_in_row = 0;
      for (std::int64_t block = 0; block < blocks; ++block) {
        for (std::int64_t I = block; I < blocks; ++I)
          most = std::max(most, ++kept[static_cast<std::size_t>(plan.keeper(I, block))]);
        std::vector<std::int64_t> row(static_cast<std::size_t>(ranks), 0);
        for (std::int64_t J = 0; J <= block; ++J) {
          --kept[static_cast<std::size_t>(plan.keeper(block, J))];
          most_in_row =
              std::max(most_in_row, ++row[static_cast<std::size_t>(plan.keeper(block, J))]);
        }
      }
      EXPECT_EQ(plan.most_at_a_time(), most) << blocks << " blocks, " << ranks << " ranks";
      EXPECT_EQ(plan.most_in_row(), most_in_row) << blocks << " blocks, " << ranks << " ranks";
    }
}

TEST(SquarePlanTest, IsOfAsManyBlocksAsThereAre) {
  EXPECT_EQ(SquarePlan::of(0, 0, 1).blocks, 0);
  EXPECT_EQ(SquarePlan::of(512, 512, 1).blocks, 1);
  EXPECT_EQ(SquarePlan::of(513, 512, 1).blocks, 2);
  EXPECT_EQ(SquarePlan::of(513, 512, 3).ranks, 3);
}

}  // namespace
