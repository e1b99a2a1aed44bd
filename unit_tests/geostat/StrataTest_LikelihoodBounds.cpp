// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What is said of the errors of the parts of a log-likelihood.
#include "StrataTest_Field.hpp"
#include "StrataTest_Spaces.hpp"
#include <geostat/Strata_Likelihood.hpp>
#include <ooc/tiles/Strata_TileStore.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace {

using namespace strata;
using namespace strata::geostat;
using strata::ooc::TileStorage;
using strata::test::Numbers;
using strata::test::SlowField;
using strata::test::some_values;

template <class Space>
class LikelihoodBounds : public testing::Test {};
TYPED_TEST_SUITE(LikelihoodBounds, strata::test::Spaces, strata::test::SpaceNames);

/// The covariance matrix as this device has it.
template <class Exec>
HostMatrix entries_of(Exec const& exec, MaternCovariance const& c, Locations const& at) {
  using Block = typename CovarianceFactor<Exec>::Block;
  auto const n = static_cast<std::size_t>(at.size());
  HostMatrix const S("strata::test::likelihood::S", n, n),
      ones("strata::test::likelihood::ones", n, n);
  for (std::size_t i = 0; i < n; ++i) ones(i, i) = 1;
  Block const I("strata::test::likelihood::I", n, n), Y("strata::test::likelihood::Y", n, n);
  Kokkos::deep_copy(exec, I, ones);
  CovarianceFactor<Exec>(exec, c, at).apply(exec, I, Y);
  Kokkos::deep_copy(exec, S, Y);
  exec.fence("strata::test::likelihood::entries");
  return S;
}

// Fields smoother than the locations are apart, up to where rounding leaves no factor. The parts of
// the log-likelihood are the long double matrix's within the stated errors, and these say when
// nothing is known.
TYPED_TEST(LikelihoodBounds, StateWhatRoundingLeavesOfIt) {
  TypeParam const exec;
  int const n = 80;
  Locations const at = synthetic_locations(n);
  std::vector<double> smooth(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < smooth.size(); ++i) smooth[i] = at.x[i] * at.x[i] + at.y[i];
  auto const rough = some_values(n);
  int known = 0, lost = 0;
  double worst = 0;
  for (double const nu : {0.5, 1.5, 2.5, 4.0, 6.0})
    for (double const range : {0.02, 0.1, 0.3, 0.5, 0.65})
      for (bool const is_smooth : {false, true}) {
        MaternCovariance const c{.sigma2 = 2, .range = range, .nu = nu, .nugget = 0};
        auto const& y = is_smooth ? smooth : rough;
        auto const found = log_likelihood(exec, c, at, y, Mean::Constant);
        if (found.info != 0) continue;
        SCOPED_TRACE(std::to_string(nu) + " " + std::to_string(range) +
                     (is_smooth ? " smooth" : ""));
        SlowField const slow(n, [S = entries_of(exec, c, at)](std::int64_t i, std::int64_t j) {
          return static_cast<long double>(
              S(static_cast<std::size_t>(i), static_cast<std::size_t>(j)));
        });
        Numbers const wide(y.begin(), y.end()), ones(y.size(), 1);
        auto residual = wide;
        long double const mean = slow.form(ones, wide) / slow.form(ones, ones);
        for (auto& value : residual) value -= mean;
        auto const form = static_cast<double>(slow.form(residual, residual));
        EXPECT_LE(std::abs(found.quadratic_form - form), found.quadratic_form_error);
        EXPECT_LE(
            std::abs(found.log_likelihood - static_cast<double>(slow.log_likelihood(wide, true))),
            found.error());
        EXPECT_EQ(found.error(), (found.log_det_error + found.quadratic_form_error) / 2);
        double const off = std::abs(found.quadratic_form - form);
        worst = std::max(worst, off / found.quadratic_form_error);
        known += found.error() < 1e-6;
        lost += found.error() > 1;
      }
  EXPECT_GE(known, 20);
  EXPECT_GE(lost, 2);
  EXPECT_GT(worst, 1e-3);  // a bar that is far too long would end searches early
}

