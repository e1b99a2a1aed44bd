// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// A matrix whose tiles lie in the memory of devices, beside the same one on the host.
#include "StrataTest_Allocations.hpp"
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "core/io/StrataTest_TemporaryFolder.hpp"
#include "ooc/StrataTest_PlainTiles.hpp"
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <geostat/Strata_MaternTiles.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/schedule/Strata_Schedule.hpp>
#include <ooc/schedule/Strata_TilePlan.hpp>
#include <ooc/team/vendor/Strata_Numa.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::geostat;
using namespace strata::test;

template <class Exec>
class TilesOnDevices : public testing::Test {};
TYPED_TEST_SUITE(TilesOnDevices, Spaces, SpaceNames);

std::vector<MaternCase> cases() {
  return {{0, 8, 0.1, {}},
          {1, 8, 0.1, {}},
          {61, 8, 0.1, {}},
          {200, 16, 0.02627, PrecisionRule{1e-5}},
          {100, 8, 0.05, layered("fp8_e4m3,fp16x2,fp32")},
          {200, 16, 0.1, layered("fp16x2,fp32")}};
}

template <class Exec>
TileMatrix<Exec> make(MaternCase const& c, TileStorage storage, Devices const& devices) {
  Exec const exec;
  auto const field =
      matern_tiles(exec, MaternCovariance{1, c.range, c.nu, 0}, synthetic_locations(c.n));
  TileMatrixOptions options(c.rule);
  options.anywhere = true;
  options.storage = storage;
  options.devices = devices;
  return TileMatrix<Exec>::generate(exec, c.n, c.tile, field, options);
}

// The least that each of these devices can hold its tiles and factor them with. Asked on the host,
// where each has a number of its own.
template <class Exec>
std::size_t least_budget(MaternCase const& c, int count, int streams) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  Devices const devices = devices_in_turn<Host>(count);
  auto const matrix = make<Host>(c, TileStorage::Devices, devices);
  std::size_t most = 0;
  for (Device const& device : devices) most = std::max(most, matrix.bytes_on(device.id));
  int const least = std::is_same_v<typename Exec::memory_space, Kokkos::HostSpace> ? 1 : 4;
  return most + smallest_budget_bytes(c.n, c.tile, matrix.map(), std::max(least, streams));
}

template <class Exec>
void has_the_bits_of_the_host(CholeskyOptions const& options) {
  for (auto const& c : cases()) {
    auto const host = cholesky(devices_of<Exec>(1), make<Exec>(c, TileStorage::Host, {}));
    ASSERT_TRUE(host.info().ok());
    for (int count = 1; count <= 3; ++count)
      for (bool const is_tight : {true, false}) {
        SCOPED_TRACE(std::to_string(c.n) + " on " + std::to_string(count) + " devices, " +
                     (is_tight ? "tight" : "roomy"));
        std::size_t const budget =
            is_tight ? least_budget<Exec>(c, count, options.streams) : std::size_t{1} << 26;
        Devices const devices = devices_in_turn<Exec>(count, budget);
        auto matrix = make<Exec>(c, TileStorage::Devices, devices);
        EXPECT_EQ(matrix.storage(), TileStorage::Devices);
        EXPECT_EQ(matrix.report().no_room, "");
        expect_same_matrix(matrix, make<Exec>(c, TileStorage::Host, {}));
        auto const factor = cholesky(devices, std::move(matrix), options);
        ASSERT_TRUE(factor.info().ok());
        expect_same_matrix(factor.matrix(), host.matrix());
        EXPECT_EQ(factor.log_determinant(), host.log_determinant());
        EXPECT_EQ(factor.report().operand_excess, host.report().operand_excess);
        if (options.variant != Variant::V4) continue;  // others send sums to the host and back
        EXPECT_EQ(factor.report().bytes_in(), 0u);
        EXPECT_EQ(factor.report().bytes_out(), 0u);
        bool const is_one = std::ranges::all_of(
            devices, [&](Device const& device) { return device.id == devices.front().id; });
        if (is_one) {
          EXPECT_EQ(factor.report().bytes_peer(), 0u);
        } else if (c.n > c.tile) {
          EXPECT_GT(factor.report().bytes_peer(), 0u);
        }
      }
  }
}
TYPED_TEST(TilesOnDevices, FactorToTheBitsOfTheHost) { has_the_bits_of_the_host<TypeParam>({}); }
TYPED_TEST(TilesOnDevices, FactorToTheBitsOfTheHostOnManyStreams) {
  CholeskyOptions options;
  options.streams = 3;
  has_the_bits_of_the_host<TypeParam>(options);
  options.column_block = 3;
  has_the_bits_of_the_host<TypeParam>(options);
}
TYPED_TEST(TilesOnDevices, FactorToTheBitsOfTheHostWithAnyVariant) {
  for (Variant const variant :
       {Variant::Sync, Variant::Async, Variant::V1, Variant::V2, Variant::V3}) {
    CholeskyOptions options;
    options.streams = variant == Variant::Sync ? 1 : 2;
    options.variant = variant;
    has_the_bits_of_the_host<TypeParam>(options);
  }
}

