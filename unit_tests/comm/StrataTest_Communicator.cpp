// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Errors.hpp>
#include <sparse/comm/Strata_Communicator.hpp>
#include <sparse/hpgmxp/Strata_ProcessGrid.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <vector>

namespace {

using namespace strata;
using namespace strata::sparse;

TEST(Communicator, FirstRanksWorkByThemselves) {
  Communicator const comm(MPI_COMM_WORLD);
  auto const part = comm.first(1);
  EXPECT_EQ(part.has_value(), comm.rank() == 0);
  EXPECT_EQ(part ? part->size() : 0, comm.rank() == 0 ? 1 : 0);
  EXPECT_EQ(comm.max(comm.rank()), comm.size() - 1);
  EXPECT_EQ(comm.gather(comm.rank() * 3).back(), (comm.size() - 1) * 3);
}

TEST(Communicator, KnowsWhatAllRanksThrow) {
  Communicator const comm(MPI_COMM_WORLD);
  bool const many = comm.size() > 1;
  int const bad = comm.size() - 1;
  try {
    comm.agree([&] { STRATA_REQUIRE(IoError, comm.rank() != bad, "no file"); });
    ADD_FAILURE() << "nothing was thrown";
  } catch (IoError const& error) {
    EXPECT_EQ(is_agreed(error), many);
  }
  EXPECT_FALSE(is_agreed(IoError("of one rank")));
}

TEST(Communicator, AgreesOnWhatAPartOfItThrows) {
  Communicator const comm(MPI_COMM_WORLD);
  auto const part = comm.first(2);
  auto const sum = comm.agree_with_part(part, [&] { return part->max(part->rank()); });
  EXPECT_EQ(sum.has_value(), part.has_value());
  EXPECT_EQ(sum.value_or(0), part ? part->size() - 1 : 0);
  auto const broken = [&] {
    return part->agree([&] {
      STRATA_REQUIRE(MemoryError, part->rank() + 1 < part->size(), "no room");
      return 1;
    });
  };
  try {
    (void)comm.agree_with_part(part, broken);
    ADD_FAILURE() << "nothing was thrown";
  } catch (MemoryError const& error) {  // named by the part alone
    EXPECT_STREQ(error.what(), comm.size() > 1 ? "rank 1: no room" : "no room");
    EXPECT_EQ(is_agreed(error), comm.size() > 1);
  }
}

// Rank r sends r numbers to the next one; rank 0 none, so that there is no message.
TEST(Communicator, SendsAndReceivesAtOnce) {
  Communicator const comm(MPI_COMM_WORLD);
  int const next = (comm.rank() + 1) % comm.size(),
            before = (comm.rank() + comm.size() - 1) % comm.size();
  std::vector<double> const out(static_cast<std::size_t>(comm.rank()), 0.5 + comm.rank());
  std::vector<double> in(static_cast<std::size_t>(before));
  comm.send_receive(out, next, in, before);
  EXPECT_EQ(in, std::vector<double>(static_cast<std::size_t>(before), 0.5 + before));
  double const sent = comm.rank();
  double got = -1;
  comm.send_receive({&sent, 1}, comm.rank(), {&got, 1}, comm.rank());
  EXPECT_EQ(got, sent);
  comm.send_receive({}, next, {}, before);
}
TEST(Communicator, SendsToItselfWithoutMpi) {
  double const sent = 7;
  double got = -1;
  Communicator().send_receive({&sent, 1}, 0, {&got, 1}, 0);
  EXPECT_EQ(got, sent);
}

TEST(Communicator, KnowsTheRanksOfAHost) {
  Communicator const comm(MPI_COMM_WORLD);
  auto const hosts = comm.hosts();
  ASSERT_EQ(hosts.size(), static_cast<std::size_t>(comm.size()));
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    EXPECT_LE(hosts[rank], static_cast<int>(rank));
    auto const lowest = static_cast<std::size_t>(hosts[rank]);
    EXPECT_EQ(hosts[lowest], hosts[rank]);
  }
}

TEST(Communicator, GridsAreTheBenchmarks) {
  using Grid = std::array<int, 3>;
  EXPECT_EQ(process_grid(1), (Grid{1, 1, 1}));
  EXPECT_EQ(process_grid(2), (Grid{1, 1, 2}));
  EXPECT_EQ(process_grid(4), (Grid{2, 1, 2}));
  EXPECT_EQ(process_grid(7), (Grid{1, 1, 7}));
  EXPECT_EQ(process_grid(8), (Grid{2, 2, 2}));
  EXPECT_EQ(process_grid(12), (Grid{2, 2, 3}));
}

}  // namespace
