// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Tiles that a carrier takes from rank to rank: NCCL where each rank has a device of its own, on
// hosts MPI in its place.
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "comm/StrataTest_CarrierStandIn.hpp"
#include "ooc/StrataTest_Tiles.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include <core/kokkos_ext/Strata_Team.hpp>
#include <geostat/Strata_MaternTiles.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/executor/detail/Strata_RankExchange.hpp>
#include <ooc/schedule/Strata_TilePlan.hpp>

#include <gtest/gtest.h>

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
class CarrierOn : public testing::Test {
 protected:
  CarrierOn() {
    if constexpr (strata::runs_on_host<Exec>)
      ooc::detail::pretended_carrier() = [this](Communicator const& comm,
                                                std::vector<Route> const& routes) {
        return stand_in = std::make_shared<CarrierStandIn>(comm, routes);
      };
  }
  ~CarrierOn() override { ooc::detail::pretended_carrier() = {}; }

  std::shared_ptr<CarrierStandIn> stand_in;  // the last that was made
};
TYPED_TEST_SUITE(CarrierOn, Spaces, SpaceNames);

std::shared_ptr<Communicator const> all_ranks() {
  return std::make_shared<Communicator const>(test_ranks());
}

constexpr std::size_t roomy = std::size_t{1} << 26;

template <class Exec>
Devices own_device(std::size_t budget_bytes = roomy) {
  Devices devices = make_devices(1, budget_bytes);
  if (!strata::runs_on_host<Exec>) devices[0].id = test_ranks().rank() % Kokkos::num_devices();
  return devices;
}

constexpr std::int64_t n = 200, tile = 16;

template <class Exec>
TileMatrix<Exec> make(std::shared_ptr<Communicator const> comm, TileStorage storage,
                      std::int64_t super_panel, std::int64_t order = n) {
  Exec const exec;
  auto const field =
      matern_tiles(exec, MaternCovariance{1, 0.02627, 0.5, 0}, synthetic_locations(order));
  TileMatrixOptions options(PrecisionRule{1e-5});
  options.anywhere = true;
  if (comm && super_panel == 0) options.grid = {comm->size(), 1};
  options.comm = std::move(comm);
  options.super_panel = super_panel;
  options.storage = storage;
  options.devices = own_device<Exec>();
  return TileMatrix<Exec>::generate(exec, order, tile, field, options);
}

// By the order's own count of messages, each once. Tiles of others come to the device if most of
// its budget is left then.
TYPED_TEST(CarrierOn, FactorsToTheBitsOfOneRank) {
  auto const whole =
      cholesky(own_device<TypeParam>(), make<TypeParam>(nullptr, TileStorage::Host, 0));
  for (auto const& [storage, is_tight] : {std::pair(TileStorage::Host, false),
                                          {TileStorage::Host, true},
                                          {TileStorage::Devices, false}})
    for (std::int64_t const super_panel : {0, 3}) {
      SCOPED_TRACE(std::string(name_of(storage)) + (is_tight ? ", tight" : "") +
                   ", super-panels of " + std::to_string(super_panel));
      auto matrix = make<TypeParam>(all_ranks(), storage, super_panel);
      CholeskyOptions options;
      options.streams = 2;
      std::size_t const least = smallest_budget_bytes(n, tile, matrix.map(), 2);
      auto const factor =
          cholesky(own_device<TypeParam>(is_tight ? least : roomy), std::move(matrix), options);
      ASSERT_TRUE(factor.info().ok());
      expect_same_matrix(factor.matrix(), whole.matrix());
      auto const& report = factor.report();
      if (test_ranks().size() == 1) {
        EXPECT_EQ(report.transport, Transport::Direct);
        EXPECT_EQ(this->stand_in, nullptr);
      } else if constexpr (strata::runs_on_host<TypeParam>) {
        EXPECT_EQ(report.transport, Transport::Enqueued);
        RankOrder const order{report.tiles,
                              {report.grid_rows, report.grid_cols},
                              1,
                              report.streams,
                              super_panel,
                              report.column_block};
        auto const messages = messages_of(order, test_ranks().rank());
        EXPECT_EQ(this->stand_in->begun(), messages.sends.size() + messages.receives.size());
        EXPECT_EQ(this->stand_in->ended(), this->stand_in->begun());
        EXPECT_EQ(report.room_bytes > 0, is_tight && !messages.receives.empty());
        EXPECT_EQ(report.bytes_sent, bytes_of(messages.sends, n, tile, whole.matrix().map()));
      } else if (test_ranks().size() > Kokkos::num_devices()) {
        EXPECT_EQ(report.transport, Transport::Staged);
      }
    }
}

