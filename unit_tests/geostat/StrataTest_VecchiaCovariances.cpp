// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Vecchia's approximation of every family, with directions, known errors and chordal distances.
#include "StrataTest_Matchers.hpp"
#include "StrataTest_SlowTrend.hpp"
#include "StrataTest_Spaces.hpp"
#include <geostat/Strata_FisherInformation.hpp>
#include <geostat/Strata_LikelihoodGradient.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>
#include <geostat/vecchia/Strata_VecchiaFit.hpp>
#include <geostat/vecchia/Strata_VecchiaPrediction.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace strata;
using namespace strata::geostat;
using strata::test::some_columns;
using strata::test::some_values;

constexpr double rounding = std::numeric_limits<double>::epsilon();

template <class Space>
class VecchiaCovariancesTest : public testing::Test {};
TYPED_TEST_SUITE(VecchiaCovariancesTest, strata::test::Spaces, strata::test::SpaceNames);

std::vector<Covariance> every_family() {
  return {
      {1.3, 0.2, 0.8, 0.1, Family::Matern},      {1.3, 0.2, 1.5, 0.1, Family::Matern},
      {1.3, 0.2, 0.5, 0.1, Family::Exponential}, {1.3, 0.2, 0.5, 0.1, Family::Gaussian},
      {1.3, 0.5, 0.5, 0.1, Family::Spherical},   {1.3, 0.2, 1.4, 0.1, Family::PoweredExponential}};
}

Covariance sum_of(Covariance one, SecondStructure const& second) {
  one.second = second;
  return one;
}

std::vector<Covariance> every_family_and_sums() {
  auto all = every_family();
  all.push_back(sum_of({0.5, 0.1, 0.5, 0.1, Family::Exponential}, {0.8, 0.5, 1.7}));
  all.push_back(
      sum_of({0.7, 0.3, 1.4, 0.1, Family::PoweredExponential}, {0.6, 0.6, 0.5, Family::Spherical}));
  all.push_back(sum_of({0.7, 0.1, 0.8, 0.1}, {0.6, 0.2, 0.5, Family::Gaussian}));
  return all;
}

Covariance turned(Covariance c) {
  c.angle = 35, c.ratio = 0.4;
  return c;
}

// Of a few tenths of the sill.
Locations with_errors(Locations at) {
  for (std::int64_t i = 0; i < at.size(); ++i)
    at.error_variances.push_back(0.05 + 0.3 * static_cast<double>(i % 5));
  return at;
}

Locations over_europe(Locations at, Metric metric) {
  for (double& x : at.x) x = 20 * x - 10;
  for (double& y : at.y) y = 20 * y + 40;
  at.metric = metric;
  return at;
}

std::string words_of(Covariance const& c, Locations const& at) {
  return to_string(c) + (c.has_directions() ? " with directions" : "") +
         (at.error_variances.empty() ? "" : " with errors");
}

