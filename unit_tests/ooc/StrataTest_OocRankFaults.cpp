// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What one rank alone meets while all factor and solve together, without an MPI_Abort: all end,
// soon, with the cause.
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "ooc/StrataTest_Tiles.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include <geostat/Strata_MaternTiles.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/executor/detail/Strata_RankExchange.hpp>
#include <ooc/team/detail/Strata_Lane.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::geostat;
using namespace strata::test;

template <class Exec>
class OocRankFaults : public testing::Test {};
TYPED_TEST_SUITE(OocRankFaults, Spaces, SpaceNames);

constexpr std::int64_t n = 100, tile = 8;
constexpr double soon = 20;  // seconds

std::shared_ptr<Communicator const> all_ranks() {
  return std::make_shared<Communicator const>(test_ranks());
}

// How the text of what one rank has thrown begins.
std::string from(int rank) {
  return test_ranks().size() == 1 ? "" : "rank " + std::to_string(rank) + ": ";
}

// This rank's workers on a host, or the GPUs that there are, in turn.
template <class Exec>
Devices own_devices(int count) {
  Devices devices = make_devices(count, std::size_t{1} << 26);
  if (!strata::runs_on_host<Exec>)
    for (Device& device : devices)
      device.id = (test_ranks().rank() * count + device.id) % Kokkos::num_devices();
  return devices;
}

template <class Exec>
TileMatrix<Exec> make(std::int64_t super_panel, PrecisionRule const& rule = {},
                      std::size_t max_bytes = std::numeric_limits<std::size_t>::max(),
                      TileStorage storage = TileStorage::Host) {
  TileMatrixOptions options(rule);
  options.anywhere = true;
  options.comm = all_ranks();
  options.super_panel = super_panel;
  if (super_panel == 0) options.grid = {test_ranks().size(), 1};
  options.max_bytes = max_bytes;
  options.storage = storage;
  options.devices = own_devices<Exec>(2);
  auto const field = matern_tiles(Exec(), MaternCovariance{1, 0.1, 0.5, 0}, synthetic_locations(n));
  return TileMatrix<Exec>::generate(Exec(), n, tile, field, options);
}

template <class Exec>
TileFactor<Exec> factor_of(TileMatrix<Exec>&& matrix, CholeskyOptions const& options = {}) {
  return cholesky(devices_of<Exec>(1), std::move(matrix), options);
}

// While it lives, the device of one rank fails from the K-th time on that it is asked how far it
// is.
class FailingDevice {
 public:
  FailingDevice(int rank, int number) {
    asked_ = 0;
    number_ = test_ranks().rank() == rank ? number : std::numeric_limits<int>::max();
    ooc::detail::pretended_question = [] {
      if (++asked_ >= number_) throw VendorError("the device is gone");
    };
  }
  ~FailingDevice() { ooc::detail::pretended_question = nullptr; }
  FailingDevice(FailingDevice const&) = delete;
  FailingDevice& operator=(FailingDevice const&) = delete;

  // On the rank whose device it is, told to all.
  static bool has_failed() { return test_ranks().max(asked_ >= number_ ? 1 : 0) > 0; }

 private:
  inline static std::atomic<int> asked_, number_;
};

constexpr std::size_t any_bytes = std::numeric_limits<std::size_t>::max();

template <class Exec>
void ends_where_a_device_fails(std::int64_t super_panel, TileStorage storage) {
  auto const make_tiles = [&] { return make<Exec>(super_panel, {}, any_bytes, storage); };
  int const ranks = test_ranks().size();
  for (int rank = 0; rank < ranks; ++rank)
    for (int const number : {1, 7, 40}) {
      SCOPED_TRACE(std::to_string(rank) + " asked the " + std::to_string(number) +
                   "th time, super-panels of " + std::to_string(super_panel));
      auto matrix = make_tiles();
      Kokkos::Timer const timer;
      FailingDevice const device(rank, number);
      bool threw = false;
      try {
        (void)factor_of(std::move(matrix));
      } catch (VendorError const& error) {
        threw = true;
        EXPECT_EQ(std::string(error.what()), from(rank) + "the device is gone");
        EXPECT_TRUE(is_agreed(error));
      }
      EXPECT_LT(timer.seconds(), soon);
      EXPECT_EQ(threw, device.has_failed());
      if (number == 1) {
        EXPECT_EQ(threw, ranks > 1);  // who has visits is asked
      }
    }
  EXPECT_TRUE(factor_of(make_tiles()).info().ok());  // and nothing is left behind
}
TYPED_TEST(OocRankFaults, EndWhereADeviceFailsBetweenMessages) {
  if constexpr (!strata::runs_on_host<TypeParam>) {
    GTEST_SKIP() << "a host stands in for the device";
  } else {
    for (TileStorage const storage : {TileStorage::Host, TileStorage::Devices})
      for (std::int64_t const super_panel : {0, 3})
        ends_where_a_device_fails<TypeParam>(super_panel, storage);
  }
}

