// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Fits and predictions by Vecchia's approximation.
#include <geostat/vecchia/Strata_VecchiaFields.hpp>
#include <geostat/vecchia/Strata_VecchiaFit.hpp>
#include <geostat/vecchia/Strata_VecchiaPrediction.hpp>
#include <geostat/vecchia/Strata_VecchiaSimulation.hpp>
#include <geostat/vecchia/Strata_VecchiaValidation.hpp>
#include <python/detail/Strata_Arrays.hpp>
#include <python/detail/Strata_Bind.hpp>
#include <python/detail/Strata_BindFields.hpp>
#include <python/detail/Strata_Covariances.hpp>
#include <python/detail/Strata_Work.hpp>
#include <python/detail/Strata_Worked.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace strata::python {

namespace {

using namespace nb::literals;
using namespace geostat;
using detail::In, detail::Kept, detail::locations;

struct Approximating {
  Approximating(c::Instance own, Vecchia<c::Exec>&& made)
      : instance(std::move(own)), model(std::move(made)) {}

  c::Instance instance;  // first: it outlives the rest
  c::Exec exec = *instance;
  Vecchia<c::Exec> model;
};

// A fitted approximation in Python's hands.
class KeptNeighbours : public detail::Worked<Approximating> {
 public:
  KeptNeighbours(c::Instance const& instance, FittedVecchia<c::Exec>& found)
      : Worked(std::in_place, instance, std::move(*found.model)),
        report(found.approximation),
        information(found.information),
        exact(found.exact),
        theta(found.theta) {}

  VecchiaReport report;
  FisherInformation information;
  std::optional<ExactBeside> exact;
  MaternCovariance theta;
};
using Shared = std::shared_ptr<KeptNeighbours>;

struct Fitted {
  Fit fit;
  Shared model;
};

Fitted run_fit(In const& at, std::string const& metric, In const& values, FitOptions const& chosen,
               std::int64_t neighbours, std::int64_t exact_up_to, nb::object const& on_step,
               std::optional<In> const& errors) {
  auto const places = locations("locations", at, metric, errors);
  auto const y = detail::require_vector("values", values);
  VecchiaFitOptions how;
  how.approximation.neighbours = neighbours;
  how.exact_up_to = exact_up_to;
  return detail::run(detail::long_flops, [kept = Kept(values, on_step), places, y, chosen, how,
                                          step = on_step.ptr()](detail::Call& call) {
    auto const instance = c::new_instance();
    auto found = fit_by_neighbours(*instance, places, y, detail::told(chosen, step, call), how);
    return Fitted{found, std::make_shared<KeptNeighbours>(instance, found)};
  });
}

Prediction prediction(Shared const& f, In const& at, std::string const& metric,
                      std::optional<In> const& X, std::int64_t neighbours, bool variances,
                      bool exact) {
  auto const places = locations("new_locations", at, metric);
  LocalPredictionOptions const options{.neighbours = neighbours,
                                       .trend_columns = detail::columns_of("X_new", X),
                                       .nugget = exact ? NuggetIs::Variation : NuggetIs::Error,
                                       .variances = variances};
  return detail::work_with(f, detail::long_flops,
                           [theta = f->theta, places, options](Approximating& work) {
                             return predict(work.exec, work.model, theta, places, options);
                           });
}

CrossValidation left_out(Shared const& f, In const& values,
                         std::vector<std::int64_t> const& folds) {
  auto const y = detail::require_vector("values", values);
  return detail::work_with(f, detail::long_flops,
                           [kept = Kept(values), y, folds, theta = f->theta,
                            m = f->report.neighbours](Approximating& work) {
                             return cross_validate(
                                 work.exec, work.model, theta, y,
                                 {.neighbours = std::clamp<std::int64_t>(2 * m, 1, 1000),
                                  .folds = folds,
                                  .approximation = {.neighbours = m}});
                           });
}

auto fields(Shared const& f, In const& at, std::string const& metric, std::optional<In> const& X,
            std::int64_t neighbours, std::int64_t count, std::uint64_t seed, bool exact) {
  auto const places = locations("new_locations", at, metric);
  LocalSimulationOptions const options{.neighbours = neighbours,
                                       .count = count,
                                       .seed = seed,
                                       .trend_columns = detail::columns_of("X_new", X),
                                       .nugget = exact ? NuggetIs::Variation : NuggetIs::Error};
  auto const drawn = detail::work_with(
      f, detail::long_flops, [theta = f->theta, places, options](Approximating& work) {
        return simulate(work.exec, work.model, theta, places, options);
      });
  auto const N = static_cast<std::size_t>(places.size()), M = static_cast<std::size_t>(count);
  std::vector<double> rows;
  for (std::size_t k = 0; k < M; ++k)
    for (std::size_t i = 0; i < N; ++i) rows.push_back(drawn.fields(i, k));
  return detail::as_array<2>(rows, {M, N});
}

}  // namespace

void bind_neighbours(nb::module_& m) {
  detail::bind_described<VecchiaReport>(m, "VecchiaReport", "What an approximation consists of.");
  detail::bind_described<ExactBeside>(m, "ExactBeside",
                                      "The exact likelihood at an approximate estimate.");
  nb::class_<KeptNeighbours>(m, "Neighbours", "An approximation that was fitted.")
      .def_ro("report", &KeptNeighbours::report)
      .def_ro("information", &KeptNeighbours::information)
      .def_ro("exact", &KeptNeighbours::exact)
      .def("predict", &prediction, "new_locations"_a.noconvert(), "metric"_a, "X_new"_a.none(),
           "neighbours"_a, "variances"_a, "exact"_a)
      .def("cross_validate", &left_out, "values"_a.noconvert(), "folds"_a)
      .def("simulate", &fields, "new_locations"_a.noconvert(), "metric"_a, "X_new"_a.none(),
           "neighbours"_a, "count"_a, "seed"_a, "exact"_a);
  m.def(
      "fit_by_neighbours",
      [](In const& at, std::string const& metric, In const& values, FitOptions const& chosen,
         std::int64_t neighbours, std::int64_t exact_up_to, nb::object const& on_step,
         std::optional<In> const& errors) {
        auto const found =
            run_fit(at, metric, values, chosen, neighbours, exact_up_to, on_step, errors);
        return std::pair(found.fit, found.model);
      },
      "locations"_a.noconvert(), "metric"_a, "values"_a.noconvert(), "options"_a, "neighbours"_a,
      "exact_up_to"_a, "on_step"_a.none(), "error_variances"_a.none(),
      nb::sig("def fit_by_neighbours(locations: object, metric: str, values: object, options: "
              "FitOptions, neighbours: int, exact_up_to: int, on_step: object, "
              "error_variances: object | None) -> tuple[FitReport, Neighbours]"));
}

}  // namespace strata::python
