// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/mle/Strata_MleReport.hpp>
#include <apps/shared/Strata_Text.hpp>

#include <array>
#include <cmath>
#include <ostream>
#include <string>

namespace strata::apps {

namespace {

long long wide(std::int64_t value) { return static_cast<long long>(value); }

void row(std::ostream& out, std::string const& name, std::string const& value) {
  out << text("  %-24s %s\n", name.c_str(), value.c_str());
}

std::string tiles_of(std::array<std::int64_t, 4> const& tiles) {
  constexpr std::array<char const*, 4> names = {"fp64", "fp32", "fp16", "fp8_e4m3"};
  double all = 0;
  for (auto const count : tiles) all += static_cast<double>(count);
  std::string list;
  for (std::size_t k = 0; k < tiles.size(); ++k)
    if (tiles[k] > 0)
      list += text("%s%s %lld (%.1f %%)", list.empty() ? "" : ", ", names[k], wide(tiles[k]),
                   100 * static_cast<double>(tiles[k]) / all);
  return list;
}

void print_problem(std::ostream& out, MleResult const& result) {
  bool const generates = result.task == "generate";
  out << "Problem\n";
  row(out, generates ? "synthetic field" : "observations", result.source);
  row(out, "places", text("%lld", wide(result.n)));
  if (generates) {
    row(out, "written to", result.output);
  } else {
    row(out, "distance",
        result.metric == geostat::Metric::GreatCircle ? "great-circle, km" : "Euclidean");
    row(out, "order in the matrix", result.ordering);
    row(out, "mean", result.mean == geostat::Mean::None ? "none (zero)" : "constant, estimated");
  }
  row(out, "memory needed", in_bytes(static_cast<double>(result.bytes_needed)));
}

void print_theta(std::ostream& out, MleResult const& result) {
  char const* const unit = result.metric == geostat::Metric::GreatCircle ? "  km" : "";
  out << (result.fit ? "\nMatern covariance, fitted\n" : "\nMatern covariance\n");
  auto const theta = geostat::parameters_of(result.theta);
  for (std::size_t k = 0; k < theta.size(); ++k) {
    std::string note = k == 1 ? unit : "";
    if (result.fit && result.asked->fixed[k]) note += "  (fixed)";
    if (result.fit && result.fit->at_bound[k]) note += "  (AT ITS BOUND)";
    row(out, std::string(geostat::parameter_names[k]), text("%.8g%s", theta[k], note.c_str()));
  }
  if (!result.fit) return;
  auto const& fit = *result.fit;
  std::string refused;
  if (fit.not_positive_definite > 0)
    refused = text(", %lld of them not positive definite", wide(fit.not_positive_definite));
  if (fit.not_known > 0) refused += text(", %lld with tiles too low to know", wide(fit.not_known));
  row(out, fit.converged ? "converged" : "NOT CONVERGED", fit.reason);
  if (fit.noise > 0) row(out, "  known to", text("%.1e of the log-likelihood", fit.noise));
  row(out, "evaluations",
      text("%lld%s, %.3f s each", wide(fit.evaluations), refused.c_str(),
           fit.seconds / static_cast<double>(fit.evaluations)));
  if (!fit.in_low_precision) return;
  auto const& low = *fit.in_low_precision;
  row(out, "  with low-precision tiles",
      text("%lld, to %.10g +- %.1e", wide(low.evaluation), low.likelihood.log_likelihood,
           low.likelihood.log_det_error / 2));
  row(out, "  then in fp64", text("%lld", wide(fit.evaluations_in_fp64)));
}

// Why the tiles are not as asked for: rungs that broke down before one held.
void print_ladder(std::ostream& out, geostat::CovarianceFactorReport const& factor) {
  if (factor.attempts.size() < 2) return;
  row(out, "rung of the ladder",
      text("%s, after %zu attempts", std::string(name_of(factor.rung)).c_str(),
           factor.attempts.size()));
  for (auto const& attempt : factor.attempts)
    row(out, "  " + std::string(name_of(attempt.rung)),
        text("epsilon %.1e: %s", attempt.accuracy,
             attempt.info == 0 ? "factored"
                               : text("broke down at minor %lld", wide(attempt.info)).c_str()));
}

void print_likelihood(std::ostream& out, MleResult const& result) {
  if (!result.likelihood) return;
  auto const& likelihood = *result.likelihood;
  out << "\nLikelihood\n";
  if (likelihood.info != 0) {
    row(out, "NOT POSITIVE DEFINITE",
        text("the leading minor of order %lld is not positive", wide(likelihood.info)));
    return print_ladder(out, likelihood.factor);
  }
  row(out, "log-likelihood", text("%.10g", likelihood.log_likelihood));
  row(out, "log-determinant",
      likelihood.log_det_error > 0
          ? text("%.10g +- %.1e", likelihood.log_det, likelihood.log_det_error)
          : text("%.10g", likelihood.log_det));
  if (!result.log_det_known())
    row(out, "NOT KNOWN", "the tiles' rounding is too large beside the covariance matrix");
  row(out, "quadratic form", text("%.10g", likelihood.quadratic_form));
  if (result.mean == geostat::Mean::Constant) row(out, "mean", text("%.8g", likelihood.mean));
  row(out, "backward error",
      text("%.2e  (normwise, of the refined solve, %lld iterations)", likelihood.backward_error,
           wide(likelihood.solve_iterations)));
  auto const& factor = likelihood.factor;
  row(out, "tiles", text("%s, order %lld", tiles_of(factor.tiles).c_str(), wide(factor.tile_size)));
  print_ladder(out, factor);
  row(out, "bytes", in_bytes(static_cast<double>(factor.bytes)));
  if (!result.divergence) return;
  auto const& kl = *result.divergence;
  row(out, "KL divergence, paper's",
      text("%.6e  (from the log-determinant)", kl.divergence.log_det_half));
  row(out, "KL divergence, full",
      text("%.6e +- %.1e", kl.divergence.full,
           kl.divergence.standard_error + kl.divergence.truncation_error));
}

}  // namespace

void print(std::ostream& out, MleResult const& result) {
  print_problem(out, result);
  print_theta(out, result);
  print_likelihood(out, result);
  if (result.prediction) {
    auto const& prediction = *result.prediction;
    out << "\nPrediction\n";
    row(out, "places", text("%lld of %s", wide(prediction.count), prediction.places.c_str()));
    row(out, "average",
        text("%.6g, standard deviation %.6g of the field, %.6g of an observation", prediction.mean,
             std::sqrt(prediction.variance), std::sqrt(prediction.observation_variance)));
    row(out, "variance, sd",
        text("of the field without noise, by %s kriging",
             result.mean == geostat::Mean::Constant ? "ordinary" : "simple"));
    row(out, "observation_*",
        text("of a new observation there: with the nugget, %.6g", result.theta.nugget));
    row(out, "written to", result.output);
  }
  out << "\nSeconds\n";
  if (result.likelihood) {
    out << text("  %-24s %10.4f\n", "covariance matrix", result.likelihood->factor.fill_seconds);
    out << text("  %-24s %10.4f\n", "factor", result.likelihood->factor.factor_seconds);
  }
  out << text("  %-24s %10.4f\n", "total", result.total_seconds);
}

}  // namespace strata::apps
