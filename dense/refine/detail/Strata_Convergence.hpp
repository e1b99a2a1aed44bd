// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_CONVERGENCE_HPP
#define STRATA_DETAIL_CONVERGENCE_HPP

#include <dense/refine/Strata_Refinement.hpp>
#include <dense/vectors/detail/Strata_BlockVectors.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace strata::dense::detail {

/// The larger, and NaN if one is.
inline double worst(double a, double b) { return std::isnan(a) || a > b ? a : b; }

/// The power of two that a matrix of this norm, as given, is measured in: u^2 ||A|| is about 1.
inline double unit_of(double norm) {
  return norm > 0 && std::isfinite(norm) ? std::ldexp(1.0, -std::ilogb(norm) / 2) : 1;
}

/// Applications of M^-1 to a column until `method` ends; `is_cut_short`: see `refine`.
inline std::int64_t most_iterations(RefinementOptions const& options, Refine method,
                                    bool is_cut_short) {
  bool const automatic = options.refine == Refine::Automatic;
  std::int64_t const standard = automatic ? 4000 : options.refine == Refine::Classical ? 100 : 2000;
  std::int64_t const total = options.max_iterations > 0 ? options.max_iterations : standard;
  return automatic && !is_cut_short && method == Refine::Cg ? (total + 1) / 2 : total;
}

/// The error of one iterate of one column.
struct Quality {
  double r_max = 0, x_max = 0;  ///< maxima for the system that is refined
  double r_sum = 0, x_sum = 0;  ///< sums for the system as given
  double given_x_max = 0;       ///< maximum of x as given, in the unit in which it is measured
  double backward_error = 1;    ///< backward error as given; 1 is that of x = 0, where all begins
  double refined_error = 1;     ///< the backward error of the system that is refined
  double excess = std::numeric_limits<double>::infinity();  ///< ratio to the goal; <= 1: reached
  /// ratio to the least that is asked for; <= 1: converged
  double shortfall = std::numeric_limits<double>::infinity();
  double refined_x_sum = 0;  ///< sum of x for the system that is refined

  bool converged() const { return shortfall <= 1; }
  /// Whether x as given is, for a column and a unit of measurement like these.
  bool is_in_range(int exponent, double unit) const {
    return std::isfinite(std::ldexp(given_x_max, exponent) * unit);
  }
  bool as_good_as(Quality const& other) const {
    return converged() == other.converged() ? excess <= other.excess : converged();
  }
};

/// A right-hand side on its way; what is refined is A (2^-exponent x) = 2^-exponent b.
struct Column {
  std::int64_t index = 0;
  int exponent = 0;
  double b_max = 0, given_b_max = 0;  ///< scaled
  Quality now, best;
  double before = std::numeric_limits<double>::infinity();  ///< excess before the last outer step
  double reference = std::numeric_limits<double>::infinity();  ///< excess when it was last halved
  int idle_steps = 0;                                          ///< outer steps since
  std::int64_t iterations = 0;
  bool broken = false, stagnated = false;                   ///< state in the present phase
  bool failed = false;                                      ///< b or ||A|| is not finite
  double proven = std::numeric_limits<double>::infinity();  ///< excess by the last r = b - A x
  double drift = 0;         ///< what updates of r since then may be off by
  double rate = 1.0 / 8;    ///< ratio of r after the last step and before
  bool is_claimed = false;  ///< `now` is by an r that was updated

  /// There is nothing left to gain, or to need.
  bool perfect() const { return best.excess <= 1; }
  bool converged() const { return best.converged(); }
  bool at_its_best() const { return now.as_good_as(best); }
  /// Whether a correction of this magnitude gains less than a factor of 8, and does not reach the
  /// goal. The correction is to x about as the next residual is to this one, for both are what I -
  /// M^-1 A leaves of the error.
  bool gains_little_by(double d) const {
    return std::isfinite(d) && 8 * d > now.x_max && now.excess * d > now.x_max;
  }

