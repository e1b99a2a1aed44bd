// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/model/Strata_StandardErrors.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace strata::geostat {

namespace {

using detail::By;
using detail::OfEach;
using detail::OfEachTwo;
using detail::Wanted;
constexpr double not_there = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t main_four = 4;
constexpr double degree = 0.017453292519943295769;  // in radians

// The inverse of a correlation-like matrix of the parameters in `which`, by Cholesky; false if a
// pivot is below 1e-10.
bool invert(OfEachTwo& R, std::vector<std::size_t> const& which) {
  std::size_t const m = which.size();
  OfEachTwo L{}, W{};  // W = L^-1
  for (std::size_t j = 0; j < m; ++j) {
    for (std::size_t i = j; i < m; ++i) {
      double sum = R[which[i]][which[j]];
      for (std::size_t k = 0; k < j; ++k) sum -= L[i][k] * L[j][k];
      if (i == j && !(sum > 1e-10)) return false;
      L[i][j] = i == j ? std::sqrt(sum) : sum / L[j][j];
    }
  }
  for (std::size_t j = 0; j < m; ++j)
    for (std::size_t i = j; i < m; ++i) {
      double sum = i == j ? 1 : 0;
      for (std::size_t k = j; k < i; ++k) sum -= L[i][k] * W[k][j];
      W[i][j] = sum / L[i][i];
    }
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < m; ++j) {
      double sum = 0;
      for (std::size_t k = std::max(i, j); k < m; ++k) sum += W[k][i] * W[k][j];
      R[which[i]][which[j]] = sum;
    }
  return true;
}

// log sigma2 - 2 nu log range has these derivatives by the logarithms of the parameters.
double error_of_ratio(StandardErrors const& errors, Covariance const& theta) {
  if (!is_matern(theta.family)) return not_there;
  double const order = theta.order();
  Parameters const by = {1, -2 * order, -2 * order * std::log(theta.range), 0};
  double variance = 0;
  for (std::size_t j = 0; j < 4; ++j)
    for (std::size_t k = 0; k < 4; ++k)
      if (errors.reasons[j].empty() && errors.reasons[k].empty())
        variance += by[j] * errors.of_logarithm[j] * errors.correlation[j][k] *
                    errors.of_logarithm[k] * by[k];
  return errors.reasons[By::sigma2].empty() && errors.reasons[By::range].empty()
             ? std::sqrt(std::max(0.0, variance))
             : not_there;
}

// The information where the ranges along the major axis stay. The stretch keeps the geometric means
// instead, so that d / d kappa is less by half of what log range makes.
OfEachTwo with_major_ranges(OfEachTwo I, Covariance const& theta, AlsoEstimated const& also) {
  auto const subtract = [&](std::size_t of, double scale) {
    if (std::isnan(I[of][of]) || std::isnan(I[By::stretch][By::stretch])) return;
    for (std::size_t k = 0; k < I.size(); ++k) I[By::stretch][k] -= scale * I[of][k];
    for (std::size_t k = 0; k < I.size(); ++k) I[k][By::stretch] -= scale * I[k][of];
  };
  if (!also.mean_range_stays[0]) subtract(By::range, theta.range / 2);
  if (theta.second && !also.mean_range_stays[1]) subtract(By::range_2, theta.second->range / 2);
  return I;
}

// The information where the ranges of the other coordinates stay, not `axes`.
OfEachTwo with_single_ranges(OfEachTwo I, Covariance const& theta) {
  auto const axes = theta.axes.size();
  if (std::isnan(I[By::range][By::range])) return I;
  for (std::size_t k = 0; k < I.size(); ++k)
    for (std::size_t axis = By::axis; axis < By::axis + axes; ++axis)
      I[By::range][k] -= I[axis][k] / theta.range;
  for (std::size_t k = 0; k < I.size(); ++k)
    for (std::size_t axis = By::axis; axis < By::axis + axes; ++axis)
      I[k][By::range] -= I[k][axis] / theta.range;
  return I;
}

