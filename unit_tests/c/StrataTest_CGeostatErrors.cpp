// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What strata_geostat.h refuses, and how fits end.
#include "StrataTest_CGeostat.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>

namespace strata::test::c_geostat {
namespace {

TEST(CGeostat, PredictsNowhereAndRefusesWhatIsNoPlace) {
  Observed const observed(20);
  auto const model = model_at(observed, covariance("exponential", 1, 0.2, 0, 0.1));
  EXPECT_EQ(
      strata_geostat_predict(model.get(), 0, nullptr, nullptr, nullptr, 1, 0, nullptr, nullptr),
      STRATA_SUCCESS)
      << strata_message();
  double const x = 0.5, bad = std::nan(""), row[2] = {1, 0.5};
  double mean = -1;
  EXPECT_EQ(strata_geostat_predict(model.get(), 1, &x, &bad, row, 1, 0, &mean, nullptr),
            STRATA_NOT_FINITE);
  EXPECT_STREQ(strata_message(), "strata_geostat_predict: y: number 1 of 1 is nan");
  EXPECT_EQ(strata_geostat_predict(model.get(), 1, &x, &x, nullptr, 1, 0, &mean, nullptr),
            STRATA_INVALID_ARGUMENT);
  EXPECT_EQ(strata_geostat_predict(model.get(), -1, &x, &x, row, 1, 0, &mean, nullptr),
            STRATA_INVALID_ARGUMENT);
  EXPECT_EQ(strata_geostat_predict(nullptr, 1, &x, &x, row, 1, 0, &mean, nullptr),
            STRATA_INVALID_ARGUMENT);
  EXPECT_EQ(mean, -1);
  EXPECT_EQ(strata_geostat_predict(model.get(), 1, &x, &x, row, 1, 0, &mean, nullptr),
            STRATA_SUCCESS)
      << strata_message();
}

/// What a caller may do wrong, and the message's end.
struct Wrong {
  char const* message;
  strata_status status;
  std::function<void(Observed&, strata_covariance&)> how;
};

TEST(CGeostat, RefusesWhatIsNoModelInWords) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  Wrong const all[] = {
      {"0 values at 0 locations", STRATA_INVALID_ARGUMENT,
       [](Observed& o, strata_covariance&) {
         o.given.n = 0;
         o.given.trend_columns = 0;
       }},
      {"the number of places is -1, must be >= 0", STRATA_INVALID_ARGUMENT,
       [](Observed& o, strata_covariance&) { o.given.n = -1; }},
      {"x is a null pointer", STRATA_INVALID_ARGUMENT,
       [](Observed& o, strata_covariance&) { o.given.x = nullptr; }},
      {"values: number 3 of 12 is nan", STRATA_NOT_FINITE,
       [](Observed& o, strata_covariance&) { o.values[2] = nan; }},
      {"y: number 12 of 12 is inf", STRATA_NOT_FINITE,
       [](Observed& o, strata_covariance&) { o.places.y[11] = 1 / 0.0; }},
      {"column 'x' of the trend: number 1 of 12 is nan", STRATA_NOT_FINITE,
       [](Observed& o, strata_covariance&) { o.columns[12] = nan; }},
      {"names: name 2 is a null pointer", STRATA_INVALID_ARGUMENT,
       [](Observed& o, strata_covariance&) { o.names[1] = nullptr; }},
      {"the leading dimension of the trend is 11, must be at least max(1, 12)",
       STRATA_INVALID_ARGUMENT, [](Observed& o, strata_covariance&) { o.given.ld_trend = 11; }},
      {"there are euclidean, great-circle, chordal", STRATA_INVALID_ARGUMENT,
       [](Observed& o, strata_covariance&) { o.given.metric = "taxi"; }},
      {"struct_size is 0, must be set to its sizeof", STRATA_INVALID_ARGUMENT,
       [](Observed& o, strata_covariance&) { o.given.struct_size = 0; }},
      {"struct_size is 3, must be set to its sizeof", STRATA_INVALID_ARGUMENT,
       [](Observed&, strata_covariance& c) { c.struct_size = 3; }},
      {"sigma2", STRATA_INVALID_ARGUMENT, [](Observed&, strata_covariance& c) { c.sigma2 = -1; }},
      {"range", STRATA_INVALID_ARGUMENT, [](Observed&, strata_covariance& c) { c.range = nan; }},
      {"the family's name does not end", STRATA_INVALID_ARGUMENT,
       [](Observed&, strata_covariance& c) { std::memset(c.family, 'a', sizeof c.family); }},
  };
  for (auto const& wrong : all) {
    SCOPED_TRACE(wrong.message);
    Observed observed(12);
    auto c = covariance("exponential", 1, 0.2, 0, 0.1);
    wrong.how(observed, c);
    strata_geostat* model = reinterpret_cast<strata_geostat*>(&c);
    EXPECT_EQ(strata_geostat_at(&observed.given, &c, &model), wrong.status);
    EXPECT_EQ(model, nullptr);
    EXPECT_NE(std::string(strata_message()).find(wrong.message), std::string::npos)
        << strata_message();
  }
}

TEST(CGeostat, NamesColumnsThatDependOnOthersAndPlacesThatRepeat) {
  Observed observed(30);
  strata_geostat* model = nullptr;
  auto c = covariance("exponential", 1, 0.2, 0, 0);
  observed.places.x[7] = observed.places.x[4];
  observed.places.y[7] = observed.places.y[4];
  observed.given.trend_columns = 0;
  EXPECT_EQ(strata_geostat_at(&observed.given, &c, &model), STRATA_INVALID_ARGUMENT);
  for (char const* number : {"5", "8"})
    EXPECT_NE(std::string(strata_message()).find(number), std::string::npos) << strata_message();
  c.nugget = 0.1;
  EXPECT_EQ(strata_geostat_at(&observed.given, &c, &model), STRATA_SUCCESS) << strata_message();
  strata_geostat_destroy(model);
  for (std::size_t i = 0; i < 30; ++i) observed.columns[30 + i] = 2;
  observed.given.trend_columns = 2;
  EXPECT_EQ(strata_geostat_at(&observed.given, &c, &model), STRATA_INVALID_ARGUMENT);
  EXPECT_NE(std::string(strata_message()).find("x"), std::string::npos) << strata_message();
}

TEST(CGeostat, TellsOfCopiesThatDecideAFit) {
  Observed observed(60);
  observed.given.trend_columns = 0;
  observed.places.x[9] = observed.places.x[2];
  observed.places.y[9] = observed.places.y[2];
  observed.values[9] = observed.values[2];
  strata_geostat* made = nullptr;
  ASSERT_EQ(strata_geostat_fit(&observed.given, nullptr, &made), STRATA_SUCCESS)
      << strata_message();
  EXPECT_NE(std::string(strata_message()).find("(observations 3 and 10)"), std::string::npos)
      << strata_message();
  strata_geostat_destroy(made);
}

TEST(CGeostat, MatrixWithoutAFactorIsAStatus) {
  Observed observed(60);
  auto const c = covariance("gaussian", 1, 50, 0, 0);
  strata_geostat* model = nullptr;
  EXPECT_EQ(strata_geostat_at(&observed.given, &c, &model), STRATA_NOT_POSITIVE_DEFINITE);
  EXPECT_EQ(model, nullptr);
  EXPECT_NE(std::string(strata_message()).find("leading minor"), std::string::npos);
}

TEST(CGeostat, FitEndsWhereItIsToldTo) {
  Observed const observed(60);
  strata_fit_options options{};
  options.struct_size = sizeof options;
  std::int64_t calls = 0;
  options.context = &calls;
  options.on_step = [](void* context, std::int64_t evaluation, double value) {
    EXPECT_TRUE(std::isfinite(value));
    *static_cast<std::int64_t*>(context) = evaluation;
    return evaluation == 2 ? 1 : 0;
  };
  strata_geostat* model = nullptr;
  EXPECT_EQ(strata_geostat_fit(&observed.given, &options, &model), STRATA_NOT_CONVERGED);
  EXPECT_EQ(model, nullptr);
  EXPECT_STREQ(strata_message(), "on_step ended the fit after 2 evaluations");
  EXPECT_EQ(calls, 2);
  options.on_step = nullptr;
  options.max_evaluations = 2;
  EXPECT_EQ(strata_geostat_fit(&observed.given, &options, &model), STRATA_NOT_CONVERGED);
  Handle const best(model);
  ASSERT_NE(best, nullptr);
  EXPECT_EQ(report_of(best).converged, 0);
}

TEST(CGeostat, FitTakesStartBoundsAndWhatIsFixed) {
  Observed const observed(60);
  auto start = covariance("exponential+spherical", 1, 0.2, 0, 0.1);
  start.sigma2_2 = 1;
  start.range_2 = 0.4;
  strata_fit_options options{};
  options.struct_size = sizeof options;
  options.start = &start;
  options.fixed = "nugget,range_2=0.3";
  strata_geostat* made = nullptr;
  ASSERT_EQ(strata_geostat_fit(&observed.given, &options, &made), STRATA_SUCCESS)
      << strata_message();
  Handle const model(made);
  EXPECT_EQ(covariance_of(model).nugget, 0.1);
  EXPECT_EQ(covariance_of(model).range_2, 0.3);
  EXPECT_EQ(report_of(model).parameters, 3);
  for (char const* wrong : {"nu", "sill", "range=", "range=2x", "range=0x1p-2", "nugget,,range"}) {
    options.fixed = wrong;
    EXPECT_EQ(strata_geostat_fit(&observed.given, &options, &made), STRATA_INVALID_ARGUMENT)
        << wrong;
    EXPECT_NE(std::string(strata_message()).find("fixed: "), std::string::npos) << strata_message();
  }
  options.fixed = nullptr;
  options.family = "matern";
  EXPECT_EQ(strata_geostat_fit(&observed.given, &options, &made), STRATA_INVALID_ARGUMENT);
  EXPECT_NE(std::string(strata_message()).find("exponential+spherical"), std::string::npos);
}

TEST(CGeostat, ShorterStructsOfOlderProgramsAreTaken) {
  Observed observed(30);
  auto c = covariance("exponential", 1, 0.2, 0, 0.1);
  c.struct_size = offsetof(strata_covariance, angle);
  observed.given.trend_columns = 0;
  observed.given.struct_size = offsetof(strata_observations, metric);
  auto const model = model_at(observed, c);
  strata_geostat_report report{};
  report.struct_size = offsetof(strata_geostat_report, noise);
  report.noise = -1;
  ASSERT_EQ(strata_geostat_describe(model.get(), &report), STRATA_SUCCESS);
  EXPECT_EQ(report.noise, -1);
  EXPECT_NE(report.log_likelihood, 0);
}

}  // namespace
}  // namespace strata::test::c_geostat
