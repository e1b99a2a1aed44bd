// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Fits a Matern covariance to observations by maximum likelihood, says how well its parameters are known, and predicts the
// field, by kriging, at locations that were held back. The observations are drawn from a known covariance, so that fit and predictions can be judged.
#include <geostat/Strata_FisherInformation.hpp>
#include <geostat/Strata_Fit.hpp>
#include <geostat/Strata_Prediction.hpp>
#include <geostat/Strata_SyntheticField.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <iostream>
#include <utility>
#include <vector>

int main(int argc, char** argv) {
  using namespace strata;
  using namespace strata::geostat;
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Kokkos::DefaultExecutionSpace const exec;

  MaternCovariance const truth{.sigma2 = 1, .range = 0.1, .nu = 0.5, .nugget = 0.01};
  Locations const all = synthetic_locations(500);  // in the unit square
  std::vector<double> const field = geostat::synthetic_field(exec, truth, all);
  Locations known, held_back;
  std::vector<double> values, values_held_back;
  for (std::size_t i = 0; i < field.size(); ++i) {
    auto& part = i % 5 == 0 ? held_back : known;
    part.x.push_back(all.x[i]);
    part.y.push_back(all.y[i]);
    (i % 5 == 0 ? values_held_back : values).push_back(field[i]);
  }

  auto theta = truth;
  geostat::CovarianceFactor<Kokkos::DefaultExecutionSpace> factor(exec, truth, known);
  auto const at_truth = geostat::log_likelihood(exec, factor, values, geostat::Mean::Constant);
  double log_likelihood = at_truth.log_likelihood;
  if (geostat::can_fit()) {  // this Strata was built with the optimiser
    auto options = geostat::default_fit_options(known, values);
    options.fixed[2] = true;  // nu stays 1/2
    auto fit = geostat::fit(exec, factor.team(), known, values, options);
    factor = std::move(*fit.factor);  // of the covariance matrix at the estimate
    theta = fit.theta;
    log_likelihood = fit.likelihood.log_likelihood;
    std::cout << fit.evaluations << " evaluations: " << fit.reason << '\n';
    auto const information = geostat::fisher_information(exec, factor);
    auto const errors = geostat::standard_errors(information, theta, {true, true, false, true});
    std::cout << "standard errors of their logarithms: " << errors.of_logarithm[0] << ", "
              << errors.of_logarithm[1] << ", -, " << errors.of_logarithm[3] << '\n';
  }
  std::cout << "sigma2, range, nu, nugget: " << to_string(theta) << "\nlog-likelihood "
            << log_likelihood << ", of the true parameters " << at_truth.log_likelihood << '\n';

  auto const kriged = geostat::predict(exec, factor, values, held_back, geostat::Mean::Constant);
  double misfit = 0;  // squared errors over the variances that were predicted for them: about 1
  for (std::size_t i = 0; i < values_held_back.size(); ++i) {
    double const error = kriged.mean[i] - values_held_back[i];
    misfit += error * error / (kriged.variance[i] + theta.nugget);
  }
  misfit /= static_cast<double>(values_held_back.size());
  std::cout << "mean squared error over predicted variance: " << misfit << '\n';
  if (log_likelihood >= at_truth.log_likelihood && kriged.converged && misfit > 0.6 && misfit < 1.6)
    return 0;
  std::cerr << "the fit or the predictions are wrong\n";
  return 1;
}