// Any chunk of host memory would fail.
TYPED_TEST(TilesOnDevices, TakeNoHostMemory) {
  FailingAllocations const failing("strata::ooc::tile_matrix::chunk", [] { return true; });
  for (auto const& c : cases()) {
    Devices const devices = devices_in_turn<TypeParam>(2, std::size_t{1} << 26);
    auto factor = cholesky(devices, make<TypeParam>(c, TileStorage::Devices, devices));
    EXPECT_TRUE(factor.info().ok());
  }
  EXPECT_FALSE(failing.failed());
}

// A team of other devices than the tiles lie on copies them from there.
TYPED_TEST(TilesOnDevices, AreFactoredByOtherDevicesToo) {
  for (auto const& c : cases()) {
    auto const host = cholesky(devices_of<TypeParam>(1), make<TypeParam>(c, TileStorage::Host, {}));
    Devices const holders = devices_in_turn<TypeParam>(2);
    for (int const count : {1, 3}) {
      auto const factor = cholesky(devices_in_turn<TypeParam>(count, std::size_t{1} << 26),
                                   make<TypeParam>(c, TileStorage::Devices, holders));
      ASSERT_TRUE(factor.info().ok());
      expect_same_matrix(factor.matrix(), host.matrix());
    }
  }
}

template <class Exec>
void solves_to_the_bits_of_the_host(MaternCase const& c) {
  using Block = typename TileFactor<Exec>::Block;
  Exec const exec;
  HostMatrix const B("strata::test::B", static_cast<std::size_t>(c.n), 3);
  for (std::size_t j = 0; j < 3; ++j)
    for (std::size_t i = 0; i < B.extent(0); ++i)
      B(i, j) = std::sin(static_cast<double>(1 + i * 3 + j));
  auto const solution = [&](TileStorage storage, Devices const& devices) {
    auto factor = cholesky(devices, make<Exec>(c, storage, devices));
    Block const X("strata::test::X", B.extent(0), B.extent(1));
    Kokkos::deep_copy(X, B);
    EXPECT_TRUE(factor.solve(exec, X, X).converged);
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), X);
  };
  for (int const count : {1, 2, 3}) {
    Devices const devices = devices_in_turn<Exec>(count, std::size_t{1} << 26);
    auto const X = solution(TileStorage::Host, devices),
               Y = solution(TileStorage::Devices, devices);
    for (std::size_t j = 0; j < X.extent(1); ++j)
      for (std::size_t i = 0; i < X.extent(0); ++i) ASSERT_EQ(X(i, j), Y(i, j)) << i << ", " << j;
  }
}
TYPED_TEST(TilesOnDevices, SolveToTheBitsOfTheHost) {
  for (auto const& c : cases()) {
    SCOPED_TRACE(c.n);
    solves_to_the_bits_of_the_host<TypeParam>(c);
  }
}

