// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include <geostat/Strata_Matern.hpp>

#include <boost/math/special_functions/bessel.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::geostat;
constexpr double eps = std::numeric_limits<double>::epsilon();

template <class Exception>
std::string text_of(std::function<void()> const& call) {
  try {
    call();
  } catch (Exception const& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// The definition, in long double.
long double reference(MaternCovariance const& c, long double h) {
  if (h == 0) return c.sigma2;
  long double const x = h / c.range, nu = c.nu;
  return c.sigma2 * std::pow(2.0L, 1 - nu) / std::tgamma(nu) * std::pow(x, nu) *
         boost::math::cyl_bessel_k(nu, x);
}

TEST(MaternCovariance, IsTheDefinitionForAnySmoothness) {
  for (double const nu : {0.05, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 3.7, 10.0, 30.0}) {
    MaternCovariance const c{.sigma2 = 1.7, .range = 0.2, .nu = nu};
    for (double x = 1e-6; x < 200; x *= 1.7) {
      double const expected = static_cast<double>(reference(c, 0.2L * x));
      EXPECT_NEAR(c(0.2 * x), expected, 100 * eps * std::min(1.7, expected * (1 + x)))
          << nu << " " << x;
    }
  }
}

TEST(MaternCovariance, ClosedFormsMeetTheirGeneralNeighbours) {
  for (double const nu : {0.5, 1.5, 2.5})
    for (double const h : {0.0, 1e-9, 0.01, 0.1, 1.0, 5.0}) {
      MaternCovariance const closed{.nu = nu}, general{.nu = std::nextafter(nu, 9)};
      EXPECT_NEAR(closed(h), general(h), 100 * eps) << nu << " " << h;
    }
}

TEST(MaternCovariance, FallsFromTheVarianceToZeroAndIsNeverNan) {
  for (double const nu : {1e-3, 0.5, 0.7, 1.0, 1.5, 2.5, 17.0, 50.0}) {
    MaternCovariance const c{.sigma2 = 3, .range = 1e-3, .nu = nu};
    EXPECT_EQ(c(0), 3);
    double last = 3 * (1 + 1000 * eps);  // K_nu at tiny x loses |log x| eps
    for (double h = 1e-320; h < 1e300; h *= 30) {
      ASSERT_GE(c(h), 0) << nu << " " << h;
      ASSERT_LE(c(h), last) << nu << " " << h;
      last = c(h) * (1 + 1000 * eps);
    }
    EXPECT_EQ(c(1e300), 0);
  }
}

TEST(MaternCovariance, ParsesWhatItPrints) {
  MaternCovariance const c = MaternCovariance::parse("matern:1.5,0.1,0.5");
  EXPECT_EQ(std::tie(c.sigma2, c.range, c.nu, c.nugget), std::make_tuple(1.5, 0.1, 0.5, 0.0));
  EXPECT_EQ(MaternCovariance::parse("matern:2,1e2,1.5,0.25").nugget, 0.25);
  MaternCovariance const odd{
      .sigma2 = 1. / 3, .range = 0.026270000000000002, .nu = 0.8, .nugget = 1e-17};
  MaternCovariance const again = MaternCovariance::parse(to_string(odd));
  EXPECT_EQ(std::tie(odd.sigma2, odd.range, odd.nu, odd.nugget),
            std::tie(again.sigma2, again.range, again.nu, again.nugget));
  EXPECT_EQ(to_string(c), "matern:1.5,0.1,0.5,0");
}

TEST(MaternCovariance, RefusesWhatIsNotACovariance) {
  auto const refusal = [](std::string const& text) {
    return text_of<ValueError>([&] { (void)MaternCovariance::parse(text); });
  };
  EXPECT_EQ(refusal("matern"), "covariance 'matern' must be matern:SIGMA2,RANGE,NU[,NUGGET]");
  EXPECT_EQ(refusal("Matern:1,1,1"),
            "covariance 'Matern:1,1,1' must be matern:SIGMA2,RANGE,NU[,NUGGET]");
  EXPECT_EQ(refusal("matern:1"),
            "covariance 'matern:1' has 1 number, needs SIGMA2,RANGE,NU[,NUGGET]");
  EXPECT_EQ(refusal("matern:1,1"),
            "covariance 'matern:1,1' has 2 numbers, needs SIGMA2,RANGE,NU[,NUGGET]");
  EXPECT_EQ(refusal("matern:1,1,1,1,1"), "covariance 'matern:1,1,1,1,1' has more than 4 numbers");
  EXPECT_EQ(refusal("matern:1,x,1"), "covariance 'matern:1,x,1': RANGE 'x' is not a number");
  EXPECT_EQ(refusal("matern:1,1,"), "covariance 'matern:1,1,': NU '' is not a number");
  EXPECT_EQ(refusal("matern:1, 1,1"), "covariance 'matern:1, 1,1': RANGE ' 1' is not a number");
  EXPECT_EQ(refusal("matern:1,1,0.5 "), "covariance 'matern:1,1,0.5 ': NU '0.5 ' is not a number");
  EXPECT_EQ(refusal("matern:1e400,1,1"),
            "covariance 'matern:1e400,1,1': SIGMA2 '1e400' is outside the range of fp64");
  EXPECT_EQ(refusal("matern:0,1,1"), "Matern covariance: sigma2 is 0, must be finite and positive");
  EXPECT_EQ(refusal("matern:1,-1,1"),
            "Matern covariance: range is -1, must be finite and positive");
  EXPECT_EQ(refusal("matern:1,1,51"), "Matern covariance: nu is 51, must be finite and in (0, 50]");
  EXPECT_EQ(refusal("matern:1,1,1,-1"),
            "Matern covariance: nugget is -1, must be finite and not negative");
  for (std::string const text :
       {"matern:nan,1,1", "matern:1,inf,1", "matern:1,1,nan", "matern:1,1,1,inf", ""})
    EXPECT_THROW((void)MaternCovariance::parse(text), ValueError) << text;
  for (double const bad : {static_cast<double>(NAN), static_cast<double>(INFINITY), -1.0}) {
    EXPECT_THROW(MaternCovariance{.sigma2 = bad}.check(), ValueError);
    EXPECT_THROW(MaternCovariance{.range = bad}.check(), ValueError);
    EXPECT_THROW(MaternCovariance{.nu = bad}.check(), ValueError);
    EXPECT_THROW(MaternCovariance{.nugget = bad}.check(), ValueError);
  }
}

TEST(MaternCovariance, CoincidingLocationsNeedANugget) {
  MaternCovariance const plain{}, noisy{.nugget = 0.1};
  Locations const plane{{1, 2, 3, 2}, {5, 6, 7, 6}};
  std::string const expected =
      "locations 2 and 4 (counted from 1) are both at (2, 6): without a nugget the covariance "
      "matrix is singular";
  EXPECT_EQ(text_of<ValueError>([&] { check_covariance(plain, plane); }), expected);
  // By the numbers that they had before they were put in another order.
  std::vector<std::int64_t> const order = {3, 0, 2, 1}, reverse = {3, 2, 1, 0};
  EXPECT_EQ(text_of<ValueError>([&] { check_covariance(plain, plane.permuted(order)); }), expected);
  EXPECT_EQ(text_of<ValueError>(
                [&] { check_covariance(plain, plane.permuted(order).permuted(reverse)); }),
            expected);
  EXPECT_EQ(
      text_of<ValueError>([&] {
        check_locations(Locations{{1, NAN}, {2, 3}}.permuted(std::vector<std::int64_t>{1, 0}));
      }),
      "location 2 is (nan, 3), must be finite");
  EXPECT_NO_THROW(check_covariance(noisy, plane));
  EXPECT_THROW(check_covariance(plain, Locations{{0.0, -0.0}, {1, 1}}), ValueError);
  EXPECT_THROW(check_covariance(plain, Locations{{-180, 180}, {5, 5}, Metric::GreatCircle}),
               ValueError);
  EXPECT_THROW(check_covariance(plain, Locations{{10, 370}, {5, 5}, Metric::GreatCircle}),
               ValueError);
  EXPECT_THROW(check_covariance(plain, Locations{{10, 20}, {90, 90}, Metric::GreatCircle}),
               ValueError);
  EXPECT_NO_THROW(check_covariance(plain, Locations{{10, 20}, {90, -90}, Metric::GreatCircle}));
  EXPECT_NO_THROW(check_covariance(plain, Locations{{-180, 180}, {5, 5}}));
}

TEST(MaternCovariance, MatrixInHostMemoryHasTheEntriesOfTheCovariance) {
  MaternCovariance const c{.sigma2 = 2, .range = 0.2, .nu = 0.8, .nugget = 0.25};
  for (std::int64_t const n : {0, 1, 30}) {
    auto const at = synthetic_locations(n);
    HostMatrix const A = covariance_matrix(c, at);
    ASSERT_EQ(A.extent_int(0), n);
    ASSERT_EQ(A.extent_int(1), n);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) {
        EXPECT_NEAR(A(i, j), c(at.distance(i, j)) + (i == j ? c.nugget : 0), 1e-12)
            << i << " " << j;
        EXPECT_EQ(A(i, j), A(j, i)) << i << " " << j;
      }
  }
  EXPECT_EQ(
      text_of<ValueError>([] { (void)covariance_matrix({.range = 0}, synthetic_locations(3)); }),
      "Matern covariance: range is 0, must be finite and positive");
}

TEST(MaternCovariance, MatrixInHostMemoryTellsHowFarItIs) {
  for (double const nu : {0.5, 0.8})
    for (std::int64_t const n : {0, 5, 200}) {
      auto const at = synthetic_locations(n);
      MaternCovariance const c{.sigma2 = 2, .range = 0.2, .nu = nu, .nugget = 0.25};
      std::vector<double> parts;
      HostMatrix const A = covariance_matrix(c, at, [&](double part) { parts.push_back(part); });
      EXPECT_TRUE(std::ranges::is_sorted(parts));
      EXPECT_EQ(parts.back(), 1);
      HostMatrix const B = covariance_matrix(c, at);  // the same bits
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(A(i, j), B(i, j)) << i << " " << j;
    }
}

TEST(MaternCovariance, BadCoordinatesAreNamed) {
  MaternCovariance const c{};
  EXPECT_EQ(text_of<ValueError>([&] { check_covariance(c, {{1, NAN}, {2, 3}}); }),
            "location 2 is (nan, 3), must be finite");
  EXPECT_EQ(text_of<ValueError>([&] { check_covariance(c, {{1}, {90.5}, Metric::GreatCircle}); }),
            "location 1 has latitude 90.5, must lie in [-90, 90]");
  EXPECT_EQ(text_of<ShapeError>([&] { check_covariance(c, {{1, 2}, {3}}); }),
            "locations: 2 x and 1 y coordinates");
  // Squares of distances would not be numbers in fp64.
  EXPECT_EQ(text_of<ValueError>([&] { check_covariance(c, {{1, 2}, {3, -1e151}}); }),
            "location 2 is (2, -1e+151), must be at most 1e150 in magnitude; take another unit");
  EXPECT_EQ(text_of<ValueError>([] { MaternCovariance{.range = 1e-151}.check(); }),
            "Matern covariance: range is 1e-151, must be at least 1e-150; take another unit");
  MaternCovariance{.range = 1e-150}.check();
}

template <class Space>
class MaternOnDevice : public testing::Test {};
TYPED_TEST_SUITE(MaternOnDevice, strata::test::Spaces, strata::test::SpaceNames);

// Fills a padded, strided matrix and compares every number, and the frame around it, with the
// definition.
template <class Space, class Scalar, class Layout>
void compare_fill(int n, MaternCovariance const& c, Locations const& at, Triangle triangle) {
  Space const exec;
  Kokkos::View<Scalar**, Layout, Space> const padded("strata::test::padded", n + 2, n + 1);
  Kokkos::deep_copy(padded, Scalar(-7));
  auto const A =
      Kokkos::subview(padded, Kokkos::pair<int, int>(1, n + 1), Kokkos::pair<int, int>(1, n + 1));
  bool const full = triangle == Triangle::Full;
  fill_covariance(exec, c, at, A, triangle);
  auto const result = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), padded);
  double const tolerance = 2 * std::numeric_limits<Scalar>::epsilon() * c.sigma2;
  for (int i = 0; i < n + 2; ++i)
    for (int j = 0; j < n + 1; ++j) {
      if (i == 0 || j == 0 || i == n + 1 || (i < j && !full)) {
        ASSERT_EQ(result(i, j), Scalar(-7)) << i << " " << j;
        continue;
      }
      double const expected =
          static_cast<double>(reference(c, at.distance(i - 1, j - 1))) + (i == j ? c.nugget : 0);
      ASSERT_NEAR(result(i, j), expected, tolerance + 100 * eps * c.sigma2) << i << " " << j;
      if (full) {
        ASSERT_EQ(result(i, j), result(j, i));
      }
    }
}