template <class Exec>
void compare_with_exact(Locations const& at, Covariance const& c, Trend const& trend) {
  Exec const exec;
  std::int64_t const n = at.size();
  auto const y = some_values(n);
  CovarianceFactor<Exec> factor(exec, c, at);
  auto const exact = log_likelihood(exec, factor, y, trend);
  auto const gradient = log_likelihood_gradient(exec, factor, y, trend);
  auto const information = fisher_information(exec, factor);
  Vecchia<Exec> const model(exec, at, y, trend,
                            vecchia_blocks(exec, at, c, {.neighbours = n - 1}).blocks);
  auto const found = model.log_likelihood(exec, c);
  auto const slope = model.gradient(exec, c);
  auto const expected = model.information(exec, c);
  // Solves with S lose what its condition is, at most n sill / nugget.
  double const close = 4000 * static_cast<double>(n) * rounding;
  auto const what = words_of(c, at);
  EXPECT_NEAR(found.log_likelihood, exact.log_likelihood,
              close * (std::abs(exact.log_det) + exact.quadratic_form + 1))
      << what;
  auto const is_close = [&](double a, double b, double size) {
    EXPECT_EQ(std::isnan(a), std::isnan(b)) << what;
    if (!std::isnan(b)) {
      EXPECT_NEAR(a, b, size) << what;
    }
  };
  for (std::size_t k = 0; k < 4; ++k) {
    double const own = std::sqrt(information.of[k][k]);
    is_close(slope.by[k], gradient.by[k], close * (own + 1) * static_cast<double>(n));
    for (std::size_t l = 0; l < 4; ++l)
      is_close(expected.of[k][l], information.of[k][l],
               close * own * std::sqrt(information.of[l][l]));
  }
  for (std::size_t k = 0; k < 3; ++k) {
    double const own = std::sqrt(information.of_all[6 + k][6 + k]);
    is_close(slope.by_second[k], gradient.by_second[k],
             close * ((std::isnan(own) ? 0 : own) + 1) * static_cast<double>(n));
    for (std::size_t l = 0; l < 9; ++l)
      is_close(expected.of_all[6 + k][l], information.of_all[6 + k][l],
               close * own * std::sqrt(information.of_all[l][l]));
  }
  double const of_range = close * static_cast<double>(n) * (std::sqrt(information.of[1][1]) + 1);
  is_close(slope.by_angle, gradient.by_angle, of_range);
  is_close(slope.by_ratio, gradient.by_ratio, of_range);
  EXPECT_EQ(std::isnan(slope.by_angle), !c.has_directions()) << what;
}

TYPED_TEST(VecchiaCovariancesTest, IsExactWithAllNeighboursForEveryFamily) {
  auto const at = synthetic_locations(45, 3);
  for (auto const& c : every_family_and_sums())
    for (auto const& trend : {Trend(Mean::None), Trend(some_columns(at), {}, Criterion::REML)})
      for (auto const& places : {at, with_errors(at)}) {
        compare_with_exact<TypeParam>(places, c, trend);
        compare_with_exact<TypeParam>(places, turned(c), trend);
      }
}

TYPED_TEST(VecchiaCovariancesTest, IsExactStraightThroughTheSphere) {
  auto const at = over_europe(synthetic_locations(40, 3), Metric::Chordal);
  for (auto c : every_family_and_sums()) {
    c.range *= 2000;
    if (c.second) c.second->range *= 2000;
    compare_with_exact<TypeParam>(at, c, Mean::Constant);
    compare_with_exact<TypeParam>(with_errors(at), c, Mean::Constant);
  }
}

// Differences of the approximate likelihood itself.
TYPED_TEST(VecchiaCovariancesTest, GradientIsTheOneOfTheApproximation) {
  TypeParam const exec;
  std::int64_t const n = 120;
  auto const at = with_errors(synthetic_locations(n, 4));
  auto const y = some_values(n);
  for (auto const& family : every_family_and_sums()) {
    Covariance const c = turned(family);
    Vecchia<TypeParam> const model(exec, at, y, Mean::Constant,
                                   vecchia_blocks(exec, at, c, {.neighbours = 8}).blocks);
    auto const found = model.gradient(exec, c);
    auto const near = [&](double by, double Covariance::* parameter, double h) {
      auto const at_step = [&](double steps) {
        Covariance there = c;
        there.*parameter += steps * h;
        return model.log_likelihood(exec, there).log_likelihood;
      };
      double const slope = (8 * (at_step(1) - at_step(-1)) - (at_step(2) - at_step(-2))) / (12 * h);
      // A spherical covariance has a kink in its third derivative where it ends.
      bool const is_spherical =
          c.family == Family::Spherical || (c.second && c.second->family == Family::Spherical);
      double const close = is_spherical ? 1e-4 : 1e-7;
      EXPECT_NEAR(by, slope, close * (1 + std::abs(slope))) << words_of(c, at);
    };
    near(found.by[0], &Covariance::sigma2, 1e-4);
    near(found.by[1], &Covariance::range, 1e-5);
    if (has_shape(c.family)) near(found.by[2], &Covariance::nu, 1e-4);
    near(found.by[3], &Covariance::nugget, 1e-5);
    if (c.second) {
      auto const at_step = [&](double SecondStructure::* parameter, double step) {
        Covariance there = c;
        (*there.second).*parameter += step;
        return model.log_likelihood(exec, there).log_likelihood;
      };
      double SecondStructure::* const parameters[] = {
          &SecondStructure::sigma2, &SecondStructure::range, &SecondStructure::nu};
      for (std::size_t k = 0; k < (has_shape(c.second->family) ? 3u : 2u); ++k) {
        constexpr double h = 1e-4;
        auto const p = parameters[k];
        double const slope =
            (8 * (at_step(p, h) - at_step(p, -h)) - (at_step(p, 2 * h) - at_step(p, -2 * h))) /
            (12 * h);
        EXPECT_NEAR(found.by_second[k], slope, 1e-4 * (1 + std::abs(slope))) << words_of(c, at);
      }
    }
    near(found.by_angle, &Covariance::angle, 1e-2);
    near(found.by_ratio, &Covariance::ratio, 1e-5);
  }
}

