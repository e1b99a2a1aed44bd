// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// A team that lives: what the second call makes anew, and that nothing of the first is left in its
// result.
#include "StrataTest_Allocations.hpp"
#include "StrataTest_Child.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "ooc/StrataTest_PlainTiles.hpp"
#include <core/kokkos_ext/Strata_Team.hpp>
#include <ooc/schedule/Strata_Schedule.hpp>
#include <ooc/team/Strata_DeviceTeam.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::test;

template <class Exec>
class DeviceTeamOn : public testing::Test {};
TYPED_TEST_SUITE(DeviceTeamOn, Spaces, SpaceNames);

std::int64_t threads_of_the_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

// Whether the process comes to so many: the system lists a thread for a moment after it was joined.
bool comes_to_threads(std::int64_t count) {
  Kokkos::Timer const timer;
  while (threads_of_the_process() != count && timer.seconds() < 10) std::this_thread::yield();
  return threads_of_the_process() == count;
}

std::multiset<std::string> const none;

TYPED_TEST(DeviceTeamOn, FactorsASecondTimeWithoutANewThreadOrAllocation) {
  for (auto const& [n, nb, rule] :
       {std::tuple(1000, 128, PrecisionRule{}), std::tuple(200, 16, PrecisionRule{1e-5})}) {
    DeviceTeam<TypeParam> const team(devices_of<TypeParam>(2));
    CholeskyOptions options;
    options.streams = 2;
    auto const first = [&] {
      auto matrix = field<TypeParam>(n, nb, rule);
      Allocations const allocations;
      auto factor = cholesky(team, std::move(matrix), options);
      EXPECT_EQ(allocations.labels().count("strata::ooc::device::pool"), 2U);
      return factor;
    }();
    EXPECT_EQ(team.threads(), 4);
    auto matrix = field<TypeParam>(n, nb, rule);
    std::int64_t const threads = threads_of_the_process();
    std::set<std::thread::id> workers;
    std::mutex mutex;
    Allocations const allocations;
    options.on_task = [&](Task const&) {
      std::lock_guard const lock(mutex);
      workers.insert(std::this_thread::get_id());
      EXPECT_EQ(threads_of_the_process(), threads);
    };
    auto const second = cholesky(team, std::move(matrix), options);
    EXPECT_EQ(allocations.labels(), none);
    EXPECT_EQ(team.threads(), 4);
    EXPECT_EQ(workers.size(), 4U);
    EXPECT_TRUE(same_bits(stored_matrix(second.matrix()), stored_matrix(first.matrix())));
  }
}

// With several devices the caller's own allocations are all that is left.
// Libraries have their algorithms before the first tile waits for them: for each number of moduli
// that a map has, whatever the maps before had. On hosts there is nothing to choose.
TYPED_TEST(DeviceTeamOn, WarmsUpOnceForEachNumberOfModuli) {
  DeviceTeam<TypeParam> const team(devices_of<TypeParam>(1));
  CholeskyOptions options;
  options.streams = 1;
  auto const warms_up = [&](bool fewer_moduli) {
    PrecisionRule rule;
    rule.precisions = {Precision::int8x14};
    rule.fewer_moduli = fewer_moduli;
    auto matrix = field<TypeParam>(100, 17, rule, 0.01);
    EXPECT_EQ(moduli_of(matrix.map().at(5, 1)) < 14, fewer_moduli);
    Allocations const allocations;
    auto const factor = cholesky(team, std::move(matrix), options);
    EXPECT_EQ(factor.report().attempts.size(), 1U);
    return allocations.labels().contains("strata::ooc::warm_up");
  };
  constexpr bool on_device = !strata::runs_on_host<TypeParam>;
  EXPECT_EQ(warms_up(false), on_device);
  EXPECT_FALSE(warms_up(false));
  EXPECT_EQ(warms_up(true), on_device);
  EXPECT_FALSE(warms_up(true));
}

