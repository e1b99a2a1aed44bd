// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Fits a Matern covariance to observations by maximum likelihood, says how well its parameters are
// known, and predicts the field, by kriging, at locations that were held back. The covariance that
// the observations are drawn from is known.
#include <geostat/Strata_FisherInformation.hpp>
#include <geostat/fit/Strata_Fit.hpp>
#include <geostat/kriging/Strata_Prediction.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <iostream>
#include <utility>
#include <vector>

using namespace strata::geostat;

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Kokkos::DefaultExecutionSpace const exec;
  MaternCovariance const truth{.sigma2 = 1, .range = 0.1, .nu = 0.5, .nugget = 0.01};
  Locations const all = synthetic_locations(500);  // in the unit square
  std::vector<double> const field = synthetic_field(exec, truth, all);
  Locations known, held_back;
  std::vector<double> values, values_held_back;
  for (std::size_t i = 0; i < field.size(); ++i) {
    auto& part = i % 5 == 0 ? held_back : known;
    part.x.push_back(all.x[i]);
    part.y.push_back(all.y[i]);
    (i % 5 == 0 ? values_held_back : values).push_back(field[i]);
  }

  auto theta = truth;
  CovarianceFactor<Kokkos::DefaultExecutionSpace> factor(exec, truth, known);
  double const at_truth = log_likelihood(exec, factor, values, Mean::Constant).log_likelihood;
  double at_estimate = at_truth;
  if (can_fit()) {  // this Strata was built with the optimiser
    auto options = default_fit_options(known, values);
    options.fixed[2] = true;  // nu stays 1/2
    auto estimate = fit(exec, factor.team(), known, values, options);
    factor = std::move(*estimate.factor);  // of the covariance matrix at the estimate
    theta = estimate.theta;
    at_estimate = estimate.likelihood.log_likelihood;
    auto const information = fisher_information(exec, factor);
    auto const errors = standard_errors(information, theta, {true, true, false, true});
    std::cout << estimate.evaluations << " evaluations: " << estimate.reason
              << "\nstandard error of the range's logarithm: " << errors.of_logarithm[1] << '\n';
  }
  std::cout << "sigma2, range, nu, nugget: " << to_string(theta) << "\nlog-likelihood "
            << at_estimate << ", of the true parameters " << at_truth << '\n';

  auto const kriged = predict(exec, factor, values, held_back, Mean::Constant);
  double misfit = 0;  // squared errors over the variances that were predicted for them: about 1
  for (std::size_t i = 0; i < values_held_back.size(); ++i)
    misfit += std::pow(kriged.mean[i] - values_held_back[i], 2) /
              (kriged.variance[i] + theta.nugget) / static_cast<double>(values_held_back.size());
  std::cout << "mean squared error over predicted variance: " << misfit << '\n';
  return at_estimate >= at_truth && kriged.converged && misfit > 0.6 && misfit < 1.6 ? 0 : 1;
}
