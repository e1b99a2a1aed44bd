// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The handle of strata.h.
#include <c/StrataTest_Systems.hpp>

#include <gtest/gtest.h>
#include <strata.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace strata::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

struct Destroy {
  void operator()(strata_factor* factor) const { strata_factor_destroy(factor); }
};
using Handle = std::unique_ptr<strata_factor, Destroy>;

strata_options options_with(char const* layers) {
  strata_options options{};
  options.struct_size = sizeof options;
  options.layers = layers;
  return options;
}

Handle factor(System<double> const& s, strata_options const* options, strata_status expected) {
  strata_factor* handle = nullptr;
  EXPECT_EQ(strata_cholesky(s.uplo, s.n, s.A.data(), s.ld, options, &handle), expected)
      << strata_message();
  return Handle(handle);
}

strata_factor_report describe(Handle const& handle) {
  strata_factor_report report{};
  report.struct_size = sizeof report;
  EXPECT_EQ(strata_factor_describe(handle.get(), &report), STRATA_SUCCESS) << strata_message();
  return report;
}

TEST(CFactor, SolvesBothTrianglesToFp64AndTouchesNothingElse) {
  for (char const uplo : {'L', 'U', 'l', 'u'}) {
    for (std::int64_t const n : {1, 2, 63, 64, 65, 200}) {
      System<double> const s(uplo, n, 3);
      auto const options = options_with("fp16,fp32");
      Handle const handle = factor(s, &options, STRATA_SUCCESS);
      std::vector<double> X(s.B.size(), s.nan);
      strata_solve_report report{};
      report.struct_size = sizeof report;
      ASSERT_EQ(strata_solve(handle.get(), 3, s.B.data(), s.ld, X.data(), s.ld, nullptr, &report),
                STRATA_SUCCESS)
          << strata_message();
      EXPECT_LE(s.backward_error(X), std::sqrt(static_cast<double>(n)) * 0x1p-51) << uplo << n;
      EXPECT_TRUE(s.rest_is_untouched(X, false));
      EXPECT_EQ(report.converged, 1);
      EXPECT_GE(report.iterations, 1);
      EXPECT_STREQ(strata_message(), "success");
    }
  }
}

TEST(CFactor, DescribesWhatWasDone) {
  System<double> const s('L', 150, 1);
  auto options = options_with("fp16,fp32");
  options.leaf_size = 40;
  Handle const handle = factor(s, &options, STRATA_SUCCESS);
  auto const report = describe(handle);
  EXPECT_EQ(report.n, 150);
  EXPECT_EQ(report.leaf_size, 40);
  EXPECT_EQ(report.info, 0);
  EXPECT_EQ(report.rung, STRATA_RUNG_AS_ASKED);
  EXPECT_EQ(report.attempts, 1);
  EXPECT_STREQ(report.layers, "fp16,fp32");
  EXPECT_GT(report.stored_bytes, 150 * 150);
  EXPECT_GT(report.norm, 1.1);
}

TEST(CFactor, FillsAShorterReportOfAnOlderProgram) {
  System<double> const s('L', 5, 1);
  Handle const handle = factor(s, nullptr, STRATA_SUCCESS);
  strata_factor_report report{};
  report.struct_size = offsetof(strata_factor_report, info);
  report.info = 77;
  ASSERT_EQ(strata_factor_describe(handle.get(), &report), STRATA_SUCCESS);
  EXPECT_EQ(report.n, 5);
  EXPECT_EQ(report.info, 77);
}

TEST(CFactor, GivesTheLogDeterminantAndTheFactor) {
  System<double> const s('U', 60, 1);
  auto const options = options_with("fp64");
  Handle const handle = factor(s, &options, STRATA_SUCCESS);
  System<double> L('L', 60, 1);  // the same matrix, lower
  std::vector<double> copy(L.A.size(), L.nan);
  ASSERT_EQ(strata_factor_copy(handle.get(), copy.data(), L.ld), STRATA_SUCCESS);
  EXPECT_LE(L.factor_error(copy), 0x1p-50);
  EXPECT_TRUE(L.rest_is_untouched(copy, true));
  double expected = 0, value = 0, error = -1;
  for (std::int64_t j = 0; j < 60; ++j) expected += 2 * std::log(copy[L.at(j, j)]);
  ASSERT_EQ(strata_log_determinant(handle.get(), &value, &error), STRATA_SUCCESS);
  EXPECT_NEAR(value, expected, 1e-12 * std::abs(expected));
  EXPECT_GT(error, std::abs(value - expected));
  EXPECT_LE(error, 1e-12);  // of rounding alone
}