TYPED_TEST(MaternOnDevice, FillsTheCovarianceMatrixInAnyLayoutAndType) {
  for (double const nu : {0.5, 1.5, 2.5, 0.8})
    for (int const n : {0, 1, 2, 33, 65})
      for (Triangle const triangle : {Triangle::Lower, Triangle::Full}) {
        SCOPED_TRACE(std::to_string(nu) + " " + std::to_string(n));
        MaternCovariance const c{.sigma2 = 2.5, .range = 0.1, .nu = nu, .nugget = 0.125};
        Locations const at = synthetic_locations(n);
        compare_fill<TypeParam, double, Kokkos::LayoutLeft>(n, c, at, triangle);
        compare_fill<TypeParam, double, Kokkos::LayoutRight>(n, c, at, triangle);
        compare_fill<TypeParam, float, Kokkos::LayoutLeft>(n, c, at, triangle);
      }
}

TYPED_TEST(MaternOnDevice, FillsOnTheSphere) {
  Locations at = synthetic_locations(40);
  for (double& x : at.x) x = 360 * x - 180;
  for (double& y : at.y) y = 180 * y - 90;
  at.metric = Metric::GreatCircle;
  for (double const nu : {0.5, 0.3})
    compare_fill<TypeParam, double, Kokkos::LayoutLeft>(40, {.range = 2000, .nu = nu}, at,
                                                        Triangle::Full);
}