// One of the devices of one rank has no memory: all throw that, or have their tiles on the host.
TYPED_TEST(OocRankFaults, EndWhereOneDeviceHasNoMemoryForItsTiles) {
  int const last = test_ranks().size() - 1;
  bool const is_last = test_ranks().rank() == last;  // asked here: all ranks make the communicator
  auto const with = [&](char const* label, int wanted, auto const& work) {
    std::atomic<int> asked = 0;
    FailingAllocations const failing(label, [&] { return is_last && ++asked == wanted; });
    work();
    EXPECT_EQ(failing.failed(), is_last);
  };
  for (std::int64_t const super_panel : {0, 3})
    for (PrecisionRule const& rule : {PrecisionRule{}, PrecisionRule{1e-5}}) {
      auto const make_tiles = [&](TileStorage storage) {
        return make<TypeParam>(super_panel, rule, any_bytes, storage);
      };
      Kokkos::Timer const timer;
      with("strata::ooc::tile_matrix::piece", 2, [&] {
        EXPECT_TRUE(throws_with<MemoryError>(from(last) + "tile matrix: can't allocate",
                                             [&] { (void)make_tiles(TileStorage::Devices); }));
      });
      with("strata::ooc::tile_matrix::piece", 2, [&] {
        auto matrix = make_tiles(TileStorage::Automatic);
        EXPECT_EQ(matrix.storage(), TileStorage::Host);
        EXPECT_NE(matrix.report().no_room.find("bytes of tiles on device"), std::string::npos);
        EXPECT_TRUE(factor_of(std::move(matrix)).info().ok());
      });
      auto matrix = make_tiles(TileStorage::Devices);
      with("strata::ooc::device::pool", 2, [&] {
        EXPECT_TRUE(throws_with<MemoryError>(
            from(last), [&] { (void)cholesky(own_devices<TypeParam>(2), std::move(matrix)); }));
      });
      if (rule.may_mix()) {  // the others had theirs, and all have those before them again
        with("strata::ooc::tile_matrix::piece", 2, [&] {
          EXPECT_TRUE(throws_with<MemoryError>(from(last) + "tile matrix: can't allocate",
                                               [&] { matrix.round_anew(PrecisionRule{}); }));
        });
        matrix.round_anew(rule);
        EXPECT_EQ(matrix.storage(), TileStorage::Devices);
        EXPECT_TRUE(factor_of(std::move(matrix)).info().ok());
      }
      EXPECT_LT(timer.seconds(), soon);
    }
}

// One rank can't copy a tile from its device to the host.
TYPED_TEST(OocRankFaults, EndWhereOneHasNoMemoryForACopyOfATile) {
  int const last = test_ranks().size() - 1;
  bool const is_last = test_ranks().rank() == last;
  auto const factor = factor_of(make<TypeParam>(-1, {}, any_bytes, TileStorage::Devices));
  Kokkos::Timer const timer;
  {
    FailingAllocations const failing("strata::ooc::tile_matrix::copy", [&] { return is_last; });
    EXPECT_TRUE(throws_with<MemoryError>(from(last) + "strata::ooc::tile_matrix::copy",
                                         [&] { (void)factor.log_determinant(); }));
  }
  EXPECT_TRUE(std::isfinite(factor.log_determinant()));
  EXPECT_LT(timer.seconds(), soon);
}

TYPED_TEST(OocRankFaults, EndWhereOneStopsToListen) {
  using Block = typename TileFactor<TypeParam>::Block;
  TypeParam const exec;
  int const last = test_ranks().size() - 1;
  auto factor = factor_of(make<TypeParam>(-1, PrecisionRule{1e-4}));
  auto const full = [&](double) {
    if (test_ranks().rank() == last) throw IoError("the log is full");
  };
  Block const B("strata::test::B", n, 1), X("strata::test::X", n, 1);
  Kokkos::deep_copy(exec, B, 1.0);
  Kokkos::Timer const timer;
  EXPECT_TRUE(throws_with<IoError>(from(last) + "the log is full", [&] {
    (void)factor.log_determinant(exec, dense::LogDeterminantOptions{.on_progress = full});
  }));
  EXPECT_TRUE(throws_with<IoError>(from(last) + "the log is full",
                                   [&] { (void)factor.solve(exec, B, X, {.on_step = full}); }));
  EXPECT_LT(timer.seconds(), soon);
  // One rank alone may listen.
  std::vector<double> heard;
  dense::LogDeterminantOptions listening;
  if (test_ranks().rank() == last)
    listening.on_progress = [&](double part) { heard.push_back(part); };
  auto const estimate = factor.log_determinant(exec, listening);
  EXPECT_EQ(heard.empty(), test_ranks().rank() != last);
  EXPECT_EQ(estimate.value, factor.log_determinant(exec, dense::LogDeterminantOptions{}).value);
}

