// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_SlowTrend.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/problems/Strata_Random.hpp>
#include <geostat/Strata_FisherInformation.hpp>
#include <geostat/Strata_LikelihoodGradient.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>
#include <geostat/neighbours/Strata_MaximinOrder.hpp>
#include <geostat/vecchia/Strata_Vecchia.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace strata;
using namespace strata::geostat;
using strata::test::Numbers;
using strata::test::some_columns;
using strata::test::some_values;

constexpr double ulp = std::numeric_limits<double>::epsilon();

template <class Space>
class VecchiaTest : public testing::Test {};
TYPED_TEST_SUITE(VecchiaTest, strata::test::Spaces, strata::test::SpaceNames);

Locations over_europe(Locations at) {
  for (double& x : at.x) x = 20 * x - 10;
  for (double& y : at.y) y = 20 * y + 40;
  at.metric = Metric::GreatCircle;
  return at;
}

std::vector<Trend> some_trends(Locations const& at) {
  return {Trend(Mean::None), Trend(Mean::Constant), Trend(some_columns(at)),
          Trend(some_columns(at), {}, Criterion::REML)};
}

// By the definition, in long double: log p of each given those of its block before it, with the
// best mean among constants.
long double slow_likelihood(MaternCovariance const& c, Locations const& at, Numbers const& y,
                            ConditioningBlocks const& blocks) {
  long double log_det = 0, yy = 0, y1 = 0, oneone = 0;
  for (std::size_t b = 0; b + 1 < blocks.offsets.size(); ++b)
    for (auto k = blocks.response_offsets[b]; k < blocks.response_offsets[b + 1]; ++k) {
      std::int64_t const r = blocks.responses[static_cast<std::size_t>(k)];
      auto const member = [&](std::int64_t i) {
        return static_cast<std::size_t>(
            blocks.members[static_cast<std::size_t>(blocks.offsets[b] + i)]);
      };
      auto const entry = [&](std::int64_t i, std::int64_t j) -> long double {
        return c(at.distance(static_cast<std::int64_t>(member(i)),
                             static_cast<std::int64_t>(member(j)))) +
               (i == j ? c.nugget : 0);
      };
      test::SlowField const S(r, entry);
      Numbers cross, values, ones(static_cast<std::size_t>(r), 1);
      for (std::int64_t i = 0; i < r; ++i) {
        cross.push_back(entry(r, i));
        values.push_back(y[member(i)]);
      }
      long double const variance = entry(r, r) - S.form(cross, cross),
                        e = y[member(r)] - S.form(cross, values), f = 1 - S.form(cross, ones);
      log_det += std::log(variance);
      yy += e * e / variance, y1 += e * f / variance, oneone += f * f / variance;
    }
  auto const n = static_cast<long double>(y.size());
  return -0.5L *
         (n * std::log(2 * std::numbers::pi_v<long double>) + log_det + yy - y1 * y1 / oneone);
}

TYPED_TEST(VecchiaTest, IsTheProductOfConditionalDensities) {
  TypeParam const exec;
  for (std::int64_t const n : {1, 2, 3, 60, 200})
    for (std::int64_t const m : {0, 1, 6})
      for (bool const grouped : {false, true}) {
        auto const at = synthetic_locations(n, 3);
        auto const y = some_values(n);
        MaternCovariance const c{1.3, 0.2, 0.8, 0.1};
        auto const blocks = vecchia_blocks(exec, at, {m, grouped}).blocks;
        Vecchia<TypeParam> const model(exec, at, y, Mean::Constant, blocks);
        auto const found = model.log_likelihood(exec, c);
        ASSERT_EQ(found.info, 0);
        auto const expected =
            static_cast<double>(slow_likelihood(c, at, Numbers(y.begin(), y.end()), blocks));
        double const size = std::abs(found.log_det) + found.quadratic_form + static_cast<double>(n);
        EXPECT_NEAR(found.log_likelihood, expected, 1000 * ulp * size)
            << "n " << n << " m " << m << " grouped " << grouped;
      }
}

