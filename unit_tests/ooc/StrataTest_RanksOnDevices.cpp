// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// A matrix in tiles that several ranks hold in the memory of their devices, beside the same one on
// one host.
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "ooc/StrataTest_Tiles.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include <comm/Strata_Transport.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <geostat/Strata_MaternTiles.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/schedule/Strata_RankOrder.hpp>
#include <ooc/schedule/Strata_TilePlan.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::geostat;
using namespace strata::test;

template <class Exec>
class OocRanksOnDevices : public testing::Test {};
TYPED_TEST_SUITE(OocRanksOnDevices, Spaces, SpaceNames);

constexpr std::size_t roomy = std::size_t{1} << 26;

std::vector<MaternCase> cases() {
  return {{1, 8, 0.1, {}},
          {61, 8, 0.1, {}},
          {200, 16, 0.02627, PrecisionRule{1e-5}},
          {100, 8, 0.05, layered("fp8_e4m3,fp16x2,fp32")}};
}

struct Layout {
  RankGrid grid{0, 0};
  std::int64_t super_panel = -1;
};
std::vector<Layout> layouts() {
  int const ranks = test_ranks().size();
  std::vector<Layout> all = {{}};
  for (int rows = 1; rows <= ranks; ++rows)
    if (ranks % rows == 0) all.push_back({{rows, ranks / rows}, 3});
  return all;
}
std::string name_of(Layout const& layout) {
  return std::to_string(layout.grid.rows) + " x " + std::to_string(layout.grid.cols);
}

// This rank's workers on a host, or the GPUs that there are, in turn.
template <class Exec>
Devices own_devices(int count, std::size_t budget_bytes = roomy) {
  Devices devices = make_devices(count, budget_bytes);
  if (!strata::runs_on_host<Exec>)
    for (Device& device : devices)
      device.id = (test_ranks().rank() * count + device.id) % Kokkos::num_devices();
  return devices;
}

template <class Exec>
TileMatrix<Exec> make(MaternCase const& c, std::shared_ptr<Communicator const> comm,
                      TileStorage storage = TileStorage::Host, Devices const& devices = {},
                      Layout const& layout = {}) {
  Exec const exec;
  auto const field =
      matern_tiles(exec, MaternCovariance{1, c.range, 0.5, 0}, synthetic_locations(c.n));
  TileMatrixOptions options(c.rule);
  options.anywhere = true;
  options.comm = std::move(comm);
  options.grid = layout.grid;
  options.super_panel = layout.super_panel;
  options.storage = storage;
  options.devices = devices;
  return TileMatrix<Exec>::generate(exec, c.n, c.tile, field, options);
}

std::shared_ptr<Communicator const> all_ranks() {
  return std::make_shared<Communicator const>(test_ranks());
}

