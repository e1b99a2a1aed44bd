// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_SlowGradient.hpp"
#include "StrataTest_Spaces.hpp"
#include <geostat/Strata_FisherInformation.hpp>
#include <geostat/Strata_LikelihoodGradient.hpp>
#include <geostat/detail/Strata_CovarianceGradient.hpp>
#include <geostat/fit/Strata_Fit.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

using namespace strata;
using namespace strata::geostat;
using strata::test::message_of;
using strata::test::Numbers;
using strata::test::SlowMatrices;

template <class Space>
class FisherInformationTest : public testing::Test {};
TYPED_TEST_SUITE(FisherInformationTest, strata::test::Spaces, strata::test::SpaceNames);

// 1/2 trace(S^-1 S_j S^-1 S_k) by loops in long double.
std::array<Parameters, 4> by_loops(MaternCovariance const& c, Locations const& at) {
  SlowMatrices const slow(c, at);
  auto const n = static_cast<std::size_t>(slow.n);
  std::array<Numbers, 4> A;  // S^-1 S_k
  for (std::size_t k = 0; k < 4; ++k) {
    A[k].resize(n * n);
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t l = 0; l < n; ++l)
        for (std::size_t i = 0; i < n; ++i)
          A[k][i + n * j] += slow.inverse[i + n * l] * slow.derivative[k][l + n * j];
  }
  std::array<Parameters, 4> result{};
  for (std::size_t j = 0; j < 4; ++j)
    for (std::size_t k = 0; k < 4; ++k) {
      long double sum = 0;
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t l = 0; l < n; ++l) sum += A[j][i + n * l] * A[k][l + n * i];
      result[j][k] = static_cast<double>(sum / 2);
    }
  return result;
}

TYPED_TEST(FisherInformationTest, IsThatOfLoopsInLongDouble) {
  TypeParam const exec;
  double worst = 0;
  for (std::int64_t const n : {1, 2, 30, 60})
    for (double const nu : {0.3, 0.5, 0.7, 1.5, 2.5})
      for (double const nugget : {0., 0.1, 5.}) {
        MaternCovariance const c{.sigma2 = 2, .range = 0.1, .nu = nu, .nugget = nugget};
        Locations const at = synthetic_locations(n);
        CovarianceFactorOptions options;
        options.tile_size = n > 30 ? 16 : 0;
        CovarianceFactor<TypeParam> factor(exec, c, at, options);
        auto const found = fisher_information(exec, factor);
        auto const expected = by_loops(c, at);
        EXPECT_EQ(found.info, 0);
        EXPECT_TRUE(found.solve_converged);
        for (std::size_t j = 0; j < 4; ++j)
          for (std::size_t k = 0; k < 4; ++k) {
            EXPECT_EQ(found.of[j][k], found.of[k][j]);
            double const scale = std::sqrt(expected[j][j] * expected[k][k]),
                         error = std::abs(found.of[j][k] - expected[j][k]);
            EXPECT_LE(error, 1e-9 * scale) << to_string(c) << " n " << n << " " << j << " " << k
                                           << ": " << found.of[j][k] << " for " << expected[j][k];
            if (scale > 0) worst = std::max(worst, error / scale);
          }
      }
  std::printf("largest error of an information: %.1e of it\n", worst);
}

// 1/2 trace(S^-1 S_j S^-1 S_k) by loops, with S_k as the library evaluates its entries.
std::array<Parameters, 4> by_loops_in_double(MaternCovariance const& c, Locations const& at) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  geostat::detail::CovarianceGradient<Host::memory_space> const gradient(Host(), c, at,
                                                                         {true, true, true, true});
  auto const n = static_cast<std::size_t>(at.size());
  auto const derivative = [&](std::size_t k, std::size_t i, std::size_t j) {
    return gradient(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)).of[k];
  };
  std::vector<double> L(n * n);  // S = L L', column by column
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = j; i < n; ++i)
      L[i + n * j] = c.sigma2 * derivative(0, i, j) + (i == j ? c.nugget : 0);
  for (std::size_t k = 0; k < n; ++k) {
    double const pivot = std::sqrt(L[k + n * k]);
    for (std::size_t i = k; i < n; ++i) L[i + n * k] /= pivot;
    for (std::size_t j = k + 1; j < n; ++j)
      for (std::size_t i = j; i < n; ++i) L[i + n * j] -= L[i + n * k] * L[j + n * k];
  }
  std::array<std::vector<double>, 4> A;  // S^-1 S_k
  for (std::size_t k = 0; k < 4; ++k) {
    A[k].resize(n * n);
    for (std::size_t j = 0; j < n; ++j) {
      double* const x = A[k].data() + n * j;
      for (std::size_t i = 0; i < n; ++i) x[i] = derivative(k, i, j);
      for (std::size_t l = 0; l < n; ++l) {
        x[l] /= L[l + n * l];
        for (std::size_t i = l + 1; i < n; ++i) x[i] -= L[i + n * l] * x[l];
      }
      for (std::size_t l = n; l-- > 0;) {
        for (std::size_t i = l + 1; i < n; ++i) x[l] -= L[i + n * l] * x[i];
        x[l] /= L[l + n * l];
      }
    }
  }
  std::array<Parameters, 4> result{};
  for (std::size_t j = 0; j < 4; ++j)
    for (std::size_t k = 0; k < 4; ++k)
      for (std::size_t l = 0; l < n; ++l)
        for (std::size_t i = 0; i < n; ++i) result[j][k] += A[j][i + n * l] * A[k][l + n * i] / 2;
  return result;
}