// One device lacks a byte: the bytes that it needs, or the host in its place.
TYPED_TEST(TilesOnDevices, AreRefusedOrOnTheHostWhereADeviceHasNoRoom) {
  MaternCase const c{200, 16, 0.1, layered("fp16x2,fp32")};
  Devices devices = devices_in_turn<TypeParam>(2);
  auto const there = make<TypeParam>(c, TileStorage::Devices, devices);
  int const streams = std::is_same_v<typename TypeParam::memory_space, Kokkos::HostSpace> ? 1 : 4;
  std::size_t const pool = smallest_budget_bytes(c.n, c.tile, there.map(), streams);
  std::size_t tiles = 0;  // of odd rows
  for (std::int64_t i = 1; i < there.tiles(); i += 2)
    for (std::int64_t j = 0; j <= i; ++j)
      tiles += ooc::tile_bytes(there.map().at(i, j), there.rows(i), there.rows(j));
  for (Device& device : devices) device.budget_bytes = std::size_t{1} << 26;
  devices[1].budget_bytes = tiles + pool;
  EXPECT_EQ(make<TypeParam>(c, TileStorage::Automatic, devices).storage(), TileStorage::Devices);
  devices[1].budget_bytes = tiles + pool - 1;
  std::string const text = "device " + std::to_string(devices[1].id) + " needs " +
                           std::to_string(tiles) + " bytes for its tiles and at least " +
                           std::to_string(pool) + " to factor them, and has " +
                           std::to_string(tiles + pool - 1);
  EXPECT_TRUE(throws_with<MemoryError>(
      text, [&] { (void)make<TypeParam>(c, TileStorage::Devices, devices); }));
  auto matrix = make<TypeParam>(c, TileStorage::Automatic, devices);
  EXPECT_EQ(matrix.storage(), TileStorage::Host);
  EXPECT_EQ(matrix.report().no_room, text);
  auto const factor = cholesky(devices, std::move(matrix));
  auto const host = cholesky(devices, make<TypeParam>(c, TileStorage::Host, {}));
  expect_same_matrix(factor.matrix(), host.matrix());
  EXPECT_TRUE(throws_with<ValueError>("to lie on devices, and there is none",
                                      [&] { (void)make<TypeParam>(c, TileStorage::Devices, {}); }));
}

TYPED_TEST(TilesOnDevices, AreRefusedOrOnTheHostWhereAnAllocationFails) {
  MaternCase const c{61, 8, 0.1, {}};
  Devices const devices = devices_in_turn<TypeParam>(2);
  FailingAllocations const failing("strata::ooc::tile_matrix::piece", [] { return true; });
  EXPECT_TRUE(throws_with<MemoryError>("bytes of tiles on device", [&] {
    (void)make<TypeParam>(c, TileStorage::Devices, devices);
  }));
  auto const matrix = make<TypeParam>(c, TileStorage::Automatic, devices);
  EXPECT_EQ(matrix.storage(), TileStorage::Host);
  EXPECT_NE(matrix.report().no_room.find("bytes of tiles on device"), std::string::npos);
  TileMatrixOptions options(c.rule);
  options.storage = TileStorage::Automatic;
  options.devices = devices;
  options.max_bytes = 1000;  // counts what goes to the host after all
  TypeParam const exec;
  EXPECT_TRUE(throws_with<MemoryError>("1000 are allowed", [&] {
    (void)TileMatrix<TypeParam>::generate(exec, c.n, c.tile, matrix.generator(), options);
  }));
}

// Wider tiles can't be had: where they may lie is as it was, and those before them are made there
// again.
TYPED_TEST(TilesOnDevices, AreThereAgainAfterWiderOnesThatHadNoMemory) {
  MaternCase const c{200, 16, 0.1, layered("fp16x2,fp32")};
  Devices const devices = devices_in_turn<TypeParam>(2, std::size_t{1} << 26);
  for (TileStorage const storage : {TileStorage::Devices, TileStorage::Automatic}) {
    SCOPED_TRACE(name_of(storage));
    auto matrix = make<TypeParam>(c, storage, devices);
    for (std::int64_t const piece : {1, 2}) {  // from which on there is no memory
      FailingAllocations const failing(piece, FailingAllocations::Then::Fail,
                                       "strata::ooc::tile_matrix::");
      EXPECT_TRUE(
          throws_with<MemoryError>("can't allocate", [&] { matrix.round_anew(PrecisionRule{}); }));
      EXPECT_FALSE(matrix.is_filled());
    }
    matrix.round_anew(c.rule);
    EXPECT_EQ(matrix.storage(), TileStorage::Devices);
    expect_same_matrix(matrix, make<TypeParam>(c, TileStorage::Host, {}));
    EXPECT_TRUE(cholesky(devices, std::move(matrix)).info().ok());
  }
}