// Of a_ij = rho^|i - j| the log-determinant is known. One standard error holds for two cases of
// three only.
TEST(CFactor, StatesAnErrorOfTheLogDeterminantThatHolds) {
  constexpr std::int64_t n = 200;
  std::vector<double> A(static_cast<std::size_t>(n * n));
  for (int k = 1; k <= 30; ++k) {
    double const rho = 0.03 * k;
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i)
        A[static_cast<std::size_t>(i + j * n)] =
            std::pow(rho, std::abs(static_cast<double>(i - j)));
    auto const options = options_with("fp16,fp32");
    strata_factor* handle = nullptr;
    ASSERT_EQ(strata_cholesky('L', n, A.data(), n, &options, &handle), STRATA_SUCCESS);
    Handle const owner(handle);
    double value = 0, error = -1;
    ASSERT_EQ(strata_log_determinant(handle, &value, &error), STRATA_SUCCESS);
    EXPECT_LE(std::abs(value - static_cast<double>(n - 1) * std::log(1 - rho * rho)), error) << rho;
    EXPECT_LT(error, n * 0x1p-11) << rho;  // n eps of fp16, which devices solve in, too
  }
}

// Two rows that are nearly equal, so that six digits are lost.
TEST(CFactor, TellsTheConditionAndTheDigitsToExpect) {
  std::int64_t const n = 30;
  std::vector<double> A(n * n), B(n, 1.0), X(n);
  for (std::int64_t i = 0; i < n; ++i) A[i + i * n] = 1;
  A[22 + 10 * n] = A[10 + 22 * n] = 1 - 1e-6;
  strata_factor* made = nullptr;
  ASSERT_EQ(strata_cholesky('L', n, A.data(), n, nullptr, &made), STRATA_SUCCESS);
  Handle const handle(made);
  double condition = 0;
  ASSERT_EQ(strata_condition(made, &condition), STRATA_SUCCESS);
  EXPECT_NEAR(condition, 2e6, 10);
  strata_solve_report report{};
  report.struct_size = sizeof report;
  ASSERT_EQ(strata_solve(made, 1, B.data(), n, X.data(), n, nullptr, &report), STRATA_SUCCESS);
  double const error = strata_forward_error(&report, condition);
  EXPECT_DOUBLE_EQ(error, report.relative_residual * condition);
  EXPECT_GT(error, 1e-10);
  EXPECT_LT(error, 1e-8);
  EXPECT_NEAR(strata_digits(error), -std::log10(error), 1e-12);
  EXPECT_EQ(strata_digits(1), 0);
  EXPECT_EQ(strata_forward_error(nullptr, condition), 1);
  EXPECT_EQ(strata_forward_error(&report, inf), 1);
  report.struct_size -= sizeof(double);  // an older program's
  EXPECT_EQ(strata_forward_error(&report, condition), 1);
  EXPECT_EQ(strata_condition(nullptr, &condition), STRATA_INVALID_ARGUMENT);
  EXPECT_EQ(strata_condition(made, nullptr), STRATA_INVALID_ARGUMENT);
}

TEST(CFactor, FindsAJitterAndSaysWhyOneIsNeeded) {
  std::int64_t const n = 40;
  std::vector<double> A(n * n);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      A[i + j * n] = std::exp(-std::pow(static_cast<double>(i - j) / 20, 2));
  strata_factor* made = nullptr;
  EXPECT_EQ(strata_cholesky('L', n, A.data(), n, nullptr, &made), STRATA_NOT_POSITIVE_DEFINITE);
  EXPECT_NE(std::string(strata_message()).find("numerically not positive definite"),
            std::string::npos)
      << strata_message();
  strata_factor_destroy(made);
  auto options = options_with(nullptr);
  options.jitter = 1;
  ASSERT_EQ(strata_cholesky('L', n, A.data(), n, &options, &made), STRATA_SUCCESS);
  Handle const handle(made);
  double const jitter = describe(handle).jitter;
  EXPECT_GE(jitter, 1e-15);
  EXPECT_LE(jitter, 1e-12);
  options = options_with("");
  EXPECT_EQ(strata_check_options(&options), STRATA_INVALID_ARGUMENT) << "layers are not given";
}