// In a cube, where places have many more near neighbours than in the plane.
Locations in_a_cube(std::int64_t n) {
  Locations at = synthetic_locations(n, 3);
  at.further.emplace_back();
  for (std::int64_t i = 0; i < n; ++i)
    at.further[0].push_back(uniform(17, static_cast<std::uint64_t>(i), 0));
  return at;
}

TYPED_TEST(VecchiaTest, IsTheProductOfConditionalDensitiesInACube) {
  TypeParam const exec;
  std::int64_t const n = 400;
  auto const at = in_a_cube(n);
  auto const y = some_values(n);
  MaternCovariance const c{1.3, 0.6, 1.5, 0.1};
  for (bool const grouped : {false, true}) {
    auto const blocks = vecchia_blocks(exec, at, {30, grouped}).blocks;
    Vecchia<TypeParam> const model(exec, at, y, Mean::Constant, blocks);
    auto const found = model.log_likelihood(exec, c);
    auto const expected =
        static_cast<double>(slow_likelihood(c, at, Numbers(y.begin(), y.end()), blocks));
    double const size = std::abs(found.log_det) + found.quadratic_form + static_cast<double>(n);
    EXPECT_NEAR(found.log_likelihood, expected, 1000 * ulp * size) << grouped;
  }
}

// Of fields with this covariance the approximate log-likelihood is less than the exact one by the
// divergence of both in the mean, half the difference of the log-determinants. Of one field it may
// be above.
TYPED_TEST(VecchiaTest, LiesByTheDivergenceBelowTheExactLikelihoodInTheMean) {
  TypeParam const exec;
  std::int64_t const n = 400, fields = 60;
  auto const at = in_a_cube(n);
  MaternCovariance const c{1, 1, 1.5, 0.1};
  auto const blocks = vecchia_blocks(exec, at, {30, true}).blocks;
  CovarianceFactorOptions in_tiles;  // as fields are drawn
  in_tiles.tile_size = 64;
  CovarianceFactor<TypeParam> factor(exec, c, at, in_tiles);
  double sum = 0, squares = 0, largest = -HUGE_VAL, divergence = 0;
  for (std::int64_t k = 0; k < fields; ++k) {
    auto const y = synthetic_field(factor, 100 + static_cast<std::uint64_t>(k));
    auto const exact = log_likelihood(exec, factor, y, Mean::None);
    auto const near = Vecchia<TypeParam>(exec, at, y, Mean::None, blocks).log_likelihood(exec, c);
    double const gap = near.log_likelihood - exact.log_likelihood;
    divergence = (near.log_det - exact.log_det) / 2;
    sum += gap, squares += gap * gap;
    largest = std::fmax(largest, gap);
  }
  auto const count = static_cast<double>(fields);
  double const mean = sum / count, deviation = std::sqrt(squares / count - mean * mean);
  EXPECT_GT(divergence, 0.5);
  EXPECT_NEAR(mean, -divergence, 4 * deviation / std::sqrt(count));
  EXPECT_NEAR(deviation, std::sqrt(2 * divergence), 0.5 * std::sqrt(2 * divergence));
  EXPECT_GT(largest, 0.5);
}

