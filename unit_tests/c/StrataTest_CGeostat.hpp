// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TEST_C_GEOSTAT_HPP
#define STRATA_TEST_C_GEOSTAT_HPP

#include <geostat/fit/Strata_Fit.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>
#include <strata_geostat.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace strata::test::c_geostat {

using Exec = Kokkos::DefaultExecutionSpace;
using namespace geostat;

struct Destroy {
  void operator()(strata_geostat* model) const { strata_geostat_destroy(model); }
};
using Handle = std::unique_ptr<strata_geostat, Destroy>;

inline strata_covariance covariance(char const* family, double sigma2, double range, double nu,
                                    double nugget) {
  strata_covariance c{};
  c.struct_size = sizeof c;
  std::strncpy(c.family, family, sizeof c.family - 1);
  c.sigma2 = sigma2;
  c.range = range;
  c.nu = nu;
  c.nugget = nugget;
  return c;
}

/// A field with a slope, for C and for the library.
struct Observed {
  explicit Observed(std::int64_t n, bool with_trend = true, bool reml = false)
      : places(synthetic_locations(n, 7)),
        values(synthetic_field(Exec(), {2, 0.1, 0.5, 0.2}, places, 3)) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      columns.push_back(1);
      values[i] += 3 + 2 * places.x[i];
    }
    columns.insert(columns.end(), places.x.begin(), places.x.end());
    given.struct_size = sizeof given;
    given.n = n;
    given.x = places.x.data();
    given.y = places.y.data();
    given.values = values.data();
    given.trend_columns = with_trend ? 2 : 0;
    given.trend = columns.data();
    given.names = names;
    given.reml = reml ? 1 : 0;
    auto const criterion = reml ? Criterion::REML : Criterion::ML;
    trend = with_trend ? Trend({std::vector<double>(places.x.size(), 1), places.x}, {"one", "x"},
                               criterion)
                       : Trend(Mean::Constant, criterion);
  }
  Observed(Observed const&) = delete;
  Observed& operator=(Observed const&) = delete;

  Locations places;
  std::vector<double> values, columns;
  char const* names[2] = {"one", "x"};
  strata_observations given{};
  Trend trend;
};

inline Handle model_at(Observed const& observed, strata_covariance const& c) {
  strata_geostat* model = nullptr;
  EXPECT_EQ(strata_geostat_at(&observed.given, &c, &model), STRATA_SUCCESS) << strata_message();
  return Handle(model);
}

inline strata_geostat_report report_of(Handle const& model) {
  strata_geostat_report report{};
  report.struct_size = sizeof report;
  EXPECT_EQ(strata_geostat_describe(model.get(), &report), STRATA_SUCCESS) << strata_message();
  return report;
}

inline strata_covariance covariance_of(Handle const& model) {
  strata_covariance c{};
  c.struct_size = sizeof c;
  EXPECT_EQ(strata_geostat_covariance(model.get(), &c), STRATA_SUCCESS) << strata_message();
  return c;
}

}  // namespace strata::test::c_geostat

#endif
