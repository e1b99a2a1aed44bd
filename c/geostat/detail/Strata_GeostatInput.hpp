// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_GEOSTAT_INPUT_HPP
#define STRATA_C_GEOSTAT_INPUT_HPP

#include <c/strata_geostat.h>
#include <core/Strata_Errors.hpp>
#include <geostat/Strata_Locations.hpp>
#include <geostat/fit/Strata_Fit.hpp>
#include <geostat/model/Strata_Covariance.hpp>
#include <geostat/model/Strata_Trend.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace strata::c::detail {

/// A caller's struct as far as it reaches; what is behind its end is 0.
///
/// Throws   ValueError where its struct_size is not set.
template <class Struct>
Struct taken(Struct const* given, char const* name) {
  STRATA_REQUIRE(ValueError, given != nullptr, name, " is a null pointer");
  std::size_t const size = given->struct_size;
  STRATA_REQUIRE(ValueError, size >= sizeof(std::size_t) && size <= sizeof(Struct), name,
                 ": struct_size is ", size, ", must be set to its sizeof, ", sizeof(Struct));
  Struct result{};
  std::memcpy(&result, given, size);
  return result;
}

/// A copy of a caller's n numbers.
///
/// Throws   ValueError for a null pointer where n > 0; NotFinite that names the first that is not.
std::vector<double> numbers(char const* name, double const* data, std::int64_t n);

/// A copy of k columns of n numbers; `names` is null or has k names. Throws as `numbers`, and
/// ValueError for a leading dimension below max(1, n).
std::vector<std::vector<double>> columns_of(double const* data, std::int64_t n, std::int64_t k,
                                            std::int64_t ld, char const* const* names = nullptr);

/// Locations of n numbers each. Throws as `numbers`; ValueError for n < 0 or no metric.
geostat::Locations locations_of(std::int64_t n, double const* x, double const* y,
                                geostat::Metric metric);

/// What was observed, in the library's terms.
struct Observed {
  geostat::Locations locations;
  std::vector<double> values;
  geostat::Trend trend;
};
/// Throws   as its parts, naming the array.
Observed observed_of(strata_observations const* given);

/// A covariance in the library's terms; nothing of its numbers is checked.
///
/// Throws   ValueError for a name that is no family's.
geostat::Covariance covariance_of(strata_covariance const* given, char const* name);

/// A covariance in the caller's terms.
strata_covariance given_of(geostat::Covariance const& covariance);

/// What a fit is asked for: the observations' defaults, and what the caller has chosen.
///
/// Throws   ValueError for what is out of range, and what `default_fit_options` throws.
geostat::FitOptions fit_options_of(strata_fit_options const* given, Observed const& observed);

}  // namespace strata::c::detail

#endif
