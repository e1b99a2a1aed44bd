// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_COVARIANCE_HPP
#define STRATA_COVARIANCE_HPP

#include <geostat/model/Strata_Family.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strata::geostat {

/// A structure that a covariance has beside its first: sigma2 rho(h / range).
struct SecondStructure {
  double sigma2 = 0;               ///< variance of its part of the field; >= 0
  double range = 0.5;              ///< as Covariance::range
  double nu = 0.5;                 ///< as Covariance::nu
  Family family = Family::Matern;  ///< which function it is
  /// nu as Matern's functions take it: 1/2 of the exponential.
  double order() const { return family == Family::Exponential ? 0.5 : nu; }
};

/// The covariance of a stationary Gaussian field,
///   C(h) = sigma2 rho(h / range),   C(0) = sigma2,
/// with the rho of its family, or the sum of two such structures. It is observed with independent
/// errors of variance `nugget`.
///
/// The nugget is added where an observation meets itself (i == j), which for distinct locations is
/// where h = 0. All families are positive definite in the plane and in space, and with chordal
/// distances on the sphere. With a ratio below 1 the range is that along the major axis, and
/// ratio * range the one across it.
///
/// Source   Matern: equation 2 of Ren et al., Accelerating mixed-precision out-of-core Cholesky
///          factorization with static task scheduling (paper B); Gneiting, Kleiber & Schlather,
///          JASA 105, 2010. There is no factor sqrt(2 nu) in h. The others: Chiles and Delfiner,
///          Geostatistics, 2012, section 2.5; with the conventions of gstat and geoR.
struct Covariance {
  double sigma2 = 1;  ///< variance of the field; > 0
  /// range in the distance's unit; > 0. Paper B: 0.02627, 0.078809, 0.210158
  double range = 0.078809;
  /// smoothness of Matern's, in (0, 50]; power of the powered exponential, in (0, 2]; of the others
  /// without meaning
  double nu = 0.5;
  double nugget = 0;               ///< >= 0
  Family family = Family::Matern;  ///< which function it is
  double angle = 0;                ///< angle of the major axis, in degrees clockwise from y
  double ratio = 1;                ///< range across the major axis by that along it; in (0, 1]
  /// a second structure, which is added; it has the same angle and ratio
  std::optional<SecondStructure> second = {};
  /// Ranges of y and further coordinates by `range`, x's own; empty: one range for all. A second
  /// structure has the same ratios.
  std::vector<double> axes = {};

  /// C(h) for h >= 0 along the major axis, or x, without the nugget; on the host. What depends on
  /// nu is worked out, in a fraction of a millisecond, when a thread's nu is another than in its
  /// last call.
  double operator()(double h) const;
  /// nu as Matern's functions take it: 1/2 of the exponential.
  double order() const { return family == Family::Exponential ? 0.5 : nu; }
  /// Variance of the field: sigma2, or that of both structures.
  double field() const { return sigma2 + (second ? second->sigma2 : 0); }
  /// Whether directions differ.
  bool has_directions() const { return ratio != 1; }
  /// Whether each coordinate has a range.
  bool has_axes() const { return !axes.empty(); }
  /// The range of each coordinate, x's first; of all where they have one.
  std::vector<double> ranges() const;

  /// Throws   ValueError that names the parameter out of range or not finite.
  void check() const;

  /// Read "matern:SIGMA2,RANGE,NU" or "matern:SIGMA2,RANGE,NU,NUGGET", without any space; "powered"
  /// in the same way, the other families without NU. A second structure follows a plus, without a
  /// nugget: "matern:1,0.1,0.5,0.2+exponential:2,0.5".
  ///
  /// Throws   ValueError with the text and the field that is wrong.
  static Covariance parse(std::string_view text);
};

/// "matern:1,0.1,0.5,0": what `parse` reads back to the same numbers, without angle and ratio.
std::string to_string(Covariance const& covariance);

/// sigma2, range, nu and nugget, in this order.
using Parameters = std::array<double, 4>;
/// Their names, in this order.
inline constexpr std::array<std::string_view, 4> parameter_names = {"sigma2", "range", "nu",
                                                                    "nugget"};
/// As an array.
Parameters parameters_of(Covariance const& covariance);
/// A Matern covariance from an array; nothing is checked.
Covariance covariance_of(Parameters const& parameters);
/// The covariance of the same family and directions with these parameters; nothing is checked.
Covariance with_parameters(Covariance const& covariance, Parameters const& parameters);

/// The same names, and a second structure's behind them.
inline constexpr std::array<std::string_view, 7> all_parameter_names = {
    "sigma2", "range", "nu", "nugget", "sigma2_2", "range_2", "nu_2"};
/// The parameter of this number in `all_parameter_names`; a second structure's only where
/// there is one.
double parameter_of(Covariance const& covariance, std::size_t number);
/// The same covariance with another value of this parameter; nothing is checked.
Covariance with_parameter(Covariance const& covariance, std::size_t number, double value);

}  // namespace strata::geostat

#endif