template <class Exec>
void compare_with_exact(Locations const& at, MaternCovariance const& c, Trend const& trend,
                        bool grouped, double nugget_scale) {
  Exec const exec;
  std::int64_t const n = at.size();
  auto const y = some_values(n);
  CovarianceFactor<Exec> factor(exec, c, at);
  auto const exact = log_likelihood(exec, factor, y, trend);
  auto const gradient = log_likelihood_gradient(exec, factor, y, trend);
  auto const information = fisher_information(exec, factor);
  Vecchia<Exec> const model(exec, at, y, trend, vecchia_blocks(exec, at, {n + 5, grouped}).blocks);
  auto const found = model.log_likelihood(exec, c);
  auto const slope = model.gradient(exec, c);
  auto const expected = model.information(exec, c);
  // Solves with S lose what its condition is, at most n sill / nugget.
  double const close = 100 * static_cast<double>(n) * ulp * nugget_scale;
  std::string const what = to_string(c) + " columns " + std::to_string(trend.columns());
  EXPECT_NEAR(found.log_likelihood, exact.log_likelihood,
              close * (std::abs(exact.log_det) + exact.quadratic_form + 1))
      << what;
  EXPECT_NEAR(found.log_det_trend, exact.log_det_trend, close * 100) << what;
  for (std::size_t j = 0; j < exact.coefficients.size(); ++j)
    EXPECT_NEAR(found.coefficients[j], exact.coefficients[j],
                close * (1 + std::abs(exact.coefficients[0])))
        << what;
  for (std::size_t j = 0; j < exact.coefficient_covariance.size(); ++j)
    EXPECT_NEAR(found.coefficient_covariance[j], exact.coefficient_covariance[j],
                1e3 * close * std::abs(exact.coefficient_covariance[0]))
        << what;
  for (std::size_t k = 0; k < 4; ++k) {
    double const own = std::sqrt(information.of[k][k]);
    EXPECT_NEAR(slope.by[k], gradient.by[k], close * (own + 1) * static_cast<double>(n))
        << what << k;
    for (std::size_t l = 0; l < 4; ++l)
      EXPECT_NEAR(expected.of[k][l], information.of[k][l],
                  close * own * std::sqrt(information.of[l][l]))
          << what << k << l;
  }
}

TYPED_TEST(VecchiaTest, IsExactWithAllNeighbours) {
  for (std::int64_t const n : {6, 41, 100})
    for (bool const grouped : {false, true})
      for (auto const& c :
           {MaternCovariance{1.3, 0.2, 0.8, 0.1}, MaternCovariance{2, 0.1, 0.5, 0.3},
            MaternCovariance{0.7, 0.05, 2.2, 0.05}})
        for (auto const& trend : some_trends(synthetic_locations(n, 3)))
          compare_with_exact<TypeParam>(synthetic_locations(n, 3), c, trend, grouped, 40);
}

TYPED_TEST(VecchiaTest, IsExactOnTheSphere) {
  auto const at = over_europe(synthetic_locations(50, 3));
  for (bool const grouped : {false, true})
    compare_with_exact<TypeParam>(at, {1.3, 400, 0.4, 0.1}, Mean::Constant, grouped, 40);
}

// Differences of the likelihood itself, which the exact tests of few neighbours lack.
TYPED_TEST(VecchiaTest, GradientIsThatOfTheApproximation) {
  TypeParam const exec;
  std::int64_t const n = 150;
  auto const at = synthetic_locations(n, 4);
  auto const y = some_values(n);
  Parameters const theta = {1.3, 0.2, 0.8, 0.1};
  for (auto const& trend : some_trends(at))
    for (bool const grouped : {false, true}) {
      Vecchia<TypeParam> const model(exec, at, y, trend,
                                     vecchia_blocks(exec, at, {8, grouped}).blocks);
      auto const by = model.gradient(exec, covariance_of(theta)).by;
      for (std::size_t k = 0; k < 4; ++k) {
        double const h = 1e-4 * theta[k];
        auto const at_step = [&](double steps) {
          Parameters there = theta;
          there[k] += steps * h;
          return model.log_likelihood(exec, covariance_of(there)).log_likelihood;
        };
        double const slope =
            (8 * (at_step(1) - at_step(-1)) - (at_step(2) - at_step(-2))) / (12 * h);
        EXPECT_NEAR(by[k], slope, 1e-7 * (1 + std::abs(slope))) << k << " " << trend.columns();
      }
    }
}