  /// The quality by a residual that was updated, and what that may be off by more than before.
  void claim(Quality const& quality, double off) {
    if (is_claimed) rate = std::min(1.0, quality.r_max / now.r_max);
    now = quality;
    drift += off;
    is_claimed = true;
  }
  /// The quality by r = b - A x. Returns whether updates since the last one were in vain.
  bool prove(Quality const& quality) {
    bool const in_vain = is_claimed && !(quality.excess <= proven / 8);
    if (is_claimed && quality.r_max <= near * drift)  // contracted no further than they let it
      before = std::numeric_limits<double>::infinity();
    now = quality;
    proven = quality.excess;
    drift = 0;
    is_claimed = false;
    return in_vain;
  }
  /// A claim that decides something, or is not much more than what it may be off by.
  bool needs_proof() const {
    return !(now.excess > 1) || !(now.r_max > near * drift) || !(now.excess <= before / 8) ||
           !std::isfinite(now.excess);
  }
  /// Whether the next claim will be such a one.
  bool nears_proof() const {
    return !(now.excess * rate > 1) || !(now.r_max * rate > near * drift);
  }
  /// Before the first step, and before the first of another method.
  void begin_phase() {
    reference = now.excess;
    idle_steps = 0;
    broken = stagnated = false;
  }
  void end_step(int stagnation_steps) {
    bool const halved = now.excess <= reference / 2 && std::isfinite(now.excess);  // x = 0: not
    idle_steps = halved ? 0 : idle_steps + 1;
    if (halved) reference = now.excess;
    stagnated = idle_steps >= stagnation_steps;
  }

 private:
  static constexpr double near = 4;  // a correction by such a claim gains a factor of 4 or so
};

/// The one place that decides what has converged.
///
/// The goal is a backward error within the tolerance, of the system that is refined and of the one
/// that was given; with the default tolerance SLATE's threshold, too. The least is the goal where a
/// tolerance was asked for. By default it is the tolerance for the system that is refined, and
/// HPL's and SLATE's thresholds for the given system. The rows of the given system may differ so
/// much that fp64 reaches no more.
class Convergence {
 public:
  /// `largest`: magnitude of an entry of the system that is refined; 0: not known.
  Convergence(std::int64_t n, double norm, double given_norm, double asked, double largest = 0)
      : n_(static_cast<double>(n)),
        norm_(norm),
        largest_(largest),
        given_norm_(given_norm),
        by_default_(asked == 0),
        tolerance_(by_default_ ? std::sqrt(n_) * 0x1p-52 : asked) {}

  double tolerance() const { return tolerance_; }

  /// The quality of x, of which `m` holds the moments of r = b - A x and x.
  Quality judge(MomentsOfBoth const& m, double b_max, double given_b_max) const {
    Quality q{m.refined.max[0], m.refined.max[1], m.given.sum[0], m.given.sum[1], m.given.max[1]};
    q.refined_x_sum = m.refined.sum[1];
    q.refined_error = backward_error(m.refined, b_max, norm_);
    q.backward_error = backward_error(m.given, given_b_max, given_norm_);
    double const of_refined = q.refined_error / tolerance_,
                 of_given = q.backward_error / tolerance_;
    q.excess = q.shortfall = worst(of_refined, of_given);
    if (!by_default_) return q;
    double const slate = worst(slate_error(q.r_sum, q.x_sum) / slate_threshold, 0);
    q.excess = worst(q.excess, slate);
    q.shortfall = worst(worst(of_refined, slate), hpl_scaled(q.backward_error) / hpl_threshold);
    return q;
  }

  /// Whether all columns together, with these worst errors, have converged.
  bool holds(double refined_error, double given_error, double slate) const {
    if (!by_default_) return refined_error <= tolerance_ && given_error <= tolerance_;
    return refined_error <= tolerance_ && hpl_scaled(given_error) <= hpl_threshold &&
           slate <= slate_threshold;
  }

  /// ||r|| / (||A|| ||x||) of the system that is refined, where r is no smaller than what rounding
  /// leaves of it.
  ///
  /// Each x_j is rounded, and each product a_ij x_j. Such roundings add up about like their
  /// squares, to 2^-53 sqrt(sum_j a_ij^2 x_j^2) in a row. With the largest entry h of A that sum is
  /// at most h^2 ||x||_1 ||x||_inf, and at most h ||A||_inf ||x||_inf^2. Two roundings may be in
  /// step, and add up like their magnitudes: sqrt(2) times that for two equal products. All
  /// roundings never come to more than 2^-53 ||A||_inf ||x||_inf. b is subtracted last, which
  /// rounds the difference alone.
  double relative_residual(Quality const& q, double b_max) const {
    constexpr double in_step = 1.4142135623730951;
    double const of_b = b_max > 0 ? b_max / norm_ / q.x_max : 0;
    double const residual = q.refined_error * (1 + of_b);
    double rounding = 0x1p-53;
    if (largest_ > 0 && q.x_max > 0) {
      double const entry = largest_ / norm_;
      double const squares =
          std::min(entry * std::sqrt(q.refined_x_sum / q.x_max), std::sqrt(entry));
      rounding *= std::min(1.0, in_step * squares);
    }
    return std::max(rounding, residual + std::min(residual, rounding));  // r is rounded, too
  }

