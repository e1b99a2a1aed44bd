// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_GEOSTAT_FIELDS_HPP
#define STRATA_GEOSTAT_FIELDS_HPP

#include <core/Strata_Fields.hpp>
#include <geostat/Strata_CovarianceFactor.hpp>
#include <geostat/Strata_Divergence.hpp>
#include <geostat/Strata_FisherInformation.hpp>
#include <geostat/Strata_Likelihood.hpp>
#include <geostat/Strata_LikelihoodGradient.hpp>
#include <geostat/Strata_Locations.hpp>
#include <geostat/Strata_Matern.hpp>
#include <geostat/fit/Strata_Fit.hpp>
#include <geostat/fit/Strata_ProfileInterval.hpp>
#include <ooc/Strata_OocFields.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace strata::geostat {

namespace detail {
/// A number that is not negative.
inline constexpr char const* size_schema = R"("minimum": 0)";
}  // namespace detail

/// What is told of a covariance, and of numbers for its parameters.
constexpr auto fields_of(MaternCovariance const*) {
  using C = MaternCovariance;
  return std::tuple(
      Field("sigma2", &C::sigma2, "Number of sigma2: variance of the field."),
      Field("range", &C::range, "Number of range, in the unit of distances."),
      Field("nu",
            [](C const& c) { return has_shape(c.family) ? std::optional(c.nu) : std::nullopt; },
            "Number of nu: smoothness of a Matern field, or the power of a powered exponential.",
            {.absent = "the family has none"}),
      Field("nugget", &C::nugget, "Number of nugget: variance of the observations' errors."));
}

/// What is told of a second structure.
constexpr auto fields_of(SecondStructure const*) {
  using S = SecondStructure;
  return std::tuple(
      Field("family", &S::family, "Family of the second structure."),
      Field("sigma2", &S::sigma2, "Variance of its part of the field."),
      Field("range", &S::range, "Range, in the unit of distances."),
      Field("nu",
            [](S const& s) { return has_shape(s.family) ? std::optional(s.nu) : std::nullopt; },
            "Smoothness or power.", {.absent = "the family has none"}));
}

/// What is told of observations at the same place.
constexpr auto fields_of(Copies const*) {
  using C = Copies;
  return std::tuple(
      Field("places", &C::places, "Number of places with more than one observation."),
      Field("observations", &C::observations, "Number of observations beyond the first of each."),
      Field("of_same_value", &C::of_same_value,
            "Number of these that have the value of another one there."));
}

/// What is told of a factorisation.
constexpr auto fields_of(CovarianceFactorReport const*) {
  using R = CovarianceFactorReport;
  return std::tuple(
      Field("n", &R::n, "Order of the matrix.", {.told = Told::InPython}),
      Field("storage", &R::storage, "Whose memory the covariance matrix is in.",
            {.key = "precisions/storage", .schema = R"("enum": ["host", "devices"])"}),
      Field("whole", &R::whole, "Whether it is on one device not in tiles; it counts as one.",
            {.key = "precisions/whole"}),
      Field("no_room", &R::no_room,
            "Why devices do not hold the matrix that might have; empty: they do, or were not to.",
            {.key = "precisions/no_room"}),
      Field("tiles", [](R const& r) { return ooc::TileCounts{r.tiles}; },
            "Tiles of the lower triangle, by precision.",
            {.key = "precisions/tiles", .told = Told::InDocuments}),
      Field("tiles", &R::tiles, "Numbers of tiles in fp64, fp32, fp16 and fp8_e4m3.",
            {.told = Told::InPython}),
      Field("tile_size", &R::tile_size, "Number of rows of a tile.",
            {.key = "precisions/tile_size"}),
      Field("rung", &R::rung, "Rung of the ladder of accuracies that held, or was the last.",
            {.key = "precisions/rung"}),
      Field("attempts", &R::attempts, "Rungs that were tried, in order.",
            {.key = "precisions/attempts"}),
      Field("bytes", &R::bytes, "Memory of the tiles.", {.unit = "byte", .told = Told::InPython}),
      Field("fill_seconds", &R::fill_seconds, "Time to evaluate the tiles.",
            {.unit = "s", .told = Told::InPython}),
      Field("factor_seconds", &R::factor_seconds, "Time to factor them.",
            {.unit = "s", .told = Told::InPython}));
}

