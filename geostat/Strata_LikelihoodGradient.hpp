// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LIKELIHOOD_GRADIENT_HPP
#define STRATA_LIKELIHOOD_GRADIENT_HPP

#include <geostat/Strata_Likelihood.hpp>
#include <geostat/model/detail/Strata_Derivatives.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace strata::geostat {

/// The derivatives of a log-likelihood.
struct LikelihoodGradient {
  std::int64_t info = 0;  ///< 0, or the leading minor that is not positive: then the rest is NaN
  /// d l / d theta_k; times theta_k it is the one by log theta_k. NaN where it was not wanted,
  /// and by a nu that the family does not have. With directions the range always has one.
  Parameters by{};
  /// d l / d angle, in degrees; NaN where there are no directions.
  double by_angle = std::numeric_limits<double>::quiet_NaN();
  /// d l / d ratio; NaN where there are no directions.
  double by_ratio = std::numeric_limits<double>::quiet_NaN();
  /// d l / d sigma2, range and nu of a second structure; NaN where there is none, or it has no nu.
  std::array<double, 3> by_second = {std::numeric_limits<double>::quiet_NaN(),
                                     std::numeric_limits<double>::quiet_NaN(),
                                     std::numeric_limits<double>::quiet_NaN()};
  /// d l / d `Covariance::axes`, where there are any; the range of x stays.
  std::vector<double> by_axes = {};
  double backward_error = 0;    ///< normwise, the largest of all solves that were refined
  bool solve_converged = true;  ///< all of them met their tolerance
  double seconds = 0;           ///< time of all parts
};

/// The exact gradient of `log_likelihood` by sigma2, range, nu and nugget,
///   d l / d theta_k = 1/2 (w' S_k w - trace(S^-1 S_k)),
///   w = S^-1 (y - F b),   S_k = d S / d theta_k.
///
/// The coefficients of a trend depend on theta, too, but l is largest in them, so that their
/// derivatives take no part (the envelope theorem). By REML P = S^-1 - S^-1 F (F' S^-1 F)^-1 F'
/// S^-1 takes the place of S^-1. At a nugget of 0 the derivative by it is the one from above.
///
/// The columns of S^-1 come in blocks, each from the factor and from the diagonal down. They meet
/// the entries of S_k, which are evaluated where they are needed. So all four derivatives take one
/// S^-1. The derivatives by sigma2, range and nugget have closed forms; the one by nu has K_nu's,
/// see detail::MaternGradient, and is most of an entry's cost where nu is 1/2, 3/2 or 5/2.
///
/// Shape    a value for each location, n >= 1.
/// Result   see LikelihoodGradient; its `info` says if S is not positive definite. `on_progress`
///          hears, after each block of 512 columns of S^-1, what part of them is done.
/// Sync     fences `exec`.
/// Memory   512 n numbers. Cost: 2/3 n^3 flops for many rows of tiles, as two factorisations, and
///          n^2 / 2 evaluations of entries. With tiles below fp64 2 n^3 flops, and each block of
///          512 columns is refined with S, n^2 evaluations of entries for each step of the
///          refinement.
/// Throws   what `log_likelihood` throws.
/// Error    the error of S^-1 by backward stable fp64 solves, whatever the tiles' precision:
///          |error| is at most c 2^-52 cond(S) sum_ij |S^-1|_ij |S_k|_ij. Tested against
///          differences of the log-likelihood in long double.
/// Source   Mardia and Marshall, Biometrika 71 (1984), doi:10.1093/biomet/71.1.135.
template <class ExecutionSpace>
[[nodiscard]] LikelihoodGradient log_likelihood_gradient(
    ExecutionSpace const& exec, CovarianceFactor<ExecutionSpace>& factor,
    std::span<double const> values, Trend const& trend = Mean::Constant,
    std::array<bool, 4> const& wanted = {true, true, true, true},
    std::function<void(double)> const& on_progress = {});

namespace detail {

/// The gradient and, of the parameters that are wanted, the average of observed and expected
/// information,
///   AI_jk = 1/2 w' S_j P S_k w,   P = S^-1 - T T' with the weights' T, by ML and by REML.
struct LikelihoodDerivatives {
  LikelihoodGradient gradient;
  OfEach by{};              ///< derivatives by all that were wanted, else 0
  OfEachTwo information{};  ///< the same
};

/// What a gradient is asked for: of these parameters those that the covariance has, and all of a
/// second structure. Directions take the range, as ratio and stretch hold different ranges. Where
/// each coordinate has a range, single ranges are differentiated by instead.
Wanted wanted_of(Covariance const& covariance, std::array<bool, 4> const& parameters,
                 bool directions);

/// One behind the last derivative that is wanted, 4 at least.
int count_of(Wanted const& wanted);

/// Makes a gradient of derivatives by all; stretch, shear and range give angle and ratio.
void take_derivatives(Covariance const& covariance, Wanted const& wanted, OfEach const& by,
                      LikelihoodDerivatives& result);

/// These of S = sill C for the factor of C and its weights, by the parameters of C; the information
/// only if asked for.
///
/// Memory   512 n numbers, with the information 2048 n.
/// Source   Gilmour, Thompson and Cullis, Biometrics 51 (1995), doi:10.2307/2533274.
template <class ExecutionSpace>
LikelihoodDerivatives derivatives(ExecutionSpace const& exec,
                                  CovarianceFactor<ExecutionSpace>& factor,
                                  Weights<ExecutionSpace> const& weights, Criterion criterion,
                                  double sill, Wanted const& wanted, bool with_information,
                                  std::function<void(double)> const& on_progress = {});

}  // namespace detail

}  // namespace strata::geostat

#endif