// Two blocks of columns, and three squares of them. Within c n eps, c = 100, at a condition of
// about as much.
TYPED_TEST(FisherInformationTest, IsThatOfLoopsInManyBlocks) {
  TypeParam const exec;
  MaternCovariance const c{.sigma2 = 2, .range = 0.1, .nu = 0.7, .nugget = 0.5};
  Locations const at = synthetic_locations(600);
  auto const expected = by_loops_in_double(c, at);
  CovarianceFactor<TypeParam> factor(exec, c, at);
  auto const found = fisher_information(exec, factor);
  for (std::size_t j = 0; j < 4; ++j)
    for (std::size_t k = 0; k < 4; ++k)
      EXPECT_NEAR(found.of[j][k], expected[j][k],
                  100 * 600 * 0x1p-52 * std::sqrt(expected[j][j] * expected[k][k]))
          << j << " " << k;
}

// More than one block of columns. Without correlation the information of sigma2 is n / (2 v^2).
TYPED_TEST(FisherInformationTest, HasAClosedFormForWhiteNoise) {
  TypeParam const exec;
  std::int64_t const n = 700;
  CovarianceFactor<TypeParam> factor(exec, {2, 1e-6, 0.5, 0.5}, synthetic_locations(n));
  auto const found = fisher_information(exec, factor);
  double const expected = static_cast<double>(n) / (2 * 2.5 * 2.5);
  for (std::size_t const j : {0, 3})
    for (std::size_t const k : {0, 3}) EXPECT_NEAR(found.of[j][k], expected, 1e-11 * expected);
  for (std::size_t const j : {1, 2})
    for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(found.of[j][k], 0);
  auto const errors = standard_errors(found, factor.covariance(), {true, true, true, true});
  EXPECT_EQ(errors.reasons[1], "the observations tell nothing about this parameter");
  EXPECT_EQ(errors.reasons[2], "the observations tell nothing about this parameter");
  EXPECT_EQ(errors.reasons[0], "the observations do not tell it apart from the others");
  for (double const error : errors.of) EXPECT_TRUE(std::isnan(error));
  auto const alone = standard_errors(found, factor.covariance(), {true, false, false, false});
  EXPECT_NEAR(alone.of[0], 2.5 * std::sqrt(2. / static_cast<double>(n)), 1e-12);
  EXPECT_NEAR(alone.of_logarithm[0], alone.of[0] / 2, 1e-15);
  EXPECT_EQ(alone.correlation[0][0], 1);
  EXPECT_EQ(alone.reasons[0], "");
  EXPECT_EQ(alone.reasons[1], "not estimated");
  EXPECT_TRUE(std::isnan(alone.of_logarithm_of_ratio));
}

// Two standard errors and a correlation by hand: I = [[4, 2], [2, 4]] of sigma2 = 2 and range = 3.
TEST(StandardErrors, AreThoseOfTheInverse) {
  FisherInformation information;
  for (auto& row : information.of) row = {NAN, NAN, NAN, NAN};
  information.of[0] = {4, 2, NAN, NAN};
  information.of[1] = {2, 4, NAN, NAN};
  auto const errors = standard_errors(information, {2, 3, 0.5, 0}, {true, true, false, false});
  for (std::size_t const k : {0, 1}) EXPECT_NEAR(errors.of[k], std::sqrt(1. / 3), 1e-15) << k;
  EXPECT_NEAR(errors.of_logarithm[1], std::sqrt(1. / 3) / 3, 1e-15);
  EXPECT_NEAR(errors.correlation[0][1], -0.5, 1e-15);
  EXPECT_TRUE(std::isnan(errors.of[2]) && std::isnan(errors.correlation[0][2]));
  // Of log sigma2 - log range: variances 1/12 and 1/27, covariance -1/36.
  EXPECT_NEAR(errors.of_logarithm_of_ratio, std::sqrt(1. / 12 + 1. / 27 + 2. / 36), 1e-15);
}

