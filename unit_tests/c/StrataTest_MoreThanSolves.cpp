// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The handle of strata.h beyond solves.
#include <c/StrataTest_Systems.hpp>

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>
#include <strata.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace strata::test {
namespace {

struct DestroyFactor {
  void operator()(strata_factor* factor) const { strata_factor_destroy(factor); }
};
using Owned = std::unique_ptr<strata_factor, DestroyFactor>;

Owned factor_of(System<double> const& s, char const* layers = "fp64") {
  strata_options options{};
  options.struct_size = sizeof options;
  options.layers = layers;
  strata_factor* handle = nullptr;
  EXPECT_EQ(strata_cholesky(s.uplo, s.n, s.A.data(), s.ld, &options, &handle), STRATA_SUCCESS)
      << strata_message();
  return Owned(handle);
}

// The largest |A X - I|, of a padded X.
double inverse_residual(System<double> const& s, std::vector<double> const& X) {
  double worst = 0;
  for (std::int64_t j = 0; j < s.n; ++j)
    for (std::int64_t i = 0; i < s.n; ++i) {
      double sum = i == j ? -1 : 0;
      for (std::int64_t k = 0; k < s.n; ++k) sum += s.symmetric(i, k) * X[s.at(k, j)];
      worst = std::max(worst, std::abs(sum));
    }
  return worst;
}

TEST(CMoreThanSolves, WhitensAndSamples) {
  for (char const uplo : {'L', 'U'})
    for (std::int64_t const n : {0, 1, 2, 64, 65}) {
      System<double> const s(uplo, n, 2);
      Owned const f = factor_of(s);
      std::vector<double> X(s.B.size(), s.nan), Y = X;
      ASSERT_EQ(strata_sample(f.get(), 2, s.B.data(), s.ld, X.data(), s.ld), STRATA_SUCCESS)
          << strata_message();
      EXPECT_TRUE(s.rest_is_untouched(X, false));
      ASSERT_EQ(strata_whiten(f.get(), 2, X.data(), s.ld, X.data(), s.ld), STRATA_SUCCESS);
      for (std::int64_t j = 0; j < 2; ++j)
        for (std::int64_t i = 0; i < n; ++i) EXPECT_NEAR(X[s.at(i, j)], s.B[s.at(i, j)], 1e-13);
      // L^-T L^-1 b is the solution
      ASSERT_EQ(strata_whiten(f.get(), 2, s.B.data(), s.ld, Y.data(), s.ld), STRATA_SUCCESS);
      ASSERT_EQ(strata_whiten_transposed(f.get(), 2, Y.data(), s.ld, Y.data(), s.ld),
                STRATA_SUCCESS);
      EXPECT_LE(s.backward_error(Y), 1e-14);
      double error = -1;
      ASSERT_EQ(strata_whitening_error(f.get(), &error), STRATA_SUCCESS);
      EXPECT_GE(error, 0);
      EXPECT_LE(error, 1e-11);
    }
}

TEST(CMoreThanSolves, Inverts) {
  for (char const uplo : {'L', 'U'}) {
    std::int64_t const n = 70;
    System<double> const s(uplo, n, n);
    Owned const f = factor_of(s);
    std::vector<double> X(s.B.size(), s.nan), x(70, s.nan), values(2), Q(9, s.nan);
    double error = -1;
    ASSERT_EQ(strata_inverse(f.get(), X.data(), s.ld, &error), STRATA_SUCCESS) << strata_message();
    EXPECT_LE(inverse_residual(s, X), 1e-12);
    EXPECT_LE(error, 1e-11);
    EXPECT_TRUE(s.rest_is_untouched(X, false));
    ASSERT_EQ(strata_inverse_diagonal(f.get(), x.data(), nullptr), STRATA_SUCCESS);
    for (std::int64_t i = 0; i < n; ++i)
      EXPECT_NEAR(x[static_cast<std::size_t>(i)], X[s.at(i, i)], 1e-12);
    std::int64_t const rows[] = {3, 69}, cols[] = {68, 0};
    ASSERT_EQ(strata_inverse_entries(f.get(), 2, rows, cols, values.data(), &error),
              STRATA_SUCCESS);
    EXPECT_NEAR(values[0], X[s.at(3, 68)], 1e-12);
    EXPECT_NEAR(values[1], X[s.at(69, 0)], 1e-12);
    ASSERT_EQ(strata_quadratic_form(f.get(), 2, s.B.data(), s.ld, Q.data(), 3, nullptr),
              STRATA_SUCCESS);
    double q = 0;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) q += s.B[s.at(i, 0)] * X[s.at(i, j)] * s.B[s.at(j, 1)];
    EXPECT_NEAR(Q[3], q, 1e-11);
    EXPECT_EQ(Q[1], Q[3]);
    EXPECT_TRUE(std::isnan(Q[2]));
  }
}