// Larger pieces from before are kept as long as the budgets have a pool beside them.
TYPED_TEST(TilesOnDevices, GiveBackWhatLeavesNoRoomToFactorThem) {
  TypeParam const exec;
  MaternCase const wide{200, 16, 0.1, {}}, low{200, 16, 0.1, layered("fp16x2,fp32")};
  // low ones take a larger pool, for which wider pieces leave no room
  Devices const devices = devices_in_turn<TypeParam>(
      2, std::max(least_budget<TypeParam>(wide, 2, 1), least_budget<TypeParam>(low, 2, 1)));
  for (TileStorage const storage : {TileStorage::Devices, TileStorage::Automatic}) {
    auto matrix = make<TypeParam>(wide, storage, devices);
    auto const generator = matrix.generator();
    TileMatrixOptions options(low.rule);
    options.storage = storage;
    options.devices = devices;
    matrix.refill(exec, generator, options);
    EXPECT_EQ(matrix.storage(), TileStorage::Devices);
    auto const factor = cholesky(devices, std::move(matrix));
    ASSERT_TRUE(factor.info().ok());
    expect_same_matrix(
        factor.matrix(),
        cholesky(devices_of<TypeParam>(1), make<TypeParam>(low, TileStorage::Host, {})).matrix());
  }
}

// One that went to the host stays there: the budgets of a factorisation have counted on it.
TYPED_TEST(TilesOnDevices, StayOnTheHostWhereTheyHadNoRoom) {
  MaternCase const c{384, 8, 0.3, {}, 3.5};
  Devices const devices = devices_in_turn<TypeParam>(
      2, least_budget<TypeParam>({384, 8, 0.3, PrecisionRule{1e-2}, 3.5}, 2, 1));
  auto matrix = make<TypeParam>(c, TileStorage::Automatic, devices);
  ASSERT_EQ(matrix.storage(), TileStorage::Host);
  std::string const no_room = matrix.report().no_room;
  EXPECT_NE(no_room, "");
  matrix.round_anew(PrecisionRule{1e-2});
  EXPECT_EQ(matrix.storage(), TileStorage::Host);
  EXPECT_EQ(matrix.report().no_room, no_room);
}

// With tiles and pool a device is as full as with a pool alone: libraries have the rest.
TYPED_TEST(TilesOnDevices, LeaveLibrariesATenthOfTheMemory) {
  if (!strata::runs_on_host<TypeParam>) GTEST_SKIP() << "a GPU tells what is free";
  MaternCase const c{400, 16, 0.1, layered("fp16x2,fp32")};
  Devices const devices = devices_in_turn<TypeParam>(1);
  auto matrix = make<TypeParam>(c, TileStorage::Devices, devices);
  std::size_t const tiles = matrix.bytes_on(0),
                    pool = smallest_budget_bytes(c.n, c.tile, matrix.map(), 1);
  auto const taken = [&](std::size_t free) {
    FewFreeBytes const few(free);
    CholeskyOptions options;
    options.streams = 1;
    matrix.round_anew(c.rule);
    auto factor = cholesky(devices, std::move(matrix), options);
    EXPECT_TRUE(factor.info().ok());
    std::size_t const bytes = factor.report().devices.front().budget_bytes;
    matrix = std::move(factor).take();
    return bytes;
  };
  EXPECT_LE(tiles + taken(tiles), (tiles + tiles) / 10 * 9);
  EXPECT_EQ(taken(pool / 9 * 10 + 10), pool);  // the least that there may be
}

