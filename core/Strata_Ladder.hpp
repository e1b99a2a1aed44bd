// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LADDER_HPP
#define STRATA_LADDER_HPP

#include <cstdint>
#include <string_view>

namespace strata {

/// The rungs of the ladders, in the order they are tried; no ladder has all of them.
enum class Rung : std::uint8_t {
  AsAsked,           ///< the precisions and the shift that were asked for
  Shifted,           ///< these precisions, with a larger shift of the diagonal
  HigherLayers,      ///< of `dense`: each layer promoted, again without and with shifts
  StricterAccuracy,  ///< of `ooc`: the accuracy of the matrix's rule divided by 100, and once more
  HigherPrecision,   ///< of `sparse`: the next precision of the preconditioner
  Fp64,              ///< all in fp64: what breaks down here is not positive definite
};

/// What became of an attempt.
enum class Outcome : std::uint8_t {
  Held,          ///< it served
  BrokeDown,     ///< a pivot was not positive
  Overflowed,    ///< a number was beyond the range of its precision
  NotConverged,  ///< a solve with it did not converge
};

/// "as asked", "shifted", "higher layers", "stricter accuracy", "higher precision", "fp64".
constexpr std::string_view name_of(Rung rung) {
  constexpr std::string_view names[] = {"as asked",          "shifted",          "higher layers",
                                        "stricter accuracy", "higher precision", "fp64"};
  return names[static_cast<int>(rung)];
}
/// "held", "broke down", "overflowed", "not converged".
constexpr std::string_view name_of(Outcome outcome) {
  constexpr std::string_view names[] = {"held", "broke down", "overflowed", "not converged"};
  return names[static_cast<int>(outcome)];
}

/// One factorisation on a ladder, and why it was left; each ladder adds what it was made in.
struct Attempt {
  Rung rung = Rung::AsAsked;
  Outcome outcome = Outcome::Held;
  std::int64_t info = 0;      ///< 0, or the order of the minor that was not positive
  double fill_seconds = 0;    ///< to round the matrix
  double factor_seconds = 0;  ///< to factor it

  double seconds() const { return fill_seconds + factor_seconds; }
};

}  // namespace strata

#endif