TYPED_TEST(DeviceTeamOn, SolvesASecondTimeInTheMemoryOfTheFirst) {
  TypeParam const exec;
  std::int64_t const n = 200;
  using Block = typename TileFactor<TypeParam>::Block;
  for (int const count : {1, 3}) {
    DeviceTeam<TypeParam> const team(devices_of<TypeParam>(count));
    auto factor = cholesky(team, field<TypeParam>(n, 16));
    Block const V("strata::test::V", n, 4), X("strata::test::X", n, 4),
        B = on_space<TypeParam>(known_solution(n, 4, 3));
    auto const solve = [&] {
      Kokkos::deep_copy(V, B);
      factor.half_solve(exec, Op::NoTrans, V);
      HostMatrix const half("strata::test::half", n, 4), x("strata::test::x", n, 4);
      Kokkos::deep_copy(half, V);
      EXPECT_TRUE(factor.solve(exec, B, X).converged);
      Kokkos::deep_copy(x, X);
      return std::pair(half, x);
    };
    auto const first = solve();
    std::int64_t const threads = threads_of_the_process();
    Allocations const allocations;
    auto const second = solve();
    for (auto const& label : allocations.labels())
      EXPECT_TRUE(label.starts_with("strata::test::") || label.starts_with("strata::dense::"))
          << label;
    EXPECT_EQ(threads_of_the_process(), threads);
    EXPECT_TRUE(same_bits(second.first, first.first));
    EXPECT_TRUE(same_bits(second.second, first.second));
  }
}

// Orders, tile sizes, precisions, variants and streams may change from call to call.
TYPED_TEST(DeviceTeamOn, GivesTheBitsOfATeamOfItsOwn) {
  DeviceTeam<TypeParam> const team(devices_of<TypeParam>(2));
  auto const factors_alike = [&](std::int64_t n, std::int64_t nb, PrecisionRule const& rule,
                                 Variant variant, int streams) {
    SCOPED_TRACE(std::to_string(n) + " in tiles of " + std::to_string(nb));
    CholeskyOptions options;
    options.variant = variant;
    options.streams = streams;
    auto const alone = cholesky(devices_of<TypeParam>(1), field<TypeParam>(n, nb, rule));
    auto const factor = cholesky(team, field<TypeParam>(n, nb, rule), options);
    ASSERT_TRUE(factor.info().ok());
    EXPECT_TRUE(same_bits(stored_matrix(factor.matrix()), stored_matrix(alone.matrix())));
    EXPECT_EQ(factor.log_determinant(), alone.log_determinant());
  };
  for (int repetition = 0; repetition < 2; ++repetition) {
    factors_alike(100, 16, {}, Variant::V4, 2);
    factors_alike(131, 8, PrecisionRule{1e-4}, Variant::V1, 1);
    factors_alike(33, 33, {}, Variant::Sync, 1);
    factors_alike(200, 32, PrecisionRule{1e-6}, Variant::Async, 4);
    factors_alike(1, 16, {}, Variant::V2, 3);
    factors_alike(0, 16, {}, Variant::V3, 1);
  }
}

// A minor that is not positive, or an error, leaves nothing behind.
TYPED_TEST(DeviceTeamOn, WorksAfterABreakdownAndAfterAnError) {
  TypeParam const exec;
  std::int64_t const n = 64;
  DeviceTeam<TypeParam> const team(devices_of<TypeParam>(2));
  HostMatrix const indefinite = matern_matrix(n, 0.05);
  indefinite(40, 40) = -1;
  auto const A = on_space<TypeParam>(indefinite);
  CholeskyOptions fails;
  fails.on_task = [](Task const& task) {
    STRATA_REQUIRE(ValueError, task.col < 2, "made to fail");
  };
  auto const expected = cholesky(devices_of<TypeParam>(1), field<TypeParam>(n, 8));
  for (int repetition = 0; repetition < 3; ++repetition) {
    auto const broken = cholesky(team, TileMatrix<TypeParam>::from_view(exec, A, 8));
    EXPECT_EQ(broken.info().order(), 41);
    EXPECT_TRUE(throws_with<ValueError>(
        "made to fail", [&] { (void)cholesky(team, field<TypeParam>(n, 8), fails); }));
    auto const factor = cholesky(team, field<TypeParam>(n, 8));
    ASSERT_TRUE(factor.info().ok());
    EXPECT_TRUE(same_bits(stored_matrix(factor.matrix()), stored_matrix(expected.matrix())));
  }
}

