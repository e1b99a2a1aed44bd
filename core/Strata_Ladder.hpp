// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LADDER_HPP
#define STRATA_LADDER_HPP

#include <core/Strata_EnumNames.hpp>

#include <cstdint>

namespace strata {

/// The rungs of the ladders, in the order they are tried; no ladder has all of them.
enum class Rung : std::uint8_t {
  AsAsked,       ///< the precisions and the shift that were asked for
  Shifted,       ///< these precisions, with a larger shift of the diagonal
  HigherLayers,  ///< `dense` alone: each layer promoted, again without and with shifts
  /// `ooc` alone: the accuracy of the matrix's rule divided by 100, and once more
  StricterAccuracy,
  HigherPrecision,  ///< `sparse` alone: the next precision of the preconditioner
  Fp64,             ///< all in fp64: what breaks down here is not positive definite
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(Rung) {
  return enum_names<Rung>("rung", {{Rung::AsAsked, "as asked"},
                                   {Rung::Shifted, "shifted"},
                                   {Rung::HigherLayers, "higher layers"},
                                   {Rung::StricterAccuracy, "stricter accuracy"},
                                   {Rung::HigherPrecision, "higher precision"},
                                   {Rung::Fp64, "fp64"}});
}

/// What became of an attempt.
enum class Outcome : std::uint8_t {
  Held,             ///< it served
  BrokeDown,        ///< a pivot was not positive
  Overflowed,       ///< a number was beyond the range of its precision
  NotConverged,     ///< a solve with it did not converge
  SeemsIndefinite,  ///< a solve with it saw that A may be indefinite
  Foretold,         ///< its first pivots foretold that it would not serve, and the rest was left
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(Outcome) {
  return enum_names<Outcome>("outcome", {{Outcome::Held, "held"},
                                         {Outcome::BrokeDown, "broke down"},
                                         {Outcome::Overflowed, "overflowed"},
                                         {Outcome::NotConverged, "not converged"},
                                         {Outcome::SeemsIndefinite, "seems indefinite"},
                                         {Outcome::Foretold, "foretold"}});
}

/// One step of a ladder, and why it was left; each ladder adds what it was made in.
struct Attempt {
  Rung rung = Rung::AsAsked;        ///< rung on which it was tried
  Outcome outcome = Outcome::Held;  ///< outcome of the attempt
};

/// An attempt to factor a matrix.
struct FactorAttempt : Attempt {
  std::int64_t info = 0;      ///< 0, or the order of the minor that was not positive
  double fill_seconds = 0;    ///< time to round the matrix
  double factor_seconds = 0;  ///< time to factor the matrix

  /// The time to round and to factor.
  double seconds() const { return fill_seconds + factor_seconds; }
};

}  // namespace strata

#endif
