// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/Strata_FisherInformation.hpp>
#include <geostat/Strata_Matern.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>

namespace {

using namespace strata;
using namespace strata::geostat;

using Square = std::array<std::array<double, 4>, 4>;

/// The inverse of a symmetric positive definite matrix by Gauss and Jordan in long double.
Square inverse(Square const& A) {
  constexpr std::size_t m = 4;
  std::array<std::array<long double, 8>, 4> work{};
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < m; ++j) work[i][j] = A[i][j];
    work[i][m + i] = 1;
  }
  for (std::size_t k = 0; k < m; ++k) {
    long double const pivot = work[k][k];
    for (auto& value : work[k]) value /= pivot;
    for (std::size_t i = 0; i < m; ++i) {
      long double const factor = i == k ? 0 : work[i][k];
      for (std::size_t j = 0; j < 8; ++j) work[i][j] -= factor * work[k][j];
    }
  }
  Square result{};
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < m; ++j) result[i][j] = static_cast<double>(work[i][m + j]);
  return result;
}

/// The information of parameters with these standard errors and correlations.
FisherInformation information_of(std::array<double, 4> const& errors, Square const& correlation) {
  Square covariance{};
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j)
      covariance[i][j] = errors[i] * errors[j] * correlation[i][j];
  FisherInformation result;
  Square const of = inverse(covariance);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j) result.of[i][j] = of[i][j];
  return result;
}

// All four at once, each correlated with each: what comes back is what the information was made of.
// The ratio sigma2 / range^(2 nu) has the derivatives 1, -2 nu and -2 log(range) by log(sigma2),
// log(range) and nu.
TEST(StandardErrors, AreThoseOfFourParametersThatAreCorrelated) {
  std::array<double, 4> const errors = {0.3, 0.05, 0.1, 0.02};
  Square const correlation = {{{1, 0.6, -0.5, 0.2},  //
                               {0.6, 1, -0.7, 0.1},
                               {-0.5, -0.7, 1, -0.3},
                               {0.2, 0.1, -0.3, 1}}};
  auto const information = information_of(errors, correlation);
  for (double const range : {0.3, 1.0, 20.0}) {
    MaternCovariance const theta{2, range, 0.8, 0.4};
    auto const found = standard_errors(information, theta, {true, true, true, true});
    double const values[] = {2, range, 0.8, 0.4};
    for (std::size_t j = 0; j < 4; ++j) {
      EXPECT_NEAR(found.of[j] / errors[j], 1, 1e-12) << j;
      EXPECT_NEAR(found.of_logarithm[j] / (errors[j] / values[j]), 1, 1e-12) << j;
      for (std::size_t k = 0; k < 4; ++k)
        EXPECT_NEAR(found.correlation[j][k], correlation[j][k], 1e-12) << j << " " << k;
    }
    double const by[] = {1 / values[0], -1.6 / range, -2 * std::log(range)};
    double variance = 0;
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t k = 0; k < 3; ++k)
        variance += by[j] * by[k] * errors[j] * errors[k] * correlation[j][k];
    EXPECT_NEAR(found.of_logarithm_of_ratio / std::sqrt(variance), 1, 1e-12) << range;
  }
}

// A parameter that is kept adds nothing: that of nu with the others known, and of the ratio with nu
// kept.
TEST(StandardErrors, OfParametersThatAreKeptAddNothing) {
  FisherInformation information;
  for (auto& row : information.of) row = {NAN, NAN, NAN, NAN};
  information.of[0] = {4, 2, 1, NAN};
  information.of[1] = {2, 4, 1, NAN};
  information.of[2] = {1, 1, 9, NAN};
  MaternCovariance const theta{2, 3, 0.5, 0};
  auto const without_nu = standard_errors(information, theta, {true, true, false, false});
  EXPECT_NEAR(without_nu.of_logarithm_of_ratio, std::sqrt(1. / 12 + 1. / 27 + 2. / 36), 1e-15);
  auto const nu = standard_errors(information, theta, {false, false, true, false});
  EXPECT_NEAR(nu.of[2], 1. / 3, 1e-15);
  EXPECT_NEAR(nu.of_logarithm[2], 2. / 3, 1e-15);
  EXPECT_TRUE(std::isnan(nu.of_logarithm_of_ratio));
  EXPECT_EQ(nu.reasons[0], "not estimated");
}