OfEachTwo all_of(FisherInformation const& information) {
  OfEachTwo I = information.of_all;
  for (std::size_t j = 0; j < main_four; ++j)
    for (std::size_t k = 0; k < main_four; ++k) I[j][k] = information.of[j][k];
  return I;
}

// Errors of what stands beside the main_four parameters, from the variances' roots.
void take_further(OfEach const& error, Covariance const& theta, StandardErrors& result) {
  double const kappa = -std::log(theta.ratio);
  result.of_ratio = theta.ratio * error[By::stretch];
  bool const has_direction = kappa > error[By::stretch];
  result.of_angle = has_direction ? error[By::shear] / (2 * kappa) / degree : not_there;
  for (std::size_t k = 0; k < theta.axes.size(); ++k) {
    result.of_logarithm_of_axes.push_back(error[By::axis + k]);
    result.of_axes.push_back(theta.range * theta.axes[k] * error[By::axis + k]);
  }
  if (!theta.second) return;
  std::array<double, 3> const values = {theta.second->sigma2, theta.second->range,
                                        theta.second->nu};
  for (std::size_t k = 0; k < 3; ++k) {
    result.of_second[k] = error[By::sigma2_2 + k];
    result.of_logarithm_of_second[k] = result.of_second[k] / values[k];
  }
}

std::string why_none(FisherInformation const& information, double of_it, bool is_estimated) {
  if (!is_estimated) return "not estimated";
  if (information.info != 0) return "the covariance matrix is not positive definite";
  if (!(of_it > 0) || !std::isfinite(of_it))
    return "the observations tell nothing about this parameter";
  return "";
}

}  // namespace

StandardErrors standard_errors(FisherInformation const& information, Covariance const& theta,
                               std::array<bool, 4> const& estimated, AlsoEstimated const& also) {
  StandardErrors result;
  result.of = result.of_logarithm = {not_there, not_there, not_there, not_there};
  result.correlation = {result.of, result.of, result.of, result.of};
  result.of_logarithm_of_ratio = result.of_angle = result.of_ratio = not_there;
  result.of_second = result.of_logarithm_of_second = {not_there, not_there, not_there};
  bool const turned = also.directions && !theta.has_axes();
  Wanted all = {estimated[0], estimated[1],   estimated[2],   estimated[3],  turned,
                turned,       also.second[0], also.second[1], also.second[2]};
  for (std::size_t k = 0; k < theta.axes.size(); ++k)
    all[By::axis + k] = also.directions && !(k < also.axis_stays.size() && also.axis_stays[k]);
  OfEachTwo I = all_of(information);
  if (also.directions)
    I = turned ? with_major_ranges(I, theta, also) : with_single_ranges(I, theta);
  std::vector<std::size_t> which;
  for (std::size_t k = 0; k < all.size(); ++k) {
    std::string const reason = why_none(information, I[k][k], all[k]);
    if (reason.empty()) which.push_back(k);
    if (k < main_four) result.reasons[k] = reason;
  }
  // R = D^-1 I D^-1 with ones on its diagonal.
  OfEachTwo R{};
  for (auto const j : which)
    for (auto const k : which) R[j][k] = I[j][k] / std::sqrt(I[j][j] * I[k][k]);
  if (!invert(R, which)) {
    for (auto const k : which)
      if (k < main_four)
        result.reasons[k] = "the observations do not tell it apart from the others";
    return result;
  }
  Parameters const values = parameters_of(theta);
  OfEach error;
  error.fill(not_there);
  for (auto const j : which) {
    error[j] = std::sqrt(R[j][j] / I[j][j]);
    if (j >= main_four) continue;
    result.of[j] = error[j];
    result.of_logarithm[j] = result.of[j] / values[j];
    for (auto const k : which)
      if (k < main_four) result.correlation[j][k] = R[j][k] / std::sqrt(R[j][j] * R[k][k]);
  }
  take_further(error, theta, result);
  result.of_logarithm_of_ratio =
      theta.second || theta.has_axes() ? not_there : error_of_ratio(result, theta);
  return result;
}

}  // namespace strata::geostat