/// What is told of a likelihood.
constexpr auto fields_of(Likelihood const*) {
  using L = Likelihood;
  return std::tuple(
      Field("n", &L::n, "Number of observations.", {.told = Told::InPython}),
      Field("log_likelihood", &L::log_likelihood, "Gaussian log-likelihood."),
      Field("log_det", &L::log_det, "Log-determinant of the covariance matrix."),
      Field("log_det_error", &L::log_det_error,
            "Error of log_det, which is off by no more but for about one case in a thousand.",
            {.schema = detail::size_schema}),
      Field("quadratic_form", &L::quadratic_form, "Quadratic form (y - mean)' S^-1 (y - mean)."),
      Field("quadratic_form_error", &L::quadratic_form_error,
            "Error of quadratic_form, which is off by no more, by rounding.",
            {.schema = detail::size_schema}),
      Field("error", &L::error, "Error of log_likelihood, which is off by no more.",
            {.told = Told::InPython}),
      FieldGroup{"mean", "Mean of the observations."},
      Field("mean", &L::mean,
            "Mean that was subtracted, in the data's unit; not a number: it is no constant.",
            {.key = "mean/value"}),
      Field("coefficients", &L::coefficients,
            "Coefficients of the trend, by generalised least squares.", {.told = Told::InPython}),
      Field("coefficient_covariance", &L::coefficient_covariance,
            "Covariance of the coefficients at this covariance, k x k.", {.told = Told::InPython}),
      Field("log_det_trend", &L::log_det_trend,
            "By REML log det F' S^-1 F - log det F'F for the trend's columns F, else 0.",
            {.told = Told::InPython}),
      Field("backward_error", &L::backward_error, "Backward error of the solve, normwise.",
            {.schema = detail::size_schema}),
      Field("solve_converged", &L::solve_converged, "Whether the solve met its tolerance.",
            {.told = Told::InPython}),
      Field("solve_iterations", &L::solve_iterations, "Number of applications of the factor.",
            {.told = Told::InPython}),
      Field("factor", &L::factor, "What the factorisation took.", {.told = Told::InPython}),
      Field("seconds", &L::seconds, "Time of all.", {.unit = "s", .told = Told::InPython}));
}

/// What is told of an evaluation.
constexpr auto fields_of(FitStep const*) {
  using S = FitStep;
  return std::tuple(
      Field("evaluation", &S::evaluation, "Number of the evaluation, from 1.",
            {.key = "evaluations"}),
      Field("covariance", &S::theta, "Covariance that was tried.", {.key = "theta"}),
      Field("log_likelihood", [](S const& s) { return s.likelihood.log_likelihood; },
            "Log-likelihood there.", {.told = Told::InDocuments}),
      Field("noise", [](S const& s) { return s.likelihood.error(); },
            "Error of that log-likelihood.",
            {.schema = detail::size_schema, .told = Told::InDocuments}),
      Field("likelihood", &S::likelihood, "Likelihood there.", {.told = Told::InPython}),
      Field("best", &S::best, "Largest log-likelihood until now.", {.told = Told::InPython}));
}

/// Names of the parameters that are marked, a second structure's behind the others.
inline std::vector<std::string> names_of_marked(std::array<bool, 4> const& marks,
                                                std::array<bool, 3> const& second) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < all_parameter_names.size(); ++k)
    if (k < 4 ? marks[k] : second[k - 4]) names.emplace_back(all_parameter_names[k]);
  return names;
}

