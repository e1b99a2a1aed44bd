// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Allocations.hpp"
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>
#include <core/memory/Strata_Buffer.hpp>
#include <core/memory/Strata_PoolReserve.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace strata::test {
namespace {

template <class Space>
class BufferOn : public testing::Test {};
TYPED_TEST_SUITE(BufferOn, Spaces, SpaceNames);

template <class Space>
auto view_of(Buffer<Space> const& buffer) {
  return Kokkos::View<std::byte*, typename Space::memory_space, Kokkos::MemoryUnmanaged>(
      buffer.data(), buffer.size());
}

template <class Space>
bool holds(Buffer<Space> const& buffer, std::byte value) {
  Space().fence("strata::test::holds");
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view_of(buffer));
  for (std::size_t i = 0; i < host.extent(0); ++i)
    if (host(i) != value) return false;
  return host.extent(0) > 0;
}

TYPED_TEST(BufferOn, HasItsBytesForItself) {
  TypeParam const exec;
  EXPECT_EQ(Buffer<TypeParam>().size(), 0U);
  EXPECT_EQ(Buffer<TypeParam>(exec, "strata::test::none", 0).size(), 0U);
  std::vector<std::pair<Buffer<TypeParam>, std::byte>> all;
  for (std::size_t const bytes : {1, 64, 1000, 1 << 20, (1 << 25) + 1}) {
    Buffer<TypeParam> const buffer(exec, "strata::test::buffer", bytes);
    EXPECT_EQ(buffer.size(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0U);
    all.emplace_back(buffer, static_cast<std::byte>(all.size() + 1));
    Kokkos::deep_copy(exec, view_of(buffer), all.back().second);
  }
  for (auto const& [buffer, value] : all) EXPECT_TRUE(holds(buffer, value)) << buffer.size();
}

TYPED_TEST(BufferOn, LivesAsLongAsItsLastCopy) {
  TypeParam const exec;
  Buffer<TypeParam> copy;
  {
    Buffer<TypeParam> const first(exec, "strata::test::buffer", 4096);
    Kokkos::deep_copy(exec, view_of(first), std::byte{7});
    copy = first;
  }
  Buffer<TypeParam> const other(exec, "strata::test::other", 4096);
  EXPECT_NE(copy.data(), other.data());
  Kokkos::deep_copy(exec, view_of(other), std::byte{8});
  EXPECT_TRUE(holds(copy, std::byte{7}));
}

// Kernels of other instances have ended before somebody else gets the memory, whose instance need
// not know of them.
TYPED_TEST(BufferOn, IsNobodysWhileAKernelWritesToIt) {
  TypeParam const exec, other = Kokkos::Experimental::partition_space(exec, 1)[0];
  constexpr std::size_t bytes = std::size_t{1} << 26;
  for (int round = 0; round < 20; ++round) {
    {
      Buffer<TypeParam> const first(exec, "strata::test::first", bytes);
      for (int k = 0; k < 3; ++k) Kokkos::deep_copy(other, view_of(first), std::byte{9});
    }
    Buffer<TypeParam> const second(exec, "strata::test::second", bytes);
    Kokkos::deep_copy(exec, view_of(second), std::byte{1});
    ASSERT_TRUE(holds(second, std::byte{1})) << round;
  }
}

TYPED_TEST(BufferOn, TellsToolsWhatItTakesAndSaysWhatIsMissing) {
  TypeParam const exec;
  {
    Allocations const allocations;
    Buffer<TypeParam> const buffer(exec, "strata::test::told", 100);
    EXPECT_EQ(Allocations::labels(), std::multiset<std::string>{"strata::test::told"});
  }
  {  // Kokkos 4 rounds up to a multiple of 8
    FailingAllocations const failing("strata::test::fails", [] { return true; });
    EXPECT_TRUE(
        throws_with<MemoryError>("strata::test::fails: can't allocate 96 bytes: made to fail",
                                 [&] { Buffer<TypeParam>(exec, "strata::test::fails", 96); }));
  }
  constexpr std::size_t too_many = std::size_t{1} << 50;
  EXPECT_TRUE(
      throws_with<MemoryError>("strata::test::large: can't allocate 1125899906842624 bytes: ",
                               [&] { Buffer<TypeParam>(exec, "strata::test::large", too_many); }));
  Buffer<TypeParam> const small(exec, "strata::test::small", 10);  // there is some for others
  EXPECT_NE(small.data(), nullptr);
}

#ifdef STRATA_RUNTIME

TEST(PoolReserve, KeepsWhatNobodyUsesUntilItEnds) {
  runtime::Exec const exec;
  int const device = runtime::device_of(exec);
  std::size_t free = 0, total = 0;
  STRATA_RUNTIME_CALL(MemGetInfo, &free, &total);
  std::size_t const bytes = total / 8, by_itself = total / 16, rounding = total / 64;
  if (free < 2 * bytes) GTEST_SKIP() << "other work has the device's memory";
  auto const take_and_give_back = [&] {
    {
      Buffer<runtime::Exec> const buffer(exec, "strata::test::large", bytes);
    }
    Buffer<runtime::Exec> const small(exec, "strata::test::small",
                                      1);  // the pool looks what it has
    return vendor::pooled_bytes(device);
  };
  EXPECT_LE(take_and_give_back(), by_itself + rounding);
  {
    PoolReserve<runtime::Exec> const reserve(exec, bytes);
    EXPECT_EQ(reserve.bytes(), bytes);
    EXPECT_GE(take_and_give_back(), bytes);
    {
      PoolReserve<runtime::Exec> const copy = reserve;
    }
    EXPECT_GE(take_and_give_back(), bytes);
    vendor::release_pooled_memory(device);  // for who finds no other
    EXPECT_LE(vendor::pooled_bytes(device), rounding);
    EXPECT_GE(take_and_give_back(), bytes);
  }
  EXPECT_LE(vendor::pooled_bytes(device), by_itself + rounding);
}

#endif

}  // namespace
}  // namespace strata::test
