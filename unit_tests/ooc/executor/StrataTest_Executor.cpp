// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What surrounds the factorisation: budgets, errors that end all streams, bytes counted, traces.
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "ooc/StrataTest_PlainTiles.hpp"
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/schedule/Strata_Schedule.hpp>
#include <ooc/schedule/Strata_TilePlan.hpp>
#include <ooc/team/detail/Strata_Lane.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::test;

template <class Exec>
class ExecutorOn : public testing::Test {};
TYPED_TEST_SUITE(ExecutorOn, Spaces, SpaceNames);

TYPED_TEST(ExecutorOn, RefusesABudgetTooSmallWithTheSmallest) {
  auto matrix = field<TypeParam>(64, 16);
  std::size_t const least = smallest_budget_bytes(64, 16, matrix.map(), 2);
  EXPECT_EQ(least, 2 * 3 * (16 * 16 * 8 + 256));
  CholeskyOptions options;
  options.streams = 2;
  Devices devices = devices_of<TypeParam>(2, least);
  devices[1].budget_bytes = least - 1;
  HostMatrix const before = stored_matrix(matrix);
  EXPECT_TRUE(throws_with<MemoryError>(
      "budget of " + std::to_string(least - 1) +
          " bytes; 2 streams with tiles of 16 need at least " + std::to_string(least),
      [&] { (void)cholesky(devices, std::move(matrix), options); }));
  EXPECT_TRUE(same_bits(stored_matrix(matrix), before));  // nothing was written
}

// What is free does not suffice: an error, where the streams would wait for ever.
TYPED_TEST(ExecutorOn, RefusesAnAutomaticBudgetTooSmall) {
  if constexpr (!runs_on_host<TypeParam>)
    GTEST_SKIP() << "a GPU tells what is free";
  else
    for (PrecisionRule const& rule : {PrecisionRule{}, PrecisionRule{1e-4}}) {
      auto matrix = field<TypeParam>(96, 16, rule);
      HostMatrix const before = stored_matrix(matrix);
      std::size_t const least = smallest_budget_bytes(96, 16, matrix.map(), 2);
      for (Variant const variant : enum_values<Variant>) {
        CholeskyOptions options;
        options.variant = variant;
        options.streams = 2;
        std::size_t const needed = variant == Variant::Sync ? least / 2 : least;
        std::size_t const free = 2 * (needed * 10 / 9 - 10);
        FewFreeBytes const few(free);
        EXPECT_TRUE(throws_with<MemoryError>(
            "its part of the " + std::to_string(free) + " bytes that are free); ",
            [&] { (void)cholesky(devices_of<TypeParam>(2), std::move(matrix), options); }));
        EXPECT_TRUE(throws_with<MemoryError>("need at least " + std::to_string(needed), [&] {
          (void)cholesky(devices_of<TypeParam>(2), std::move(matrix), options);
        }));
        EXPECT_TRUE(matrix.is_filled());
        EXPECT_TRUE(same_bits(stored_matrix(matrix), before));  // nothing was written
      }
    }
}

TYPED_TEST(ExecutorOn, SharesWhatIsFree) {
  bool const on_host = std::is_same_v<typename TypeParam::memory_space, Kokkos::HostSpace>;
  if (!on_host) GTEST_SKIP() << "a GPU tells what is free";
  auto const whole = cholesky(devices_of<TypeParam>(1), field<TypeParam>(96, 16));
  for (Variant const variant : enum_values<Variant>) {
    CholeskyOptions options;
    options.variant = variant;
    options.streams = 2;
    auto matrix = field<TypeParam>(96, 16);
    std::size_t const least = smallest_budget_bytes(96, 16, matrix.map(), 2);
    FewFreeBytes const few(3 * least * 10 / 9 + 10 + 5 * least);
    Devices devices = devices_of<TypeParam>(4);
    devices[2].budget_bytes = 2 * least;  // is left as it is
    auto const factor = cholesky(devices, std::move(matrix), options);
    ASSERT_TRUE(factor.info().ok());
    EXPECT_TRUE(same_bits(stored_matrix(factor.matrix()), stored_matrix(whole.matrix())));
    std::size_t shared = 0;
    for (auto const& device : factor.report().devices)
      if (device.id != 2) shared += device.budget_bytes;
    EXPECT_LE(shared, (3 * least * 10 / 9 + 10 + 5 * least) / 10 * 9);
    EXPECT_LE(factor.report().devices[2].budget_bytes, 2 * least);
  }
}