TYPED_TEST(DeviceTeamOn, RefusesASecondThreadAndToBeReleasedWhileItIsUsed) {
  DeviceTeam<TypeParam> team(devices_of<TypeParam>(1));
  std::atomic<bool> asked = false;
  CholeskyOptions options;
  options.streams = 1;
  options.on_task = [&](Task const&) {
    if (asked.exchange(true)) return;
    EXPECT_TRUE(throws_with<ValueError>("another thread uses it; give each thread a team",
                                        [&] { (void)cholesky(team, field<TypeParam>(40, 8)); }));
    EXPECT_TRUE(
        throws_with<ValueError>("it is used, and can't be released", [&] { team.release(); }));
  };
  EXPECT_TRUE(cholesky(team, field<TypeParam>(64, 8), options).info().ok());
  EXPECT_TRUE(asked);
  std::thread([&] { EXPECT_TRUE(cholesky(team, field<TypeParam>(64, 8)).info().ok()); }).join();
  EXPECT_TRUE(throws_with<ValueError>("device team: there is no device",
                                      [] { (void)DeviceTeam<TypeParam>(Devices{}); }));
}

// A team gives all back and begins anew; a factor that made its own keeps no thread and no pool.
TYPED_TEST(DeviceTeamOn, GivesBackWhatItHas) {
  TypeParam const exec;
  std::int64_t const before = threads_of_the_process();
  DeviceTeam<TypeParam> team(devices_of<TypeParam>(2));
  EXPECT_EQ(team.bytes(), 0U);
  auto const copy = team;
  auto const factor = cholesky(team, field<TypeParam>(100, 16));
  EXPECT_GE(copy.bytes(), factor.report().devices[0].budget_bytes);
  EXPECT_GT(copy.threads(), 0);
  team.release();
  EXPECT_EQ(copy.bytes(), 0U);
  EXPECT_EQ(copy.threads(), 0);
  EXPECT_TRUE(comes_to_threads(before));
  typename TileFactor<TypeParam>::Block const V("strata::test::V", 100, 1);
  factor.half_solve(exec, Op::NoTrans, V);
  EXPECT_GT(copy.bytes(), 0U);
  team.release();
  auto const own = cholesky(devices_of<TypeParam>(2), field<TypeParam>(100, 16));
  EXPECT_TRUE(comes_to_threads(before));
}

// What a team and pools hold counts as free for its next automatic budget.
TYPED_TEST(DeviceTeamOn, CountsItsPoolsAsFree) {
  DeviceTeam<TypeParam> const team(devices_of<TypeParam>(1));
  auto const first = cholesky(team, field<TypeParam>(200, 16));
  auto const second = cholesky(team, field<TypeParam>(200, 16));
  EXPECT_EQ(second.report().devices[0].budget_bytes, first.report().devices[0].budget_bytes);
}

// A runtime keeps its last error, which the next kernel's call would take for its own.
TYPED_TEST(DeviceTeamOn, NamesAGpuThatIsNotThere) {
  if constexpr (runs_on_host<TypeParam>) GTEST_SKIP() << "workers of a host are as many as wanted";
  EXPECT_TRUE(throws_with<ValueError>("there is no GPU 4711, this process has ", [] {
    (void)cholesky(DeviceTeam<TypeParam>(Devices{{4711, 0}}), field<TypeParam>(64, 8));
  }));
  EXPECT_TRUE(cholesky(devices_of<TypeParam>(1), field<TypeParam>(64, 8)).info().ok());
}

// Of its parent's threads a forked process has none.
TYPED_TEST(DeviceTeamOn, StartsNewThreadsInAForkedProcess) {
  if (!runs_on_host<Kokkos::DefaultExecutionSpace> ||
      Kokkos::DefaultHostExecutionSpace().concurrency() > 1)
    GTEST_SKIP() << "neither a GPU nor OpenMP survives a fork";
  TypeParam const exec;
  DeviceTeam<TypeParam> const team(devices_of<TypeParam>(2));
  auto const factor = cholesky(team, field<TypeParam>(64, 8));
  std::string const told = in_child([&] {
    int const threads = team.threads();
    auto const again = cholesky(team, field<TypeParam>(64, 8));
    typename TileFactor<TypeParam>::Block const V("strata::test::V", 64, 1);
    factor.half_solve(exec, Op::NoTrans, V);
    bool const same = same_bits(stored_matrix(again.matrix()), stored_matrix(factor.matrix()));
    return std::to_string(threads) + " threads, then " + std::to_string(team.threads()) +
           (same ? ", same bits" : ", other bits");
  });
  EXPECT_EQ(told, "0 threads, then 2, same bits");
  EXPECT_EQ(team.threads(), 2);
  EXPECT_TRUE(cholesky(team, field<TypeParam>(64, 8)).info().ok());
}

}  // namespace