// What max_bytes refuses is what a rank takes: its tiles, and the room for those of others.
TYPED_TEST(OocRankFaults, CountTheRoomForTilesOfOthers) {
  auto const comm = test_ranks();
  int const last = comm.size() - 1;
  std::size_t const needed =
      TileMatrix<TypeParam>::bytes_needed(n, tile, automatic_grid(comm.size()), comm.rank());
  auto const with = [&](std::size_t bytes, std::int64_t column_block = 0) {
    CholeskyOptions options;
    options.column_block = column_block;
    return factor_of(make<TypeParam>(-1, {}, comm.rank() == last ? bytes : 10 * needed), options);
  };
  auto const factor = with(needed);
  ASSERT_TRUE(factor.info().ok());
  EXPECT_EQ(factor.matrix().report().bytes + factor.report().room_bytes, needed);
  EXPECT_EQ(factor.report().room_bytes > 0, comm.size() > 1);
  double room = static_cast<double>(factor.report().room_bytes);
  room = comm.gather({&room, 1})[static_cast<std::size_t>(last)];
  double all = static_cast<double>(needed);
  all = comm.gather({&all, 1})[static_cast<std::size_t>(last)];
  auto const text = [](double bytes) { return std::to_string(static_cast<std::int64_t>(bytes)); };
  std::string const part = comm.size() == 1
                               ? ""
                               : " for its part of " + std::to_string(comm.size()) + ", " +
                                     text(room) + " of them for tiles of others";
  EXPECT_TRUE(throws_with<MemoryError>(from(last) + "tile matrix: n = 100 in tiles of 8 needs " +
                                           text(all) + " bytes of host memory" + part + ", " +
                                           text(all - 1) + " are allowed",
                                       [&] { (void)with(needed - 1); }));
  // Devices that hold the tiles send copies: two to each other rank.
  if (strata::runs_on_host<TypeParam>) {
    std::size_t const copies =
        2 * static_cast<std::size_t>(last) * ooc::tile_bytes(Precision::fp64, tile, tile);
    auto const there = [&](std::size_t bytes) {
      bytes = comm.rank() == last ? bytes : 10 * needed;
      return factor_of(make<TypeParam>(-1, {}, bytes, TileStorage::Devices));
    };
    EXPECT_TRUE(there(needed + copies).info().ok());
    EXPECT_TRUE(
        throws_with<MemoryError>(text(all + static_cast<double>(copies) - 1) + " are allowed",
                                 [&] { (void)there(needed + copies - 1); }));
  }
  // More columns at a time take more room.
  if (comm.size() > 1 && factor.report().super_panel == 0) {
    EXPECT_TRUE(
        throws_with<MemoryError>(text(all) + " are allowed", [&] { (void)with(needed, 3); }));
  }
  EXPECT_TRUE(throws_with<ValueError>("tile matrix: rank 6 of 6", [] {
    (void)TileMatrix<TypeParam>::bytes_needed(n, tile, RankGrid{3, 2}, 6);
  }));
}

// Rank 0 stands still before its first tile is final, for which all others wait.
template <class Exec>
void tells_of_silence() {
  constexpr double patience = 0.2, still = 1;  // seconds
  auto const comm = test_ranks();
  double const before = ooc::detail::patience_seconds.exchange(patience);
  CholeskyOptions options;
  std::atomic<bool> stood{comm.rank() != 0};
  options.on_task = [&](Task const&) {
    if (!stood.exchange(true)) std::this_thread::sleep_for(std::chrono::duration<double>(still));
  };
  std::vector<int> told;
  options.on_silence = [&](int rank, double seconds) {
    told.push_back(rank);
    EXPECT_GE(seconds, patience);
    EXPECT_LT(seconds, soon);
  };
  auto const factor = factor_of(make<Exec>(0), options);
  ooc::detail::patience_seconds = before;
  EXPECT_TRUE(factor.info().ok());
  if (comm.rank() == 0) return;
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.front(), 0);
}
TYPED_TEST(OocRankFaults, TellsWhichRankKeepsTheOthersWaiting) { tells_of_silence<TypeParam>(); }

}  // namespace
