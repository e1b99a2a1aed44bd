// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/detail/Strata_MaternColumns.hpp>
#include <geostat/detail/Strata_MaternKernel.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace strata::geostat;
using strata::geostat::detail::ColumnCovariance, strata::geostat::detail::Location;
constexpr double smoothness[] = {0.5, 1.5, 2.5};

long double closed_form_of(ColumnCovariance const& c, double h) {
  long double const x = h;
  return c.sigma2 * (c.nu == 0.5 ? 1 : c.nu == 1.5 ? 1 + x : 1 + x + x * x / 3) * std::exp(-x);
}

double ulps(double value, long double expected) {
  auto const nearest = static_cast<double>(expected);
  double const ulp = std::nextafter(nearest, std::numeric_limits<double>::infinity()) - nearest;
  return static_cast<double>(std::abs(value - expected)) / ulp;
}

/// For vectors of 16, 32 and 64 bytes, as far as the processor has them.
class MaternColumns : public testing::TestWithParam<int> {
 protected:
  std::vector<double> column(ColumnCovariance const& c, Location const& from,
                             std::vector<double> const& x, std::vector<double> const& y) const {
    std::vector<double> C(x.size() + 1, -7);
    strata::geostat::detail::matern_column(GetParam())(
        c, from, x.data(), y.data(), static_cast<std::int64_t>(x.size()), C.data());
    EXPECT_EQ(C.back(), -7);
    C.pop_back();
    return C;
  }
};

TEST_P(MaternColumns, AreWithinThreeOrFourUlp) {
  std::vector<double> x, y;  // on a line through the point, so that distances are not rounded
  for (double h = 1e-3; h < 3.7 * 699; h *= 1.00003) x.push_back(h);
  for (double h = 1e-300; h < 1e-3; h *= 3) x.push_back(-h);
  x.push_back(0);
  y.assign(x.size(), 0);
  for (double const nu : smoothness) {
    ColumnCovariance const c{1.7, 3.7, nu};
    auto const C = column(c, {0, 0, 0}, x, y);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      worst = std::fmax(worst, ulps(C[i], closed_form_of(c, std::abs(x[i]) / c.range)));
    EXPECT_LE(worst, nu == 0.5 ? 3 : 4) << nu;
    EXPECT_EQ(C.back(), c.sigma2);
  }
}

TEST_P(MaternColumns, MeasureDistancesInThePlane) {
  ColumnCovariance const c{2, 0.1, 0.5};
  Location const from{0.25, 0.75, 0};
  std::vector<double> x, y;
  for (int i = 0; i < 600; ++i) x.push_back(i / 600.), y.push_back(i % 37 / 37.);
  auto const C = column(c, from, x, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    double const h = std::hypot(x[i] - from.x, y[i] - from.y) / c.range;
    auto const expected = static_cast<double>(closed_form_of(c, h));
    EXPECT_NEAR(C[i], expected, (4 + 3 * h) * 0x1p-52 * expected) << i;
  }
}

TEST_P(MaternColumns, HaveEntriesThatDependOnTheirTwoPointsAlone) {
  std::vector<double> x, y;
  for (int i = 0; i < 517; ++i) x.push_back(std::sin(i)), y.push_back(std::cos(0.7 * i));
  for (double const nu : smoothness) {
    ColumnCovariance const c{1.3, 0.2, nu};
    Location const from{0.3, -0.4, 0};
    auto const C = column(c, from, x, y);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(column(c, from, {x[i]}, {y[i]})[0], C[i]) << i;
      EXPECT_EQ(column(c, {x[i], y[i], 0}, {1, from.x}, {1, from.y})[1], C[i]) << i;
    }
  }
}

TEST_P(MaternColumns, FallToZeroBeyondTheRangeOfTheirSeries) {
  std::vector<double> const x = {1, 699.5, 700, 720, 745, 799, 801, 1e10, 1e300, 2}, y(x.size(), 0);
  for (double const nu : smoothness) {
    ColumnCovariance const c{3, 1, nu};
    auto const C = column(c, {0, 0, 0}, x, y);
    for (std::size_t const i : {2, 3, 4, 5, 6, 7, 8})
      EXPECT_EQ(C[i], 3 * strata::geostat::detail::matern_closed_form(nu, x[i])) << i;
    EXPECT_GT(C[3], 0);
    EXPECT_EQ(C[8], 0);
    for (std::size_t const i : {0, 1, 9}) EXPECT_LE(ulps(C[i], closed_form_of(c, x[i])), 4) << i;
  }
}

TEST_P(MaternColumns, MayBeEmpty) { EXPECT_TRUE(column({1, 1, 0.5}, {0, 0, 0}, {}, {}).empty()); }

INSTANTIATE_TEST_SUITE_P(Bytes, MaternColumns, testing::Values(16, 32, 64),
                         [](auto const& bytes) { return std::to_string(bytes.param); });

}  // namespace