// A pivot of 1e-10 of the scaled information is where it ends: on both sides of it.
TEST(StandardErrors, EndWhereAPivotIsBelow1em10) {
  for (double const pivot : {2e-10, 0.5e-10}) {
    double const c = std::sqrt(1 - pivot);
    FisherInformation information;
    for (auto& row : information.of) row = {NAN, NAN, NAN, NAN};
    information.of[0] = {100, 20 * c, NAN, NAN};  // R = [[1, c], [c, 1]]
    information.of[1] = {20 * c, 4, NAN, NAN};
    auto const found = standard_errors(information, {1, 1, 0.5, 0}, {true, true, false, false});
    if (pivot > 1e-10) {
      EXPECT_EQ(found.reasons[0], "");
      EXPECT_NEAR(found.of[0] * 10 * std::sqrt(pivot), 1, 1e-5);
      EXPECT_NEAR(found.of[1] * 2 * std::sqrt(pivot), 1, 1e-5);
    } else {
      EXPECT_EQ(found.reasons[0], "the observations do not tell it apart from the others");
      EXPECT_EQ(found.reasons[1], "the observations do not tell it apart from the others");
      EXPECT_TRUE(std::isnan(found.of[0]));
    }
  }
}

using Host = Kokkos::DefaultHostExecutionSpace;

struct Derivative {
  double Covariance::* by;
  double step;
};

// The information of these parameters, of which S is differentiated by differences.
Square slow_information(Covariance const& c, Locations const& at,
                        std::array<Derivative, 4> const& parameters) {
  auto const n = static_cast<std::size_t>(at.size());
  CovarianceFactor<Host> factor(Host(), c, at);
  std::array<HostMatrix, 4> A;  // S^-1 S_k
  for (std::size_t k = 0; k < 4; ++k) {
    auto const& [by, step] = parameters[k];
    Covariance less = c, more = c;
    less.*by -= step, more.*by += step;
    A[k] = covariance_matrix(more, at);
    auto const other = covariance_matrix(less, at);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) A[k](i, j) = (A[k](i, j) - other(i, j)) / (2 * step);
    factor.half_solve(Host(), Op::NoTrans, A[k]);
    factor.half_solve(Host(), Op::Trans, A[k]);
  }
  Square information{};
  for (std::size_t k = 0; k < 4; ++k)
    for (std::size_t l = 0; l < 4; ++l)
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) information[k][l] += A[k](i, j) * A[l](j, i) / 2;
  return information;
}

void expect_error(double error, double variance) {
  EXPECT_NEAR(error / std::sqrt(variance), 1, 1e-5);
}

// With range, angle and ratio as the parameters, of which S is differentiated by differences.
TEST(StandardErrors, OfDirectionsAreThoseOfAngleAndRatio) {
  auto const at = synthetic_locations(40, 4);
  Covariance const c{1.3, 0.3, 0.5, 0.1, Family::Exponential, 35, 0.4};
  CovarianceFactor<Host> factor(Host(), c, at);
  Square const expected = inverse(slow_information(c, at,
                                                   {{{&Covariance::range, 1e-5},
                                                     {&Covariance::nugget, 1e-5},
                                                     {&Covariance::angle, 1e-3},
                                                     {&Covariance::ratio, 1e-5}}}));
  FisherOptions options;
  options.directions = true;
  auto const found = standard_errors(fisher_information(Host(), factor, options), c,
                                     {false, true, false, true}, {.directions = true});
  expect_error(found.of[1], expected[0][0]);
  expect_error(found.of[3], expected[1][1]);
  expect_error(found.of_angle, expected[2][2]);
  expect_error(found.of_ratio, expected[3][3]);
  // Where there is hardly a direction, an angle means nothing.
  Covariance round = c;
  round.ratio = 0.999;
  CovarianceFactor<Host> other(Host(), round, at);
  auto const none = standard_errors(fisher_information(Host(), other, options), round,
                                    {false, true, false, true}, {.directions = true});
  EXPECT_TRUE(std::isnan(none.of_angle));
  EXPECT_GT(none.of_ratio, 0);
}

// The major range is what is fixed, whether or not its information was asked for.
TEST(StandardErrors, OfDirectionsBesideAFixedRange) {
  auto const at = synthetic_locations(60, 4);
  Covariance const c{1.3, 0.3, 0.5, 0.1, Family::Exponential, 30, 0.5};
  CovarianceFactor<Host> factor(Host(), c, at);
  Square const expected = inverse(slow_information(c, at,
                                                   {{{&Covariance::sigma2, 1e-5},
                                                     {&Covariance::nugget, 1e-5},
                                                     {&Covariance::angle, 1e-3},
                                                     {&Covariance::ratio, 1e-5}}}));
  std::array<bool, 4> const estimated = {true, false, false, true};
  for (auto const& wanted : {estimated, std::array<bool, 4>{true, true, true, true}}) {
    auto const information =
        fisher_information(Host(), factor, {.wanted = wanted, .directions = true});
    auto const found = standard_errors(information, c, estimated, {.directions = true});
    expect_error(found.of[0], expected[0][0]);
    expect_error(found.of_angle, expected[2][2]);
    expect_error(found.of_ratio, expected[3][3]);
    // At its bound it is the geometric mean that stays: another error.
    auto const at_bound = standard_errors(information, c, estimated,
                                          {.directions = true, .mean_range_stays = {true, false}});
    EXPECT_GT(std::abs(at_bound.of_ratio / found.of_ratio - 1), 0.01);
  }
}

}  // namespace
