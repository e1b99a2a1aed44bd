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
  bool broken = false, stagnated = false;  ///< state in the present phase
  bool failed = false;                     ///< b or ||A|| is not finite

  /// There is nothing left to gain, or to need.
  bool perfect() const { return best.excess <= 1; }
  bool converged() const { return best.converged(); }
  bool at_its_best() const { return now.as_good_as(best); }
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
