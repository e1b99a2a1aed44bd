// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/fit/detail/Strata_Scoring.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace strata::geostat::detail;
using Vector = std::vector<double>;

double value(Quadratic const& model, Vector const& p) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    sum += model.g[i] * p[i];
    for (std::size_t j = 0; j < p.size(); ++j) sum -= p[i] * model.H[i][j] * p[j] / 2;
  }
  return sum;
}

TEST(BestStep, IsNewtonsWhereNothingHoldsIt) {
  Quadratic const model{{3, -1}, {{2, 0.5}, {0.5, 1}}};
  Vector const zero(2, 0), low(2, -10), high(2, 10);
  auto const step = best_step(model, zero, low, high, 100);
  double const det = 2 - 0.25;
  EXPECT_NEAR(step.p[0], (3 + 0.5) / det, 1e-12);
  EXPECT_NEAR(step.p[1], (-2 - 1.5) / det, 1e-12);
  EXPECT_NEAR(step.gain, value(model, step.p), 1e-12);
}

// No point of a fine grid in the box and the ball gains more.
TEST(BestStep, GainsMostInABoxAndABall) {
  Quadratic const model{{3, -1}, {{2, 1.3}, {1.3, 1}}};
  for (double const radius : {0.1, 1.0, 100.0})
    for (Vector const& low : {Vector{-0.2, -0.1}, {0, 0}, {-5, -0.5}})
      for (Vector const& high : {Vector{0.3, 0.2}, {0, 0.4}, {5, 5}}) {
        auto const step = best_step(model, Vector(2, 0), low, high, radius);
        EXPECT_LE(step.length, radius * (1 + 1e-6));
        double best = 0;
        for (int i = 0; i <= 200; ++i)
          for (int j = 0; j <= 200; ++j) {
            Vector const p = {low[0] + (high[0] - low[0]) * i / 200,
                              low[1] + (high[1] - low[1]) * j / 200};
            if (std::hypot(p[0], p[1]) <= radius) best = std::max(best, value(model, p));
          }
        for (int i = 0; i < 2; ++i) {
          EXPECT_GE(step.p[i], low[i]);
          EXPECT_LE(step.p[i], high[i]);
        }
        EXPECT_GT(step.gain, 0.8 * best - 1e-9) << radius << " " << low[0] << " " << high[0];
      }
}

TEST(BestStep, IsNothingWhereNothingIsToBeGained) {
  Quadratic const model{{0, 0, 0}, {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}};
  auto const step = best_step(model, Vector(3, 0), Vector(3, -1), Vector(3, 1), 1);
  EXPECT_EQ(step.gain, 0);
  EXPECT_EQ(step.p, Vector(3, 0));
}

// f = -log cosh(x - 1) - 3 (y - 2)^2 with a curvature that is said to be a third of the true one,
// from far away.
ScoringSearch valley(std::int64_t& evaluations) {
  ScoringSearch search;
  search.start = {-4, 0};
  search.lower = {-10, -10};
  search.upper = {10, 10};
  search.safe = {0, 0};
  search.max_evaluations = 200;
  static Vector at;
  search.value = [&evaluations](auto x) {
    ++evaluations;
    at.assign(x.begin(), x.end());
    return Scored{true, -std::log(std::cosh(x[0] - 1)) - 3 * (x[1] - 2) * (x[1] - 2), 0};
  };
  search.model = [] {
    double const t = std::tanh(at[0] - 1);
    return Quadratic{{-t, -6 * (at[1] - 2)}, {{(1 - t * t) / 3, 0}, {0, 2}}};
  };
  return search;
}

TEST(Scoring, FindsAMaximumWithAWrongCurvature) {
  std::int64_t evaluations = 0;
  auto const found = maximise(valley(evaluations));
  EXPECT_TRUE(found.converged) << found.reason;
  EXPECT_NEAR(found.x[0], 1, 1e-3);
  EXPECT_NEAR(found.x[1], 2, 1e-3);
  EXPECT_LT(evaluations, 30);
}

TEST(Scoring, EndsOnABoundToTheBit) {
  std::int64_t evaluations = 0;
  auto search = valley(evaluations);
  search.upper = {0.1, 0.3};
  auto const found = maximise(search);
  EXPECT_TRUE(found.converged) << found.reason;
  EXPECT_EQ(found.x, search.upper);
}

