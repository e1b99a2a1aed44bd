// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What is known of a covariance's parameters: gradients, the Fisher information, standard errors,
// profile intervals.
#include <geostat/Strata_FisherInformation.hpp>
#include <geostat/Strata_LikelihoodGradient.hpp>
#include <geostat/fit/Strata_GeostatFields.hpp>
#include <geostat/fit/Strata_ProfileInterval.hpp>
#include <python/detail/Strata_BindFields.hpp>
#include <python/detail/Strata_Covariances.hpp>

#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <string>
#include <vector>

namespace strata::python {

namespace {

using namespace nb::literals;
using namespace geostat;
using detail::In, detail::Kept, detail::Factoring;
using Shared = detail::SharedCovarianceFactor;
using Four = std::array<bool, 4>;

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

FisherInformation information(Shared const& f, Four const& wanted, Trend const& trend,
                              AlsoEstimated const& also) {
  FisherOptions const options{.wanted = wanted, .directions = also.directions, .trend = trend};
  return detail::work_with(f, 18 * detail::factor_flops(f->order()), [options](Factoring& work) {
    auto const found = fisher_information(work.exec, work.factor, options);
    if (found.info != 0) throw NotPositiveDefinite(found.info);
    return found;
  });
}

// A parameter with a reason was not estimated.
StandardErrors errors(FisherInformation const& of, MaternCovariance const& theta,
                      std::array<std::string, 4> const& reasons, AlsoEstimated const& also) {
  Four estimated{};
  for (std::size_t k = 0; k < 4; ++k) estimated[k] = reasons[k].empty();
  auto found = standard_errors(of, theta, estimated, also);
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
  detail::bind_described<LikelihoodGradient>(m, "LikelihoodGradient",
                                             "The derivatives of a log-likelihood.");
  detail::bind_described<FisherInformation>(m, "FisherInformation",
                                            "What observations tell of the parameters.");
  detail::bind_described<StandardErrors>(m, "StandardErrors",
                                         "How far estimates may be from the truth.");
  detail::bind_described<ProfileInterval>(
      m, "ProfileInterval", "Values of one parameter that the observations don't contradict.");
}

}  // namespace

void bind_inference(nb::module_& m, nb::class_<detail::KeptCovarianceFactor>& factor) {
  bind_reports(m);
  factor.def("gradient", &gradient, "values"_a.noconvert(), "trend"_a, "wanted"_a)
      .def("fisher_information", &information, "wanted"_a, "trend"_a, "also"_a)
      .def("profile_interval", &interval, "values"_a.noconvert(), "options"_a, "parameter"_a,
           "level"_a, "tolerance"_a, "on_step"_a.none());
  m.def("standard_errors", &errors, "information"_a, "covariance"_a, "reasons"_a, "also"_a);
}

}  // namespace strata::python
