// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_MLE_PARTS_HPP
#define STRATA_APPS_MLE_PARTS_HPP

#include <apps/mle/Strata_Mle.hpp>
#include <core/Strata_Fields.hpp>
#include <geostat/fit/Strata_GeostatFields.hpp>
#include <geostat/vecchia/Strata_VecchiaFields.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

/// Parts of the document of `strata mle`, beside what the library reports.
namespace strata::apps {

/// A text for each parameter.
struct ParameterTexts {
  std::array<std::string, 4> of;  ///< Texts of sigma2, range, nu and nugget.
};
/// What is told of them.
constexpr auto fields_of(ParameterTexts const*) {
  using T = ParameterTexts;
  return std::tuple(
      Field(
          "sigma2", [](T const& t) { return t.of[0]; }, "Why sigma2 has none; empty: it has."),
      Field(
          "range", [](T const& t) { return t.of[1]; }, "Why range has none; empty: it has."),
      Field(
          "nu", [](T const& t) { return t.of[2]; }, "Why nu has none; empty: it has."),
      Field("nugget", [](T const& t) { return t.of[3]; }, "Why nugget has none; empty: it has."));
}

/// Numbers for each pair of parameters.
struct ParameterPairs {
  std::array<geostat::Parameters, 4> of;  ///< Row by row.

  geostat::MaternCovariance row(std::size_t k) const { return geostat::covariance_of(of[k]); }
};
/// What is told of them.
constexpr auto fields_of(ParameterPairs const*) {
  using P = ParameterPairs;
  return std::tuple(Field(
                        "sigma2", [](P const& p) { return p.row(0); }, "Those of sigma2."),
                    Field(
                        "range", [](P const& p) { return p.row(1); }, "Those of range."),
                    Field(
                        "nu", [](P const& p) { return p.row(2); }, "Those of nu."),
                    Field("nugget", [](P const& p) { return p.row(3); }, "Those of nugget."));
}

/// sigma2 / range^(2 nu), which observations in one region make known.
struct KnownRatio {
  double value = 0, of_logarithm = 0;  ///< The ratio; the standard error of its logarithm.
};
/// The fields of its report.
constexpr auto fields_of(KnownRatio const*) {
  using K = KnownRatio;
  return std::tuple(Field("value", &K::value, "Value of the ratio."),
                    Field("of_logarithm", &K::of_logarithm, "Standard error of its logarithm.",
                          {.schema = R"("minimum": 0)"}));
}

/// Why what a covariance has beside the four parameters has no error.
struct FurtherReasons {
  std::string angle, ratio;           ///< Reasons of a direction.
  std::array<std::string, 3> second;  ///< Reasons of the second sigma2, range and nu.
};
/// The reasons of a result with standard errors.
FurtherReasons further_reasons(MleResult const& result);
/// What is told of them.
constexpr auto fields_of(FurtherReasons const*) {
  using F = FurtherReasons;
  return std::tuple(
      Field("angle", &F::angle, "Why the angle has none; empty: it has, or there is none."),
      Field("ratio", &F::ratio, "Why the ratio has none; empty: it has, or there is none."),
      Field(
          "sigma2_2", [](F const& f) { return f.second[0]; },
          "Why the second structure's sigma2 has none; empty: it has, or there is none."),
      Field(
          "range_2", [](F const& f) { return f.second[1]; }, "Why its range has none, likewise."),
      Field("nu_2", [](F const& f) { return f.second[2]; }, "Why its nu has none, likewise."));
}

/// Errors of what a covariance has beside the four parameters.
struct FurtherErrors {
  geostat::StandardErrors const* of;  ///< The errors.
  FurtherReasons const* why;          ///< Why there is none.
};
/// What is told of them.
constexpr auto fields_of(FurtherErrors const*) {
  using F = FurtherErrors;
  return std::tuple(
      Field(
          "angle", [](F const& f) { return f.of->of_angle; },
          "Standard error of the angle, in degrees; not a number: there is none."),
      Field(
          "ratio", [](F const& f) { return f.of->of_ratio; },
          "Standard error of the ratio; not a number: there is none."),
      Field(
          "ranges", [](F const& f) { return f.of->of_axes; },
          "Standard errors of the ranges of y and the coordinates beyond it; empty: one range "
          "holds for all."),
      Field(
          "sigma2_2", [](F const& f) { return f.of->of_second[0]; },
          "Standard error of the second structure's sigma2; not a number: there is none."),
      Field(
          "range_2", [](F const& f) { return f.of->of_second[1]; },
          "Standard error of its range; not a number: there is none."),
      Field(
          "nu_2", [](F const& f) { return f.of->of_second[2]; },
          "Standard error of its nu; not a number: there is none."),
      Field("reasons", [](F const& f) { return *f.why; }, "Why one of them has none."));
}

/// Standard errors with the parameters that they are of.
struct ErrorsOfResult {
  StandardErrorsSummary const* of;         ///< The errors, or why there are none.
  geostat::MaternCovariance const* theta;  ///< The parameters.
  FurtherReasons further = {};             ///< Why others have none.