/// What is told of a fit.
constexpr auto fields_of(Fit const*) {
  using F = Fit;
  return std::tuple(
      Field("covariance", &F::theta, "Covariance with the largest likelihood that was found.",
            {.told = Told::InPython}),
      Field("likelihood", &F::likelihood, "Likelihood there.", {.told = Told::InPython}),
      Field("converged", &F::converged,
            "Whether the search converged; else the evaluations were used up."),
      Field("reason", &F::reason, "Why the search ended."),
      Field("noise", &F::noise, "Error of the log-likelihood there, which is off by no more.",
            {.schema = detail::size_schema}),
      Field("evaluations", &F::evaluations, "Number of evaluations of the log-likelihood."),
      Field("not_positive_definite", &F::not_positive_definite,
            "Number of evaluations at parameters without a factor."),
      Field("not_known", &F::not_known,
            "Number of evaluations whose log-determinant has an infinite error."),
      Field("in_low_precision", &F::in_low_precision,
            "Best of the evaluations with tiles below fp64, where fp64 followed.",
            {.absent = "there were none", .told = Told::InDocuments}),
      Field("evaluations_in_fp64", &F::evaluations_in_fp64,
            "Number of evaluations in fp64 after those."),
      Field("at_bound", [](F const& f) { return names_of_marked(f.at_bound, f.second_at_bound); },
            "Parameters that are at a bound.", {.told = Told::InDocuments}),
      Field("at_bound", &F::at_bound, "Whether sigma2, range, nu and nugget are at a bound.",
            {.told = Told::InPython}),
      Field("second_at_bound", &F::second_at_bound,
            "Whether sigma2, range and nu of a second structure are at a bound.",
            {.told = Told::InPython}),
      Field("axis_at_bound", &F::axis_at_bound,
            "Whether the ranges of y and further coordinates are at a bound; empty: one range "
            "holds for all, or they were not fitted.",
            {.told = Told::InPython}),
      Field("nugget_below", &F::nugget_below,
            "Bound of a nugget that is 0: it is below this at 95 %; not a number: it is not 0, or "
            "that is not known.",
            {.schema = detail::size_schema}),
      Field("kept_share", &F::kept_share,
            "Share of the nugget in the sill, if it was kept there for want of a factor; else 0.",
            {.schema = detail::size_schema}),
      Field("evaluation_seconds", &F::evaluation_seconds, "Time of the median evaluation.",
            {.unit = "s"}),
      Field("seconds", &F::seconds, "Time of the fit.", {.unit = "s"}));
}

/// What is told of the options of a fit.
constexpr auto fields_of(FitOptions const*) {
  using O = FitOptions;
  return std::tuple(
      Field("search", &O::search, "Method of the search."),
      Field("tolerance", &O::tolerance, "Relative change of each parameter to stop at.",
            {.schema = detail::size_schema}),
      Field("start", &O::start, "Covariance where the search began."),
      Field("lower", &O::lower, "Lower bounds."), Field("upper", &O::upper, "Upper bounds."),
      Field(
          "fixed", [](O const& o) { return names_of_marked(o.fixed, o.fixed_second); },
          "Parameters that were held."));
}

/// What is told of a gradient.
constexpr auto fields_of(LikelihoodGradient const*) {
  using G = LikelihoodGradient;
  return std::tuple(
      Field("by", [](G const& g) { return covariance_of(g.by); }, "Derivatives by the parameters.",
            {.told = Told::InDocuments}),
      Field("by", &G::by,
            "Derivatives by sigma2, range, nu and nugget, NaN where one was not wanted; times the "
            "parameter each is the one by its logarithm.",
            {.told = Told::InPython}),
      Field("by_angle", &G::by_angle,
            "Derivative by the angle in degrees; not a number: there are no directions."),
      Field("by_ratio", &G::by_ratio,
            "Derivative by the ratio; not a number: there are no directions."),
      Field("by_axes", &G::by_axes,
            "Derivatives by `axes`, the ranges of y and further coordinates by the one of x."),
      Field("by_second", &G::by_second,
            "Derivatives by sigma2, range and nu of a second structure; not a number: there is "
            "none.",
            {.told = Told::InPython}),
      Field("backward_error", &G::backward_error,
            "Backward error, normwise, the largest of the solves that were refined.",
            {.schema = detail::size_schema}),
      Field("solve_converged", &G::solve_converged, "Whether all solves met their tolerance.",
            {.told = Told::InPython}),
      Field("seconds", &G::seconds, "Time of the gradient.", {.unit = "s"}));
}

