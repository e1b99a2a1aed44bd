// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The handle of strata.h for a symmetric matrix that need not be definite.
#include <c/StrataTest_Systems.hpp>

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>
#include <strata.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace strata::test {
namespace {

struct DestroySymmetric {
  void operator()(strata_symmetric* factor) const { strata_symmetric_destroy(factor); }
};
using OwnedSymmetric = std::unique_ptr<strata_symmetric, DestroySymmetric>;

// The system's matrix bordered by zeros: the last two unknowns are constraints. The first says that
// the sum is known, and the second the same of every other unknown.
System<double> saddle_point(char uplo, std::int64_t n, std::int64_t columns) {
  System<double> s(uplo, n, columns);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i)
      if (s.in_triangle(i, j) && std::max(i, j) >= n - 2)
        s.A[s.at(i, j)] = std::min(i, j) >= n - 2                              ? 0
                          : std::max(i, j) == n - 1 || std::min(i, j) % 2 == 0 ? 1
                                                                               : 0;
  return s;
}

OwnedSymmetric symmetric_of(System<double> const& s, char const* layers = nullptr,
                            strata_status expected = STRATA_SUCCESS) {
  strata_options options{};
  options.struct_size = sizeof options;
  options.layers = layers;
  strata_symmetric* handle = nullptr;
  EXPECT_EQ(strata_symmetric_create(s.uplo, s.n, s.A.data(), s.ld, &options, &handle), expected)
      << strata_message();
  return OwnedSymmetric(handle);
}

std::string rung_of(OwnedSymmetric const& f) {
  strata_symmetric_report report{};
  report.struct_size = sizeof report;
  EXPECT_EQ(strata_symmetric_describe(f.get(), &report), STRATA_SUCCESS) << strata_message();
  EXPECT_GT(report.attempts, 0);
  EXPECT_GT(report.norm, 0);
  return report.rung;
}

TEST(CSymmetric, SolvesASaddlePointOnEachRung) {
  for (char const uplo : {'L', 'U'})
    for (auto const& [layers, rung] : {std::pair("fp32", "layers"), {"fp64", "fp64"}}) {
      System<double> const s = saddle_point(uplo, 300, 2);
      auto const f = symmetric_of(s, layers);
      std::vector<double> X(s.B.size(), s.nan);
      strata_solve_report report{};
      report.struct_size = sizeof report;
      ASSERT_EQ(
          strata_symmetric_solve(f.get(), 2, s.B.data(), s.ld, X.data(), s.ld, nullptr, &report),
          STRATA_SUCCESS)
          << strata_message();
      EXPECT_EQ(rung_of(f), rung);
      EXPECT_TRUE(s.rest_is_untouched(X, false));
      EXPECT_LT(s.backward_error(X), std::sqrt(300) * 0x1p-51);
      EXPECT_EQ(report.converged, 1);
      double condition = 0;
      ASSERT_EQ(strata_symmetric_condition(f.get(), &condition), STRATA_SUCCESS);
      EXPECT_GT(condition, 1);
      EXPECT_GT(strata_digits(strata_forward_error(&report, condition)), 8);
    }
  EXPECT_EQ(rung_of(symmetric_of(saddle_point('L', 20, 1))), "pivoted");
}

TEST(CSymmetric, TellsTheSignsOfEigenvalues) {
  for (std::int64_t const n : {0, 1, 2, 64, 300}) {
    System<double> const s = n < 3 ? System<double>('L', n, 1) : saddle_point('L', n, 1);
    std::int64_t const negative = n < 3 ? 0 : 2;
    auto const f = symmetric_of(s);
    std::int64_t above = -2, below = -2;
    ASSERT_EQ(strata_symmetric_inertia(f.get(), &above, &below), STRATA_SUCCESS);
    EXPECT_EQ(above, n - negative);
    EXPECT_EQ(below, negative);
    int sign = 0;
    double value = -1, error = -1;
    ASSERT_EQ(strata_symmetric_log_determinant(f.get(), &sign, &value, &error), STRATA_SUCCESS);
    EXPECT_EQ(sign, 1);
    EXPECT_LT(error, 1e-9);
    EXPECT_EQ(strata_symmetric_log_determinant(f.get(), &sign, nullptr, nullptr), STRATA_SUCCESS);
    if (n == 0) {
      EXPECT_EQ(value, 0);
    }
    if (n == 1) {
      EXPECT_NEAR(value, std::log(1.1), 1e-15);
    }
  }
}

