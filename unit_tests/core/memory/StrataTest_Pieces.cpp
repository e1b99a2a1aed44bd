// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Allocations.hpp"
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/memory/Strata_Pieces.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

namespace {

using namespace strata;
using namespace strata::test;

template <class Exec>
class PiecesOn : public testing::Test {};
TYPED_TEST_SUITE(PiecesOn, Spaces, SpaceNames);

// Views of several ranks and types.
template <class Space>
struct Several {
  Kokkos::View<double**, Kokkos::LayoutLeft, Space> block;
  Kokkos::View<std::int64_t, Space> number;
  Kokkos::View<float*, Space> none;
  Kokkos::View<double* [2], Space> pairs;

  void lay_out(Pieces& pieces) {
    pieces.lay_out(block, std::int64_t{5}, 3);
    pieces.lay_out(number);
    pieces.lay_out(none, 0);
    pieces.lay_out(pairs, 7U);
  }
};

template <class Memory, class Piece>
std::ptrdiff_t offset_in(Memory const& memory, Piece const& piece) {
  return reinterpret_cast<std::byte const*>(piece.data()) - memory.data();
}

TYPED_TEST(PiecesOn, LieSideBySideInOneAllocation) {
  using Space = typename TypeParam::memory_space;
  TypeParam const exec;
  Several<Space> views;
  Allocations const allocations;
  auto const memory =
      allocate_pieces(exec, "strata::test::pieces", [&](Pieces& pieces) { views.lay_out(pieces); });
  EXPECT_EQ(Allocations::labels(), std::multiset<std::string>{"strata::test::pieces"});
  EXPECT_EQ(views.block.extent(0), 5U);
  EXPECT_EQ(views.block.extent(1), 3U);
  EXPECT_EQ(views.none.extent(0), 0U);
  EXPECT_EQ(views.pairs.extent(0), 7U);
  EXPECT_EQ(offset_in(memory, views.block), 0);
  EXPECT_EQ(offset_in(memory, views.number), 128);  // 120 bytes before
  EXPECT_EQ(offset_in(memory, views.pairs), 256);
  EXPECT_EQ(memory.size(), 384U);
  // As the same Views would be by themselves.
  Kokkos::View<double* [2], Space> const alone("strata::test::alone", 7);
  EXPECT_EQ(views.pairs.stride(0), alone.stride(0));
  EXPECT_EQ(views.pairs.stride(1), alone.stride(1));
}

TYPED_TEST(PiecesOn, HoldWhatIsWrittenToThem) {
  using Space = typename TypeParam::memory_space;
  TypeParam const exec;
  Several<Space> views;
  auto const memory =
      allocate_pieces(exec, "strata::test::pieces", [&](Pieces& pieces) { views.lay_out(pieces); });
  Kokkos::deep_copy(exec, views.block, 1.0);
  Kokkos::deep_copy(exec, views.number, std::int64_t{2});
  Kokkos::deep_copy(exec, views.pairs, 3.0);
  exec.fence("strata::test::pieces");
  auto const block = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), views.block);
  auto const number = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), views.number);
  auto const pairs = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), views.pairs);
  EXPECT_EQ(block(0, 0), 1);
  EXPECT_EQ(block(4, 2), 1);
  EXPECT_EQ(number(), 2);
  EXPECT_EQ(pairs(6, 1), 3);
}

TYPED_TEST(PiecesOn, LeaveViewsAsTheyAreWhereThereIsNoMemory) {
  using Space = typename TypeParam::memory_space;
  TypeParam const exec;
  Several<Space> views;
  auto const lay_out = [&](Pieces& pieces) { views.lay_out(pieces); };
  auto const memory = allocate_pieces(exec, "strata::test::pieces", lay_out);
  auto const* const before = views.pairs.data();
  FailingAllocations const failing("strata::test::none", [] { return true; });
  EXPECT_TRUE(throws_with<MemoryError>(
      "strata::test::none: can't allocate 384 bytes: made to fail",
      [&] { (void)allocate_pieces(exec, "strata::test::none", lay_out); }));
  EXPECT_EQ(views.pairs.data(), before);
  EXPECT_EQ(views.pairs.extent(0), 7U);
}

}  // namespace
