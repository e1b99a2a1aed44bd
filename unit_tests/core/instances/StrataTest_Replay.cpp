// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include <core/instances/Strata_Replay.hpp>
#include <core/instances/Strata_SecondInstance.hpp>
#include <core/memory/detail/Strata_Workspace.hpp>

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <stdexcept>

namespace {

using namespace strata::test;

template <class Exec>
using Numbers = Kokkos::View<int*, typename Exec::memory_space>;

// The last number becomes the sum of the others, which are counted up first: two kernels in order.
template <class Exec>
void count_and_add(Exec const& exec, Numbers<Exec> const& x) {
  auto const last = static_cast<int>(x.extent(0)) - 1;
  Kokkos::parallel_for(
      "strata::test::count", Kokkos::RangePolicy<Exec>(exec, 0, last),
      KOKKOS_LAMBDA(int i) { x(i) += i + 1; });
  Kokkos::parallel_for(
      "strata::test::add", Kokkos::RangePolicy<Exec>(exec, 0, 1), KOKKOS_LAMBDA(int) {
        x(last) = 0;
        for (int i = 0; i < last; ++i) x(last) += x(i);
      });
}

template <class Exec>
int last_of(Exec const& exec, Numbers<Exec> const& x) {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  exec.fence("strata::test::read");
  return host(host.extent(0) - 1);
}

template <class Exec>
struct ReplayOn : testing::Test {};
TYPED_TEST_SUITE(ReplayOn, Spaces, SpaceNames);

TYPED_TEST(ReplayOn, EnqueuesTheSameWorkEachTime) {
  TypeParam const exec;
  Numbers<TypeParam> const x("strata::test::numbers", 11);
  strata::Replay<TypeParam> replay;
  for (int times = 1; times <= 6; ++times) {
    replay.run(exec, [&] { count_and_add<TypeParam>(exec, x); });
    EXPECT_EQ((last_of<TypeParam>(exec, x)), 55 * times);
  }
}

// Each time a second instance takes over in between, beside work of the first.
TYPED_TEST(ReplayOn, EnqueuesOnInstancesThatWaitForEachOther) {
  TypeParam const exec;
  auto const second = strata::urgent_instance(exec);
  Numbers<TypeParam> const x("strata::test::numbers", 11), y("strata::test::beside", 4);
  strata::Replay<TypeParam> replay;
  for (int times = 1; times <= 6; ++times) {
    replay.run(exec, [&] {
      count_and_add<TypeParam>(exec, x);
      strata::enqueue_wait(*second, exec);
      count_and_add<TypeParam>(*second, x);
      count_and_add<TypeParam>(exec, y);
      strata::enqueue_wait(exec, *second);
      count_and_add<TypeParam>(exec, x);
    });
    EXPECT_EQ((last_of<TypeParam>(exec, x)), 55 * 3 * times);
    EXPECT_EQ((last_of<TypeParam>(exec, y)), 6 * times);
  }
}

TYPED_TEST(ReplayOn, LetsErrorsThroughAndWorksAfterwards) {
  TypeParam const exec;
  auto const second = strata::urgent_instance(exec);
  Numbers<TypeParam> const x("strata::test::numbers", 3);
  strata::Replay<TypeParam> replay;
  auto const run = [&](bool fails) {
    replay.run(exec, [&] {
      strata::enqueue_wait(*second, exec);
      if (fails) throw std::runtime_error("the work failed");  // before the instances meet again
      strata::enqueue_wait(exec, *second);
      count_and_add<TypeParam>(exec, x);
    });
  };
  run(false);
  EXPECT_THROW(run(true), std::runtime_error);  // while it is captured
  run(false);
  run(false);
  EXPECT_EQ((last_of<TypeParam>(exec, x)), 3 * 3);
}

TYPED_TEST(ReplayOn, CapturesNothingBeforeTheWorkHasSucceededOnce) {
  TypeParam const exec;
  Numbers<TypeParam> const x("strata::test::numbers", 3);
  strata::Replay<TypeParam> replay;
  EXPECT_THROW(replay.run(exec, [] { throw std::runtime_error("no memory"); }), std::runtime_error);
  replay.run(exec, [&] {
    exec.fence("strata::test::as if memory had to grow");  // an error in a capture
    count_and_add<TypeParam>(exec, x);
  });
  for (int k = 0; k < 3; ++k) replay.run(exec, [&] { count_and_add<TypeParam>(exec, x); });
  EXPECT_EQ((last_of<TypeParam>(exec, x)), 3 * 4);
}

// Who was refused a workspace and did without finds it refused in the capture, too, though there
// may be memory by then.
TYPED_TEST(ReplayOn, AWorkspaceDoesNotGrowInACapture) {
  TypeParam const exec;
  Numbers<TypeParam> const x("strata::test::numbers", 3);
  strata::detail::Workspace<TypeParam> workspace(exec);
  strata::Replay<TypeParam> replay;
  std::size_t bytes = std::numeric_limits<std::size_t>::max() / 2;
  int grants = 0, refusals = 0;
  bool const captures = strata::Replay<TypeParam>::is_possible();  // not where a tool watches
  for (int times = 1; times <= 4; ++times) {
    replay.run(exec, [&] {
      EXPECT_EQ(strata::is_captured(exec), times == 2 && captures);
      try {
        workspace.ensure(bytes);
        ++grants;
      } catch (strata::MemoryError const&) {
        ++refusals;
      }
      count_and_add<TypeParam>(exec, x);
    });
    bytes = 100;
    EXPECT_EQ((last_of<TypeParam>(exec, x)), 3 * times);
  }
  EXPECT_EQ(refusals, captures ? 2 : 1);
  EXPECT_EQ(grants, captures ? 0 : 3);
}

}  // namespace
