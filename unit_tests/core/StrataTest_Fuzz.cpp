// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Fuzz.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace strata::test;

struct Outcome {
  int status;
  std::string output;
};

template <class Body>
Outcome fuzz_with(std::vector<std::string> arguments, Body const& body) {
  arguments.insert(arguments.begin(), "fuzzer");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  testing::internal::CaptureStdout();
  int const status = fuzz(static_cast<int>(argv.size()), argv.data(), body);
  return {status, testing::internal::GetCapturedStdout()};
}

bool contains(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

TEST(Fuzz, ACaseDependsOnItsSeedAndNumberAlone) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t const seed : {0, 1, 2})
    for (std::int64_t const number : {0, 1, 2}) {
      FuzzRandom a(seed, number), b(seed, number);
      EXPECT_EQ(a(), b());
      seen.insert(a());
    }
  EXPECT_EQ(seen.size(), 9);
}

TEST(Fuzz, DrawsStayInTheirRanges) {
  FuzzRandom random(1, 1);
  std::set<std::int64_t> integers;
  for (int i = 0; i < 1000; ++i) {
    integers.insert(random.integer(-2, 3));
    double const x = random.number(2, 3);
    EXPECT_TRUE(x > 2 && x < 3) << x;
    EXPECT_TRUE(std::isfinite(random.normal()));
  }
  EXPECT_EQ(integers, (std::set<std::int64_t>{-2, -1, 0, 1, 2, 3}));
}

TEST(Fuzz, SaysHowToReplayAFinding) {
  auto const body = [](FuzzCase& one) {
    auto const n = one.random.integer(0, 9);
    one.describe("n ", n);
    one.expect(n != 3, "n is three");
  };
  Outcome const run =
      fuzz_with({"--seed", "5", "--seconds", "60"}, body);  // ends with its 20th finding
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(contains(run.output, "fuzzer: seed 5, 60 s\n")) << run.output;
  EXPECT_TRUE(contains(run.output, "FOUND n is three\n      in n 3")) << run.output;
  auto const position = run.output.find("--seed 5 --case ");
  ASSERT_NE(position, std::string::npos);
  std::string const number = std::to_string(std::stoll(run.output.substr(position + 16)));
  Outcome const replay = fuzz_with({"--seed", "5", "--case", number}, body);
  EXPECT_EQ(replay.status, 1);
  EXPECT_TRUE(contains(replay.output, "FOUND n is three")) << replay.output;
  EXPECT_TRUE(contains(replay.output, "1 cases, 1 with findings")) << replay.output;
}

TEST(Fuzz, AnEscapingExceptionIsAFinding) {
  Outcome const run =
      fuzz_with({"--seconds", "0"}, [](FuzzCase&) { throw std::runtime_error("oh"); });
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(contains(run.output, "FOUND an exception escaped: oh")) << run.output;
}

TEST(FuzzDeathTest, SaysWhichCaseRanWhenTheProcessDied) {
  auto const die = [](FuzzCase&) { std::abort(); };
  EXPECT_DEATH((void)fuzz_with({"--seed", "3", "--seconds", "0"}, die),
               "the process died: replay by fuzzer --seed 3 --case 0");
}

TEST(Fuzz, PassesWhereNothingIsFound) {
  Outcome const run = fuzz_with({"--seconds", "0", "--seed", "7"}, [](FuzzCase&) {});
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(contains(run.output, "seed 7, 1 cases, 0 with findings")) << run.output;
}

}  // namespace