// No host memory for tiles, the bytes of messages that the host's tiles take, and the bits of one
// rank.
template <class Exec>
void factors_to_the_same_bits(int devices, int streams, Transport transport) {
  CholeskyOptions options;
  options.streams = streams;
  options.transport = transport;
  for (auto const& c : cases()) {
    auto const whole = cholesky(devices_of<Exec>(1), make<Exec>(c, nullptr));
    for (Layout const& layout : layouts()) {
      SCOPED_TRACE(std::to_string(c.n) + " on " + name_of(layout));
      auto const ours = own_devices<Exec>(devices);
      auto const on_host =
          cholesky(ours, make<Exec>(c, all_ranks(), TileStorage::Host, {}, layout), options);
      FailingAllocations const failing("strata::ooc::tile_matrix::chunk", [] { return true; });
      auto matrix = make<Exec>(c, all_ranks(), TileStorage::Devices, ours, layout);
      EXPECT_EQ(matrix.storage(), TileStorage::Devices);
      auto const factor = cholesky(ours, std::move(matrix), options);
      EXPECT_FALSE(failing.failed());
      ASSERT_TRUE(factor.info().ok());
      expect_same_matrix(factor.matrix(), whole.matrix());
      EXPECT_EQ(factor.log_determinant(), whole.log_determinant());
      EXPECT_EQ(factor.report().operand_excess, whole.report().operand_excess);
      EXPECT_EQ(factor.report().bytes_sent, on_host.report().bytes_sent);
      EXPECT_EQ(factor.report().bytes_received, on_host.report().bytes_received);
      EXPECT_EQ(factor.report().bytes_out(), 0u);
      EXPECT_EQ(factor.report().transport, on_host.report().transport);
      if (test_ranks().size() == 1 || transport != Transport::Automatic) {
        EXPECT_EQ(factor.report().transport,
                  test_ranks().size() == 1 ? Transport::Direct : transport);
      }
      // for each rank that gets tiles from where MPI can't read them two more, as wide as the
      // widest
      std::size_t const copies = factor.report().room_bytes - on_host.report().room_bytes;
      if (transport == Transport::Staged) {
        EXPECT_EQ(copies > 0, factor.report().bytes_sent > 0);
      }
      if (factor.report().transport == Transport::Direct) {
        EXPECT_EQ(copies, 0u);
      }
      EXPECT_LE(copies, 2 * static_cast<std::size_t>(test_ranks().size() - 1) *
                            ooc::tile_bytes(Precision::fp64, c.tile, c.tile));
    }
  }
}
TYPED_TEST(OocRanksOnDevices, FactorToTheBitsOfOneRank) {
  for (Transport const transport : {Transport::Automatic, Transport::Staged})
    factors_to_the_same_bits<TypeParam>(1, 0, transport);
}
TYPED_TEST(OocRanksOnDevices, FactorToTheBitsOfOneRankOnManyDevicesAndStreams) {
  for (Transport const transport : {Transport::Automatic, Transport::Staged}) {
    factors_to_the_same_bits<TypeParam>(2, 3, transport);
    factors_to_the_same_bits<TypeParam>(3, 1, transport);
  }
}

template <class Exec>
void solves_to_the_same_bits(MaternCase const& c, Layout const& layout) {
  using Block = typename TileFactor<Exec>::Block;
  Exec const exec;
  auto const solution = [&](TileFactor<Exec> factor) {
    Block const X("strata::test::X", static_cast<std::size_t>(c.n), 2);
    auto const host = Kokkos::create_mirror_view(X);
    for (std::size_t j = 0; j < 2; ++j)
      for (std::size_t i = 0; i < X.extent(0); ++i)
        host(i, j) = std::sin(static_cast<double>(1 + i * 2 + j));
    Kokkos::deep_copy(X, host);
    EXPECT_TRUE(factor.solve(exec, X, X).converged);
    Kokkos::deep_copy(host, X);
    return host;
  };
  auto const devices = own_devices<Exec>(2);
  auto const X = solution(cholesky(devices_of<Exec>(1), make<Exec>(c, nullptr)));
  auto const Y = solution(cholesky(
      test_ranks().size() == 1 ? own_devices<Exec>(1) : devices,  // sums have an order of their own
      make<Exec>(c, all_ranks(), TileStorage::Devices, devices, layout)));
  for (std::size_t j = 0; j < 2; ++j)
    for (std::size_t i = 0; i < X.extent(0); ++i) ASSERT_EQ(X(i, j), Y(i, j)) << i << ", " << j;
}
TYPED_TEST(OocRanksOnDevices, SolveToTheBitsOfOneRank) {
  for (auto const& c : cases())
    for (Layout const& layout : layouts()) {
      SCOPED_TRACE(std::to_string(c.n) + " on " + name_of(layout));
      solves_to_the_same_bits<TypeParam>(c, layout);
    }
}

// Where the devices of one rank have no room all have their tiles on the host, or throw what that
// one lacks.
TYPED_TEST(OocRanksOnDevices, GoToTheHostTogether) {
  int const last = test_ranks().size() - 1;
  MaternCase const c{61, 8, 0.1, {}};
  auto const whole = cholesky(devices_of<TypeParam>(1), make<TypeParam>(c, nullptr));
  auto const devices = own_devices<TypeParam>(1, test_ranks().rank() == last ? 1000 : roomy);
  EXPECT_TRUE(throws_with<MemoryError>("to factor them, and has 1000", [&] {
    (void)make<TypeParam>(c, all_ranks(), TileStorage::Devices, devices);
  }));
  auto matrix = make<TypeParam>(c, all_ranks(), TileStorage::Automatic, devices);
  EXPECT_EQ(matrix.storage(), TileStorage::Host);
  EXPECT_NE(matrix.report().no_room.find(test_ranks().rank() == last ? "has 1000" : "another rank"),
            std::string::npos);
  auto const factor = cholesky(own_devices<TypeParam>(1), std::move(matrix));
  expect_same_matrix(factor.matrix(), whole.matrix());
}