// Any block of the matrix is that of the whole, the nugget on its diagonal.
template <class Space>
void compare_blocks(double nu) {
  Space const exec;
  Locations const at = synthetic_locations(50);
  MaternCovariance const c{.nu = nu, .nugget = 0.25};
  Kokkos::View<double**, Space> const whole("strata::test::whole", 50, 50);
  fill_covariance(exec, c, at, whole);
  auto const expected = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), whole);
  CovarianceEntries<typename Space::memory_space> const entries(exec, c, at);
  using Block = std::array<int, 4>;
  for (auto const [row, col, rows, cols] :
       {Block{0, 0, 50, 50}, Block{0, 0, 1, 1}, Block{17, 3, 20, 9}, Block{3, 17, 9, 20},
        Block{49, 49, 1, 1}, Block{50, 0, 0, 7}}) {
    Kokkos::View<double**, Space> const block("strata::test::block", rows, cols);
    entries.fill(exec, row, col, block);
    exec.fence("strata::test::filled");
    auto const result = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), block);
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < cols; ++j) ASSERT_EQ(result(i, j), expected(row + i, col + j)) << row;
  }
  Kokkos::View<double**, Space> const outside("strata::test::outside", 8, 2);
  EXPECT_EQ(text_of<ShapeError>([&] { entries.fill(exec, 43, 0, outside); }),
            "CovarianceEntries: a block of 8 x 2 at (43, 0) is not inside a matrix of 50 x 50");
}