  template <class T>
  std::optional<T> known(T const& value) const {
    return of->reason.empty() ? std::optional(value) : std::nullopt;
  }
  std::optional<KnownRatio> ratio() const;
};
/// What is told of them.
constexpr auto fields_of(ErrorsOfResult const*) {
  using E = ErrorsOfResult;
  constexpr char const* absent = "there are none";
  return std::tuple(
      Field(
          "reason", [](E const& e) { return e.of->reason; },
          "Why there are none; empty: there are."),
      Field("ratio", &E::ratio,
            "Ratio sigma2 / range^(2 nu), which observations in one region make known.",
            {.absent = "there are none, or the covariance is not Matern's"}),
      Field("of", [](E const& e) { return e.known(geostat::covariance_of(e.of->errors.of)); },
            "Standard errors of the parameters.", {.absent = absent}),
      Field("of_logarithm",
            [](E const& e) { return e.known(geostat::covariance_of(e.of->errors.of_logarithm)); },
            "Standard errors of the parameters' logarithms.", {.absent = absent}),
      Field("further", [](E const& e) { return e.known(FurtherErrors{&e.of->errors, &e.further}); },
            "Standard errors of directions and of a second structure.", {.absent = absent}),
      Field("reasons", [](E const& e) { return e.known(ParameterTexts{e.of->errors.reasons}); },
            "Why a parameter has none.", {.absent = absent}),
      Field("correlation",
            [](E const& e) { return e.known(ParameterPairs{e.of->errors.correlation}); },
            "Correlations of the estimates.", {.absent = absent}),
      Field("backward_error", [](E const& e) { return e.known(e.of->backward_error); },
            "Backward error of the solves, normwise.",
            {.absent = absent, .schema = R"("minimum": 0)", .is_omitted = true}),
      Field("seconds", [](E const& e) { return e.known(e.of->seconds); }, "Time of the errors.",
            {.unit = "s", .absent = absent, .is_omitted = true}));
}

/// Profile intervals of a level.
struct IntervalsOfResult {
  std::vector<geostat::ProfileInterval> const* of;  ///< At least one.

  double seconds() const {
    double sum = 0;
    for (auto const& interval : *of) sum += interval.seconds;
    return sum;
  }
};
/// What is told of them.
constexpr auto fields_of(IntervalsOfResult const*) {
  using I = IntervalsOfResult;
  return std::tuple(
      Field("level", [](I const& i) { return i.of->front().level; }, "Level of confidence.",
            {.schema = R"("exclusiveMinimum": 0, "exclusiveMaximum": 1)"}),
      Field(
          "intervals", [](I const& i) { return *i.of; }, "Intervals, one for each parameter."),
      Field("seconds", &I::seconds, "Time of all.", {.unit = "s"}));
}

/// A gradient with the parameters that it is by.
struct GradientOfResult {
  geostat::LikelihoodGradient const* of;   ///< The gradient.
  geostat::MaternCovariance const* theta;  ///< The parameters.