// 1/2 tr(S^-1 S_j S^-1 S_k) by differences of S for stretch and shear, in long double.
TYPED_TEST(VecchiaCovariancesTest, InformationOfDirectionsIsTheExactOne) {
  TypeParam const exec;
  std::int64_t const n = 12;
  auto const at = with_errors(synthetic_locations(n, 4));
  Covariance const c = turned({1.3, 0.3, 0.5, 0.1});
  auto const slope = [&](double Covariance::* parameter, double h) {
    auto const there = [&](double steps) {
      Covariance other = c;
      other.*parameter += steps * h;
      return covariance_matrix(other, at);
    };
    auto const A = there(1), B = there(-1);
    return [A, B, h](std::int64_t i, std::int64_t j) { return (A(i, j) - B(i, j)) / (2 * h); };
  };
  auto const by_angle = slope(&Covariance::angle, 1e-3), by_ratio = slope(&Covariance::ratio, 1e-5),
             by_range = slope(&Covariance::range, 1e-5);
  double const kappa = -std::log(c.ratio), degree = std::acos(-1.0) / 180;
  auto const entry = [&](int which, std::int64_t i, std::int64_t j) {
    return which == 0 ? c.range / 2 * by_range(i, j) - c.ratio * by_ratio(i, j)
                      : by_angle(i, j) / (2 * kappa * degree);
  };
  auto const S = covariance_matrix(c, at);
  test::SlowField const slow(
      n, [&](std::int64_t i, std::int64_t j) -> long double { return S(i, j); });
  auto const inverse = [&](std::int64_t i, std::int64_t j) {
    test::Numbers a(static_cast<std::size_t>(n), 0), b = a;
    a[static_cast<std::size_t>(i)] = b[static_cast<std::size_t>(j)] = 1;
    return static_cast<double>(slow.form(a, b));
  };
  // S^-1 S_j.
  std::array<std::vector<double>, 2> P;
  for (int which = 0; which < 2; ++which)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < n; ++l) sum += inverse(i, l) * entry(which, l, j);
        P[static_cast<std::size_t>(which)].push_back(sum);
      }
  auto const size = static_cast<std::size_t>(n);
  Vecchia<TypeParam> const model(exec, at, some_values(n), Mean::None,
                                 vecchia_blocks(exec, at, c, {.neighbours = n}).blocks);
  auto const sums = model.sums(exec, c, true, true, true);
  auto const found = model.derivatives(sums, model.profile(sums, 1), c,
                                       {true, true, true, true, true, true, false, false, false});
  for (std::size_t a = 0; a < 2; ++a)
    for (std::size_t b = 0; b < 2; ++b) {
      double expected = 0;
      for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j < size; ++j)
          expected += P[a][i * size + j] * P[b][j * size + i] / 2;
      EXPECT_NEAR(found.information[4 + a][4 + b], expected, 1e-6 * (1 + std::abs(expected)))
          << a << b;
    }
}

