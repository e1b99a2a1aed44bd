// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/Strata_Errors.hpp>
#include <geostat/neighbours/Strata_ConditioningBlocks.hpp>
#include <geostat/neighbours/Strata_MaximinOrder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

// Limits that are none, and lists of neighbours that are not of the blocks' order.

namespace {

using namespace strata;
using namespace strata::geostat;

template <class Space>
class BlocksOfListsTest : public testing::Test {};
TYPED_TEST_SUITE(BlocksOfListsTest, strata::test::Spaces, strata::test::SpaceNames);

TYPED_TEST(BlocksOfListsTest, AreTheSameForAnyLimitThatNoBlockReaches) {
  TypeParam const exec;
  std::int64_t const n = 700;
  auto const at = synthetic_locations(n, 5);
  auto const order = maximin_order(exec, at);
  auto const neighbours = ordered_neighbours(exec, at, order, 3);
  auto const expected = grouped_blocks(exec, at, neighbours, order, n);
  for (std::int64_t const most :
       {std::int64_t{1} << 31, std::int64_t{1} << 32, std::numeric_limits<std::int64_t>::max()}) {
    auto const blocks = grouped_blocks(exec, at, neighbours, order, most);
    EXPECT_EQ(blocks.offsets, expected.offsets) << most;
    EXPECT_EQ(blocks.members, expected.members) << most;
  }
  EXPECT_LT(expected.size(), n);
}

TYPED_TEST(BlocksOfListsTest, RefuseNeighboursThatAreNotBefore) {
  TypeParam const exec;
  std::int64_t const n = 300;
  auto const at = synthetic_locations(n, 6);
  auto const order = maximin_order(exec, at);
  auto const own = ordered_neighbours(exec, at, order, 5);
  auto const refused = [&](NeighbourLists const& lists) {
    for (bool const is_grouped : {false, true}) {
      auto const message = test::message_of<ValueError>([&] {
        (void)(is_grouped ? grouped_blocks(exec, at, lists, order, 12)
                          : blocks_of_neighbours(exec, at, lists, order));
      });
      EXPECT_NE(message.find("not before"), std::string::npos) << message;
    }
  };
  refused(nearest_neighbours(exec, at, at, 5));
  std::vector<std::int64_t> backwards(order.rbegin(), order.rend());
  refused(ordered_neighbours(exec, at, backwards, 5));
  for (std::int32_t const outside : {-1, 300, std::numeric_limits<std::int32_t>::max()}) {
    auto lists = own;
    lists.members[40] = outside;
    refused(lists);
  }
  EXPECT_EQ(blocks_of_neighbours(exec, at, own, order).size(), n);
}

}  // namespace
