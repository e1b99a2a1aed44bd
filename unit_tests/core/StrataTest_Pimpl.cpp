// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include <core/Strata_Pimpl.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace {

using namespace strata;
using strata::test::throws_with;

TEST(Pimpl, RefusesWhateverUsesAnObjectThatWasMovedFrom) {
  Pimpl<int> a("Thing", std::make_unique<int>(3));
  Pimpl<int> b = std::move(a);
  EXPECT_EQ(*b, 3);
  EXPECT_TRUE(throws_with<ValueError>("Thing: moved from", [&] { (void)*a; }));  // NOLINT
  EXPECT_TRUE(
      throws_with<ValueError>("Thing: moved from", [&] { (void)a.operator->(); }));  // NOLINT
  a = std::move(b);
  EXPECT_EQ(*a, 3);
  EXPECT_TRUE(throws_with<ValueError>("Thing: moved from", [&] { (void)*b; }));  // NOLINT
}

TEST(Pimpl, SharesWhatCopiesShare) {
  Pimpl<int, std::shared_ptr<int>> a("Thing", std::make_shared<int>(3));
  auto const b = a;
  *b = 4;
  EXPECT_EQ(*a, 4);
  auto const c = std::move(a);
  EXPECT_EQ(&*b, &*c);
  EXPECT_TRUE(throws_with<ValueError>("Thing: moved from", [&] { (void)*a; }));  // NOLINT
}

}  // namespace