/// What is told of an information matrix.
constexpr auto fields_of(FisherInformation const*) {
  using F = FisherInformation;
  return std::tuple(
      Field("of", &F::of,
            "Information of sigma2, range, nu and nugget, (4, 4), symmetric; NaN where it was not "
            "wanted."),
      Field("backward_error", &F::backward_error,
            "Backward error, normwise, the largest of the solves that were refined."),
      Field("solve_converged", &F::solve_converged, "Whether all solves met their tolerance."),
      Field("seconds", &F::seconds, "Time of all.", {.unit = "s"}));
}

/// What is told of standard errors.
constexpr auto fields_of(StandardErrors const*) {
  using E = StandardErrors;
  return std::tuple(
      Field("of", &E::of,
            "Standard errors of sigma2, range, nu and nugget; NaN: there is none, see `reasons`."),
      Field("of_logarithm", &E::of_logarithm, "Standard errors of the parameters' logarithms."),
      Field("correlation", &E::correlation, "Correlations of the estimates, (4, 4)."),
      Field("reasons", &E::reasons, "Why there is none; empty: there is one."),
      Field("of_logarithm_of_ratio", &E::of_logarithm_of_ratio,
            "Standard error of log (sigma2 / range^(2 nu)), which observations in one region make "
            "known."),
      Field("of_angle", &E::of_angle,
            "Standard error of the angle, in degrees; not a number: there is none."),
      Field("of_ratio", &E::of_ratio, "Standard error of the ratio; not a number: there is none."),
      Field("of_axes", &E::of_axes,
            "Standard errors of the ranges of y and further coordinates; empty: one range "
            "holds "
            "for all."),
      Field("of_logarithm_of_axes", &E::of_logarithm_of_axes,
            "Standard errors of their logarithms."),
      Field("of_second", &E::of_second,
            "Standard errors of sigma2, range and nu of a second structure; NaN: there is none."),
      Field("of_logarithm_of_second", &E::of_logarithm_of_second,
            "Standard errors of their logarithms."));
}

/// What is told of a profile interval.
constexpr auto fields_of(ProfileInterval const*) {
  using I = ProfileInterval;
  return std::tuple(
      Field(
          "parameter", [](I const& i) { return std::string(all_parameter_names[i.parameter]); },
          "Parameter."),
      Field("level", &I::level, "Level of confidence.", {.told = Told::InPython}),
      Field(
          "lower", [](I const& i) { return i.lower.value; }, "Lower end."),
      Field(
          "lower_end", [](I const& i) { return i.lower.what; },
          "What ends the interval there. \"level\"; \"bound\": the fit's, where the interval may "
          "go on; \"undefined\": the last value with a positive definite matrix."),
      Field(
          "upper", [](I const& i) { return i.upper.value; }, "Upper end."),
      Field(
          "upper_end", [](I const& i) { return i.upper.what; },
          "What ends the interval there, as for the lower end."),
      Field("log_likelihood", &I::log_likelihood, "Largest log-likelihood that was seen.",
            {.told = Told::InPython}),
      Field("best", &I::best, "Covariance there.", {.told = Told::InPython}),
      Field("above_estimate", &I::above_estimate,
            "Difference from the estimate's log-likelihood: where it is not small beside 1, the "
            "estimate was no maximum."),
      Field("converged", &I::converged, "Whether all fits on the way converged."),
      Field("fits", &I::fits, "Number of fits with the parameter held."),
      Field("evaluations", &I::evaluations, "Number of their evaluations of the likelihood."),
      Field("seconds", &I::seconds, "Time of all.", {.unit = "s", .told = Told::InPython}));
}

/// What is told of a divergence.
constexpr auto fields_of(Divergence const*) {
  using D = Divergence;
  return std::tuple(
      Field("paper", &D::log_det_half, "Divergence as paper B takes it, from the log-determinant."),
      Field("full", &D::full, "Full Kullback-Leibler divergence."),
      Field("standard_error", &D::standard_error, "Standard error of full, over the probes.",
            {.schema = detail::size_schema}),
      Field("truncation_error", &D::truncation_error,
            "Bound of the terms that the series leaves out.", {.schema = detail::size_schema}));
}

}  // namespace strata::geostat

#endif