  geostat::MaternCovariance by_logarithm() const;
};
/// The fields of its report.
constexpr auto fields_of(GradientOfResult const*) {
  using G = GradientOfResult;
  return std::tuple(
      FieldsOf([](G const& g) -> geostat::LikelihoodGradient const& { return *g.of; }),
      Field("by_logarithm", &G::by_logarithm, "Derivatives by the parameters' logarithms."));
}
/// Keys where the tables' order is not the document's.
constexpr auto key_order(GradientOfResult const*) { return std::array{"by", "by_logarithm"}; }

/// A fit with what was asked for.
struct FitOfResult {
  MleResult const* of;  ///< The result of a fit.
};
/// The fields of its report.
constexpr auto fields_of(FitOfResult const*) {
  using F = FitOfResult;
  return std::tuple(
      FieldsOf([](F const& f) -> geostat::Fit const& { return *f.of->fit; }),
      Field(
          "history", [](F const& f) { return f.of->log_likelihoods; },
          "Log-likelihood of each evaluation."),
      FieldsOf([](F const& f) -> geostat::FitOptions const& { return *f.of->asked; }));
}

/// A coefficient of the trend.
struct TrendTerm {
  std::string name;                            ///< As --trend has it.
  double coefficient = 0, standard_error = 0;  ///< Estimates by generalised least squares.
};
/// The fields of its report.
constexpr auto fields_of(TrendTerm const*) {
  using T = TrendTerm;
  return std::tuple(Field("name", &T::name, "Name of the column, as --trend has it."),
                    Field("coefficient", &T::coefficient,
                          "Coefficient, in the data's unit for one of the column's."),
                    Field("standard_error", &T::standard_error,
                          "Standard error at this covariance, whose own uncertainty is not in it.",
                          {.schema = R"("minimum": 0)"}));
}

/// The coefficients of the trend.
struct TrendOfResult {
  std::vector<TrendTerm> terms;                 ///< One for each column.
  std::vector<std::vector<double>> covariance;  ///< Covariance of the coefficients.
  double log_det = 0;                           ///< See `geostat::Likelihood::log_det_trend`.
  std::optional<double> log_likelihood_nlme;    ///< Log-likelihood by REML.
};
/// What is told of them.
constexpr auto fields_of(TrendOfResult const*) {
  using T = TrendOfResult;
  return std::tuple(
      Field("terms", &T::terms, "Terms, one for each column."),
      Field("covariance", &T::covariance, "Covariance of the coefficients, row by row."),
      Field("log_det", &T::log_det,
            "By reml log det F'S^-1F - log det F'F for the columns F, else 0."),
      Field("log_likelihood_nlme", &T::log_likelihood_nlme,
            "Restricted log-likelihood without the part log det F'F / 2, as R's nlme has it.",
            {.absent = "it is not restricted"}));
}
std::optional<TrendOfResult> trend_of(MleResult const& result);

/// A class of the empirical variogram with the covariance that is beside it.
struct VariogramOfResult {
  geostat::VariogramClass of;  ///< The class.
  double model = 0;            ///< The covariance's semivariance at its distance.
};
/// The fields of its report.
constexpr auto fields_of(VariogramOfResult const*) {
  using V = VariogramOfResult;
  return std::tuple(
      Field("distance", [](V const& v) { return v.of.distance; }, "Mean distance of the pairs.",
            {.schema = R"("minimum": 0)"}),
      Field("semivariance", [](V const& v) { return v.of.semivariance; },
            "Half of the mean square of their differences.", {.schema = R"("minimum": 0)"}),
      Field("pairs", [](V const& v) { return v.of.pairs; }, "Number of pairs of observations.",
            {.schema = R"("minimum": 0)"}),
      Field("model", &V::model, "Semivariance of the covariance at that distance."));
}
std::vector<VariogramOfResult> variogram_of(MleResult const& result);

/// How many of the observations lie in intervals of a level.
struct Coverage {
  double level = 0, part = 0;  ///< Level of the intervals; part of the observations.
};
/// The fields of its report.
constexpr auto fields_of(Coverage const*) {
  using C = Coverage;
  return std::tuple(
      Field("level", &C::level, "Level of the prediction intervals."),
      Field("part", &C::part, "Part of the observations inside.", {.schema = R"("minimum": 0)"}));
}

/// What is told of an outlier.
constexpr auto fields_of(Outlier const*) {
  using O = Outlier;
  return std::tuple(
      Field("observation", &O::number, "Number of the observation in the file, from 1."),
      Field("observed", &O::observed, "Value of the observation."),
      Field("predicted", &O::predicted, "Value predicted from the others."),
      Field("z", &O::z, "Difference of the two, in standard deviations."));
}

/// What is told of the observations that are predicted from each other.
constexpr auto fields_of(ValidationSummary const*) {
  using V = ValidationSummary;
  return std::tuple(
      Field("folds", &V::folds, "Parts, as --loo-folds has them; empty: each observation alone."),
      Field("rmse", [](V const& v) { return v.of.rmse; }, "Root of the mean square residual.",
            {.schema = R"("minimum": 0)"}),
      Field(
          "mean_error", [](V const& v) { return v.of.mean_error; }, "Mean of the residuals."),
      Field("mean_square_z", [](V const& v) { return v.of.mean_square_z; },
            "Mean square of the residuals in their standard deviations; near 1 where variances "
            "are right.",
            {.schema = R"("minimum": 0)"}),
      Field(
          "coverage",
          [](V const& v) {
            std::vector<Coverage> all;
            for (std::size_t k = 0; k < v.of.coverage.size(); ++k)
              all.push_back({geostat::coverage_levels[k], v.of.coverage[k]});
            return all;
          },
          "Coverage of prediction intervals."),
      Field("without", [](V const& v) { return v.of.without; },
            "Number of observations whose trend the others do not tell.",
            {.schema = R"("minimum": 0)"}),
      Field("outliers", &V::outliers, "Observations with the five largest |z|."),
      Field("seconds", [](V const& v) { return v.of.seconds; }, "Time of all.", {.unit = "s"}));
}

/// A prediction with the trend and the file that it belongs to.
struct PredictionOfResult {
  MleResult const* of;  ///< The result, with a prediction.