// The negated mean of second differences over fields drawn from theta is the information: here the
// variance of the gradient, which is the same.
TYPED_TEST(FisherInformationTest, IsTheVarianceOfTheGradient) {
  TypeParam const exec;
  int const fields = 60;
  Locations const at = synthetic_locations(150);
  MaternCovariance const c{.sigma2 = 2, .range = 0.1, .nu = 0.7, .nugget = 0.2};
  CovarianceFactor<TypeParam> factor(exec, c, at);
  auto const information = fisher_information(exec, factor);
  for (Mean const mean : {Mean::None, Mean::Constant}) {
    Parameters squares{};
    for (int seed = 1; seed <= fields; ++seed) {
      auto const gradient =
          log_likelihood_gradient(exec, factor, synthetic_field(exec, c, at, seed), mean);
      for (std::size_t k = 0; k < 4; ++k) squares[k] += gradient.by[k] * gradient.by[k] / fields;
    }
    // The mean of 60 squares of a nearly normal number: standard deviation sqrt(2/60) = 0.18.
    for (std::size_t k = 0; k < 4; ++k)
      EXPECT_NEAR(squares[k] / information.of[k][k], 1, 4 * 0.18) << k << " " << name_of(mean);
  }
}

TYPED_TEST(FisherInformationTest, HasWhatIsWantedAlone) {
  TypeParam const exec;
  CovarianceFactor<TypeParam> factor(exec, {2, 0.1, 0.7, 0.1}, synthetic_locations(80));
  auto const all = fisher_information(exec, factor);
  for (int bits = 0; bits < 16; ++bits) {
    std::array<bool, 4> const wanted = {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0,
                                        (bits & 8) != 0};
    auto const some = fisher_information(exec, factor, {.wanted = wanted});
    for (std::size_t j = 0; j < 4; ++j)
      for (std::size_t k = 0; k < 4; ++k) {
        if (wanted[j] && wanted[k])
          EXPECT_EQ(some.of[j][k], all.of[j][k]) << bits;
        else
          EXPECT_TRUE(std::isnan(some.of[j][k])) << bits;
      }
  }
}

TYPED_TEST(FisherInformationTest, IsAsExactWithLowTiles) {
  TypeParam const exec;
  Locations const at = synthetic_locations(700);
  MaternCovariance const c{.range = 0.078809, .nugget = 0.01};
  CovarianceFactor<TypeParam> exact(exec, c, at);
  CovarianceFactorOptions options({.accuracy = 1e-4});
  options.tile_size = 64;
  CovarianceFactor<TypeParam> low(exec, c, at, options);
  ASSERT_GT(low.report().tiles[1] + low.report().tiles[2] + low.report().tiles[3], 10);
  auto const expected = fisher_information(exec, exact), found = fisher_information(exec, low);
  EXPECT_TRUE(found.solve_converged);
  EXPECT_LT(found.backward_error, 1e-14);
  EXPECT_GT(found.backward_error, 0);
  for (std::size_t j = 0; j < 4; ++j)
    for (std::size_t k = 0; k < 4; ++k)
      EXPECT_NEAR(found.of[j][k], expected.of[j][k],
                  1e-9 * std::sqrt(expected.of[j][j] * expected.of[k][k]));
}

// Places so far apart that the derivatives by the range are subnormal numbers, whose own spacing is
// above a solve's tolerance. The other solves converge, these do not, and the information says so.
TYPED_TEST(FisherInformationTest, SaysWhereSolvesDidNotConverge) {
  TypeParam const exec;
  Locations at;
  for (int i = 0; i < 64; ++i) {
    at.x.push_back(1e6 * i);
    at.y.push_back(0);
  }
  CovarianceFactorOptions options({.accuracy = 1e-2});
  options.tile_size = 16;
  CovarianceFactor<TypeParam> factor(exec, {1, 1e6 / 742, 0.5, 0.1}, at, options);
  ASSERT_TRUE(factor.info().ok() && factor.map().is_mixed());
  EXPECT_TRUE(
      fisher_information(exec, factor, {.wanted = {true, false, false, true}}).solve_converged);
  auto const found = fisher_information(exec, factor, {.wanted = {true, true, false, true}});
  EXPECT_FALSE(found.solve_converged);
  EXPECT_GT(found.backward_error, 1e-14);
}