// Layers that break down are promoted where the tiles are, or on the host where these have no room
// for wider ones.
TYPED_TEST(TilesOnDevices, ClimbTheLadder) {
  // So large that wider tiles take more than the pool of four streams saves by them.
  MaternCase const c{384, 8, 0.3, PrecisionRule{1e-2}, 3.5};
  auto const host = cholesky(devices_of<TypeParam>(1), make<TypeParam>(c, TileStorage::Host, {}));
  ASSERT_EQ(host.report().rung, Rung::Fp64);
  for (TileStorage const storage : {TileStorage::Devices, TileStorage::Automatic})
    for (bool const is_tight : {true, false}) {
      SCOPED_TRACE(std::string(name_of(storage)) + (is_tight ? ", tight" : ""));
      std::size_t const budget = is_tight ? least_budget<TypeParam>(c, 2, 1) : std::size_t{1} << 26;
      Devices const devices = devices_in_turn<TypeParam>(2, budget);
      auto matrix = make<TypeParam>(c, storage, devices);
      ASSERT_EQ(matrix.storage(), TileStorage::Devices);
      if (is_tight && storage == TileStorage::Devices) {
        EXPECT_TRUE(throws_with<MemoryError>("to factor them",
                                             [&] { (void)cholesky(devices, std::move(matrix)); }));
        continue;
      }
      auto const factor = cholesky(devices, std::move(matrix));
      EXPECT_EQ(factor.report().rung, Rung::Fp64);
      EXPECT_EQ(factor.matrix().storage(), is_tight ? TileStorage::Host : TileStorage::Devices);
      expect_same_matrix(factor.matrix(), host.matrix());
    }
}

// What one of them wrote the other reads.
TYPED_TEST(TilesOnDevices, ShareCheckpointsWithTheHost) {
  MaternCase const c{100, 8, 0.05, layered("fp8_e4m3,fp16x2,fp32")};
  auto const whole = cholesky(devices_of<TypeParam>(1), make<TypeParam>(c, TileStorage::Host, {}));
  for (TileStorage const first : {TileStorage::Host, TileStorage::Devices}) {
    TemporaryFolder const folder;
    TileStorage const second =
        first == TileStorage::Host ? TileStorage::Devices : TileStorage::Host;
    CholeskyOptions options;
    options.checkpoint.folder = folder.path();
    Devices const devices = devices_in_turn<TypeParam>(2, std::size_t{1} << 26);
    options.on_task = [](Task const& task) {
      STRATA_REQUIRE(ValueError, task.col < 6, "made to fail");
    };
    EXPECT_TRUE(throws_with<ValueError>("made to fail", [&] {
      (void)cholesky(devices, make<TypeParam>(c, first, devices), options);
    }));
    options.on_task = {};
    auto const factor = cholesky(devices, make<TypeParam>(c, second, devices), options);
    ASSERT_TRUE(factor.info().ok());
    EXPECT_GE(factor.report().first_column, 1);
    expect_same_matrix(factor.matrix(), whole.matrix());
  }
}

// Each device rounds its own tiles, where the generator may run anywhere; else the instance's
// device all of them.
template <class Exec>
void rounds_on_each_device(bool anywhere, std::size_t expected) {
  Exec const exec;
  MaternCase const c{100, 8, 0.05, PrecisionRule{1e-6}};
  TileMatrixOptions options(c.rule);
  options.storage = TileStorage::Devices;
  options.devices = devices_in_turn<Exec>(3);
  options.anywhere = anywhere;
  auto const A = on_space<Exec>(matern_matrix(c.n, c.range, 4));  // whose D is not 1
  auto const tiles = [A](Exec const& instance, std::int64_t row, std::int64_t col,
                         TileView<Exec> const& tile) {
    ooc::detail::copy_block(instance, A, row, col, tile);
  };
  auto const host = TileMatrix<Exec>::generate(exec, c.n, c.tile, tiles, c.rule);
  Allocations const allocations;
  auto const matrix = TileMatrix<Exec>::generate(exec, c.n, c.tile, tiles, options);
  EXPECT_EQ(allocations.labels().count("strata::ooc::tile_matrix::rounded"), expected);
  expect_same_matrix(matrix, host);
}
TYPED_TEST(TilesOnDevices, AreRoundedByTheirDevices) {
  if (strata::runs_on_host<TypeParam>) rounds_on_each_device<TypeParam>(true, 3);
  rounds_on_each_device<TypeParam>(false, 1);
}