// What an exception has left is refused until it is filled again.
TYPED_TEST(ExecutorOn, RefusesTilesThatWereOverwritten) {
  auto matrix = field<TypeParam>(64, 8, PrecisionRule{1e-4});
  HostMatrix const before = stored_matrix(matrix);
  CholeskyOptions options;
  options.on_task = [](Task const& task) {
    STRATA_REQUIRE(ValueError, task.col < 3, "made to fail");
  };
  EXPECT_TRUE(throws_with<ValueError>("made to fail", [&] {
    (void)cholesky(devices_of<TypeParam>(2), std::move(matrix), options);
  }));
  EXPECT_FALSE(matrix.is_filled());
  EXPECT_TRUE(throws_with<ValueError>(
      "fill it again", [&] { (void)cholesky(devices_of<TypeParam>(2), std::move(matrix)); }));
  matrix.round_anew(matrix.rule());
  EXPECT_TRUE(same_bits(stored_matrix(matrix), before));
  auto factor = cholesky(devices_of<TypeParam>(2), std::move(matrix));
  EXPECT_TRUE(factor.info().ok());
  auto taken = std::move(factor).take();
  EXPECT_TRUE(throws_with<ValueError>(
      "fill it again", [&] { (void)cholesky(devices_of<TypeParam>(2), std::move(taken)); }));
}

TYPED_TEST(ExecutorOn, RefusesOptionsOutOfRange) {
  auto const with = [](auto const& change) {
    return [=] {
      CholeskyOptions options;
      change(options);
      (void)cholesky(devices_of<TypeParam>(1), field<TypeParam>(20, 8), options);
    };
  };
  EXPECT_TRUE(throws_with<ValueError>("-1 streams", with([](auto& o) { o.streams = -1; })));
  EXPECT_TRUE(throws_with<ValueError>("65 streams", with([](auto& o) { o.streams = 65; })));
  EXPECT_TRUE(
      throws_with<ValueError>("blocks of -1 columns", with([](auto& o) { o.column_block = -1; })));
  EXPECT_TRUE(throws_with<ValueError>("lookahead is -1", with([](auto& o) { o.lookahead = -1; })));
  EXPECT_TRUE(throws_with<ValueError>("there is no device",
                                      [] { (void)cholesky(Devices{}, field<TypeParam>(20, 8)); }));
  EXPECT_TRUE(throws_with<ValueError>("devices: 0", [] { (void)make_devices(0); }));
  EXPECT_TRUE(throws_with<ValueError>("no variant 'v5'; there are sync, async, v1",
                                      [] { (void)from_name<Variant>("v5"); }));
  for (Variant const variant : enum_values<Variant>)
    EXPECT_EQ(from_name<Variant>(name_of(variant)), variant);
}

// A stream that fails at any task ends them all, with its own error.
TYPED_TEST(ExecutorOn, EndsAllStreamsWithOneError) {
  for (int const at : {0, 1, 5, 14, 27}) {
    for (Variant const variant : {Variant::Async, Variant::V3, Variant::V4}) {
      std::atomic<int> count{0};
      std::atomic<std::thread::id> failed;
      CholeskyOptions options;
      options.variant = variant;
      options.streams = 2;
      options.on_task = [&](Task const&) {
        int const number = count++;
        EXPECT_NE(failed.load(), std::this_thread::get_id()) << "a stream went on after its error";
        if (number == at) failed = std::this_thread::get_id();
        STRATA_REQUIRE(ValueError, number != at, "task ", number, " is made to fail");
      };
      auto matrix = field<TypeParam>(56, 8, PrecisionRule{1e-4});
      std::size_t const least = smallest_budget_bytes(56, 8, matrix.map(), 2);
      EXPECT_TRUE(throws_with<ValueError>("task " + std::to_string(at) + " is made to fail", [&] {
        (void)cholesky(devices_of<TypeParam>(3, least), std::move(matrix), options);
      }));
      EXPECT_GT(count, at);
    }
  }
}

TYPED_TEST(ExecutorOn, TakesOfABudgetWhatTheMatrixCanUse) {
  auto const factor =
      cholesky(devices_of<TypeParam>(2, std::size_t(1) << 60), field<TypeParam>(64, 8));
  EXPECT_TRUE(factor.info().ok());
  std::size_t const held = 3 * static_cast<std::size_t>(factor.report().streams);
  std::size_t const tiles[] = {28, 36};  // the first one has no use for the last row
  for (std::size_t d = 0; d < 2; ++d)
    EXPECT_EQ(factor.report().devices[d].budget_bytes, (tiles[d] + held) * (8 * 8 * 8 + 256));
}