TYPED_TEST(FisherInformationTest, SaysWhatItNeedsAndWhyThereIsNone) {
  TypeParam const exec;
  CovarianceFactor<TypeParam> factor(exec, {}, synthetic_locations(100));
  EXPECT_EQ(fisher_bytes_needed(100), 160000u);
  EXPECT_EQ(fisher_bytes_needed(100, {true, true, false, true}), 80000u);
  EXPECT_EQ(fisher_bytes_needed(100, {true, false, false, true}), 0u);
  // Of 20 blocks of 512 columns 11 x 10 squares are kept at most.
  EXPECT_EQ(fisher_bytes_needed(20 * 512), 2U * 110 * 8 * 512 * 512);
  EXPECT_EQ(fisher_bytes_needed(0), 0u);
  EXPECT_NE(message_of<MemoryError>([] { (void)fisher_bytes_needed(std::int64_t{1} << 40); }), "");
  EXPECT_EQ(message_of<ShapeError>([] { (void)fisher_bytes_needed(-1, {}, 1); }),
            "fisher_information: -1 x 0");
  EXPECT_EQ(message_of<ValueError>([] { (void)fisher_bytes_needed(100, {true}, 0); }),
            "fisher_information: 0 ranks, must be at least 1");
  EXPECT_EQ(
      message_of<MemoryError>(
          [&] { (void)fisher_information(exec, factor, {.max_bytes = 159999}); }),
      "fisher_information: 160000 bytes are needed for 100 observations, max_bytes is 159999");
  CovarianceFactor<TypeParam> nowhere(exec, {}, synthetic_locations(0));
  for (auto const& row : fisher_information(exec, nowhere).of)
    for (double const of : row) EXPECT_EQ(of, 0);
  CovarianceFactor<TypeParam> broken(exec, {.range = 100, .nu = 20}, synthetic_locations(100));
  auto const none = fisher_information(exec, broken);
  EXPECT_EQ(none.info, broken.info().order());
  EXPECT_TRUE(std::isnan(none.of[0][0]));
  auto const errors = standard_errors(none, broken.covariance(), {true, false, false, false});
  EXPECT_TRUE(std::isnan(errors.of[0]));
  EXPECT_EQ(errors.reasons[0], "the covariance matrix is not positive definite");
}

// Forty fields: the estimates are as far from the truth as their standard errors say. z = (estimate
// - truth) / error, in logarithms: the mean of 40 squares is 1 with a standard deviation of
// sqrt(2/40) = 0.22, and a bias that range and sigma2 have at this size.
TYPED_TEST(FisherInformationTest, StandardErrorsAreTheSizeOfTheErrors) {
  if (!can_fit()) GTEST_SKIP() << "without NLopt";
  TypeParam const exec;
  int const fields = 40;
  Locations const at = synthetic_locations(300);
  MaternCovariance const truth{.sigma2 = 1, .range = 0.1, .nu = 0.5, .nugget = 0.5};
  FitOptions options;
  options.start = truth;
  options.lower = {0.01, 0.002, 0.1, 1e-4};
  options.upper = {100, 5, 3, 10};
  options.fixed = {false, false, true, false};
  options.tolerance = 1e-4;
  Parameters squares{};
  Parameters const true_values = parameters_of(truth);
  for (int seed = 1; seed <= fields; ++seed) {
    auto const y = synthetic_field(exec, truth, at, static_cast<std::uint64_t>(seed));
    auto found = fit(exec, at, y, options);
    auto const information =
        fisher_information(exec, *found.factor, {.wanted = {true, true, false, true}});
    auto const errors = standard_errors(information, found.theta, {true, true, false, true});
    Parameters const values = parameters_of(found.theta);
    for (std::size_t const k : {0, 1, 3}) {
      ASSERT_EQ(errors.reasons[k], "") << seed;
      squares[k] +=
          std::pow(std::log(values[k] / true_values[k]) / errors.of_logarithm[k], 2) / fields;
    }
  }
  std::printf("mean squares of z: sigma2 %.2f, range %.2f, nugget %.2f\n", squares[0], squares[1],
              squares[3]);
  for (std::size_t const k : {0, 1, 3}) {
    EXPECT_GT(squares[k], 0.4) << k;
    EXPECT_LT(squares[k], 1.9) << k;
  }
}

TYPED_TEST(FisherInformationTest, TellsWhatPartIsDone) {
  TypeParam const exec;
  CovarianceFactor<TypeParam> factor(exec, {.nu = 0.5, .nugget = 0.1}, synthetic_locations(600));
  std::vector<double> parts;
  FisherOptions const options{.wanted = {true, false, false, true},
                              .on_progress = [&](double part) { parts.push_back(part); }};
  EXPECT_EQ(fisher_information(exec, factor, options).info, 0);
  EXPECT_EQ(parts, (std::vector<double>{512.0 / 600, 1}));
}

}  // namespace
