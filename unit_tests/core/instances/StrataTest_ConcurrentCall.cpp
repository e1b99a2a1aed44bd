// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/instances/Strata_ConcurrentCall.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace {

using strata::CaptureRight;
using strata::ConcurrentCall;

bool granted_to_another_thread() {
  bool granted = false;
  std::thread([&] { granted = CaptureRight().granted(); }).join();
  return granted;
}

TEST(ConcurrentCall, LetsAThreadCaptureOnlyWhereThereIsNoOther) {
  EXPECT_TRUE(CaptureRight().granted());
  {
    ConcurrentCall const outer;
    EXPECT_TRUE(CaptureRight().granted());
    {
      ConcurrentCall const inner;  // of the same thread
      EXPECT_TRUE(CaptureRight().granted());
      EXPECT_FALSE(granted_to_another_thread());
    }
    EXPECT_FALSE(granted_to_another_thread());
  }
  EXPECT_TRUE(granted_to_another_thread());
}

TEST(ConcurrentCall, OneThreadCapturesAtATime) {
  CaptureRight const right;
  EXPECT_TRUE(right.granted());
  EXPECT_FALSE(granted_to_another_thread());
}

TEST(ConcurrentCall, WaitsForACapture) {
  for (bool const in_a_call : {false, true}) {
    std::atomic<bool> arrived = false, entered = false;
    std::optional<ConcurrentCall> own;
    if (in_a_call) own.emplace();
    std::optional<CaptureRight> right(std::in_place);
    std::thread other([&] {
      arrived = true;
      ConcurrentCall const call;
      entered = true;
    });
    while (!arrived) std::this_thread::yield();
    for (int look = 0; look < 10000; ++look) {
      ASSERT_FALSE(entered);
      std::this_thread::yield();
    }
    right.reset();
    other.join();
    EXPECT_TRUE(entered);
  }
}

// Whether a child of this process knows that another thread was in a call; one that waits for ever
// is ended.
template <class Call>
bool child_is_forked_amid(bool in_other_thread) {
  std::optional<Call> call;
  std::atomic<bool> begun{false}, done{false};
  std::thread other;
  if (in_other_thread) {
    other = std::thread([&] {
      Call const others;
      begun = true;
      while (!done) std::this_thread::yield();
    });
    while (!begun) std::this_thread::yield();
  } else {
    call.emplace();
  }
  pid_t const child = fork();
  if (child == 0) {
    alarm(20);
    std::optional<ConcurrentCall> again;
    if (in_other_thread) again.emplace();  // which a capture of that thread's would keep out
    _exit(strata::is_forked_amid_calls() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  done = true;
  if (other.joinable()) other.join();
  EXPECT_TRUE(WIFEXITED(status)) << WTERMSIG(status);
  return WEXITSTATUS(status) == 1;
}

TEST(ConcurrentCall, AChildIsForkedAmidTheCallsOfOtherThreads) {
  EXPECT_TRUE(child_is_forked_amid<ConcurrentCall>(true));
  EXPECT_TRUE(child_is_forked_amid<CaptureRight>(true));
  EXPECT_FALSE(child_is_forked_amid<ConcurrentCall>(false));
  EXPECT_FALSE(strata::is_forked_amid_calls());
}

// What is captured is alone: no other thread is inside a call meanwhile.
TEST(ConcurrentCall, NeverMeetsACapture) {
  constexpr int threads = 4, rounds = 20000;
  std::atomic<int> inside{0}, captures{0}, met{0};
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t)
    pool.emplace_back([&] {
      for (int r = 0; r < rounds; ++r) {
        ConcurrentCall const call;
        ++inside;
        if (CaptureRight const right; right.granted()) {
          ++captures;
          for (int look = 0; look < 20; ++look) met += inside != 1;
        }
        --inside;
      }
    });
  for (auto& thread : pool) thread.join();
  EXPECT_EQ(met, 0);
  EXPECT_GT(captures, 0);
}

}  // namespace