TYPED_TEST(MaternOnDevice, FillsAnyBlock) {
  for (double const nu : {1.2, 0.5}) compare_blocks<TypeParam>(nu);
}

template <class Space>
void compare_two_sets(double nu) {
  Space const exec;
  Locations const rows{{0.5, 0.1}, {0.5, 0.1}}, cols{{0.1, 0.3, 0.5}, {0.1, 0.9, 0.5}};
  MaternCovariance const c{.sigma2 = 2, .nu = nu, .nugget = 0.25};
  CovarianceEntries<typename Space::memory_space> const entries(exec, c, rows, cols);
  Kokkos::View<double**, Space> const A("strata::test::cross", 2, 3);
  entries.fill(exec, 0, 0, A);
  exec.fence("strata::test::filled");
  auto const result = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), A);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      EXPECT_NEAR(result(i, j), c(std::hypot(rows.x[i] - cols.x[j], rows.y[i] - cols.y[j])),
                  100 * eps);
  EXPECT_EQ(result(0, 2), 2);  // one location, but no nugget
  Locations const globe{{1}, {1}, Metric::GreatCircle};
  EXPECT_EQ(text_of<ValueError>(
                [&] { CovarianceEntries<typename Space::memory_space>(exec, c, rows, globe); }),
            "CovarianceEntries: the locations of rows and columns differ in their metric");
}

