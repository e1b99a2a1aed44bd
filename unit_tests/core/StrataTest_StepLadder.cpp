// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_StepLadder.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace {

using strata::MemoryError;
using strata::StepLadder;
using Steps = std::vector<int>;

constexpr auto refuses = [](MemoryError const&) -> int { throw; };

// The steps that are tried until `last` holds.
Steps tried(StepLadder<int>& ladder, int last) {
  Steps result;
  (void)ladder.climb(
      [&](int step) {
        result.push_back(step);
        return step;
      },
      refuses, [&](int step) { return step == last; });
  return result;
}

TEST(StepLadder, TriesStepsUntilOneHolds) {
  StepLadder<int> ladder({10, 11, 12, 13});
  EXPECT_EQ(tried(ladder, 11), (Steps{10, 11}));
  EXPECT_EQ(ladder.held(), 11);
  EXPECT_EQ(ladder.next(), 2u);
  EXPECT_EQ(tried(ladder, 99), (Steps{12, 13}));  // from where it was
  EXPECT_EQ(ladder.held(), 11);
  EXPECT_TRUE(ladder.at_the_top());
  EXPECT_EQ(tried(ladder, 10), Steps{});
}

TEST(StepLadder, WithoutStepsHasNoneToTry) {
  StepLadder<int> ladder;
  EXPECT_TRUE(ladder.at_the_top());
  EXPECT_EQ(tried(ladder, 0), Steps{});
}

TEST(StepLadder, AnAttemptEndsItOrChoosesTheNextStep) {
  StepLadder<int> ended({1, 2, 3}), skipped({1, 2, 3});
  EXPECT_FALSE(ended.climb(
      [&](int step) {
        ended.end();
        return step;
      },
      refuses, [](int) { return false; }));
  EXPECT_EQ(ended.now(), 1);
  skipped.go_to(2);
  EXPECT_EQ(tried(skipped, 3), Steps{3});
}

TEST(StepLadder, LeavesOutAndReordersTheStepsAboveAlone) {
  StepLadder<int> ladder({2, 4, 1, 3, 6, 5});
  ladder.go_to(1);
  ladder.bring_forward([](int step) { return step % 2 == 1; });
  EXPECT_EQ(ladder.steps(), (Steps{2, 1, 3, 5, 4, 6}));
  ladder.leave_out([](int step) { return step == 2 || step == 3; });
  EXPECT_EQ(ladder.steps(), (Steps{2, 1, 5, 4, 6}));
  ladder.end();
  ladder.leave_out([](int) { return true; });
  EXPECT_EQ(ladder.steps().size(), 5u);
}

TEST(StepLadder, WithoutMemoryAnotherResultIsJudged) {
  StepLadder<int> ladder({1, 2, 3});
  EXPECT_TRUE(ladder.climb(
      [](int step) {
        if (step == 2) throw MemoryError("none");
        return step;
      },
      [&](MemoryError const&) {
        ladder.step_back();
        return 10 * ladder.now();
      },
      [](int result) { return result == 10; }));
  EXPECT_EQ(ladder.held(), 1);
  EXPECT_EQ(ladder.next(), 1u);  // the step without memory may come again
}

TEST(StepLadder, PassesOnTheErrorsThatAreNotOfMemory) {
  StepLadder<int> ladder({1, 2});
  EXPECT_THROW(ladder.climb([](int) -> int { throw strata::ValueError("no"); }, refuses,
                            [](int) { return true; }),
               strata::ValueError);
  EXPECT_THROW(ladder.climb([](int) -> int { throw MemoryError("none"); }, refuses,
                            [](int) { return true; }),
               MemoryError);
  EXPECT_TRUE(ladder.at_the_top());
}

TEST(StepLadder, AMemoryErrorOfTheJudgementIsNotOfTheAttempt) {
  StepLadder<int> ladder({1});
  EXPECT_THROW(ladder.climb([](int step) { return step; }, [](MemoryError const&) { return 0; },
                            [](int) -> bool { throw MemoryError("none"); }),
               MemoryError);
}

}  // namespace