// Ranks that have a device between them have equal parts of what is free there; those of a host its
// memory.
TYPED_TEST(OocRanksOnDevices, ShareWhatIsFreeWithTheOthersThere) {
  if (!strata::runs_on_host<TypeParam>) GTEST_SKIP() << "a GPU tells what is free";
  MaternCase const c{200, 16, 0.1, {}};
  auto const needs = [&] {
    auto const matrix =
        make<TypeParam>(c, all_ranks(), TileStorage::Devices, own_devices<TypeParam>(1));
    auto const own = matrix.bytes_on(0) + smallest_budget_bytes(c.n, c.tile, matrix.map(), 1);
    return static_cast<std::size_t>(test_ranks().max(static_cast<double>(own)));
  }();
  auto const ranks = static_cast<std::size_t>(test_ranks().size());
  std::size_t const enough = ranks * (needs / 9 + 1) * 10;
  auto const open = own_devices<TypeParam>(1, 0);
  {
    FewFreeBytes const few(enough);
    EXPECT_EQ(make<TypeParam>(c, all_ranks(), TileStorage::Devices, open).storage(),
              TileStorage::Devices);
  }
  FewFreeBytes const few(enough - 20 * ranks);
  EXPECT_TRUE(throws_with<MemoryError>("to factor them, and has ", [&] {
    (void)make<TypeParam>(c, all_ranks(), TileStorage::Devices, open);
  }));
}

// Their pools, too, are in equal parts; with the tiles each takes at most 9/10 of its own.
TYPED_TEST(OocRanksOnDevices, FactorInTheirPartsOfWhatIsFree) {
  if (!strata::runs_on_host<TypeParam>) GTEST_SKIP() << "a GPU tells what is free";
  MaternCase const c{200, 16, 0.02627, PrecisionRule{1e-5}};
  auto const ranks = static_cast<std::size_t>(test_ranks().size());
  auto const open = own_devices<TypeParam>(1, 0);
  for (TileStorage const storage : {TileStorage::Host, TileStorage::Devices}) {
    auto matrix = make<TypeParam>(c, all_ranks(), storage, open);
    std::size_t const tiles = matrix.bytes_on(0),
                      part = 4 * smallest_budget_bytes(c.n, c.tile, matrix.map(), 1);
    FewFreeBytes const few(ranks * part);
    CholeskyOptions options;
    options.streams = 1;
    auto const factor = cholesky(open, std::move(matrix), options);
    ASSERT_TRUE(factor.info().ok());
    EXPECT_LE(factor.report().devices.front().budget_bytes + tiles, (part + tiles) / 10 * 9);
  }
}

// Columns that ranks wrote from devices go on on one host, and the other way round.
TYPED_TEST(OocRanksOnDevices, ShareCheckpointsWithTheHost) {
  double number = static_cast<double>(::getpid());
  test_ranks().broadcast({&number, 1}, 0);
  auto const folder = std::filesystem::temp_directory_path() /
                      ("strata_ranks_on_devices_" + std::to_string(static_cast<long>(number)));
  auto const clear = [&] {
    test_ranks().barrier();
    if (test_ranks().rank() == 0) std::filesystem::remove_all(folder);
    test_ranks().barrier();
  };
  MaternCase const c{100, 8, 0.05, layered("fp8_e4m3,fp16x2,fp32")};
  auto const whole = cholesky(devices_of<TypeParam>(1), make<TypeParam>(c, nullptr));
  CholeskyOptions options;
  options.checkpoint.folder = folder.string();
  auto const devices = own_devices<TypeParam>(2);
  for (TileStorage const first : {TileStorage::Host, TileStorage::Devices}) {
    auto const second = first == TileStorage::Host ? TileStorage::Devices : TileStorage::Host;
    clear();
    (void)cholesky(devices, make<TypeParam>(c, all_ranks(), first, devices), options);
    test_ranks().barrier();
    auto const factor =
        cholesky(devices, make<TypeParam>(c, all_ranks(), second, devices), options);
    EXPECT_EQ(factor.report().first_column, whole.report().tiles);
    expect_same_matrix(factor.matrix(), whole.matrix());
  }
  clear();
}

}  // namespace
