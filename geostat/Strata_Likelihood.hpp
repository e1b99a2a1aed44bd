// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LIKELIHOOD_HPP
#define STRATA_LIKELIHOOD_HPP

#include <geostat/Strata_CovarianceFactor.hpp>
#include <geostat/model/Strata_Trend.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata::geostat {

/// A Gaussian log-likelihood and its parts.
struct Likelihood {
  std::int64_t n = 0;     ///< observations
  std::int64_t info = 0;  ///< 0, or the leading minor that is not positive: then the rest is NaN
  /// -1/2 (n log 2 pi + log_det + quadratic_form); by REML -1/2 ((n - k) log 2 pi + log_det +
  /// log_det_trend + quadratic_form).
  double log_likelihood = 0;
  double log_det = 0;  ///< log-determinant of S
  /// log_det is off by no more: by rounding, and by the estimate where tiles are below fp64, but
  /// for about one case in a thousand. Infinite: nothing can be said with these tiles. NaN: not
  /// known (LogDet::Factor).
  double log_det_error = 0;
  double quadratic_form = 0;  ///< (y - mean)' S^-1 (y - mean), by a solve refined to fp64
  /// quadratic_form is off by no more, for the entries that S has in fp64 and but for about one
  /// case in a thousand: by rounding of the solve. Large where S is nearly singular; infinite: the
  /// solve failed.
  double quadratic_form_error = 0;
  double mean = 0;                   ///< mean that was subtracted; NaN: it is no constant
  double log_det_trend = 0;          ///< log det F' S^-1 F - log det F'F, of REML; else 0
  std::vector<double> coefficients;  ///< b of the trend F b, by generalised least squares
  /// (F' S^-1 F)^-1, k x k: of b at this covariance, whose own uncertainty is not in it.
  std::vector<double> coefficient_covariance;
  double backward_error = 0;          ///< normwise, of the solve
  bool solve_converged = true;        ///< the solve met its tolerance
  std::int64_t solve_iterations = 0;  ///< applications of the factor
  CovarianceFactorReport factor;      ///< what the factor took
  double seconds = 0;                 ///< time of all parts

  /// log_likelihood is off by no more: half of the errors of its parts. Infinite or NaN as
  /// log_det_error.
  double error() const { return (log_det_error + quadratic_form_error) / 2; }
};

/// The log-likelihood of a trend F b, a zero or a constant mean among them, and a Matern
/// covariance,
///   l(theta) = -1/2 (n log 2 pi + log det S + r' S^-1 r),
///   r = y - F b,   b = (F' S^-1 F)^-1 F' S^-1 y.
/// REML takes n - k contrasts of y on which b has no influence instead. Then
///   l(theta) = -1/2 ((n - k) log 2 pi + log det S + log det F' S^-1 F - log det F'F + r' S^-1 r).
/// REML's does not change where columns of F are mixed. Values of different F can't be
/// compared.
///
/// Shape    a value for each location, n >= 1; the trend's columns of as many.
/// Result   see Likelihood; its `info` says if S is not positive definite.
/// Sync     fences `exec`.
/// Memory   `CovarianceFactor::bytes_needed`, and (6 + 4 k + probes) n numbers for k columns.
/// Throws   ShapeError if the values are not as many as the locations, or none; ValueError naming
///          the first value that is not finite; what CovarianceFactor throws.
/// Error    log_det has no more than `log_det_error`, the quadratic form no more than
///          `quadratic_form_error`, whatever the tiles' precision. With x = S^-1 r and r = y -
///          mean, the form's error is x' (r - S x) to first order, and the residual's numbers have
///          random signs. So it is 4 ||x||_2 times what one number may be. That is w (||S||_inf
///          ||x||_inf + ||r||_inf) by the backward error w, and 2^-53 ||s||_2 ||x||_inf by rounding
///          of the residual, s being a row of S. Added is 2^-51 times the form, since rows that are
///          alike have roundings that are alike.
/// Source   equation 1 of Ren et al. (paper B); REML: Harville, Biometrika 61 (1974),
///          doi:10.1093/biomet/61.2.383.
template <class ExecutionSpace>
[[nodiscard]] Likelihood log_likelihood(ExecutionSpace const& exec,
                                        MaternCovariance const& covariance,
                                        Locations const& locations, std::span<double const> values,
                                        Trend const& trend = Mean::Constant,
                                        CovarianceFactorOptions const& options = {});

/// The same with a factor that is there, and these probes where its tiles are below fp64.
template <class ExecutionSpace>
[[nodiscard]] Likelihood log_likelihood(ExecutionSpace const& exec,
                                        CovarianceFactor<ExecutionSpace>& factor,
                                        std::span<double const> values,
                                        Trend const& trend = Mean::Constant,
                                        dense::LogDeterminantOptions const& probes = {});

namespace detail {

// A value for each of n >= 1 locations, all finite, or throws.
void check_values(std::int64_t n, std::span<double const> values);

/// S^-1 (y - F b) and what comes with it, for the basis Q of the trend's columns.
template <class ExecutionSpace>
struct Weights {
  using Block = typename CovarianceFactor<ExecutionSpace>::Block;
  Block values;  ///< n x 1: S^-1 (y - F b)
  /// n x k: T = S^-1 Q L^-T, L L' = Q' S^-1 Q, so that S^-1 less the trend's part is S^-1 - T T'.
  Block trend;
  Block both;                        ///< n x (1 + k): the two side by side
  std::vector<double> coefficients;  ///< coefficients of Q
  std::vector<double> L;             ///< k x k
  double log_det_trend = 0;          ///< log det Q' S^-1 Q - log det Q'Q
  double quadratic_form = 0, quadratic_form_error = 0;
  dense::SolveReport solve;
};

/// How S^-1 is applied.
enum class Solves : std::uint8_t {
  Refined,  ///< solves with residuals, which ask for S again
  /// By a factor in fp64 alone, whose backward error is taken for 2^-52; refined where tiles are
  /// below fp64.
  Direct,
};

template <class ExecutionSpace>
Weights<ExecutionSpace> weights(ExecutionSpace const& exec,
                                CovarianceFactor<ExecutionSpace>& factor,
                                std::span<double const> values, Trend const& trend,
                                Solves solves = Solves::Refined);

/// The lower L with L L' = A, both k x k; NaN where there is none.
std::vector<double> lower_factor(std::vector<double> A, std::size_t k);
/// L^-1 b for a lower triangle of order k, in place.
void substitute(std::vector<double> const& L, std::span<double> b);
/// L^-T b, in place.
void substitute_transposed(std::vector<double> const& L, std::span<double> b);

/// The log-likelihood by its parts, with S = sill C where these are of C.
double log_likelihood_of(Likelihood const& parts, Trend const& trend);

/// The log-likelihood by weights that are there, of a factor that has not climbed since, for S =
/// sill C of the C that is factored.
template <class ExecutionSpace>
Likelihood log_likelihood(ExecutionSpace const& exec, CovarianceFactor<ExecutionSpace>& factor,
                          Weights<ExecutionSpace> const& weights, Trend const& trend,
                          dense::LogDeterminantOptions const& probes);

}  // namespace detail

}  // namespace strata::geostat

#endif
