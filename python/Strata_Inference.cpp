// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What is known of a covariance's parameters: gradients, the Fisher information, standard errors, profile intervals.
#include <geostat/Strata_FisherInformation.hpp>
#include <geostat/Strata_LikelihoodGradient.hpp>
#include <geostat/Strata_ProfileInterval.hpp>
#include <python/detail/Strata_Covariances.hpp>

#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <array>
#include <string>

namespace strata::python {

namespace {

using namespace nb::literals;
using namespace geostat;
using detail::In, detail::Kept, detail::Factoring;
using Shared = detail::SharedCovarianceFactor;
using Four = std::array<bool, 4>;

nb::ndarray<nb::numpy, double, nb::ndim<2>> as_matrix(std::array<Parameters, 4> const& of) {
  std::vector<double> rows;
  for (auto const& row : of) rows.insert(rows.end(), row.begin(), row.end());
  return detail::as_array<2>(rows, {4, 4});
}

LikelihoodGradient gradient(Shared const& f, In const& values, Trend const& trend,
                            Four const& wanted) {
  auto const y = detail::require_vector("values", values);
  return detail::work_with(f, 6 * detail::factor_flops(f->order()),
                           [kept = Kept(values), y, how = trend, wanted](Factoring& work) {
                             auto const found =
                                 log_likelihood_gradient(work.exec, work.factor, y, how, wanted);
                             if (found.info != 0) throw NotPositiveDefinite(found.info);
                             return found;
                           });
}

FisherInformation information(Shared const& f, Four const& wanted, Trend const& trend) {
  FisherOptions const options{.wanted = wanted, .trend = trend};
  return detail::work_with(f, 18 * detail::factor_flops(f->order()), [options](Factoring& work) {
    auto const found = fisher_information(work.exec, work.factor, options);
    if (found.info != 0) throw NotPositiveDefinite(found.info);
    return found;
  });
}

// A parameter with a reason was not estimated.
StandardErrors errors(FisherInformation const& of, MaternCovariance const& theta,
                      std::array<std::string, 4> const& reasons) {
  Four estimated{};
  for (std::size_t k = 0; k < 4; ++k) estimated[k] = reasons[k].empty();
  auto found = standard_errors(of, theta, estimated);
  for (std::size_t k = 0; k < 4; ++k)
    if (!estimated[k]) found.reasons[k] = reasons[k];
  return found;
}

ProfileInterval interval(Shared const& f, In const& values, FitOptions const& chosen,
                         std::size_t parameter, double level, double tolerance,
                         nb::object const& on_step) {
  auto const y = detail::require_vector("values", values);
  return detail::work_with(
      f, detail::long_flops,
      [kept = Kept(values, on_step), y, chosen, step = on_step.ptr(), parameter,
       how = ProfileOptions{level, tolerance}](Factoring& work, detail::Call& call) {
        auto const& factor = work.factor;
        return profile_interval(work.exec, factor.team(), factor.locations(), y,
                                detail::told(chosen, step, call), factor.covariance(), parameter,
                                how);
      });
}

void bind_reports(nb::module_& m) {
  using Gradient = LikelihoodGradient;
  detail::bind_report<Gradient>(m, "LikelihoodGradient", "The derivatives of a log-likelihood.")
      .def_prop_ro(
          "by", [](Gradient const& g) { return detail::as_array(g.by); }, nb::rv_policy::reference,
          nb::for_getter(nb::sig("def by(self) -> numpy.typing.NDArray[numpy.float64]")),
          "By sigma2, range, nu and nugget, NaN where it was not wanted; times the parameter it is "
          "the one by its logarithm.")
      .def_ro("backward_error", &Gradient::backward_error,
              "Normwise, the largest of the solves that were refined.")
      .def_ro("solve_converged", &Gradient::solve_converged)
      .def_ro("seconds", &Gradient::seconds);
  using Fisher = FisherInformation;
  detail::bind_report<Fisher>(m, "FisherInformation", "What observations tell of the parameters.")
      .def_prop_ro(
          "of", [](Fisher const& f) { return as_matrix(f.of); }, nb::rv_policy::reference,
          nb::for_getter(nb::sig("def of(self) -> numpy.typing.NDArray[numpy.float64]")),
          "Of sigma2, range, nu and nugget, (4, 4), symmetric; NaN where it was not wanted.")
      .def_ro("backward_error", &Fisher::backward_error,
              "Normwise, the largest of the solves that were refined.")
      .def_ro("solve_converged", &Fisher::solve_converged)
      .def_ro("seconds", &Fisher::seconds);
  using Errors = StandardErrors;
  detail::bind_report<Errors>(m, "StandardErrors", "How far estimates may be from the truth.")
      .def_prop_ro(
          "of", [](Errors const& e) { return detail::as_array(e.of); }, nb::rv_policy::reference,
          nb::for_getter(nb::sig("def of(self) -> numpy.typing.NDArray[numpy.float64]")),
          "Of sigma2, range, nu and nugget; NaN: there is none, see `reasons`.")
      .def_prop_ro(
          "of_logarithm", [](Errors const& e) { return detail::as_array(e.of_logarithm); },
          nb::rv_policy::reference,
          nb::for_getter(nb::sig("def of_logarithm(self) -> numpy.typing.NDArray[numpy.float64]")),
          "Of the parameters' logarithms.")
      .def_prop_ro(
          "correlation", [](Errors const& e) { return as_matrix(e.correlation); },
          nb::rv_policy::reference,
          nb::for_getter(nb::sig("def correlation(self) -> numpy.typing.NDArray[numpy.float64]")),
          "Of the estimates, (4, 4).")
      .def_ro("reasons", &Errors::reasons, "Why there is none; empty: there is one.")
      .def_ro("of_logarithm_of_ratio", &Errors::of_logarithm_of_ratio,
              "Of log (sigma2 / range^(2 nu)), which observations in one region make known.");
  using Interval = ProfileInterval;
  detail::bind_report<Interval>(m, "ProfileInterval",
                                "Values of one parameter that the observations don't contradict.")
      .def_prop_ro("parameter",
                   [](Interval const& i) { return std::string(parameter_names[i.parameter]); })
      .def_ro("level", &Interval::level, "Of confidence.")
      .def_prop_ro("lower", [](Interval const& i) { return i.lower.value; })
      .def_prop_ro(
          "lower_end", [](Interval const& i) { return detail::name(i.lower.what); },
          "\"level\"; \"bound\": the fit's, where the interval may go on; \"undefined\": the last "
          "value with a positive definite matrix.")
      .def_prop_ro("upper", [](Interval const& i) { return i.upper.value; })
      .def_prop_ro("upper_end", [](Interval const& i) { return detail::name(i.upper.what); })
      .def_ro("log_likelihood", &Interval::log_likelihood, "The largest that was seen.")
      .def_ro("best", &Interval::best, "There.")
      .def_ro("above_estimate", &Interval::above_estimate,
              "By how much; not small beside 1: the estimate was no maximum.")
      .def_ro("converged", &Interval::converged, "All fits on the way.")
      .def_ro("fits", &Interval::fits)
      .def_ro("evaluations", &Interval::evaluations)
      .def_ro("seconds", &Interval::seconds);
}

}  // namespace

void bind_inference(nb::module_& m, nb::class_<detail::KeptCovarianceFactor>& factor) {
  bind_reports(m);
  factor.def("gradient", &gradient, "values"_a.noconvert(), "trend"_a, "wanted"_a)
      .def("fisher_information", &information, "wanted"_a, "trend"_a)
      .def("profile_interval", &interval, "values"_a.noconvert(), "options"_a, "parameter"_a,
           "level"_a, "tolerance"_a, "on_step"_a.none());
  m.def("standard_errors", &errors, "information"_a, "covariance"_a, "reasons"_a);
}

}  // namespace strata::python