TEST(CFactor, NamesANumberAsItStandsInTheUpperTriangle) {
  double A[] = {4, 0, 0, 0, 4, 0, inf, 0, 4};
  strata_factor* made = nullptr;
  EXPECT_EQ(strata_cholesky('U', 3, A, 3, nullptr, &made), STRATA_NOT_FINITE);
  EXPECT_NE(std::string(strata_message()).find("A(0, 2)"), std::string::npos) << strata_message();
}

TEST(CFactor, SaysWhichMinorIsNotPositive) {
  System<double> s('L', 100, 1);
  s.A[s.at(70, 70)] = -1;
  Handle const handle = factor(s, nullptr, STRATA_NOT_POSITIVE_DEFINITE);
  ASSERT_NE(handle, nullptr);
  EXPECT_TRUE(holds(strata_message(), "the leading minor of order 71 is not positive"));
  EXPECT_EQ(describe(handle).info, 71);
  double value = 0;
  EXPECT_EQ(strata_log_determinant(handle.get(), &value, nullptr), STRATA_NOT_POSITIVE_DEFINITE);
  EXPECT_EQ(strata_factor_copy(handle.get(), s.A.data(), s.ld), STRATA_NOT_POSITIVE_DEFINITE);
  EXPECT_EQ(strata_solve(handle.get(), 1, s.B.data(), s.ld, s.A.data(), s.ld, nullptr, nullptr),
            STRATA_NOT_POSITIVE_DEFINITE);
}

TEST(CFactor, SaysWhereANumberIsNotFinite) {
  for (double const bad : {System<double>::nan, inf, -inf}) {
    System<double> s('L', 40, 2);
    s.A[s.at(30, 20)] = bad;
    EXPECT_EQ(factor(s, nullptr, STRATA_NOT_FINITE), nullptr);
    EXPECT_TRUE(holds(strata_message(), "A(30, 20) is not finite"));
    s.A[s.at(30, 20)] = s.entry(30, 20);
    s.B[s.at(7, 1)] = bad;
    Handle const handle = factor(s, nullptr, STRATA_SUCCESS);
    std::vector<double> X(s.B.size(), 5.0);
    EXPECT_EQ(strata_solve(handle.get(), 2, s.B.data(), s.ld, X.data(), s.ld, nullptr, nullptr),
              STRATA_NOT_FINITE);
    EXPECT_TRUE(holds(strata_message(), "column 1 of B holds a non-finite number"));
    EXPECT_EQ(X, std::vector<double>(s.B.size(), 5.0));
  }
}

TEST(CFactor, HasNothingToDoForNoRowsOrNoColumns) {
  strata_factor* handle = nullptr;
  ASSERT_EQ(strata_cholesky('L', 0, nullptr, 1, nullptr, &handle), STRATA_SUCCESS);
  EXPECT_STREQ(strata_message(), "success: A has no rows");
  Handle const empty(handle);
  double value = 1;
  EXPECT_EQ(strata_log_determinant(handle, &value, nullptr), STRATA_SUCCESS);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(strata_solve(handle, 2, nullptr, 1, nullptr, 1, nullptr, nullptr), STRATA_SUCCESS);
  System<double> const s('L', 9, 0);
  Handle const other = factor(s, nullptr, STRATA_SUCCESS);
  EXPECT_EQ(strata_solve(other.get(), 0, nullptr, 9, nullptr, 9, nullptr, nullptr), STRATA_SUCCESS);
}

TEST(CFactor, SaysWhatASolveDidNotReach) {
  System<double> const s('L', 300, 1, 1e-6);
  auto options = options_with("fp8_e5m2");
  options.no_ladder = 1;
  options.shift = 0.5;
  options.max_iterations = 2;
  Handle const handle = factor(s, &options, STRATA_SUCCESS);
  std::vector<double> X(s.B.size());
  strata_solve_report report{};
  report.struct_size = sizeof report;
  EXPECT_EQ(strata_solve(handle.get(), 1, s.B.data(), s.ld, X.data(), s.ld, nullptr, &report),
            STRATA_NOT_CONVERGED);
  EXPECT_TRUE(holds(strata_message(), "did not converge in"));
  EXPECT_EQ(report.converged, 0);
  EXPECT_NEAR(s.backward_error(X), report.backward_error, 0.5 * report.backward_error);
}