TYPED_TEST(VecchiaCovariancesTest, PredictsAsTheExactOneFromAllObservations) {
  TypeParam const exec;
  std::int64_t const n = 40;
  auto const at = synthetic_locations(n, 3);
  auto const y = some_values(n);
  auto const others = synthetic_locations(9, 8);
  Locations places{others.x, others.y};
  places.x.push_back(at.x[4]), places.y.push_back(at.y[4]);
  for (auto const& family : every_family_and_sums())
    for (auto const& c : {family, turned(family)})
      for (auto const& observed : {at, with_errors(at)})
        for (NuggetIs const nugget : {NuggetIs::Error, NuggetIs::Variation}) {
          CovarianceFactor<TypeParam> factor(exec, c, observed);
          auto const exact = predict(exec, factor, y, places, Mean::Constant, {.nugget = nugget});
          Vecchia<TypeParam> const model(
              exec, observed, y, Mean::Constant,
              vecchia_blocks(exec, observed, c, {.neighbours = n}).blocks);
          auto const found = predict(exec, model, c, places, {.neighbours = n, .nugget = nugget});
          double const close = 4000 * static_cast<double>(n) * rounding;
          for (std::size_t i = 0; i < exact.mean.size(); ++i) {
            EXPECT_NEAR(found.mean[i], exact.mean[i], close) << words_of(c, observed);
            EXPECT_NEAR(found.variance[i], exact.variance[i], close) << words_of(c, observed);
          }
          if (nugget == NuggetIs::Variation && observed.error_variances.empty()) {
            EXPECT_NEAR(found.mean.back(), y[4], close);
          }
        }
}

TYPED_TEST(VecchiaCovariancesTest, NeighboursByDirectionsAreNearerToTheExactLikelihood) {
  TypeParam const exec;
  std::int64_t const n = 400;
  auto const at = synthetic_locations(n, 4);
  auto const y = some_values(n);
  Covariance const c{1, 0.6, 1.5, 0.05, Family::Matern, 20, 0.1};
  double const exact = log_likelihood(exec, c, at, y).log_likelihood;
  auto const off = [&](VecchiaBlocks const& blocks) {
    Vecchia<TypeParam> const model(exec, at, y, Mean::Constant, blocks.blocks);
    return std::abs(model.log_likelihood(exec, c).log_likelihood - exact);
  };
  EXPECT_LT(off(vecchia_blocks(exec, at, c, {.neighbours = 10})),
            0.5 * off(vecchia_blocks(exec, at, {.neighbours = 10})));
}

TYPED_TEST(VecchiaCovariancesTest, FitsAsTheExactOneWithAllNeighbours) {
  TypeParam const exec;
  std::int64_t const n = 150;
  auto const at = synthetic_locations(n, 5);
  Covariance const truth{1, 0.3, 0.5, 0.1, Family::Exponential, 30, 0.4};
  auto const y = synthetic_field(exec, truth, at, 3);
  for (auto const& places : {at, with_errors(at)})
    for (Family const family : {Family::Exponential, Family::Spherical}) {
      auto options = default_fit_options(places, y, Mean::Constant, family);
      options.directions = family == Family::Exponential;
      auto const exact = fit(exec, places, y, options);
      auto const found =
          fit_by_neighbours(exec, places, y, options, {.approximation = {.neighbours = n - 1}});
      EXPECT_TRUE(found.converged) << found.reason;
      EXPECT_NEAR(found.likelihood.log_likelihood, exact.likelihood.log_likelihood, 1e-5);
      EXPECT_NEAR(found.theta.range, exact.theta.range, 0.01 * exact.theta.range);
      EXPECT_NEAR(found.theta.ratio, exact.theta.ratio, 0.01);
      EXPECT_EQ(found.theta.has_directions(), options.directions);
      EXPECT_EQ(found.theta.family, family);
      ASSERT_TRUE(found.exact);
      EXPECT_NEAR(found.exact->likelihood.log_likelihood, found.likelihood.log_likelihood, 1e-8);
      EXPECT_TRUE(std::isnan(found.exact->distance[2]));
      if (options.directions) {  // the step would leave them where they are
        EXPECT_TRUE(std::isnan(found.exact->distance[1]));
        EXPECT_EQ(found.exact->reason, "directions were estimated, too");
      } else {
        EXPECT_LT(std::abs(found.exact->distance[1]), 0.01);
        EXPECT_EQ(found.exact->reason, "");
      }
    }
}

