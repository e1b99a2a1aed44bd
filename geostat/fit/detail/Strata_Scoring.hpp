// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SCORING_HPP
#define STRATA_SCORING_HPP

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace strata::geostat::detail {

/// A function about a point: f(x + p) = f(x) + g'p - p'Hp/2, H without a negative eigenvalue.
struct Quadratic {
  std::vector<double> g;
  std::vector<std::vector<double>> H;
};

/// A step in a box, and what the quadratic gains by it.
struct BoxStep {
  std::vector<double> p;
  double gain = 0;
  double length = 0;
};

/// The p with the largest g'p - p'Hp/2 among all with |p| <= radius that keep x + p in the box. It
/// is taken over the active sets that are met by fixing the variable that is furthest outside, and
/// freeing the one that pulls inwards.
BoxStep best_step(Quadratic const& model, std::span<double const> x, std::span<double const> lower,
                  std::span<double const> upper, double radius);

/// What a function is at a point.
struct Scored {
  bool defined = false;
  double value = 0;
  double noise = 0;  ///< value is off by no more
};

/// Largest value of a smooth function over a box, by its derivatives. The functions may throw.
struct ScoringSearch {
  std::vector<double> start, lower, upper;
  std::vector<double> safe;  ///< towards which a start is moved where the function is not defined
  double first_radius = 1;
  /// A variable whose curvature is above this is measured in units in which it is not: a nugget in
  /// parts of itself.
  double usual_curvature = 1;
  double tolerance = 1e-5;  ///< tolerance of each variable
  std::int64_t max_evaluations = 0;
  std::function<Scored(std::span<double const>)> value;
  std::function<Quadratic()> model;  ///< about the point whose value was asked for last
  /// Hears of a point without a value; may raise bounds.
  std::function<void(std::span<double const>, std::vector<double>& lower)> on_undefined;
};

/// Where it ended and why.
struct ScoringOutcome {
  bool converged = false;
  std::string reason;
  std::vector<double> x, lower;
  Quadratic model;  ///< about x; empty: no point had a value
};

/// A trust region about quadratic models, whose curvature along the last two steps is that of the
/// gradients there.
///
/// Result   ends where no step of length 1 would gain more than 100 tolerance^2, or a tenth of the
///          noise; also where ten evaluations for each variable gained less each, in the mean. A
///          step is taken that gains a tenth of what the model says, noise set aside. Where the
///          noise grows more than tenfold, what is beyond that counts against the step.
/// Source   Nocedal and Wright, Numerical Optimization, 2006, equation 6.19; Conn, Gould and Toint,
///          Trust Region Methods, 2000, chapters 6 and 7; bounds: Bertsekas, SIAM J. Control Optim.
///          20 (1982), doi:10.1137/0320018; noise: Sun and Nocedal, Math. Program. 202 (2023),
///          doi:10.1007/s10107-023-01941-9.
ScoringOutcome maximise(ScoringSearch const& search);

}  // namespace strata::geostat::detail

#endif
