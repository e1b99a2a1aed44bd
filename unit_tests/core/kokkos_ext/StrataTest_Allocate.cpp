// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/kokkos_ext/Strata_Allocate.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <new>
#include <string>

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

#ifdef MADV_HUGEPAGE
// The kernel's flags of the mapping that an address lies in: "hg" is what was asked for.
std::string mapping_flags(void const* address) {
  std::ifstream maps("/proc/self/smaps");
  bool within = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      auto const at = reinterpret_cast<std::uintptr_t>(address);
      within = begin <= at && at < end;
    } else if (within && line.rfind("VmFlags:", 0) == 0) {
      return line + ' ';
    }
  }
  return "";
}

TEST(Allocate, AsksForLargePagesWhereAViewHasSome) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  using Bytes = Kokkos::View<std::byte*, Kokkos::HostSpace>;
  Kokkos::DefaultHostExecutionSpace const exec;
  auto const enqueued = allocate<Bytes>(exec, "strata::test::large", 64 * mib);
  auto const at_once = allocate_on_host<Bytes>("strata::test::large", 64 * mib);
  for (Bytes const& view : {enqueued, at_once}) {
    std::string const flags = mapping_flags(view.data() + 32 * mib);
    if (flags.empty() || !std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"))
      GTEST_SKIP() << "this kernel does not tell";
    EXPECT_NE(flags.find(" hg "), std::string::npos) << flags;
  }
}
#endif

TEST(Allocate, NamesABadAllocAndNothingElse) {
  EXPECT_EQ(name_bad_alloc("strata::test", [] { return 7; }), 7);
  EXPECT_TRUE(throws_with<MemoryError>("test: the host has no memory left", [] {
    name_bad_alloc("test", [] { throw std::bad_alloc(); });
  }));
  EXPECT_TRUE(throws_with<ValueError>(
      "as it is", [] { name_bad_alloc("test", [] { throw ValueError("as it is"); }); }));
}

}  // namespace