// What a response tells beside those before it: the exact information of both less that of those.
TYPED_TEST(VecchiaTest, InformationIsTheSumOfWhatEachResponseAdds) {
  TypeParam const exec;
  std::int64_t const n = 40;
  auto const at = synthetic_locations(n, 4);
  MaternCovariance const c{1.3, 0.2, 0.8, 0.1};
  auto const blocks = vecchia_blocks(exec, at, {3, true}).blocks;
  std::array<Parameters, 4> expected{};
  auto const add = [&](std::int64_t begin, std::int64_t count, double sign) {
    if (count == 0) return;
    Locations some;
    for (std::int64_t i = begin; i < begin + count; ++i) {
      auto const member = static_cast<std::size_t>(blocks.members[static_cast<std::size_t>(i)]);
      some.x.push_back(at.x[member]), some.y.push_back(at.y[member]);
    }
    CovarianceFactor<TypeParam> factor(exec, c, some);
    auto const part = fisher_information(exec, factor).of;
    for (std::size_t k = 0; k < 4; ++k)
      for (std::size_t l = 0; l < 4; ++l) expected[k][l] += sign * part[k][l];
  };
  for (std::size_t b = 0; b + 1 < blocks.offsets.size(); ++b)
    for (auto r = blocks.response_offsets[b]; r < blocks.response_offsets[b + 1]; ++r) {
      auto const before = blocks.responses[static_cast<std::size_t>(r)];
      add(blocks.offsets[b], before + 1, 1);
      add(blocks.offsets[b], before, -1);
    }
  auto const found =
      Vecchia<TypeParam>(exec, at, some_values(n), Mean::None, blocks).information(exec, c).of;
  for (std::size_t k = 0; k < 4; ++k)
    for (std::size_t l = 0; l < 4; ++l)
      EXPECT_NEAR(found[k][l], expected[k][l],
                  1e5 * ulp * std::sqrt(expected[k][k] * expected[l][l]))
          << k << l;
}

TYPED_TEST(VecchiaTest, HasTheSameBitsAgain) {
  TypeParam const exec;
  auto const at = synthetic_locations(9000, 4);
  auto const y = some_values(9000);
  auto const blocks = vecchia_blocks(exec, at, {5, true}).blocks;
  Vecchia<TypeParam> const one(exec, at, y, Mean::Constant, blocks),
      two(exec, at, y, Mean::Constant, blocks);
  MaternCovariance const c{1, 0.1, 0.7, 0.1};
  EXPECT_EQ(one.log_likelihood(exec, c).log_likelihood, two.log_likelihood(exec, c).log_likelihood);
  EXPECT_EQ(one.gradient(exec, c).by, two.gradient(exec, c).by);
}

TYPED_TEST(VecchiaTest, ValuesFarFromZeroCostNoDigits) {
  TypeParam const exec;
  std::int64_t const n = 120;
  auto const at = synthetic_locations(n, 4);
  auto y = some_values(n);
  auto const blocks = vecchia_blocks(exec, at, {10, true}).blocks;
  MaternCovariance const c{1, 0.1, 0.7, 0.1};
  auto const here = Vecchia<TypeParam>(exec, at, y, Mean::Constant, blocks).log_likelihood(exec, c);
  for (double& value : y) value += 0x1p30;
  auto const there =
      Vecchia<TypeParam>(exec, at, y, Mean::Constant, blocks).log_likelihood(exec, c);
  // The values themselves are rounded to 2^-22.
  EXPECT_NEAR(there.log_likelihood, here.log_likelihood, 1e-3);
  EXPECT_NEAR(there.mean - 0x1p30, here.mean, 1e-5);
}