// X may lie on A only where the factor has a copy of A, on a device.
TEST(CFactor, RefusesAnXOnTheMatrixThatItReads) {
  System<double> const given('L', 60, 2, 1e-6);
  auto s = given;
  auto const options = options_with("fp16,fp32");
  Handle const handle = factor(s, &options, STRATA_SUCCESS);
  auto const status =
      strata_solve(handle.get(), 2, s.B.data(), s.ld, s.A.data(), s.ld, nullptr, nullptr);
  if (status == STRATA_SUCCESS) {
    EXPECT_LE(given.backward_error(s.A), 1e-14);
    return;
  }
  EXPECT_EQ(status, STRATA_INVALID_ARGUMENT);
  EXPECT_TRUE(holds(strata_message(), "X overlaps A"));
  EXPECT_EQ(std::memcmp(given.A.data(), s.A.data(), s.A.size() * sizeof(double)), 0);
}

// What one solve is asked for is not asked of the next.
TEST(CFactor, TakesTheOptionsOfASolveForThatOneAlone) {
  System<double> const s('L', 300, 1, 1e-3);
  auto options = options_with("fp16,fp32");
  Handle const handle = factor(s, &options, STRATA_SUCCESS);
  auto const error = [&](strata_options const* asked) {
    std::vector<double> X(s.B.size(), s.nan);
    EXPECT_EQ(strata_solve(handle.get(), 1, s.B.data(), s.ld, X.data(), s.ld, asked, nullptr),
              STRATA_SUCCESS)
        << strata_message();
    return s.backward_error(X);
  };
  double const fine = std::sqrt(300.0) * 0x1p-51;
  EXPECT_LE(error(nullptr), fine);
  auto none = options_with(nullptr);
  none.refinement = STRATA_REFINE_NONE;
  EXPECT_GT(error(&none), 100 * fine);
  EXPECT_LE(error(nullptr), fine);
}

// Columns of X between those of B share no number with them, whatever lies between first and last.
TEST(CFactor, SolvesIntoColumnsBetweenThoseOfB) {
  System<double> const s('L', 3, 2);
  Handle const handle = factor(s, nullptr, STRATA_SUCCESS);
  for (std::int64_t const wide : {6, 12}) {  // columns of B as close as those of X, or closer
    std::vector<double> both(24);
    for (std::int64_t j = 0; j < 2; ++j)
      for (std::int64_t i = 0; i < 3; ++i) both[i + 6 * j] = s.B[s.at(i, j)];
    double* const X = both.data() + 3;
    ASSERT_EQ(strata_solve(handle.get(), 2, both.data(), 6, X, wide, nullptr, nullptr),
              STRATA_SUCCESS)
        << strata_message();
    std::vector<double> solution(s.B.size());
    for (std::int64_t j = 0; j < 2; ++j)
      for (std::int64_t i = 0; i < 3; ++i) {
        solution[s.at(i, j)] = X[i + wide * j];
        EXPECT_EQ(both[i + 6 * j], s.B[s.at(i, j)]);
      }
    EXPECT_LE(s.backward_error(solution), 0x1p-50);
  }
  std::vector<double> both(24, 1.0);
  for (std::int64_t const shift : {-2, -1, 0, 1, 2, 4, 5, 6, 8})  // one number in common, or more
    EXPECT_EQ(strata_solve(handle.get(), 2, both.data() + 4, 6, both.data() + 4 + shift, 6, nullptr,
                           nullptr),
              STRATA_INVALID_ARGUMENT)
        << shift;
}

TEST(CFactor, IsDestroyedWithoutAWord) {
  System<double> const s('L', 3, 1);
  Handle handle = factor(s, nullptr, STRATA_SUCCESS);
  EXPECT_EQ(strata_solve(handle.get(), -4, nullptr, 3, nullptr, 3, nullptr, nullptr),
            STRATA_INVALID_ARGUMENT);
  std::string const said = strata_message();
  handle.reset();
  strata_factor_destroy(nullptr);
  EXPECT_EQ(strata_message(), said);
  EXPECT_TRUE(holds(said, "nrhs is -4"));
}