TEST(Scoring, SaysThatEvaluationsAreUsedUp) {
  std::int64_t evaluations = 0;
  auto search = valley(evaluations);
  search.max_evaluations = 3;
  auto const found = maximise(search);
  EXPECT_FALSE(found.converged);
  EXPECT_EQ(found.reason, "the evaluations are used up");
  EXPECT_EQ(evaluations, 3);
}

TEST(Scoring, StopsWhereNoiseHidesMore) {
  std::int64_t evaluations = 0;
  auto search = valley(evaluations);
  auto const exact = search.value;
  search.value = [&](auto x) {
    auto result = exact(x);
    result.value += 0.01 * std::sin(1e6 * x[0]);
    result.noise = 0.01;
    return result;
  };
  auto const found = maximise(search);
  EXPECT_TRUE(found.converged);
  EXPECT_NE(found.reason.find("by more than its error, 0.01"), std::string::npos) << found.reason;
}

// A slope that is said to be ten thousand times the true one, within what the noise forgives.
TEST(Scoring, EndsWhereManyStepsGainNothingThatCounts) {
  std::int64_t evaluations = 0;
  ScoringSearch search;
  search.start = search.lower = search.safe = {0};
  search.upper = {1e9};
  search.max_evaluations = 500;
  search.value = [&](auto x) {
    ++evaluations;
    return Scored{true, 1e-10 * x[0], 1e-6};
  };
  search.model = [] { return Quadratic{{1e-6}, {{1e-6}}}; };
  auto const found = maximise(search);
  EXPECT_TRUE(found.converged) << found.reason;
  EXPECT_NE(found.reason.find("the last 10 evaluations gained no more than"), std::string::npos)
      << found.reason;
  EXPECT_LE(evaluations, 12);
}

// A floor that rises by 1e-6 along a parabola: steps along it gain little each, and more than a
// step that would end the search.
TEST(Scoring, EndsInABentValleyThatIsNearlyFlat) {
  ScoringSearch search;
  search.start = {0, 0};
  search.lower = {-1, -1};
  search.upper = {100, 1e4};
  search.safe = {0, 0};
  search.max_evaluations = 500;
  Vector at;
  search.value = [&](auto x) {
    at.assign(x.begin(), x.end());
    double const off = x[1] - x[0] * x[0];
    return Scored{true, 1e-6 * x[0] - 125 * off * off, 1e-12};
  };
  search.model = [&] {
    double const off = at[1] - at[0] * at[0], t = -2 * at[0];
    return Quadratic{{1e-6 - 250 * off * t, -250 * off}, {{250 * t * t, 250 * t}, {250 * t, 250}}};
  };
  auto const found = maximise(search);
  EXPECT_TRUE(found.converged) << found.reason;
  EXPECT_NE(found.reason.find("the last 20 evaluations gained no more than 2e-07"),
            std::string::npos)
      << found.reason;
}

// Beyond 2.2 the value is off by thousands, which is no reason to go there.
TEST(Scoring, TakesNoStepToWhereNothingIsKnown) {
  std::int64_t evaluations = 0;
  auto search = valley(evaluations);
  search.start = {0, 1.5};
  auto const exact = search.value;
  double reached = 0;
  search.value = [&](auto x) {
    auto result = exact(x);
    reached = x[1];
    result.noise = 1e-9;
    if (x[1] > 2.2) result.value -= 9000, result.noise = 8600;
    return result;
  };
  auto const model = search.model;
  search.model = [&] {
    EXPECT_LE(reached, 2.2);
    auto result = model();
    result.H[1][1] = 0.1;  // steps are far too long
    return result;
  };
  auto const found = maximise(search);
  EXPECT_TRUE(found.converged) << found.reason;
  EXPECT_NEAR(found.x[0], 1, 1e-3);
  EXPECT_NEAR(found.x[1], 2, 1e-3);
  EXPECT_LT(evaluations, 60);
}

// A start without a value is moved towards the safe point; a trial without one shortens the step.
TEST(Scoring, GoesRoundPointsWithoutAValue) {
  std::int64_t evaluations = 0;
  auto search = valley(evaluations);
  auto const everywhere = search.value;
  search.value = [&](auto x) {
    auto result = everywhere(x);
    result.defined = x[0] > -3;
    return result;
  };
  EXPECT_NEAR(maximise(search).x[0], 1, 1e-3);
  search.value = [&](auto x) {
    auto result = everywhere(x);
    result.defined = false;
    return result;
  };
  auto const nowhere = maximise(search);
  EXPECT_FALSE(nowhere.converged);
  EXPECT_TRUE(nowhere.model.g.empty());
}

}  // namespace