// Of a mean that is 1e6 times the spread: what the weights' solve leaves of 1 counts times the
// mean, beside what it leaves of y. Each part of the error stated, from the backward error, the
// weights and the norms.
TYPED_TEST(LikelihoodBounds, StateWhatASolveLeavesOfEachPart) {
  TypeParam const exec;
  int const n = 100;
  Locations const at = synthetic_locations(n);
  MaternCovariance const c{.sigma2 = 2, .range = 0.1, .nu = 0.5, .nugget = 0.3};
  CovarianceFactor<TypeParam> factor(exec, c, at);
  auto y = some_values(n);
  double const sizes[] = {0, 1, 1e6};
  for (Mean const mean : {Mean::None, Mean::Constant})
    for (double const size : sizes) {
      auto values = y;
      for (double& value : values) value += size;
      auto const found = geostat::detail::weights(exec, factor, values, mean);
      auto const host = [](auto const& V) {
        return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), V);
      };
      auto const x = host(found.values);
      double of_y = 0, of_ones = 0, norm_x = 0, largest_y = 0, coefficient = 0;
      if (mean == Mean::Constant) {
        coefficient = found.coefficients[0];
        auto const trend = host(found.trend);  // S^-1 Q / L
        for (int i = 0; i < n; ++i) {
          double const ones = trend(i, 0) * found.L[0];
          of_ones = std::max(of_ones, std::abs(ones));
          of_y = std::max(of_y, std::abs(x(i, 0) + coefficient * ones));
        }
      }
      for (int i = 0; i < n; ++i) {
        if (mean == Mean::None) of_y = std::max(of_y, std::abs(x(i, 0)));
        norm_x = std::hypot(norm_x, x(i, 0));
        largest_y = std::max(largest_y, std::abs(values[static_cast<std::size_t>(i)]));
      }
      double const w = found.solve.backward_error, norm = factor.norm_inf(),
                   row = std::sqrt(norm * (c.sigma2 + c.nugget));
      ASSERT_GT(w, 0);
      double const left_of_y = w * (norm * of_y + largest_y) + 0x1p-53 * row * of_y,
                   left_of_ones = w * (norm * of_ones + 1) + 0x1p-53 * row * of_ones;
      double const rest = left_of_y + std::abs(coefficient) * left_of_ones;
      EXPECT_NEAR(found.quadratic_form_error /
                      (4 * rest * norm_x + 0x1p-51 * std::abs(found.quadratic_form)),
                  1, 1e-9)
          << size << ", " << name_of(mean);
      if (size == 1e6 && mean == Mean::Constant) {
        EXPECT_GT(std::abs(coefficient) * left_of_ones, left_of_y / 4);
      }
    }
}

// Of very smooth fields: the inverse is far larger than the pivots' reciprocals, by which its size
// was once taken.
TYPED_TEST(LikelihoodBounds, StateWhatRoundingLeavesOfLogDetsOfVerySmoothFields) {
  TypeParam const exec;
  double worst = 0;
  for (std::int64_t const n : {50, 80})
    for (std::uint64_t seed = 1; seed <= 12; ++seed)
      for (double const range : {0.2, 0.35, 0.5}) {
        Locations const at = synthetic_locations(n, seed);
        MaternCovariance const c{.sigma2 = 2, .range = range, .nu = 6, .nugget = 0};
        CovarianceFactor<TypeParam> const factor(exec, c, at);
        if (!factor.info().ok()) continue;
        auto const found = factor.log_determinant(exec);
        SlowField const slow(n, [S = entries_of(exec, c, at)](std::int64_t i, std::int64_t j) {
          return static_cast<long double>(
              S(static_cast<std::size_t>(i), static_cast<std::size_t>(j)));
        });
        double const off = std::abs(found.value - static_cast<double>(slow.log_det()));
        EXPECT_LE(off, found.error()) << n << " " << range << ", seed " << seed;
        worst = std::max(worst, off / found.error());
      }
  // The bar is 4 (sqrt(n) + 8) units of 2^-53 ||S^-1||_F, 68 at n = 80, of which sums in parts of
  // one leaf use 1 to 2: more than fifty times would end searches early.
  EXPECT_GT(worst, 0.02);
}

// With locations that are far apart S is diagonal, and sums of n terms are all that is rounded.
TYPED_TEST(LikelihoodBounds, StateWhatRoundingLeavesOfSums) {
  TypeParam const exec;
  int const n = 2000;
  Locations at;
  for (int i = 0; i < n; ++i) {
    at.x.push_back(i);
    at.y.push_back(0);
  }
  auto const y = some_values(n);
  for (double const sigma2 : {1e-9, 0.3, 1e200})
    for (auto const storage : {TileStorage::Host, TileStorage::Devices}) {
      SCOPED_TRACE(std::to_string(sigma2) + " " + std::string(name_of(storage)));
      MaternCovariance const c{.sigma2 = sigma2, .range = 1e-3, .nu = 0.5, .nugget = 0};
      CovarianceFactorOptions options;
      options.storage = storage;
      auto const found = log_likelihood(exec, c, at, y, Mean::None, options);
      long double form = 0;
      for (double const value : y)
        form += static_cast<long double>(value) * static_cast<long double>(value);
      form /= static_cast<long double>(sigma2);
      long double const log_det = n * std::log(static_cast<long double>(sigma2));
      EXPECT_LE(std::abs(found.quadratic_form - form), found.quadratic_form_error);
      EXPECT_LE(std::abs(found.log_det - log_det), found.log_det_error);
      EXPECT_LE(found.quadratic_form_error, 1e-13 * found.quadratic_form);
      EXPECT_LE(found.log_det_error, 1e-14 * n * (1 + std::abs(std::log(sigma2))));
    }
}

}  // namespace
