// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Threads that help with a copy to a device and back.
#include <c/runtime/detail/Strata_Helpers.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace strata::test {
namespace {

using c::detail::Helpers;

TEST(Helpers, EachShareIsDoneAtMostOnceAndTheCallersAlways) {
  Helpers helpers;
  for (int const count : {1, 2, 5})
    for (int time = 0; time < 200; ++time) {
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(count));
      helpers.run(count, [&](int k) { ++done.at(static_cast<std::size_t>(k)); });
      EXPECT_EQ(done[0], 1);
      for (auto const& one : done) EXPECT_LE(one, 1);
    }
}

// The work is gone after the call: a helper that is late must not touch it.
TEST(Helpers, NobodyIsAtWorkAfterTheCall) {
  Helpers helpers;
  for (int time = 0; time < 200; ++time) {
    std::atomic<int> inside = 0, begun = 0;
    helpers.run(4, [&](int) {
      ++inside;
      ++begun;
      std::this_thread::yield();
      --inside;
    });
    int const at_the_end = begun;
    EXPECT_EQ(inside, 0);
    if (time % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_EQ(begun, at_the_end);
  }
}

// Each fails in turn, while the others are inside.
TEST(Helpers, AFailureOfAnyoneIsThrown) {
  Helpers helpers;
  for (int const failing : {0, 1}) {
    std::atomic<int> inside = 0;
    auto const work = [&](int k) {
      ++inside;
      auto const begin = std::chrono::steady_clock::now();
      while (inside < 2 && std::chrono::steady_clock::now() - begin < std::chrono::seconds(60))
        std::this_thread::yield();
      if (k == failing) throw std::runtime_error("share " + std::to_string(k));
    };
    try {
      helpers.run(2, work);
      ADD_FAILURE() << "nothing was thrown";
    } catch (std::runtime_error const& failure) {
      EXPECT_EQ(failure.what(), "share " + std::to_string(failing));
    }
  }
  int done = 0;
  helpers.run(1, [&](int) { ++done; });
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace strata::test
