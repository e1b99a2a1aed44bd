// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Likelihoods and universal kriging beside geoR and nlme, by numbers that these have written.
#include "StrataTest_BesideR.hpp"

#include <geostat/Strata_Likelihood.hpp>
#include <geostat/kriging/Strata_Prediction.hpp>

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace strata::test {
namespace {

using Exec = Kokkos::DefaultHostExecutionSpace;
using geostat::Covariance, geostat::Criterion, geostat::Locations, geostat::Trend;

constexpr std::array criteria = {Criterion::ML, Criterion::REML};

Covariance covariance_of(BesideR const& set) {
  auto const [sigma2, range, nu, nugget] = set.theta;
  return {sigma2, range, nu, nugget, set.family};
}

Locations places_of(std::vector<double> const& x, std::vector<double> const& y) {
  Locations places;
  places.x = x;
  places.y = y;
  return places;
}

double log_likelihood_of(BesideR const& set, Covariance const& theta, Trend const& trend) {
  return log_likelihood(Exec(), theta, places_of(set.x, set.y), set.z, trend).log_likelihood;
}

TEST(BesideR, LogLikelihoodsAreThoseOfGeor) {
  ASSERT_EQ(beside_r.size(), 5U);
  for (auto const& set : beside_r)
    for (std::size_t k = 0; k < 2; ++k) {
      Trend const trend(set.columns, {}, criteria[k]);
      EXPECT_NEAR(log_likelihood_of(set, covariance_of(set), trend), set.geor[k], 1e-8)
          << set.name << ", " << name_of(criteria[k]);
    }
}

TEST(BesideR, LogLikelihoodsAreThoseOfNlmeButForTheColumns) {
  int compared = 0;
  for (auto const& set : beside_r)
    for (std::size_t k = 0; k < set.nlme.size(); ++k) {
      Trend const trend(set.columns, {}, criteria[k]);
      auto theta = covariance_of(set);
      double const scale = set.nlme_sills[k] / (theta.sigma2 + theta.nugget);
      theta.sigma2 *= scale;
      theta.nugget *= scale;
      double const of_columns =
          trend.criterion() == Criterion::REML
              ? trend.log_det_of_columns(static_cast<std::int64_t>(set.z.size())) / 2
              : 0;
      EXPECT_NEAR(log_likelihood_of(set, theta, trend) - of_columns, set.nlme[k], 1e-8)
          << set.name << ", " << name_of(criteria[k]);
      ++compared;
    }
  EXPECT_EQ(compared, 6);
}

TEST(BesideR, UniversalKrigingIsThatOfGeor) {
  for (auto const& set : beside_r) {
    geostat::CovarianceFactor<Exec> factor(Exec(), covariance_of(set), places_of(set.x, set.y));
    auto const found = predict(Exec(), factor, set.z, places_of(set.new_x, set.new_y),
                               Trend(set.columns), {.trend_columns = set.new_columns});
    auto const [least, most] = std::minmax_element(set.z.begin(), set.z.end());
    ASSERT_EQ(found.mean.size(), set.mean.size());
    for (std::size_t i = 0; i < set.mean.size(); ++i) {
      EXPECT_NEAR(found.mean[i], set.mean[i], 1e-10 * (*most - *least)) << set.name;
      EXPECT_NEAR(found.variance[i], set.variance[i], 1e-8 * set.variance[i]) << set.name;
    }
  }
}

}  // namespace
}  // namespace strata::test
