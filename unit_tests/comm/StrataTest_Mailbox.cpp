// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Messages of any length, those that MPI can't count among them.
#include "StrataTest_Matchers.hpp"
#include "comm/StrataTest_CarrierStandIn.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include <comm/Strata_Mailbox.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace {

using namespace strata;
using namespace strata::test;

std::byte pattern(std::size_t number, std::size_t i, int from) {
  return static_cast<std::byte>(7 * i + i / 251 + 13 * number +
                                29 * static_cast<std::size_t>(from));
}

// Each rank sends these to the next one, the last first, and all of its receives could hold `room`
// bytes.
template <class MakeMailbox>
void sends_around(std::vector<std::size_t> const& sizes, std::size_t room,
                  MakeMailbox const& make) {
  Communicator const comm = test_ranks();
  int const to = (comm.rank() + 1) % comm.size();
  int const from = (comm.rank() + comm.size() - 1) % comm.size();
  auto const made = make(comm);
  Mailbox& mailbox = *made;
  std::vector<std::vector<std::byte>> out, in;
  for (std::size_t m = 0; m < sizes.size(); ++m) {
    in.emplace_back(room, std::byte{255});
    mailbox.receive(static_cast<std::int64_t>(m), in[m].data(), room, from);
  }
  for (std::size_t m = sizes.size(); m-- > 0;) {  // not in the order of the receives
    auto& data = out.emplace_back(sizes[m]);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = pattern(m, i, comm.rank());
    mailbox.send(static_cast<std::int64_t>(m), data.data(), data.size(), to,
                 static_cast<std::int64_t>(m));
  }
  std::size_t sent = 0;
  std::map<std::int64_t, std::size_t> got;
  while (mailbox.open() > 0)
    mailbox.poll([&](std::int64_t) { ++sent; },
                 [&](std::int64_t number, std::size_t bytes) { got[number] = bytes; });
  EXPECT_EQ(sent, sizes.size());
  for (std::size_t m = 0; m < sizes.size(); ++m) {
    ASSERT_EQ(got[static_cast<std::int64_t>(m)], sizes[m]);
    for (std::size_t i = 0; i < sizes[m]; ++i) ASSERT_EQ(in[m][i], pattern(m, i, from)) << i;
    EXPECT_TRUE(std::all_of(in[m].begin() + static_cast<std::ptrdiff_t>(sizes[m]), in[m].end(),
                            [](std::byte b) { return b == std::byte{255}; }));
  }
}

void sends_in_pieces(std::vector<std::size_t> const& sizes, std::size_t room, int piece) {
  sends_around(sizes, room,
               [&](Communicator const& comm) { return std::make_unique<Mailbox>(comm, piece); });
}

TEST(Mailbox, SendsMessagesInPiecesThatMpiCanCount) {
  std::vector<std::size_t> const sizes = {0, 1, 99, 100, 101, 199, 200, 201, 300, 5024};
  for (int const piece : {1, 100, 10000})
    for (std::size_t const room : {std::size_t{5024}, std::size_t{5100}})
      sends_in_pieces(sizes, room, piece);
}

// What was told to one mailbox is not left to the next one of the same ranks, which would send what
// nobody waits for.
TEST(Mailbox, HearsOfItsOwnReceivesAlone) {
  Communicator const comm = test_ranks();
  int const to = (comm.rank() + 1) % comm.size();
  int const from = (comm.rank() + comm.size() - 1) % comm.size();
  for (int time = 0; time < 3; ++time) {
    Mailbox mailbox(comm);
    EXPECT_EQ(mailbox.awaited(to), 0) << time;
    (void)comm.max(0);  // all have looked
    double const out[] = {1, 2};
    double in[] = {0, 0};
    for (std::int64_t const m : {0, 1}) mailbox.receive(m, in + m, 8, from);
    for (std::int64_t const m : {0, 1}) mailbox.send(m, out + m, 8, to, m);
    while (mailbox.open() > 0) mailbox.poll([](std::int64_t) {}, [](std::int64_t, std::size_t) {});
    EXPECT_EQ(in[1], 2);
    (void)comm.max(0);  // all have sent
  }
}

