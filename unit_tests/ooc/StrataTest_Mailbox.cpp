// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Messages of any length, those that MPI can't count among them.
#include "sparse/StrataTest_Ranks.hpp"
#include <comm/Strata_Mailbox.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace {

using namespace strata;
using namespace strata::test;

std::byte pattern(std::size_t number, std::size_t i, int from) {
  return static_cast<std::byte>(7 * i + i / 251 + 13 * number +
                                29 * static_cast<std::size_t>(from));
}

// Each rank sends these to the next one, and all of its receives could hold `room` bytes.
void sends_around(std::vector<std::size_t> const& sizes, std::size_t room, int piece) {
  Communicator const comm = test_ranks();
  int const to = (comm.rank() + 1) % comm.size();
  int const from = (comm.rank() + comm.size() - 1) % comm.size();
  Mailbox mailbox(comm, piece);
  std::vector<std::vector<std::byte>> out, in;
  for (std::size_t m = 0; m < sizes.size(); ++m) {
    in.emplace_back(room, std::byte{255});
    mailbox.receive(static_cast<std::int64_t>(m), in[m].data(), room, from);
  }
  for (std::size_t m = 0; m < sizes.size(); ++m) {
    auto& data = out.emplace_back(sizes[m]);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = pattern(m, i, comm.rank());
    mailbox.send(static_cast<std::int64_t>(m), data.data(), data.size(), to);
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

TEST(Mailbox, SendsMessagesInPiecesThatMpiCanCount) {
  std::vector<std::size_t> const sizes = {0, 1, 99, 100, 101, 199, 200, 201, 300, 5024};
  for (int const piece : {1, 100, 10000})
    for (std::size_t const room : {std::size_t{5024}, std::size_t{5100}})
      sends_around(sizes, room, piece);
}

// 2 GiB and a tile's trailer, on two ranks with 9 GB: `--gtest_also_run_disabled_tests`.
TEST(Mailbox, DISABLED_SendsMoreThanMpiCounts) {
  sends_around({(std::size_t{1} << 31) + 24}, (std::size_t{1} << 31) + 24, 1 << 30);
}

}  // namespace
