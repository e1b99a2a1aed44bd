// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include <core/Strata_Errors.hpp>
#include <geostat/detail/Strata_MaternKernel.hpp>
#include <geostat/model/detail/Strata_BesselK.hpp>

#include <Kokkos_Core.hpp>

#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/expint.hpp>
#include <boost/multiprecision/cpp_dec_float.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

namespace {

using strata::geostat::detail::BesselK;
using strata::geostat::detail::MaternCorrelation;
using strata::geostat::detail::MaternGradient;
using strata::geostat::detail::MaternTerms;
using Wide = boost::multiprecision::cpp_dec_float_50;

constexpr double tolerance = 1e-13;  // what BesselK promises

std::vector<double> const orders = {
    1e-300, 1e-12,    1e-3, 0.05, 0.25, 0.4999, 0.5, 0.5001, 0.75, 0.83, std::nextafter(1., 0),
    1,      1 + 1e-9, 1.4,  1.5,  2,    2.5,    3.7, 10,     17.3, 30,   49.5,
    50};

// Where the methods change, around 2, densely.
std::vector<double> arguments() {
  std::vector<double> x = {std::nextafter(2., 0), 2, std::nextafter(2., 3)};
  for (double v = 1e-300; v < 1e-8; v *= 1e37) x.push_back(v);
  for (double v = 1e-8; v < 700; v *= v > 0.5 && v < 8 ? 1.05 : 1.9) x.push_back(v);
  return x;
}

double error_of(double value, Wide const& exact) {
  return static_cast<double>(abs(Wide(value) - exact) / exact);
}

TEST(BesselK, IsThatOfBoostInFiftyDigits) {
  for (double const nu : orders) {
    BesselK const K(nu);
    Wide const scale = pow(Wide(2), 1 - Wide(nu)) / boost::math::tgamma(Wide(nu));
    for (double const x : arguments()) {
      Wide const exact = boost::math::cyl_bessel_k(Wide(nu), Wide(x)),
                 matern = scale * pow(Wide(x), Wide(nu)) * exact;
      if (exact < std::numeric_limits<double>::max()) {
        EXPECT_LE(error_of(K(x), exact), tolerance) << nu << " " << x;
      } else {
        EXPECT_EQ(K(x), INFINITY) << nu << " " << x;
      }
      if (matern > std::numeric_limits<double>::min()) {
        EXPECT_LE(error_of(K.matern(x), matern), tolerance) << nu << " " << x;
      }
    }
  }
}

TEST(BesselK, HalfIntegersHaveClosedForms) {
  for (double x = 1e-5; x < 700; x *= 1.3) {
    double const half = std::sqrt(std::acos(-1.) / (2 * x)) * std::exp(-x);
    EXPECT_NEAR(BesselK(0.5)(x) / half, 1, tolerance) << x;
    EXPECT_NEAR(BesselK(1.5)(x) / (half * (1 + 1 / x)), 1, tolerance) << x;
    EXPECT_NEAR(BesselK(2.5)(x) / (half * (1 + 3 / x + 3 / (x * x))), 1, tolerance) << x;
  }
}

TEST(BesselK, FallsInItsArgumentAndRisesInItsOrder) {
  for (double const nu : orders) {
    BesselK const K(nu);
    double last = INFINITY, last_matern = 1;
    for (double x = 1e-320; x < 1e4; x *= x < 1e-3 ? 1e9 : 1.01) {
      ASSERT_LE(K(x), last * (1 + tolerance)) << nu << " " << x;
      ASSERT_LE(K.matern(x), last_matern * (1 + tolerance)) << nu << " " << x;
      last = K(x);
      last_matern = K.matern(x);
      ASSERT_GE(last_matern, 0);
    }
    EXPECT_EQ(last, 0) << nu;
    EXPECT_EQ(last_matern, 0) << nu;
  }
  for (double const x : {1e-3, 0.5, 1.99, 2.01, 30.0})
    for (double nu = 0.01; nu < 49; nu += 0.37)
      ASSERT_LT(BesselK(nu)(x), BesselK(nu + 0.37)(x)) << nu << " " << x;
}

TEST(BesselK, EndsOfTheRange) {
  for (double const nu : orders) {
    BesselK const K(nu);
    EXPECT_EQ(K(0), INFINITY) << nu;
    EXPECT_EQ(K.matern(0), 1) << nu;
    EXPECT_EQ(K(INFINITY), 0) << nu;
    EXPECT_EQ(K.matern(INFINITY), 0) << nu;
    EXPECT_TRUE(std::isnan(K(NAN)) && std::isnan(K.matern(NAN))) << nu;
  }
  EXPECT_GT(BesselK(50).matern(700), 1e-240);  // e^-700 alone is far below, x^nu lifts it
}

TEST(BesselK, RefusesAnOrderOutsideItsRange) {
  for (double const nu : {0.0, -1.0, std::nextafter(50., 51), static_cast<double>(NAN)})
    EXPECT_THROW(BesselK{nu}, strata::ValueError) << nu;
  try {
    BesselK const K(51);
    FAIL();
  } catch (strata::ValueError const& error) {
    EXPECT_STREQ(error.what(), "BesselK: the order nu is 51, must be in (0, 50]");
  }
}

// By central differences in fifty digits, with an error of 1e-24 of M / nu.
Wide by_nu(Wide const& nu, Wide const& x) {
  auto const M = [&x](Wide const& order) {
    return Wide(pow(Wide(2), 1 - order) / boost::math::tgamma(order) * pow(x, order) *
                boost::math::cyl_bessel_k(order, x));
  };
  Wide const h = nu * 1e-12;
  return (M(nu + h) - M(nu - h)) / (2 * h);
}

// What MaternGradient promises.
double bound(double nu, double x, double value) {
  return 1e-13 * (x > 2 ? value * (1 + 1 / nu + std::log(x)) : 1 + 1 / nu);
}

TEST(MaternGradient, IsThatOfBoostInFiftyDigits) {
  double worst = 0;
  for (double const nu : orders) {
    MaternGradient const gradient(nu);
    BesselK const K(nu);
    Wide const scale = pow(Wide(2), 1 - Wide(nu)) / boost::math::tgamma(Wide(nu));
    for (double const x : arguments()) {
      double const value = K.matern(x);
      if (value < std::numeric_limits<double>::min()) continue;
      auto const found = gradient(x);
      EXPECT_NEAR(found.value, value, 1e-13 * value) << nu << " " << x;
      Wide const by_log_range =
          scale * pow(Wide(x), Wide(nu) + 1) * boost::math::cyl_bessel_k(Wide(nu) - 1, Wide(x));
      EXPECT_LE(abs(Wide(found.by_log_range) - by_log_range),
                1e-13 * (x > 2 ? static_cast<double>(by_log_range) : 1))
          << nu << " " << x;
      auto const error = static_cast<double>(abs(Wide(found.by_nu) - by_nu(Wide(nu), Wide(x))));
      EXPECT_LE(error, bound(nu, x, value)) << nu << " " << x;
      worst = std::max(worst, error / bound(nu, x, value));
    }
  }
  std::printf("worst error of d/dnu %.2f of what is promised\n", worst);
}

TEST(MaternGradient, HalfIntegersHaveClosedForms) {
  for (double x = 1e-5; x < 300; x *= 1.3) {
    double const e = std::exp(-x);
    EXPECT_NEAR(MaternGradient(0.5)(x).by_log_range, x * e, 1e-13 * std::max(e * x, 1e-3)) << x;
    EXPECT_NEAR(MaternGradient(1.5)(x).by_log_range, x * x * e, 1e-13 * x * x * e) << x;
    EXPECT_NEAR(MaternGradient(2.5)(x).by_log_range, x * x * (1 + x) / 3 * e,
                1e-13 * x * x * (1 + x) * e)
        << x;
    // DLMF 10.38.7: dK/dnu = sqrt(pi / 2x) e^x E1(2x), and digamma(1/2) = -gamma - 2 log 2.
    double const expected = e * (std::log(x / 2) + 1.96351002602142347944) +
                            std::exp(x) * boost::math::expint(1, 2 * x);
    EXPECT_NEAR(MaternGradient(0.5)(x).by_nu, expected, bound(0.5, x, e)) << x;
  }
}

TEST(MaternGradient, EndsOfTheRange) {
  for (double const nu : orders) {
    MaternGradient const gradient(nu);
    auto const same = [&](double x, MaternTerms const& terms) {
      auto const found = gradient(x);
      EXPECT_EQ(found.value, terms.value) << nu << " " << x;
      EXPECT_EQ(found.by_log_range, terms.by_log_range) << nu << " " << x;
      EXPECT_EQ(found.by_nu, terms.by_nu) << nu << " " << x;
    };
    same(0, {1, 0, 0});
    same(INFINITY, {0, 0, 0});
    EXPECT_TRUE(std::isnan(gradient(NAN).by_nu)) << nu;
  }
  EXPECT_THROW(MaternGradient(0), strata::ValueError);
}

// What K_nu needs takes 0.7 ms, which evaluations of a likelihood at nu = 1/2 must not cost.
TEST(MaternCorrelation, WorksOutNothingWhereThereIsAClosedForm) {
  auto const seconds = [](double nu) {  // in the best of a few rounds: others may run meanwhile
    double best = INFINITY;
    for (int round = 0; round < 5; ++round) {
      double sum = 0;
      auto const start = std::chrono::steady_clock::now();
      for (int k = 0; k < 10; ++k) sum += MaternCorrelation(nu)(1.0);
      EXPECT_GT(sum, 0);
      std::chrono::duration<double> const taken = std::chrono::steady_clock::now() - start;
      best = std::min(best, taken.count());
    }
    return best;
  };
  double const worked_out = seconds(0.83);
  for (double const nu : {0.5, 1.5, 2.5}) {
    EXPECT_LT(seconds(nu), worked_out / 5) << nu;
    EXPECT_NEAR(MaternCorrelation(nu)(1.0), BesselK(nu).matern(1.0), 1e-13) << nu;
  }
}

template <class Space>
class BesselKOnDevice : public testing::Test {};
TYPED_TEST_SUITE(BesselKOnDevice, strata::test::Spaces, strata::test::SpaceNames);

template <class View>
struct Evaluate {
  BesselK K;
  View x, plain, matern;
  KOKKOS_FUNCTION void operator()(int i) const {
    plain(i) = K(x(i));
    matern(i) = K.matern(x(i));
  }
};

// The device's own exp, log and pow within the same bound.
template <class Space>
void compare_with_host(double nu) {
  using View = Kokkos::View<double*, Space>;
  std::vector<double> const x = arguments();
  int const n = static_cast<int>(x.size());
  View const at("strata::test::x", n), plain("strata::test::plain", n),
      matern("strata::test::matern", n);
  Kokkos::deep_copy(at, Kokkos::View<double const*, Kokkos::HostSpace>(x.data(), n));
  Space const exec;
  BesselK const K(nu);
  Kokkos::parallel_for("strata::test::bessel", Kokkos::RangePolicy<Space>(exec, 0, n),
                       Evaluate<View>{K, at, plain, matern});
  exec.fence("strata::test::done");
  auto const plain_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), plain);
  auto const matern_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), matern);
  for (int i = 0; i < n; ++i) {
    if (std::isfinite(K(x[i]))) {
      EXPECT_NEAR(plain_host(i), K(x[i]), tolerance * K(x[i])) << nu << " " << x[i];
    } else {
      EXPECT_EQ(plain_host(i), K(x[i])) << nu << " " << x[i];
    }
    EXPECT_NEAR(matern_host(i), K.matern(x[i]), tolerance * K.matern(x[i])) << nu << " " << x[i];
  }
}

TYPED_TEST(BesselKOnDevice, IsThatOfTheHost) {
  for (double const nu : orders) compare_with_host<TypeParam>(nu);
}

}  // namespace
