// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Each allocation fails once: the status for memory or the best result, and afterwards all works.
#include <c/StrataTest_Systems.hpp>

#include <StrataTest_FailingAllocations.hpp>
#include <gtest/gtest.h>
#include <strata.h>

#include <cmath>
#include <string>
#include <vector>

namespace strata::test {
namespace {

using Then = FailingAllocations::Then;

// What a call may say while memory is short, and only then that it is or that the best is not what
// was asked for.
testing::AssertionResult is_honest(strata_status status, FailingAllocations const& failing) {
  std::string const text = strata_message();
  bool const names_memory =
      status == STRATA_OUT_OF_MEMORY && text.find("strata::") != std::string::npos;
  if (status == STRATA_SUCCESS ||
      (failing.failed() && (names_memory || status == STRATA_NOT_CONVERGED)))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << strata_status_name(status) << ": " << text;
}

// A factor with layers that do not suffice for its solves, so that the ladder is climbed in them.
struct Hard {
  System<double> s{'L', 96, 2};
  strata_options options{};
  std::vector<double> X;
  strata_solve_report report{};

  Hard() {
    options.struct_size = sizeof options;
    options.layers = "fp8_e5m2,fp16";
    options.leaf_size = 24;
    options.max_iterations = 3;
    report.struct_size = sizeof report;
  }
  strata_status factor(strata_factor*& made) const {
    auto const status = strata_cholesky('L', s.n, s.A.data(), s.ld, &options, &made);
    EXPECT_EQ(made != nullptr, status == STRATA_SUCCESS);
    return status;
  }
  strata_status solve(strata_factor* factor) {
    X.assign(s.B.size(), s.nan);
    return strata_solve(factor, s.nrhs, s.B.data(), s.ld, X.data(), s.ld, nullptr, &report);
  }
  bool is_solved() const { return s.backward_error(X) <= std::sqrt(96.0) * 0x1p-51; }
};

// A solve that is short of memory for a higher rung gives the best that there is, with its error.
strata_status expect_best(Hard& hard, strata_factor* factor, FailingAllocations const& failing) {
  auto const status = hard.solve(factor);
  EXPECT_TRUE(is_honest(status, failing));
  if (status == STRATA_SUCCESS) {
    EXPECT_TRUE(hard.is_solved());
  } else if (status == STRATA_NOT_CONVERGED) {
    EXPECT_LE(hard.s.backward_error(hard.X), 2 * hard.report.backward_error);
  }
  return status;
}

// Factor, solve and log-determinant; then the same factor, if there is one, and one that is made
// with memory enough.
void factor_and_solve(FailingAllocations& failing) {
  Hard hard;
  double value = 0, error = 0;
  strata_factor *factor = nullptr, *second = nullptr;
  EXPECT_TRUE(is_honest(hard.factor(factor), failing));
  if (factor != nullptr) {
    if (expect_best(hard, factor, failing) == STRATA_NOT_CONVERGED) {
      EXPECT_TRUE(holds(strata_message(), "it was not factored again: "));
    }
    EXPECT_TRUE(is_honest(strata_log_determinant(factor, &value, &error), failing));
  }
  failing.relent();
  if (factor != nullptr) {
    (void)expect_best(hard, factor, failing);
    EXPECT_NE(hard.report.iterations, 0);
    EXPECT_EQ(strata_log_determinant(factor, &value, &error), STRATA_SUCCESS) << strata_message();
    EXPECT_TRUE(std::isfinite(value));
  }
  ASSERT_EQ(hard.factor(second), STRATA_SUCCESS) << strata_message();
  EXPECT_EQ(hard.solve(second), STRATA_SUCCESS) << strata_message();
  EXPECT_TRUE(hard.is_solved());
  strata_factor_destroy(factor);
  strata_factor_destroy(second);
}

TEST(CAllocations, EachMayFailInAFactorAndItsSolves) {
  Hard hard;
  strata_factor* factor = nullptr;
  ASSERT_EQ(hard.factor(factor), STRATA_SUCCESS);
  ASSERT_EQ(hard.solve(factor), STRATA_SUCCESS);
  EXPECT_GT(hard.report.climbs, 0);
  strata_factor_destroy(factor);
  for (Then const then : {Then::Succeed, Then::Fail})
    EXPECT_GT(fail_each_allocation(factor_and_solve, then), 20);
}

// A and B are as they were if there was no memory, so that the caller can go another way.
TEST(CAllocations, EachMayFailInLapacksOperations) {
  System<double> const s('U', 90, 2);
  strata_options options{};
  options.struct_size = sizeof options;
  options.layers = "fp16,fp32";
  auto const all = [&](auto& failing) {
    for (bool const again : {false, true}) {
      if (again) failing.relent();
      auto A = s.A, B = s.B, X = s.B;
      std::int64_t info = -9, iter = -9;
      auto status = strata_dposv('U', s.n, 2, A.data(), s.ld, B.data(), s.ld, nullptr, &info);
      EXPECT_TRUE(is_honest(status, failing));
      if (status == STRATA_SUCCESS)
        EXPECT_LE(s.backward_error(B), 0x1p-46);
      else
        EXPECT_TRUE(!again && same(A, s.A) && same(B, s.B));
      A = s.A, B = s.B;
      status = strata_dsposv('U', s.n, 2, A.data(), s.ld, B.data(), s.ld, X.data(), s.ld, &options,
                             &iter, &info);
      EXPECT_TRUE(is_honest(status, failing));
      EXPECT_TRUE(same(B, s.B));
      if (status == STRATA_SUCCESS)
        EXPECT_LE(s.backward_error(X), 0x1p-46);
      else
        EXPECT_TRUE(!again && same(A, s.A));
    }
  };
  for (Then const then : {Then::Succeed, Then::Fail}) EXPECT_GT(fail_each_allocation(all, then), 5);
}

// Without memory there is no answer.
TEST(CAllocations, EachMayFailInTheTestOfDefiniteness) {
  System<double> const s('U', 90, 0);
  auto const all = [&](auto& failing) {
    for (bool const again : {false, true}) {
      if (again) failing.relent();
      std::int64_t info = -99;
      auto const status = strata_is_positive_definite('U', s.n, s.A.data(), s.ld, &info);
      EXPECT_TRUE(is_honest(status, failing));
      EXPECT_EQ(info, status == STRATA_SUCCESS ? 0 : -1);
      EXPECT_TRUE(!again || info == 0);
    }
  };
  for (Then const then : {Then::Succeed, Then::Fail}) EXPECT_GE(fail_each_allocation(all, then), 1);
}

// Orders that grow, so that each call needs more memory than the one before has left.
TEST(CAllocations, EachMayFailInABatch) {
  std::int64_t const count = 16;
  std::int64_t order = 20;
  auto const all = [&](auto& failing) {
    for (bool const again : {false, true}) {
      if (again) failing.relent();
      System<double> const s('L', ++order, 2);
      std::vector<double> A, B;
      for (std::int64_t b = 0; b < count; ++b) {
        A.insert(A.end(), s.A.begin(), s.A.end());
        B.insert(B.end(), s.B.begin(), s.B.end());
      }
      auto const before_A = A, before_B = B;
      auto const stride_a = static_cast<std::int64_t>(s.A.size()),
                 stride_b = static_cast<std::int64_t>(s.B.size());
      std::vector<std::int64_t> info(count, -9);
      auto const status = strata_dposv_batched('L', s.n, 2, A.data(), s.ld, stride_a, B.data(),
                                               s.ld, stride_b, count, info.data());
      EXPECT_TRUE(is_honest(status, failing));
      if (status == STRATA_SUCCESS) {
        EXPECT_LE(s.backward_error({B.begin(), B.begin() + stride_b}), 0x1p-46);
        EXPECT_LE(s.backward_error({B.end() - stride_b, B.end()}), 0x1p-46);
      } else {
        EXPECT_TRUE(!again && same(A, before_A) && same(B, before_B));
        EXPECT_TRUE(holds(strata_message(), "strata_dposv_batched: "));
      }
    }
  };
  for (Then const then : {Then::Succeed, Then::Fail}) EXPECT_GE(fail_each_allocation(all, then), 1);
}

}  // namespace
}  // namespace strata::test