TYPED_TEST(VecchiaTest, MoreNeighboursComeNearerToTheExactLikelihood) {
  TypeParam const exec;
  std::int64_t const n = 400;
  auto const at = synthetic_locations(n, 4);
  auto const y = some_values(n);
  MaternCovariance const c{1, 0.3, 1.5, 0.2};
  double const exact = log_likelihood(exec, c, at, y).log_likelihood;
  double last = HUGE_VAL;
  for (std::int64_t const m : {1, 5, 20, 80}) {
    auto const model = Vecchia<TypeParam>(exec, at, y, Mean::Constant,
                                          vecchia_blocks(exec, at, {m, false}).blocks);
    double const off = std::abs(model.log_likelihood(exec, c).log_likelihood - exact);
    EXPECT_LT(off, last) << m;
    last = off;
  }
  EXPECT_LT(last, 0.5);
}

TYPED_TEST(VecchiaTest, SaysWhereThereIsNoVariance) {
  TypeParam const exec;
  Locations at = synthetic_locations(30, 4);
  auto const y = some_values(30);
  for (double& x : at.x) x *= 1e-9;  // a smooth field's values follow from each other
  for (double& y0 : at.y) y0 *= 1e-9;
  Vecchia<TypeParam> const model(exec, at, y, Mean::Constant,
                                 vecchia_blocks(exec, at, {10, false}).blocks);
  auto const found = model.log_likelihood(exec, {1, 0.1, 2.5, 0});
  EXPECT_GE(found.info, 1);
  EXPECT_LE(found.info, 30);
  EXPECT_TRUE(std::isnan(found.log_likelihood));
  EXPECT_TRUE(std::isnan(model.gradient(exec, {1, 0.1, 2.5, 0}).by[1]));
  EXPECT_EQ(model.log_likelihood(exec, {1, 0.1, 2.5, 0.1}).info, 0);  // another covariance has
}

TYPED_TEST(VecchiaTest, CopiesNeedANugget) {
  TypeParam const exec;
  Locations at = synthetic_locations(20, 4);
  at.x[7] = at.x[2], at.y[7] = at.y[2];
  auto const y = some_values(20);
  Vecchia<TypeParam> const model(exec, at, y, Mean::Constant,
                                 vecchia_blocks(exec, at, {5, true}).blocks);
  auto const text =
      test::message_of<ValueError>([&] { (void)model.log_likelihood(exec, {1, 0.1, 0.5, 0}); });
  EXPECT_NE(text.find("both at"), std::string::npos) << text;
  EXPECT_EQ(model.log_likelihood(exec, {1, 0.1, 0.5, 0.1}).info, 0);
  auto const by = model.gradient(exec, {1, 0.1, 0.8, 0.1}).by;
  for (double const slope : by) EXPECT_TRUE(std::isfinite(slope));
}

TYPED_TEST(VecchiaTest, RefusesWhatIsNoData) {
  TypeParam const exec;
  auto const at = synthetic_locations(20, 4);
  auto const blocks = vecchia_blocks(exec, at, {5, true}).blocks;
  auto y = some_values(20);
  auto const make = [&](Locations const& where, std::vector<double> const& values) {
    Vecchia<TypeParam> const model(exec, where, values, Mean::Constant, blocks);
  };
  EXPECT_THROW(make(at, some_values(19)), ShapeError);
  EXPECT_THROW(make(synthetic_locations(19, 4), some_values(19)), ValueError);
  EXPECT_THROW(make({}, {}), ShapeError);
  y[3] = std::nan("");
  EXPECT_NE(test::message_of<ValueError>([&] { make(at, y); }).find("value 4"), std::string::npos);
  EXPECT_THROW((void)vecchia_blocks(exec, at, {-1, true}), ValueError);
  EXPECT_NE(test::message_of<ValueError>([&] {
              (void)vecchia_blocks(exec, at, {1001, true});
            }).find("1001"),
            std::string::npos);
  Vecchia<TypeParam> const model(exec, at, some_values(20), Mean::Constant, blocks);
  EXPECT_THROW((void)model.log_likelihood(exec, {1, -0.1, 0.5, 0}), ValueError);
}

}  // namespace
