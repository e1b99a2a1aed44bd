// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include "ooc/StrataTest_Tiles.hpp"
#include <core/blas/host/Strata_BlasThreads.hpp>
#include <core/info/Strata_Version.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/schedule/Strata_Schedule.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>

namespace {

using namespace strata;
using namespace strata::test;

template <class Exec>
class HostStreamsOn : public testing::Test {};
TYPED_TEST_SUITE(HostStreamsOn, Spaces, SpaceNames);

// On hosts the streams share the cores out, as far as tiles and budgets go. Products of small tiles
// have one thread, others those of their execution space, however many the streams are, so that the
// bits of L are the same.
TYPED_TEST(HostStreamsOn, KeepTheCoresBusy) {
  if (!runs_on_host<TypeParam>) GTEST_SKIP() << "a GPU has four streams";
  int const cores = available_cores();
  std::atomic<int> most_least = std::numeric_limits<int>::max(), most = 0;
  ooc::CholeskyOptions options;
  options.on_task = [&](ooc::Task const&) {
    int const now = BlasThreads::most();
    if (now < most_least) most_least = now;
    if (now > most) most = now;
  };
  auto const streams = [&](int devices, std::size_t budget) {
    auto const factor =
        ooc::cholesky(devices_of<TypeParam>(devices, budget), field<TypeParam>(96, 16), options);
    EXPECT_TRUE(factor.info().ok());
    EXPECT_EQ(most_least, 1);
    EXPECT_EQ(most, 1);
    EXPECT_EQ(factor.report().smallest_budget_bytes,
              static_cast<std::size_t>(factor.report().streams) * 3 * (16 * 16 * 8 + 256));
    return factor.report().streams;
  };
  std::size_t const least = 3 * (16 * 16 * 8 + 256);  // of one stream
  EXPECT_EQ(streams(1, 0), std::min(cores, 6));
  EXPECT_EQ(streams(1, least), 1);
  EXPECT_EQ(streams(1, 2 * least), std::min(cores, 2));
  EXPECT_EQ(streams(64, 0), std::clamp(cores / 64, 1, 6));
  EXPECT_EQ(BlasThreads::most(), std::numeric_limits<int>::max());
  options.variant = ooc::Variant::Sync;
  EXPECT_EQ(streams(1, 0), 1);
}

TYPED_TEST(HostStreamsOn, ShareLargeTilesWithAllThreadsOfTheirs) {
  if (!runs_on_host<TypeParam>) GTEST_SKIP() << "a GPU has four streams";
  int const threads = TypeParam().concurrency();
  for (std::int64_t const tile : {512, 513}) {
    std::atomic<int> most = 0;
    ooc::CholeskyOptions options;
    options.on_task = [&](ooc::Task const&) { most = BlasThreads::most(); };
    auto const factor =
        ooc::cholesky(devices_of<TypeParam>(1, 0), field<TypeParam>(1026, tile), options);
    EXPECT_TRUE(factor.info().ok());
    int const width = tile <= 512 ? 1 : threads;
    EXPECT_EQ(most, width) << tile;
    EXPECT_EQ(factor.report().streams,
              std::clamp<std::int64_t>(available_cores() / width, 1, factor.report().tiles))
        << tile;
  }
}

}  // namespace
