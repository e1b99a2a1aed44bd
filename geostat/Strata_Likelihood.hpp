// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LIKELIHOOD_HPP
#define STRATA_LIKELIHOOD_HPP

#include <core/Strata_EnumNames.hpp>
#include <geostat/Strata_CovarianceFactor.hpp>

#include <cstdint>
#include <span>

namespace strata::geostat {

/// What is known of the mean of the observations.
enum class Mean : std::uint8_t {
  None,      ///< it is zero
  Constant,  ///< it is one number, estimated with the covariance: (1' S^-1 y) / (1' S^-1 1)
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(Mean) {
  return enum_names<Mean>("mean", {{Mean::None, "none"}, {Mean::Constant, "constant"}});
}
using strata::name_of;

/// A Gaussian log-likelihood and its parts.
struct Likelihood {
  std::int64_t n = 0;     ///< observations
  std::int64_t info = 0;  ///< 0, or the leading minor that is not positive: then the rest is NaN
  /// -1/2 (n log 2 pi + log_det + quadratic_form).
  double log_likelihood = 0;
  double log_det = 0;  ///< log-determinant of S
  /// log_det is off by no more: by rounding, and by the estimate where tiles are below fp64, but for
  /// about one case in a thousand. Infinite: nothing can be said with these tiles. NaN: not known
  /// (LogDet::Factor).
  double log_det_error = 0;
  double quadratic_form = 0;  ///< (y - mean)' S^-1 (y - mean), by a solve refined to fp64
  /// quadratic_form is off by no more, for the entries that S has in fp64 and but for about one case in a thousand: by
  /// rounding of the solve. Large where S is nearly singular; infinite: the solve failed.
  double quadratic_form_error = 0;
  double mean = 0;                    ///< mean that was subtracted
  double backward_error = 0;          ///< normwise, of the solve
  bool solve_converged = true;        ///< the solve met its tolerance
  std::int64_t solve_iterations = 0;  ///< applications of the factor
  CovarianceFactorReport factor;      ///< what the factor took
  double seconds = 0;                 ///< time of all parts

  /// log_likelihood is off by no more: half of the errors of its parts. Infinite or NaN as log_det_error.
  double error() const { return (log_det_error + quadratic_form_error) / 2; }
};

/// The log-likelihood of a zero or constant mean and a Matern covariance,
///   l(theta) = -1/2 (n log 2 pi + log det S + (y - mean)' S^-1 (y - mean)).
///
/// Shape    a value for each location, n >= 1.
/// Result   see Likelihood; its `info` says if S is not positive definite.
/// Sync     fences `exec`.
/// Memory   `CovarianceFactor::bytes_needed`, and (6 + probes) n numbers.
/// Throws   ShapeError if the values are not as many as the locations, or none; ValueError naming
///          the first value that is not finite; what CovarianceFactor throws.
/// Error    of log_det no more than `log_det_error`. Of the quadratic form no more than
///          `quadratic_form_error`, whatever the tiles' precision. With x = S^-1 r, r = y - mean,
///          it is x' (r - S x) to first order, and the residual's numbers have random signs. So it
///          is 4 ||x||_2 times what one of them may be: w (||S||_inf ||x||_inf + ||r||_inf) by the
///          backward error w; and 2^-53 ||s||_2 ||x||_inf by rounding of the residual, s being a
///          row of S; and 2^-51 times the form, as rows that are alike have roundings that are
///          alike.
/// Source   equation 1 of Ren et al. (paper B).
template <class ExecutionSpace>
[[nodiscard]] Likelihood log_likelihood(ExecutionSpace const& exec,
                                        MaternCovariance const& covariance,
                                        Locations const& locations, std::span<double const> values,
                                        Mean mean = Mean::Constant,
                                        CovarianceFactorOptions const& options = {});

/// The same with a factor that is there, and these probes where its tiles are below fp64.
template <class ExecutionSpace>
[[nodiscard]] Likelihood log_likelihood(ExecutionSpace const& exec,
                                        CovarianceFactor<ExecutionSpace>& factor,
                                        std::span<double const> values, Mean mean = Mean::Constant,
                                        dense::LogDeterminantOptions const& probes = {});

namespace detail {

// A value for each of n >= 1 locations, all finite, or throws.
void check_values(std::int64_t n, std::span<double const> values);

/// S^-1 (y - mean) and what comes with it.
template <class ExecutionSpace>
struct Weights {
  using Block = typename CovarianceFactor<ExecutionSpace>::Block;
  Block values;  ///< n x 1: S^-1 (y - mean)
  Block ones;    ///< n x 1: S^-1 1; empty without a mean
  double mean = 0;
  double ones_form = 0;  ///< 1' S^-1 1
  double quadratic_form = 0, quadratic_form_error = 0;
  dense::SolveReport solve;
};

/// How S^-1 is applied.
enum class Solves : std::uint8_t {
  Refined,  ///< solves with residuals, which ask for S again
  /// By a factor in fp64 alone, whose backward error is taken for 2^-52; refined where tiles are below fp64.
  Direct,
};

template <class ExecutionSpace>
Weights<ExecutionSpace> weights(ExecutionSpace const& exec,
                                CovarianceFactor<ExecutionSpace>& factor,
                                std::span<double const> values, Mean mean,
                                Solves solves = Solves::Refined);

/// The log-likelihood by weights that are there, of a factor that has not climbed since.
template <class ExecutionSpace>
Likelihood log_likelihood(ExecutionSpace const& exec, CovarianceFactor<ExecutionSpace>& factor,
                          Weights<ExecutionSpace> const& weights,
                          dense::LogDeterminantOptions const& probes);

}  // namespace detail

}  // namespace strata::geostat

#endif