// 2 GiB and a tile's trailer, on two ranks with 9 GB: `--gtest_also_run_disabled_tests`.
TEST(Mailbox, DISABLED_SendsMoreThanMpiCounts) {
  sends_in_pieces({(std::size_t{1} << 31) + 24}, (std::size_t{1} << 31) + 24, 1 << 30);
}

// Those without bytes have no transfer.
TEST(Mailbox, LetsACarrierTakeTheBytes) {
  std::vector<std::size_t> const sizes = {0, 1, 99, 0, 0, 5024, 7, 300, 0};
  Communicator const ranks = test_ranks();
  int const size = ranks.size(), rank = ranks.rank();
  auto const carrier = std::make_shared<CarrierStandIn>(
      ranks, std::vector<Route>{{rank, (rank + 1) % size}, {(rank + size - 1) % size, rank}});
  sends_around(sizes, 5100,
               [&](Communicator const& comm) { return std::make_unique<Mailbox>(comm, carrier); });
  EXPECT_EQ(carrier->begun(), 2u * 5);
  EXPECT_EQ(carrier->ended(), 2u * 5);
}

// A transfer begins when its receive is there, and those that are, in the order of their receives.
TEST(Mailbox, BeginsTransfersWhenBothEndsAreReady) {
  Communicator const comm = test_ranks();
  if (comm.size() != 2) GTEST_SKIP() << "two ranks";
  auto const carrier = std::make_shared<CarrierStandIn>(comm, std::vector<Route>{{0, 1}});
  Mailbox mailbox(comm, carrier);
  bool const sends = comm.rank() == 0;
  std::vector<double> numbers = {0, 0, 0};
  if (sends) numbers = {5, 6, 7};
  std::vector<std::int64_t> ended;
  auto const poll = [&] {
    mailbox.poll([&](std::int64_t number) { ended.push_back(number); },
                 [&](std::int64_t number, std::size_t) { ended.push_back(number); });
  };
  auto const receive = [&](std::int64_t m) {
    if (!sends) mailbox.receive(m, &numbers[static_cast<std::size_t>(m)], 8, 0);
  };
  for (std::int64_t const m : {2, 1, 0})
    if (sends) mailbox.send(m, &numbers[static_cast<std::size_t>(m)], 8, 1, m);
  for (int look = 0; look < 100; ++look) poll();
  EXPECT_EQ(carrier->begun(), 0u);
  comm.barrier();
  receive(0);
  while (ended.empty()) poll();
  for (int look = 0; look < 100; ++look) poll();
  EXPECT_EQ(carrier->begun(), 1u);
  comm.barrier();
  receive(1);
  receive(2);
  while (mailbox.open() > 0) poll();
  EXPECT_EQ(ended, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(numbers, (std::vector<double>{5, 6, 7}));
}

// What is more than the receive has room for would be written behind it.
TEST(Mailbox, RefusesMoreThanTheReceiveHasRoomFor) {
  Communicator const comm = test_ranks();
  if (comm.size() != 1) GTEST_SKIP() << "one rank, to itself";
  auto const carrier = std::make_shared<CarrierStandIn>(comm, std::vector<Route>{{0, 0}});
  Mailbox mailbox(comm, carrier);
  double out[2] = {1, 2}, in = 3;
  mailbox.receive(0, &in, 8, 0);
  mailbox.send(0, out, 16, 0, 0);
  EXPECT_TRUE(throws_with<VendorError>("a message of 16 bytes for a receive of 8", [&] {
    for (int look = 0; look < 1000; ++look)
      mailbox.poll([](std::int64_t) {}, [](std::int64_t, std::size_t) {});
  }));
  EXPECT_EQ(in, 3);
}

}  // namespace
