// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// How often a rank looks at its messages: MPI's profiling interface counts.
#include "StrataTest_Spaces.hpp"
#include "ooc/StrataTest_Tiles.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include <geostat/Strata_MaternTiles.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/schedule/Strata_Schedule.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

namespace {

std::atomic<int> looks{0};

}  // namespace

extern "C" int MPI_Testsome(int count, MPI_Request* requests, int* ended, int* which,
                            MPI_Status* statuses) {
  ++looks;
  return PMPI_Testsome(count, requests, ended, which, statuses);
}

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::geostat;
using namespace strata::test;

template <class Exec>
class RankExchangeOn : public testing::Test {};
TYPED_TEST_SUITE(RankExchangeOn, Spaces, SpaceNames);

// The last rank's stream has 400 ms to do in a task, and waits for nothing: looks take of its time.
TYPED_TEST(RankExchangeOn, LooksSeldomWhileItsStreamsAreBusy) {
  if constexpr (!strata::runs_on_host<TypeParam>) {
    GTEST_SKIP() << "a device's queues do not share the cores with messages";
  } else {
    using namespace std::chrono_literals;
    auto const comm = std::make_shared<Communicator const>(test_ranks());
    int const last = comm->size() - 1;
    TileMatrixOptions matrix;
    matrix.comm = comm;
    matrix.grid = {comm->size(), 1};
    CholeskyOptions options;
    options.streams = 1;
    int looked = 0, tasks = 0;
    double milliseconds = 0;
    options.on_task = [&](Task const& task) {
      if (comm->rank() != last || task.col != 0 || ++tasks != 2) return;
      int const before = looks;
      Kokkos::Timer const timer;
      std::this_thread::sleep_for(400ms);
      milliseconds = 1000 * timer.seconds();
      looked = looks - before;
    };
    auto const field =
        matern_tiles(TypeParam(), MaternCovariance{1, 0.1, 0.5, 0}, synthetic_locations(160));
    auto const factor =
        cholesky(devices_of<TypeParam>(1),
                 TileMatrix<TypeParam>::generate(TypeParam(), 160, 8, field, matrix), options);
    EXPECT_TRUE(factor.info().ok());
    if (comm->rank() != last || last == 0) return;
    EXPECT_GT(looked, 0);  // not for long where all has come that there is room for
    EXPECT_LT(looked, 1.5 * milliseconds);  // each 100 us would be up to ten a millisecond
  }
}

}  // namespace