TYPED_TEST(MaternOnDevice, FillsBetweenTwoSetsOfLocations) {
  for (double const nu : {0.8, 1.5}) compare_two_sets<TypeParam>(nu);
}

TYPED_TEST(MaternOnDevice, RefusesAMatrixThatDoesNotFit) {
  Kokkos::View<double**, TypeParam> const A("strata::test::matrix", 3, 4);
  EXPECT_EQ(
      text_of<ShapeError>([&] { fill_covariance(TypeParam(), {}, synthetic_locations(3), A); }),
      "fill_covariance: A is 3 x 4, the locations are 3");
  CovarianceEntries<typename TypeParam::memory_space> const entries(TypeParam(), {},
                                                                    synthetic_locations(5));
  std::int64_t const beyond = std::numeric_limits<std::int64_t>::max();
  for (auto const& [row, col] : {std::pair{beyond, std::int64_t{0}}, {0, beyond}, {3, 0}, {0, 2}})
    EXPECT_EQ(text_of<ShapeError>([&] { entries.fill(TypeParam(), row, col, A); }),
              "CovarianceEntries: a block of 3 x 4 at (" + std::to_string(row) + ", " +
                  std::to_string(col) + ") is not inside a matrix of 5 x 5");
}

// The order of the first minor that is not positive; 0 if there is none.
int first_bad_minor(Kokkos::View<double**, Kokkos::HostSpace> const& A) {
  for (std::size_t k = 0; k < A.extent(0); ++k) {
    for (std::size_t j = 0; j < k; ++j)
      for (std::size_t i = k; i < A.extent(0); ++i) A(i, k) -= A(i, j) * A(k, j);
    if (!(A(k, k) > 0)) return static_cast<int>(k) + 1;
    double const pivot = std::sqrt(A(k, k));
    for (std::size_t i = k; i < A.extent(0); ++i) A(i, k) /= pivot;
  }
  return 0;
}

TYPED_TEST(MaternOnDevice, IsPositiveDefiniteAlsoWithTwinsAndANugget) {
  Locations twins = synthetic_locations(100);
  twins.x[40] = twins.x[7];
  twins.y[40] = twins.y[7];
  for (auto const& [c, at] : {std::pair(MaternCovariance{.nu = 0.5}, synthetic_locations(100)),
                              std::pair(MaternCovariance{.nu = 0.9}, synthetic_locations(100)),
                              std::pair(MaternCovariance{.nu = 0.5, .nugget = 0.01}, twins)}) {
    Kokkos::View<double**, TypeParam> const A("strata::test::covariance", 100, 100);
    fill_covariance(TypeParam(), c, at, A);
    Kokkos::View<double**, Kokkos::HostSpace> const host("strata::test::host", 100, 100);
    auto const copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), A);
    for (int i = 0; i < 100; ++i)
      for (int j = 0; j < 100; ++j) host(i, j) = copy(i, j);
    EXPECT_EQ(first_bad_minor(host), 0) << to_string(c);
  }
}

}  // namespace