// The pool of one of three devices can't be had: an error before any stream starts.
TYPED_TEST(ExecutorOn, EndsWhereADeviceHasNoMemory) {
  for (int const which : {0, 2}) {
    int left = which;
    FailingAllocations const failing("strata::ooc::device::pool", [&] { return left-- == 0; });
    CholeskyOptions options;
    options.on_task = [](Task const&) { FAIL() << "a stream has started"; };
    EXPECT_TRUE(throws_with<MemoryError>("bytes of tiles on device", [&] {
      (void)cholesky(devices_of<TypeParam>(3), field<TypeParam>(64, 8), options);
    }));
  }
}

// Nor can what a stream needs for itself: all streams end.
TYPED_TEST(ExecutorOn, EndsWhereAStreamHasNoMemory) {
  for (int const which : {0, 1, 4}) {
    std::atomic<int> left = which;
    FailingAllocations const failing("strata::ooc::stream::info", [&] { return left-- == 0; });
    CholeskyOptions options;
    options.streams = 2;
    EXPECT_TRUE(throws_with<MemoryError>("strata::ooc::stream::info: can't allocate 8 bytes", [&] {
      (void)cholesky(devices_of<TypeParam>(3), field<TypeParam>(64, 8), options);
    }));
  }
}

// On one stream nothing depends on time: bytes are those of the algorithm.
TYPED_TEST(ExecutorOn, CountsTheBytesOfEachVariant) {
  std::int64_t const n = 96, nb = 8, tiles = 12;
  std::uint64_t const tile = 8 * 8 * 8 + 24, numbers = 8 * 8 * 8;
  std::uint64_t const all = tile_count(tiles);
  std::uint64_t gemms = 0, syrks = 0, trsms = all - 12;
  for (std::uint64_t j = 0; j < 12; ++j) gemms += j * (11 - j), syrks += j;
  std::map<Variant, std::uint64_t> in, out;
  for (Variant const variant : enum_values<Variant>) {
    CholeskyOptions options;
    options.variant = variant;
    options.streams = 1;
    auto const factor = cholesky(devices_of<TypeParam>(1, 20 * (nb * nb * 8 + 256)),
                                 field<TypeParam>(n, nb), options);
    in[variant] = factor.report().bytes_in();
    out[variant] = factor.report().bytes_out();
    EXPECT_EQ(factor.report().bytes_peer(), 0u);
  }
  std::uint64_t const operands = 2 * gemms + syrks + trsms;
  EXPECT_EQ(in[Variant::V1], (all + operands) * tile);
  EXPECT_EQ(out[Variant::V1], all * tile);
  EXPECT_EQ(in[Variant::Async], in[Variant::V1] + (gemms + syrks) * numbers);
  EXPECT_EQ(out[Variant::Async], out[Variant::V1] + (gemms + syrks) * numbers);
  EXPECT_EQ(in[Variant::Sync], in[Variant::Async]);
  for (Variant const variant : {Variant::V2, Variant::V3, Variant::V4}) {
    EXPECT_EQ(out[variant], all * tile);
    EXPECT_GE(in[variant], all * tile);
  }
  EXPECT_LT(in[Variant::V2], in[Variant::V1]);
  EXPECT_LE(in[Variant::V3], in[Variant::V2]);
  EXPECT_LT(in[Variant::V4], in[Variant::V3]);
}

// Left to itself V4 takes the block of columns that moves least.
TYPED_TEST(ExecutorOn, ChoosesTheBlockOfColumns) {
  auto const bytes_with = [](std::int64_t block, std::size_t budget) {
    CholeskyOptions options;
    options.streams = 1;
    options.column_block = block;
    auto const factor =
        cholesky(devices_of<TypeParam>(1, budget), field<TypeParam>(320, 8), options);
    return std::pair(factor.report().bytes_in(), factor.report().column_block);
  };
  std::size_t const little = 100 * (8 * 8 * 8 + 256);
  auto const [least, chosen] = bytes_with(0, little);
  EXPECT_GT(chosen, 1);
  for (std::int64_t const block : {1, 2, 4, 8})
    EXPECT_LE(least, bytes_with(block, little).first * 51 / 50);
  EXPECT_EQ(bytes_with(0, 0).second, 1);
}

