// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Each allocation fails once: the status for memory or the best result, and afterwards all works.
#include <gtest/gtest.h>
#include <strata.h>

#include <StrataTest_FailingAllocations.hpp>
#include <c/StrataTest_Systems.hpp>
#include <cmath>
#include <string>
#include <vector>

namespace strata::test {
namespace {

using Then = FailingAllocations::Then;

// What a call may say while memory is short, and only then that it is.
bool is_honest(strata_status status, FailingAllocations const& failing) {
  return status == STRATA_SUCCESS ||
         (status == STRATA_OUT_OF_MEMORY && failing.failed() &&
          std::string(strata_message()).find("strata::") != std::string::npos);
}

// A factor with layers that do not suffice for its solves, so that the ladder is climbed in them.
struct Hard {
  System<double> s{'L', 160, 2, 1e-7};
  strata_options options{};

  Hard() {
    options.struct_size = sizeof options;
    options.layers = "fp8_e5m2,fp16";
    options.leaf_size = 40;
  }
  double bound() const { return std::sqrt(160.0) * 0x1p-51; }
  strata_status solve(strata_factor* factor, std::vector<double>& X) const {
    X.assign(s.B.size(), s.nan);
    return strata_solve(factor, s.nrhs, s.B.data(), s.ld, X.data(), s.ld, nullptr, nullptr);
  }
};

// Factor, solve and log-determinant; then again with the same factor, if there is one, or a new one.
void factor_and_solve(Hard const& hard, FailingAllocations& failing) {
  strata_factor* factor = nullptr;
  std::vector<double> X;
  double value = 0, error = 0;
  auto status = strata_cholesky('L', hard.s.n, hard.s.A.data(), hard.s.ld, &hard.options, &factor);
  EXPECT_TRUE(is_honest(status, failing)) << status << strata_message();
  EXPECT_EQ(factor != nullptr, status == STRATA_SUCCESS);
  if (factor != nullptr) {
    status = hard.solve(factor, X);
    EXPECT_TRUE(is_honest(status, failing)) << status << strata_message();
    EXPECT_TRUE(status != STRATA_SUCCESS || hard.s.backward_error(X) <= hard.bound());
    status = strata_log_determinant(factor, &value, &error);
    EXPECT_TRUE(is_honest(status, failing)) << status << strata_message();
  }
  failing.relent();
  if (factor == nullptr)
    (void)strata_cholesky('L', hard.s.n, hard.s.A.data(), hard.s.ld, &hard.options, &factor);
  ASSERT_EQ(hard.solve(factor, X), STRATA_SUCCESS) << strata_message();
  EXPECT_LE(hard.s.backward_error(X), hard.bound());
  EXPECT_EQ(strata_log_determinant(factor, &value, &error), STRATA_SUCCESS) << strata_message();
  EXPECT_TRUE(std::isfinite(value));
  strata_factor_destroy(factor);
}

TEST(CAllocations, EachMayFailInAFactorAndItsSolves) {
  Hard const hard;
  for (Then const then : {Then::Succeed, Then::Fail})
    EXPECT_GT(fail_each_allocation([&](auto& failing) { factor_and_solve(hard, failing); }, then),
              20);
}

// A and B are as they were if there was no memory, so that the caller can go another way.
TEST(CAllocations, EachMayFailInLapacksOperations) {
  System<double> const s('U', 90, 2);
  auto const same = [](std::vector<double> const& a, std::vector<double> const& b) {
    return std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) {
      return x == y || (std::isnan(x) && std::isnan(y));
    });
  };
  auto const all = [&](auto& failing) {
    for (bool const again : {false, true}) {
      if (again) failing.relent();
      auto A = s.A, B = s.B, X = s.B;
      std::int64_t info = -9, iter = -9;
      auto status = strata_dposv('U', s.n, 2, A.data(), s.ld, B.data(), s.ld, nullptr, &info);
      EXPECT_TRUE(is_honest(status, failing)) << status << strata_message();
      if (status == STRATA_SUCCESS)
        EXPECT_LE(s.backward_error(B), 0x1p-46);
      else
        EXPECT_TRUE(!again && same(A, s.A) && same(B, s.B));
      A = s.A, B = s.B;
      status = strata_dsposv('U', s.n, 2, A.data(), s.ld, B.data(), s.ld, X.data(), s.ld, nullptr,
                             &iter, &info);
      EXPECT_TRUE(is_honest(status, failing)) << status << strata_message();
      EXPECT_TRUE(same(B, s.B));
      if (status == STRATA_SUCCESS)
        EXPECT_LE(s.backward_error(X), 0x1p-46);
      else
        EXPECT_TRUE(!again && same(A, s.A));
    }
  };
  for (Then const then : {Then::Succeed, Then::Fail}) EXPECT_GT(fail_each_allocation(all, then), 5);
}

}  // namespace
}  // namespace strata::test