// Workers on a host have their tiles on the nodes that they are next to, as the host's tiles are.
TYPED_TEST(TilesOnDevices, AreOnTheNodesOfWorkers) {
  if (!strata::runs_on_host<TypeParam>) GTEST_SKIP() << "a GPU has its own memory";
  TypeParam const exec;
  MaternCase const c{100, 8, 0.05, PrecisionRule{1e-6}};
  auto const generator = make<TypeParam>(c, TileStorage::Host, {}).generator();
  int const known = ooc::vendor::numa_nodes().front();
  int const other = ooc::vendor::numa_nodes().back() + 1;  // the host has no such node
  TileMatrixOptions options(c.rule);
  options.devices = devices_in_turn<TypeParam>(2);
  options.nodes = {known, other};
  auto const nodes = [&](TileStorage storage) {
    options.storage = storage;
    return TileMatrix<TypeParam>::generate(exec, c.n, c.tile, generator, options)
        .report()
        .node_bytes;
  };
  auto const found = nodes(TileStorage::Devices);
  EXPECT_EQ(found.size(), 2U);
  EXPECT_EQ(found, nodes(TileStorage::Host));
  options.storage = TileStorage::Devices;
  auto matrix = TileMatrix<TypeParam>::generate(exec, c.n, c.tile, generator, options);
  int const node = ooc::vendor::numa_node_of(matrix.data(0, 0));  // -1: the build can't tell
  EXPECT_TRUE(node == known || node == -1) << node;
  auto const* const data = matrix.data(0, 0);
  matrix.refill(exec, generator, options);
  EXPECT_EQ(matrix.data(0, 0), data);
  expect_same_matrix(matrix, make<TypeParam>(c, TileStorage::Host, {}));
}

#ifdef STRATA_RUNTIME
// A thread's own device is so again after all calls, and after the end of what they made on others.
TEST(TilesOnGpus, LeaveTheThreadItsDevice) {
  if (Kokkos::num_devices() < 2) GTEST_SKIP() << "there is one GPU";
  using Exec = Kokkos::DefaultExecutionSpace;
  int const own = ooc::device_of(Exec());
  auto const is_own = [&] {
    int now = -1;
    STRATA_RUNTIME_CALL(GetDevice, &now);
    return now == own;
  };
  runtime::select(own);
  Devices const devices = {{own}, {(own + 1) % Kokkos::num_devices()}};
  {
    auto matrix = make<Exec>({100, 8, 0.05, PrecisionRule{1e-6}}, TileStorage::Devices, devices);
    EXPECT_TRUE(is_own());
    auto const factor = cholesky(devices, std::move(matrix));
    EXPECT_TRUE(is_own());
    EXPECT_TRUE(std::isfinite(factor.log_determinant()));
    EXPECT_TRUE(is_own());
    DeviceTeam<Exec> team(devices);
    (void)cholesky(team, make<Exec>({61, 8, 0.1, {}}, TileStorage::Host, {}));
    EXPECT_TRUE(is_own());
  }
  EXPECT_TRUE(is_own());
}
#endif

// The memory stays with the matrix.
TYPED_TEST(TilesOnDevices, AreFilledAgain) {
  MaternCase const c{100, 8, 0.05, PrecisionRule{1e-6}};
  Devices const devices = devices_in_turn<TypeParam>(2, std::size_t{1} << 26);
  auto factor = cholesky(devices, make<TypeParam>(c, TileStorage::Devices, devices));
  auto matrix = std::move(factor).take();
  auto const* const data = matrix.data(0, 0);
  matrix.round_anew(c.rule);
  EXPECT_EQ(matrix.data(0, 0), data);
  expect_same_matrix(matrix, make<TypeParam>(c, TileStorage::Host, {}));
  TypeParam const exec;
  auto const generator = matrix.generator();
  for (int const count : {1, 0, 3, 2}) {  // more devices than before, and others
    TileMatrixOptions options(c.rule);
    options.storage = count == 0 ? TileStorage::Host : TileStorage::Automatic;
    if (count > 0) options.devices = devices_in_turn<TypeParam>(count, std::size_t{1} << 26);
    matrix.refill(exec, generator, options);
    EXPECT_EQ(matrix.storage(), count == 0 ? TileStorage::Host : TileStorage::Devices);
    EXPECT_EQ(matrix.report().no_room, "");
    expect_same_matrix(matrix, make<TypeParam>(c, TileStorage::Host, {}));
  }
}

}  // namespace