constexpr std::size_t enough = std::size_t{1} << 26;  // for all tiles

// Where a worker on a host has no budget, nothing is copied, to the same bits.
TYPED_TEST(ExecutorOn, LeavesTilesOfAHostWhereTheyAre) {
  if constexpr (!runs_on_host<TypeParam>)
    GTEST_SKIP() << "a GPU has memory of its own";
  else
    for (PrecisionRule const& rule : {PrecisionRule{}, PrecisionRule{1e-5}})
      for (Variant const variant : enum_values<Variant>) {
        CholeskyOptions options;
        options.variant = variant;
        auto const run = [&](std::size_t budget) {
          return cholesky(devices_of<TypeParam>(2, budget), field<TypeParam>(100, 8, rule),
                          options);
        };
        auto const copied = run(enough), there = run(0);
        EXPECT_TRUE(same_bits(stored_matrix(there.matrix()), stored_matrix(copied.matrix())));
        EXPECT_LT(there.report().devices[0].budget_bytes, copied.report().devices[0].budget_bytes);
        EXPECT_GT(copied.report().bytes_in(), 0U);
        if (variant == Variant::Sync || variant == Variant::Async)
          continue;  // whose sums come and go
        EXPECT_EQ(there.report().bytes_in(), 0U);
        EXPECT_EQ(there.report().bytes_out(), 0U);
      }
}

TYPED_TEST(ExecutorOn, ReadsEachTileOnceWhereAllFit) {
  CholeskyOptions options;
  auto const factor = cholesky(devices_of<TypeParam>(1, enough),
                               field<TypeParam>(100, 8, PrecisionRule{1e-5}), options);
  std::uint64_t bytes = 0;
  for (std::int64_t j = 0; j < 13; ++j)
    for (std::int64_t i = j; i < 13; ++i) bytes += factor.matrix().copy_bytes(i, j);
  EXPECT_EQ(factor.report().bytes_in(), bytes);
  EXPECT_EQ(factor.report().bytes_out(), bytes);
}

TYPED_TEST(ExecutorOn, FetchesFinishedTilesFromTheDeviceThatMadeThem) {
  CholeskyOptions options;
  options.streams = 1;
  auto const linked = cholesky(devices_of<TypeParam>(3, enough), field<TypeParam>(100, 8), options);
  options.peer_copies = false;
  auto const apart = cholesky(devices_of<TypeParam>(3, enough), field<TypeParam>(100, 8), options);
  EXPECT_EQ(apart.report().bytes_peer(), 0u);
  EXPECT_GT(linked.report().bytes_peer(), 0u);
  EXPECT_EQ(linked.report().bytes_peer() + linked.report().bytes_in(), apart.report().bytes_in());
  EXPECT_LE(linked.report().bytes_in(), apart.report().bytes_out());  // each tile once
}

// Spans of each track follow one another; every copy and every product is there.
TYPED_TEST(ExecutorOn, TracesEachStreamsCopiesAndWork) {
  CholeskyOptions options;
  options.streams = 2;
  Recorder recorder;
  auto const factor = cholesky(devices_of<TypeParam>(2, enough), field<TypeParam>(80, 8), options);
  auto spans = recorder.spans();
  std::erase_if(spans, [](auto const& span) { return !span.track.starts_with("device "); });
  std::stable_sort(spans.begin(), spans.end(),
                   [](auto const& a, auto const& b) { return a.start < b.start; });
  std::map<std::string, Recorder::Clock::time_point> end;
  std::map<std::string, int> count;
  for (auto const& span : spans) {
    EXPECT_GE(span.start, end[span.track]) << span.track << ": " << span.name;
    end[span.track] = span.end;
    ++count[span.name.substr(0, span.name.find(' '))];
  }
  EXPECT_EQ(end.size(), 12u);
  EXPECT_TRUE(end.contains("device 1 stream 0 copy in"));
  EXPECT_TRUE(end.contains("device 0 stream 1 work"));
  EXPECT_EQ(count["potrf"], 10);
  EXPECT_EQ(count["trsm"], 45);
  EXPECT_EQ(count["syrk"], 45);
  EXPECT_EQ(count["gemm"], 120);
  EXPECT_EQ(count["out"], 55);
  EXPECT_EQ(static_cast<std::uint64_t>(count["in"]) * (8 * 8 * 8 + 24), factor.report().bytes_in());
  EXPECT_GT(count["peer"], 0);
}

}  // namespace
