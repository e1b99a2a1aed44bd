// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_STANDARD_ERRORS_HPP
#define STRATA_STANDARD_ERRORS_HPP

#include <geostat/model/Strata_Covariance.hpp>
#include <geostat/model/detail/Strata_Derivatives.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace strata::geostat {

/// What observations at some locations tell of sigma2, range, nu and nugget.
struct FisherInformation {
  std::int64_t info = 0;  ///< 0, or the leading minor that is not positive: then the rest is NaN
  /// I_jk, symmetric; NaN where it was not wanted, and of a nu that the family does not have. With
  /// directions the range always has it.
  std::array<Parameters, 4> of{};
  /// The same with stretch, shear and a second structure's parameters, in the order of detail::By.
  detail::OfEachTwo of_all{};
  double backward_error = 0;    ///< normwise, the largest of all solves that were refined
  bool solve_converged = true;  ///< all of them met their tolerance
  double seconds = 0;           ///< time of the whole evaluation
};

/// How far estimates by maximum likelihood are from the truth, as far as the information tells: the
/// square roots of diag(I^-1).
///
/// They hold for many observations and estimates inside their bounds. Where all observations lie in
/// one region, however many, range and sigma2 stay uncertain and only sigma2 / range^(2 nu) becomes
/// known (Zhang). Then the errors of the logarithms, or a profile interval, say more than the
/// errors of the parameters.
struct StandardErrors {
  Parameters of{};            ///< NaN: there is none, see `reasons`
  Parameters of_logarithm{};  ///< errors of log theta_k: of[k] / theta_k
  /// correlation of the estimates, and of their logarithms
  std::array<Parameters, 4> correlation{};
  std::array<std::string, 4> reasons;  ///< why there is none; empty: there is one
  /// The error of log (sigma2 / range^(2 nu)), which many observations in one region make known.
  /// NaN without the errors of sigma2 and range, and where the covariance is not Matern's with one
  /// range.
  double of_logarithm_of_ratio = 0;
  double of_angle = 0;  ///< degrees; NaN: it was not estimated, or there is hardly a direction
  double of_ratio = 0;  ///< NaN: it was not estimated
  /// Errors of the ranges of y and further coordinates, and of their logarithms, where each
  /// coordinate has a range.
  std::vector<double> of_axes = {}, of_logarithm_of_axes = {};
  std::array<double, 3> of_second{};               ///< errors of sigma2, range and nu; NaN: none
  std::array<double, 3> of_logarithm_of_second{};  ///< the same of the logarithms
};

/// What was estimated beside the four parameters.
struct AlsoEstimated {
  bool directions = false;       ///< angle and ratio, or a range for each coordinate
  std::array<bool, 3> second{};  ///< sigma2, range and nu of the second structure
  /// Whether a range ended at its bound, of the first structure and the second. With directions
  /// that is the bound of both axes' geometric mean, which stays then; else the major range stays.
  std::array<bool, 2> mean_range_stays{};
  /// Whether the range of y, or of a further coordinate, ended at its bound; empty: none did.
  std::vector<bool> axis_stays = {};
};

/// The standard errors of the parameters that were estimated, the others being known.
///
/// Shape    the information of all that were estimated, at theta.
/// Result   none for a parameter of which there is no information; none for any if the information
///          is singular to ten digits, as the data then don't tell these parameters apart.
/// Source   Zhang, J. Amer. Statist. Assoc. 99 (2004), doi:10.1198/016214504000000241.
StandardErrors standard_errors(FisherInformation const& information, Covariance const& theta,
                               std::array<bool, 4> const& estimated,
                               AlsoEstimated const& also = {});

}  // namespace strata::geostat

#endif