// Each wrong argument gives a status, a sentence with the number in it, and no handle.
TEST(CFactor, RefusesWrongArguments) {
  double const a[4] = {1, 0, 0, 1};
  struct Case {
    char uplo;
    std::int64_t n, lda;
    double const* A;
    char const* text;
  };
  std::int64_t const huge = std::numeric_limits<std::int64_t>::max();
  for (Case const& c :
       {Case{'x', 2, 2, a, "uplo is 'x', must be 'L' or 'U'"},
        Case{'L', -1, 2, a, "n is -1, must be >= 0"},
        Case{'L', 2, 1, a, "leading dimension of A is 1, must be at least max(1, 2)"},
        Case{'L', 0, 0, a, "leading dimension of A is 0, must be at least max(1, 0)"},
        Case{'L', huge, huge, a, "larger than memory can be addressed"},
        Case{'L', 2, 2, nullptr, "A is a null pointer"}}) {
    strata_factor* handle = reinterpret_cast<strata_factor*>(8);
    EXPECT_EQ(strata_cholesky(c.uplo, c.n, c.A, c.lda, nullptr, &handle), STRATA_INVALID_ARGUMENT);
    EXPECT_TRUE(holds(strata_message(), c.text));
    EXPECT_TRUE(holds(strata_message(), "strata_cholesky: "));
    EXPECT_EQ(handle, nullptr);
  }
  EXPECT_EQ(strata_cholesky('L', 2, a, 2, nullptr, nullptr), STRATA_INVALID_ARGUMENT);
  EXPECT_TRUE(holds(strata_message(), "factor is a null pointer"));
}

TEST(CFactor, RefusesWrongOptions) {
  auto const refused = [](strata_options const& options, char const* text) {
    EXPECT_EQ(strata_check_options(&options), STRATA_INVALID_ARGUMENT);
    EXPECT_TRUE(holds(strata_message(), text));
    System<double> const s('L', 4, 1);
    EXPECT_EQ(factor(s, &options, STRATA_INVALID_ARGUMENT), nullptr);
  };
  strata_options options{};
  refused(options, "struct_size is 0, must be set to sizeof(strata_options)");
  options.struct_size = sizeof options + 8;
  refused(options, "must be set to sizeof(strata_options)");
  options = options_with("fp16,fp12");
  refused(options, "fp12");
  options = options_with(nullptr);
  options.leaf_size = -1;
  refused(options, "leaf_size is -1");
  options = options_with(nullptr);
  options.shift = 1.5;
  refused(options, "shift is 1.5, must be in [0, 1]");
  options.shift = 0;
  options.tolerance = -1;
  refused(options, "tolerance is -1");
  options.tolerance = 0;
  options.max_iterations = -7;
  refused(options, "max_iterations is -7");
  options.max_iterations = 0;
  options.restart = std::int64_t(1) << 40;
  refused(options, "restart is 1099511627776");
  options.restart = 0;
  options.refinement = 9;
  refused(options, "refinement is 9, must be 0 to 4");
  EXPECT_EQ(strata_check_options(nullptr), STRATA_SUCCESS);
}

TEST(CFactor, RefusesWrongArgumentsOfASolve) {
  System<double> const s('L', 6, 2);
  Handle const handle = factor(s, nullptr, STRATA_SUCCESS);
  std::vector<double> X(s.B.size());
  auto const refused = [&](std::int64_t nrhs, double const* B, std::int64_t ldb, double* to,
                           std::int64_t ldx, strata_solve_report* report, char const* text) {
    EXPECT_EQ(strata_solve(handle.get(), nrhs, B, ldb, to, ldx, nullptr, report),
              STRATA_INVALID_ARGUMENT);
    EXPECT_TRUE(holds(strata_message(), text));
  };
  double const* const B = s.B.data();
  refused(-1, B, 9, X.data(), 9, nullptr, "nrhs is -1");
  refused(2, B, 5, X.data(), 9, nullptr, "leading dimension of B is 5");
  refused(2, B, 9, X.data(), 5, nullptr, "leading dimension of X is 5");
  refused(2, nullptr, 9, X.data(), 9, nullptr, "B is a null pointer");
  refused(2, B, 9, nullptr, 9, nullptr, "X is a null pointer");
  refused(2, X.data() + 9, 9, X.data(), 9, nullptr, "X overlaps B");
  strata_solve_report unset{};
  refused(2, B, 9, X.data(), 9, &unset, "struct_size is 0");
  EXPECT_EQ(strata_solve(nullptr, 2, B, 9, X.data(), 9, nullptr, nullptr), STRATA_INVALID_ARGUMENT);
  EXPECT_EQ(strata_factor_describe(nullptr, nullptr), STRATA_INVALID_ARGUMENT);
  EXPECT_EQ(strata_log_determinant(handle.get(), nullptr, nullptr), STRATA_INVALID_ARGUMENT);
  EXPECT_EQ(strata_factor_copy(handle.get(), X.data(), 5), STRATA_INVALID_ARGUMENT);
  strata_factor_destroy(nullptr);
}

}  // namespace
}  // namespace strata::test