TEST(CSymmetric, KnowsADeterminantByHand) {
  double const A[] = {0, 2, 2, 0}, B[] = {6, 8};  // -4
  double X[2] = {};
  strata_symmetric* handle = nullptr;
  ASSERT_EQ(strata_symmetric_create('L', 2, A, 2, nullptr, &handle), STRATA_SUCCESS);
  OwnedSymmetric const f(handle);
  ASSERT_EQ(strata_symmetric_solve(handle, 1, B, 2, X, 2, nullptr, nullptr), STRATA_SUCCESS);
  EXPECT_EQ(X[0], 4);
  EXPECT_EQ(X[1], 3);
  int sign = 0;
  double value = 0;
  ASSERT_EQ(strata_symmetric_log_determinant(handle, &sign, &value, nullptr), STRATA_SUCCESS);
  EXPECT_EQ(sign, -1);
  EXPECT_NEAR(value, std::log(4), 1e-15);
}

TEST(CSymmetric, RefusesASingularMatrixInWords) {
  System<double> s('L', 30, 1);
  for (std::int64_t j = 0; j < s.n; ++j)
    for (std::int64_t i = j; i < s.n; ++i) s.A[s.at(i, j)] = 1;
  auto const f = symmetric_of(s, nullptr, STRATA_SINGULAR);
  ASSERT_NE(f, nullptr);
  EXPECT_TRUE(holds(strata_message(), "A is singular"));
  EXPECT_STREQ(strata_status_name(STRATA_SINGULAR), "singular");
  EXPECT_EQ(rung_of(f), "pivoted");
  std::vector<double> X(s.B.size(), 7);
  EXPECT_EQ(strata_symmetric_solve(f.get(), 1, s.B.data(), s.ld, X.data(), s.ld, nullptr, nullptr),
            STRATA_SINGULAR);
  EXPECT_TRUE(std::ranges::all_of(X, [](double x) { return x == 7; }));
  std::int64_t above = 0, below = 0;
  EXPECT_EQ(strata_symmetric_inertia(f.get(), &above, &below), STRATA_SINGULAR);
  double value = 0;
  EXPECT_EQ(strata_symmetric_condition(f.get(), &value), STRATA_SINGULAR);
}

TEST(CSymmetric, NamesWhatIsWrong) {
  System<double> s = saddle_point('U', 20, 1);
  strata_symmetric* handle = nullptr;
  strata_options options{};
  options.struct_size = sizeof options;
  auto const create = [&](strata_options const* o) {
    return strata_symmetric_create('U', s.n, s.A.data(), s.ld, o, &handle);
  };
  auto const refuses = [&](strata_status status, char const* words) {
    EXPECT_EQ(create(&options), status);
    EXPECT_TRUE(holds(strata_message(), words));
    EXPECT_EQ(handle, nullptr);
    options = {};
    options.struct_size = sizeof options;
  };
  options.layers = "fp16,fp32";
  refuses(STRATA_INVALID_ARGUMENT, "cannot act");
  options.jitter = 1;
  refuses(STRATA_INVALID_ARGUMENT, "jitter");
  options.shift = 0.5;
  refuses(STRATA_INVALID_ARGUMENT, "shift");
  options.refinement = STRATA_REFINE_CG;
  refuses(STRATA_INVALID_ARGUMENT, "STRATA_REFINE_CG");
  s.A[s.at(3, 5)] = std::numeric_limits<double>::quiet_NaN();
  refuses(STRATA_NOT_FINITE, "A(3, 5) is not finite");
  s = saddle_point('U', 20, 1);
  EXPECT_EQ(strata_symmetric_create('X', 1, s.A.data(), 1, nullptr, &handle),
            STRATA_INVALID_ARGUMENT);
  EXPECT_EQ(strata_symmetric_create('L', 20, s.A.data(), 19, nullptr, &handle),
            STRATA_INVALID_ARGUMENT);
  EXPECT_EQ(strata_symmetric_create('L', 20, s.A.data(), 20, nullptr, nullptr),
            STRATA_INVALID_ARGUMENT);
  auto const f = symmetric_of(s);
  std::vector<double> X(s.B.size());
  auto const solve = [&](double const* B, double* to, strata_options const* o) {
    return strata_symmetric_solve(f.get(), 1, B, s.ld, to, s.ld, o, nullptr);
  };
  EXPECT_EQ(solve(X.data(), X.data(), nullptr), STRATA_INVALID_ARGUMENT);
  EXPECT_TRUE(holds(strata_message(), "X overlaps B"));
  EXPECT_EQ(solve(s.B.data(), s.A.data(), nullptr), STRATA_INVALID_ARGUMENT);
  EXPECT_TRUE(holds(strata_message(), "X overlaps A"));
  options.refinement = STRATA_REFINE_CG;
  EXPECT_EQ(solve(s.B.data(), X.data(), &options), STRATA_INVALID_ARGUMENT);
  s.B[s.at(4, 0)] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(solve(s.B.data(), X.data(), nullptr), STRATA_NOT_FINITE);
  EXPECT_EQ(strata_symmetric_describe(nullptr, nullptr), STRATA_INVALID_ARGUMENT);
  EXPECT_EQ(strata_symmetric_inertia(nullptr, nullptr, nullptr), STRATA_INVALID_ARGUMENT);
  strata_symmetric_destroy(nullptr);
}

}  // namespace
}  // namespace strata::test