// A sum may have several maxima, so that both searches end at one only from there.
TYPED_TEST(VecchiaCovariancesTest, FitsTwoStructuresAsTheExactOneWithAllNeighbours) {
  TypeParam const exec;
  std::int64_t const n = 200;
  auto const at = synthetic_locations(n, 5);
  auto const truth =
      sum_of({1, 0.05, 0.5, 0.05, Family::Exponential}, {1, 0.5, 0.5, Family::Exponential});
  auto const y = synthetic_field(exec, truth, at, 3);
  for (auto const& places : {at, with_errors(at)}) {
    auto options =
        default_fit_options(places, y, Mean::Constant, Family::Exponential, Family::Exponential);
    auto const found =
        fit_by_neighbours(exec, places, y, options, {.approximation = {.neighbours = n - 1}});
    options.start = found.theta;
    auto const exact = fit(exec, places, y, options);
    EXPECT_TRUE(found.converged) << found.reason;
    EXPECT_NEAR(found.likelihood.log_likelihood, exact.likelihood.log_likelihood, 1e-4);
    ASSERT_TRUE(found.theta.second);
  }
}

// A first search with few neighbours finds directions, by which the second has its neighbours.
TYPED_TEST(VecchiaCovariancesTest, FittedDirectionsComeNearTheExactOnes) {
  TypeParam const exec;
  std::int64_t const n = 600;
  auto const at = synthetic_locations(n, 5);
  Covariance const truth{1, 0.4, 0.5, 0.1, Family::Exponential, 30, 0.25};
  auto const y = synthetic_field(exec, truth, at, 3);
  auto options = default_fit_options(at, y, Mean::Constant, Family::Exponential);
  options.directions = true;
  auto const exact = fit(exec, at, y, options);
  auto const found =
      fit_by_neighbours(exec, at, y, options, {.approximation = {}, .exact_up_to = 0});
  EXPECT_TRUE(found.converged) << found.reason;
  EXPECT_NEAR(found.theta.angle, exact.theta.angle, 3);
  EXPECT_NEAR(found.theta.ratio, exact.theta.ratio, 0.05);
}

TYPED_TEST(VecchiaCovariancesTest, RefusesWhatIsNotPositiveDefinite) {
  TypeParam const exec;
  auto const globe = over_europe(synthetic_locations(20, 4), Metric::GreatCircle);
  auto const y = some_values(20);
  Vecchia<TypeParam> const model(exec, globe, y, Mean::Constant,
                                 vecchia_blocks(exec, globe, {.neighbours = 5}).blocks);
  auto const told = [&](Covariance const& c) {
    return test::message_of<ValueError>([&] { (void)model.log_likelihood(exec, c); });
  };
  EXPECT_NE(told({1, 400, 0.5, 0.1, Family::Gaussian}).find("chordal"), std::string::npos);
  EXPECT_NE(told(turned({1, 400, 0.5, 0.1})).find("of the plane"), std::string::npos);
  EXPECT_NE(told({1, 400, 2.5, 0.1, Family::PoweredExponential}).find("power"), std::string::npos);
  EXPECT_THROW((void)vecchia_blocks(exec, globe, turned({}), {}), ValueError);
  auto options = default_fit_options(globe, y);
  options.directions = true;
  EXPECT_NE(test::message_of<ValueError>([&] {
              (void)fit_by_neighbours(exec, globe, y, options);
            }).find("of the plane"),
            std::string::npos);
}

}  // namespace