  PredictionSummary const& summary() const { return *of->prediction; }
};
/// "simple kriging", "ordinary kriging" or "universal kriging".
std::string kriging_of(MleResult const& result);
/// The fields of its report.
constexpr auto fields_of(PredictionOfResult const*) {
  using P = PredictionOfResult;
  return std::tuple(
      Field(
          "count", [](P const& p) { return p.summary().count; }, "Number of places."),
      Field(
          "places", [](P const& p) { return p.summary().locations; }, "File with the places."),
      Field(
          "average_mean", [](P const& p) { return p.summary().mean; },
          "Average of the predictions, in the data's unit."),
      Field("average_variance", [](P const& p) { return p.summary().variance; },
            "Average of the field's variances, in the square of the data's unit.",
            {.schema = R"("minimum": 0)"}),
      Field("average_observation_variance",
            [](P const& p) { return p.summary().observation_variance; },
            "Average variance of a new observation: with the nugget.",
            {.schema = R"("minimum": 0)"}),
      Field("variance_of", [](P const& p) { return "field, " + kriging_of(*p.of); },
            "What the columns variance and sd are of: the field without the nugget's noise.",
            {.schema = R"("enum": ["field, simple kriging", "field, ordinary kriging",)"
                       R"( "field, universal kriging"])"}),
      Field("backward_error", [](P const& p) { return p.summary().backward_error; },
            "Backward error of the solves, normwise.", {.schema = R"("minimum": 0)"}),
      Field(
          "output", [](P const& p) { return p.of->output; },
          "File that the predictions went to; empty: none."),
      Field(
          "grid", [](P const& p) { return p.summary().grid; },
          "Cells of a map by their centres, X0:X1:DX,Y0:Y1:DY; else empty."),
      Field(
          "files", [](P const& p) { return p.summary().files; }, "Grids of a map."),
      Field("simulations", [](P const& p) { return p.summary().simulations; },
            "Number of fields drawn there that agree with the observations.",
            {.schema = R"("minimum": 0)"}),
      Field("ridge", [](P const& p) { return p.summary().ridge; },
            "Variance added to each place for their factor, in parts of sigma2.",
            {.schema = R"("minimum": 0)"}));
}

/// What is told of an approximation by neighbours.
constexpr auto fields_of(VecchiaSummary const*) {
  using V = VecchiaSummary;
  return std::tuple(FieldsOf(&V::of),
                    Field("exact", &V::exact, "Exact likelihood at the same parameters.",
                          {.absent = "it was not evaluated"}));
}

/// What is told of the divergence.
constexpr auto fields_of(DivergenceSummary const*) {
  using D = DivergenceSummary;
  return std::tuple(
      FieldsOf(&D::divergence),
      Field("log_det_factor", &D::log_det_factor, "Log-determinant of the factor, uncorrected."),
      Field("log_det_fp64", &D::log_det_fp64, "Log-determinant in fp64."));
}

}  // namespace strata::apps

#endif