  double hpl_scaled(double backward_error) const { return backward_error / (n_ * 0x1p-52); }
  /// r and x: one-norms, of a column or of the whole.
  double slate_error(double r, double x) const {
    return r == 0 && !std::isnan(given_norm_) ? 0 : (r / given_norm_) / x / n_;
  }

 private:
  static double backward_error(Moments const& m, double b_max, double norm) {
    double const r = m.max[0], x = m.max[1];
    return norm > 0 ? (r / norm) / (x + b_max / norm) : r / b_max;
  }

  double n_, norm_, largest_, given_norm_;
  bool by_default_;
  double tolerance_;
};

/// Column number `index` before the first solve, at x = 0, of which `size` has what was measured of
/// b; `lift`: see `BlockVectors::lift_exponent`.
inline Column first_column(std::int64_t index, MomentsOfBoth const& size, double norm, int lift,
                           Convergence const& convergence) {
  Column column;
  double const b_max = size.refined.max[0];
  auto const& given = size.given;
  FirstScale const first(b_max, norm);
  column.index = index;
  column.failed = first.failed;
  if (column.failed) {
    column.best.backward_error = column.best.refined_error = column.best.r_sum =
        std::numeric_limits<double>::quiet_NaN();
    return column;
  }
  if (b_max == 0) {
    column.best = {.backward_error = 0, .refined_error = 0, .excess = 0, .shortfall = 0};
    return column;
  }
  column.exponent = first.exponent;
  column.b_max = first.b_max;
  column.given_b_max = given.max[0] < 0x1p-800 ? std::ldexp(given.max[1], -column.exponent - lift)
                                               : std::ldexp(given.max[0], -column.exponent);
  MomentsOfBoth of_b;
  of_b.refined.max[0] = column.b_max;
  of_b.given.max[0] = column.given_b_max;
  of_b.given.sum[0] = std::ldexp(given.sum[0], -column.exponent);
  column.now = convergence.judge(of_b, column.b_max, column.given_b_max);
  column.proven = column.now.excess;
  bool const finite = std::isfinite(column.now.backward_error);
  if (finite && column.now.as_good_as(column.best)) column.best = column.now;
  column.begin_phase();
  return column;
}

/// What the columns came to, into the report.
inline void conclude(std::vector<Column> const& columns, Convergence const& convergence,
                     double unit, RefinementReport& report) {
  int largest = -2000;
  for (Column const& column : columns)
    if (column.best.x_max > 0 || column.best.r_max > 0)
      largest = std::max(largest, column.exponent);
  double r = 0, x = 0;  // ||B - A X||_1 and ||X||_1, both times 2^-largest
  for (Column const& column : columns) {
    auto const& best = column.best;
    report.backward_error = worst(report.backward_error, best.backward_error);
    report.equilibrated_error = worst(report.equilibrated_error, best.refined_error);
    report.relative_residual =
        worst(report.relative_residual, convergence.relative_residual(best, column.b_max));
    report.iterations = std::max(report.iterations, column.iterations);
    report.in_range = report.in_range && best.is_in_range(column.exponent, unit);
    if (!column.converged()) {
      ++report.unconverged_columns;
      report.stagnated |= column.stagnated;
    }
    r = worst(r, std::ldexp(best.r_sum, column.exponent - largest));
    x = worst(x, std::ldexp(best.x_sum, column.exponent - largest));
  }
  report.slate_error = convergence.slate_error(r, x);
  report.hpl_scaled_residual = convergence.hpl_scaled(report.backward_error);
  report.converged =
      convergence.holds(report.equilibrated_error, report.backward_error, report.slate_error);
  if (report.converged) report.unconverged_columns = 0, report.stagnated = false;
}

}  // namespace strata::dense::detail

#endif
