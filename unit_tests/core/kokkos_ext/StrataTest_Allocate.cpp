// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/kokkos_ext/Strata_Allocate.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <new>

namespace {

using namespace strata;
using namespace strata::test;

template <class Exec>
class AllocateOn : public testing::Test {};
TYPED_TEST_SUITE(AllocateOn, Spaces, SpaceNames);

TYPED_TEST(AllocateOn, MakesViewsOfAnyRank) {
  using Space = typename TypeParam::memory_space;
  TypeParam const exec;
  auto const block = allocate<Kokkos::View<double**, Kokkos::LayoutLeft, Space>>(
      exec, "strata::test::block", std::int64_t{3}, 5);
  EXPECT_EQ(block.extent(0), 3u);
  EXPECT_EQ(block.extent(1), 5u);
  EXPECT_EQ(block.label(), "strata::test::block");
  auto const zeros = allocate_zeros<Kokkos::View<std::int64_t*, Space>>(exec, "strata::test::z", 7);
  auto const copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), zeros);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(copy(i), 0);
  auto const one = allocate_on_host<Kokkos::View<double, Kokkos::HostSpace>>("strata::test::one");
  EXPECT_NE(one.data(), nullptr);
}

TYPED_TEST(AllocateOn, SaysWhatCouldNotBeHad) {
  using View = Kokkos::View<double**, typename TypeParam::memory_space>;
  TypeParam const exec;
  FailingAllocations const failing("strata::test::none", [] { return true; });
  char const* const text = "strata::test::none: can't allocate 120 bytes: made to fail";
  char const* const label = "strata::test::none";
  EXPECT_TRUE(throws_with<MemoryError>(text, [&] { (void)allocate<View>(exec, label, 3, 5); }));
  EXPECT_TRUE(
      throws_with<MemoryError>(text, [&] { (void)allocate_zeros<View>(exec, label, 3, 5); }));
  EXPECT_TRUE(throws_with<MemoryError>(text, [&] {
    (void)allocate_on_host<Kokkos::View<double**, Kokkos::HostSpace>>(label, 3, 5);
  }));
}

TEST(Allocate, NamesABadAllocAndNothingElse) {
  EXPECT_EQ(name_bad_alloc("strata::test", [] { return 7; }), 7);
  EXPECT_TRUE(throws_with<MemoryError>("test: the host has no memory left", [] {
    name_bad_alloc("test", [] { throw std::bad_alloc(); });
  }));
  EXPECT_TRUE(throws_with<ValueError>(
      "as it is", [] { name_bad_alloc("test", [] { throw ValueError("as it is"); }); }));
}

}  // namespace
