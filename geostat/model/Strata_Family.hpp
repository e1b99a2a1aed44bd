// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_FAMILY_HPP
#define STRATA_FAMILY_HPP

#include <core/Strata_EnumNames.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace strata::geostat {

/// The kind of a covariance, as a function of x = h / range.
enum class Family : std::uint8_t {
  Matern,              ///< 2^(1-nu) / Gamma(nu) x^nu K_nu(x)
  Exponential,         ///< e^-x, which is Matern's with nu = 1/2
  Gaussian,            ///< e^(-x^2)
  Spherical,           ///< 1 - 3/2 x + 1/2 x^3 for x < 1, else 0
  PoweredExponential,  ///< e^(-x^nu), 0 < nu <= 2
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(Family) {
  return enum_names<Family>("family", {{Family::Matern, "matern"},
                                       {Family::Exponential, "exponential"},
                                       {Family::Gaussian, "gaussian"},
                                       {Family::Spherical, "spherical"},
                                       {Family::PoweredExponential, "powered"}});
}
using strata::name_of;

/// The family that a text names, or two in "exponential+spherical", whose covariances are added.
struct Families {
  Family first = Family::Matern;      ///< family of the first structure
  std::optional<Family> second = {};  ///< family of the second; none: there is one
};
/// Throws ValueError that names the families there are.
Families families_of(std::string_view text);

/// Whether nu is a parameter of its covariances.
constexpr bool has_shape(Family family) {
  return family == Family::Matern || family == Family::PoweredExponential;
}
/// Whether Matern's functions evaluate it.
constexpr bool is_matern(Family family) {
  return family == Family::Matern || family == Family::Exponential;
}

}  // namespace strata::geostat

#endif