// The same ranks may send by MPI first: nothing of that is taken for a receive that a transfer may
// begin for.
TYPED_TEST(CarrierOn, FollowsMpiOnTheSameRanks) {
  auto const whole =
      cholesky(own_device<TypeParam>(), make<TypeParam>(nullptr, TileStorage::Host, 0));
  auto const comm = all_ranks();
  for (std::int64_t const super_panel : {0, 3}) {
    auto const by_carrier = std::exchange(ooc::detail::pretended_carrier(), {});
    CholeskyOptions staged;
    staged.transport = Transport::Staged;
    ASSERT_TRUE(cholesky(own_device<TypeParam>(),
                         make<TypeParam>(comm, TileStorage::Host, super_panel), staged)
                    .info()
                    .ok());
    ooc::detail::pretended_carrier() = by_carrier;
    auto const factor =
        cholesky(own_device<TypeParam>(), make<TypeParam>(comm, TileStorage::Host, super_panel));
    ASSERT_TRUE(factor.info().ok());
    expect_same_matrix(factor.matrix(), whole.matrix());
  }
}

// Ranks without tiles have no messages, and the next factorisation has those that are there.
TYPED_TEST(CarrierOn, GoesOnAfterASmallerMatrix) {
  auto const comm = all_ranks();
  for (std::int64_t const order : {tile + 1, n, 2 * tile})
    for (std::int64_t const super_panel : {0, 3}) {
      auto const whole =
          cholesky(own_device<TypeParam>(), make<TypeParam>(nullptr, TileStorage::Host, 0, order));
      auto const factor = cholesky(own_device<TypeParam>(),
                                   make<TypeParam>(comm, TileStorage::Host, super_panel, order));
      ASSERT_TRUE(factor.info().ok());
      expect_same_matrix(factor.matrix(), whole.matrix());
    }
}

// Messages that have no bytes any more come to their end, too, and nothing is left behind.
TYPED_TEST(CarrierOn, EndsWhereAStreamFails) {
  auto const comm = all_ranks();
  for (TileStorage const storage : {TileStorage::Host, TileStorage::Devices})
    for (std::int64_t const super_panel : {0, 3})
      for (std::int64_t const col : {0, 2, 9}) {
        CholeskyOptions options;
        options.on_task = [&](Task const& task) {
          if (task.col == col && task.row == (n - 1) / tile) throw IoError("a cable was pulled");
        };
        EXPECT_TRUE(throws_with<IoError>("a cable was pulled", [&] {
          (void)cholesky(own_device<TypeParam>(), make<TypeParam>(comm, storage, super_panel),
                         options);
        }));
        EXPECT_TRUE(cholesky(own_device<TypeParam>(), make<TypeParam>(comm, storage, super_panel))
                        .info()
                        .ok());
      }
}

// Whoever asks for what can't be has the reason, on all ranks.
TYPED_TEST(CarrierOn, IsRefusedWithTheReason) {
  ooc::detail::pretended_carrier() = {};
  CholeskyOptions options;
  options.transport = Transport::Enqueued;
  auto const run = [&] {
    return cholesky(own_device<TypeParam>(), make<TypeParam>(all_ranks(), TileStorage::Host, -1),
                    options);
  };
  if (test_ranks().size() == 1) {
    EXPECT_EQ(run().report().transport, Transport::Direct);
  } else if constexpr (strata::runs_on_host<TypeParam>) {
    EXPECT_TRUE(throws_with<ValueError>("transport enqueued: ", run));
    EXPECT_TRUE(throws_with<ValueError>(" runs on the host, which has no queue", run));
  } else if (test_ranks().size() > Kokkos::num_devices()) {
    EXPECT_TRUE(throws_with<ValueError>("transport enqueued: ", run));
  } else {
    EXPECT_EQ(run().report().transport, Transport::Enqueued);
  }
}

}  // namespace
