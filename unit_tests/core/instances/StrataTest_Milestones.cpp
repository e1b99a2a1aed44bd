// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include <core/instances/Strata_Milestones.hpp>

#include <gtest/gtest.h>

#include <cstddef>

namespace {

using namespace strata;
using namespace strata::test;

template <class Exec>
void enqueue_work(Exec const& exec, Kokkos::View<double*, typename Exec::memory_space> const& x) {
  Kokkos::parallel_for(
      "strata::test::work", Kokkos::RangePolicy<Exec>(exec, 0, x.extent(0)),
      KOKKOS_LAMBDA(int i) { x(i) += 1; });
}

template <class>
struct MilestonesOn : testing::Test {};
TYPED_TEST_SUITE(MilestonesOn, Spaces, SpaceNames);

TYPED_TEST(MilestonesOn, AreReachedInTheirOrder) {
  TypeParam const exec;
  Kokkos::View<double*, typename TypeParam::memory_space> const x("strata::test::x", 1 << 16);
  Milestones<TypeParam> milestones;
  EXPECT_EQ(milestones.reached(), 0U);
  milestones.await(0);
  std::size_t before = 0;
  for (std::size_t k = 1; k <= 20; ++k) {
    enqueue_work(exec, x);
    milestones.set(exec);
    std::size_t const now = milestones.reached();
    EXPECT_GE(now, before);
    EXPECT_LE(now, k);
    before = now;
  }
  milestones.await(7);
  EXPECT_GE(milestones.reached(), 7U);
  milestones.await(20);
  EXPECT_EQ(milestones.reached(), 20U);
  enqueue_work(exec, x);  // a milestone that was not reached left no error behind
  exec.fence("strata::test::done");
}

}  // namespace