// A + V V^T, then A again, then A without its first row and with it at the end.
TEST(CMoreThanSolves, ChangesTheMatrix) {
  for (char const uplo : {'L', 'U'}) {
    System<double> s(uplo, 40, 2);
    Owned const f = factor_of(s);
    auto const original = s.A;
    ASSERT_EQ(strata_rank_update(f.get(), 2, s.B.data(), s.ld), STRATA_SUCCESS) << strata_message();
    std::ranges::fill(s.A, s.nan);  // is the caller's again
    ASSERT_EQ(strata_rank_downdate(f.get(), 2, s.B.data(), s.ld), STRATA_SUCCESS);
    s.A = original;
    std::vector<double> X(s.B.size(), s.nan);
    auto const solve = [&] {
      return strata_solve(f.get(), 2, s.B.data(), s.ld, X.data(), s.ld, nullptr, nullptr);
    };
    ASSERT_EQ(solve(), STRATA_SUCCESS) << strata_message();
    EXPECT_LE(s.backward_error(X), 1e-13);
    std::int64_t const last[] = {39};
    ASSERT_EQ(strata_remove(f.get(), 1, last), STRATA_SUCCESS) << strata_message();
    strata_factor_report report{};
    report.struct_size = sizeof report;
    ASSERT_EQ(strata_factor_describe(f.get(), &report), STRATA_SUCCESS);
    EXPECT_EQ(report.n, 39);
    std::vector<double> column;
    for (std::int64_t i = 0; i < 40; ++i) column.push_back(s.symmetric(i, 39));
    ASSERT_EQ(strata_append(f.get(), 1, column.data(), 40), STRATA_SUCCESS) << strata_message();
    ASSERT_EQ(solve(), STRATA_SUCCESS);
    EXPECT_LE(s.backward_error(X), 1e-13);
  }
}

TEST(CMoreThanSolves, RefusesWhatLeavesNoFactor) {
  System<double> const s('L', 30, 1);
  Owned const f = factor_of(s);
  std::vector<double> V(30, 0), X(s.B.size());
  V[7] = 2;
  EXPECT_EQ(strata_rank_downdate(f.get(), 1, V.data(), 30), STRATA_NOT_POSITIVE_DEFINITE);
  EXPECT_TRUE(holds(strata_message(),
                    "the leading minor of order 8 of the changed matrix is not "
                    "positive; the factor is what it was"));
  std::vector<double> column(31, 0);
  EXPECT_EQ(strata_append(f.get(), 1, column.data(), 31), STRATA_NOT_POSITIVE_DEFINITE);
  EXPECT_TRUE(holds(strata_message(), "order 31"));
  ASSERT_EQ(strata_solve(f.get(), 1, s.B.data(), s.ld, X.data(), s.ld, nullptr, nullptr),
            STRATA_SUCCESS);
  EXPECT_LE(s.backward_error(X), 1e-14);
}

TEST(CMoreThanSolves, RefusesLowLayersAndWrongArguments) {
  System<double> const s('L', 6, 2);
  Owned const low = factor_of(s, "fp32"), f = factor_of(s);
  std::vector<double> X(s.B.size());
  double* const x = X.data();
  auto const refused = [](strata_status status, char const* text,
                          strata_status expected = STRATA_INVALID_ARGUMENT) {
    EXPECT_EQ(status, expected);
    EXPECT_TRUE(holds(strata_message(), text));
  };
  refused(strata_whiten(low.get(), 2, s.B.data(), 9, x, 9),
          "the factor is in fp32: strata_factor_promote makes one in fp64");
  EXPECT_EQ(strata_factor_promote(low.get()), STRATA_SUCCESS);
  EXPECT_EQ(strata_whiten(low.get(), 2, s.B.data(), 9, x, 9), STRATA_SUCCESS);
  refused(strata_sample(nullptr, 2, x, 9, x, 9), "factor is a null pointer");
  refused(strata_sample(f.get(), -1, x, 9, x, 9), "m is -1");
  refused(strata_whiten(f.get(), 2, x, 5, x, 9), "leading dimension of B is 5");
  refused(strata_inverse(f.get(), nullptr, 9, nullptr), "X is a null pointer");
  // A device has a copy of A, beside which X may lie on the caller's.
  constexpr bool is_read_in_place =
      Kokkos::SpaceAccessibility<Kokkos::DefaultExecutionSpace, Kokkos::HostSpace>::accessible;
  if (is_read_in_place)
    refused(strata_inverse(f.get(), const_cast<double*>(s.A.data()), 9, nullptr), "X overlaps A");
  std::int64_t const rows[] = {6, 1};
  refused(strata_remove(f.get(), 2, rows), "there is a row 6, must be in [0, 6)");
  refused(strata_inverse_entries(f.get(), 1, rows, rows + 1, x, nullptr), "there is an index 6");
  X[1] = s.nan;
  refused(strata_rank_update(f.get(), 1, x, 9), "column 0 of V holds a non-finite number, in row 1",
          STRATA_NOT_FINITE);
}

}  // namespace
}  // namespace strata::test
