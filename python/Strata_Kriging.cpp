// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Trends, cross-validation, simulations, variograms.
#include <geostat/kriging/Strata_CrossValidation.hpp>
#include <geostat/kriging/Strata_Simulation.hpp>
#include <geostat/kriging/Strata_Variogram.hpp>
#include <geostat/model/Strata_Trend.hpp>
#include <python/detail/Strata_Arrays.hpp>
#include <python/detail/Strata_Bind.hpp>
#include <python/detail/Strata_Covariances.hpp>
#include <python/detail/Strata_Work.hpp>

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace strata::python {

namespace {

using namespace nb::literals;
using namespace geostat;
using detail::In, detail::Kept, detail::Factoring, detail::locations;
using Shared = detail::SharedCovarianceFactor;

Trend trend_of(std::string const& mean, std::optional<In> const& X,
               std::vector<std::string> const& names, std::string const& likelihood) {
  auto const criterion = from_name<Criterion>(likelihood);
  if (!X) return {from_name<Mean>(mean), criterion};
  return Trend(detail::columns_of("X", X), names, criterion);
}

CrossValidation validation(Shared const& f, In const& values, Trend const& trend,
                           std::vector<std::int64_t> const& folds) {
  auto const y = detail::require_vector("values", values);
  return detail::work_with(f, 6 * detail::factor_flops(f->order()),
                           [kept = Kept(values), y, trend, folds](Factoring& work) {
                             auto const found =
                                 cross_validate(work.exec, work.factor, y, trend, folds);
                             if (found.info != 0) throw NotPositiveDefinite(found.info);
                             return found;
                           });
}

struct Drawn {
  std::vector<double> rows;
  std::size_t places, count;
};

Drawn draws(Shared const& f, In const& values, In const& at, std::string const& metric,
            Trend const& trend, std::optional<In> const& X, std::int64_t count,
            std::uint64_t seed) {
  auto const y = detail::require_vector("values", values);
  auto const places = locations("new_locations", at, metric);
  SimulationOptions const options{
      .count = count, .seed = seed, .trend_columns = detail::columns_of("X_new", X)};
  return detail::work_with(
      f, detail::factor_flops(places.size()) + detail::factor_flops(f->order()),
      [kept = Kept(values), y, places, trend, options](Factoring& work) {
        auto const fields = simulate(work.exec, work.factor, y, places, trend, options).fields;
        Drawn drawn{{}, fields.extent(0), fields.extent(1)};
        for (std::size_t j = 0; j < drawn.count; ++j)
          for (std::size_t i = 0; i < drawn.places; ++i) drawn.rows.push_back(fields(i, j));
        return drawn;
      });
}

void bind_validation(nb::module_& m) {
  using Cross = CrossValidation;
  detail::bind_report<Cross>(m, "CrossValidation", "How well the observations predict each other.")
      .def_prop_ro(
          "residual", [](Cross const& c) { return detail::as_array(c.residual); },
          nb::rv_policy::reference,
          nb::for_getter(nb::sig("def residual(self) -> numpy.typing.NDArray[numpy.float64]")),
          "Observed less predicted; NaN: the others do not tell the trend.")
      .def_prop_ro(
          "variance", [](Cross const& c) { return detail::as_array(c.variance); },
          nb::rv_policy::reference,
          nb::for_getter(nb::sig("def variance(self) -> numpy.typing.NDArray[numpy.float64]")),
          "Variance of the residual: the prediction's and the observation's nugget.")
      .def_ro("mean_error", &Cross::mean_error)
      .def_ro("rmse", &Cross::rmse)
      .def_ro("mean_square_z", &Cross::mean_square_z, "Near 1 where variances are right.")
      .def_ro("coverage", &Cross::coverage, "Parts inside the intervals of 50, 90 and 95 %.")
      .def_ro("without", &Cross::without, "Observations without a prediction.")
      .def_ro("seconds", &Cross::seconds);
}

}  // namespace

void bind_kriging(nb::module_& m, nb::class_<detail::KeptCovarianceFactor>& factor) {
  nb::class_<Trend>(m, "Trend", "The columns of the mean of observations.")
      .def_prop_ro("names", &Trend::names)
      .def("check", &Trend::check, "n"_a)
      .def(
          "residuals",
          [](Trend const& t, In const& values) {
            return detail::as_array(t.residuals(detail::require_vector("values", values)));
          },
          "values"_a.noconvert(),
          nb::sig("def residuals(self, values: numpy.typing.NDArray[numpy.float64]) -> "
                  "numpy.typing.NDArray[numpy.float64]"));
  bind_validation(m);
  m.def("trend", &trend_of, "mean"_a, "X"_a.none(), "names"_a, "likelihood"_a);
  factor.def("cross_validate", &validation, "values"_a.noconvert(), "trend"_a, "folds"_a)
      .def(
          "simulate",
          [](Shared const& f, In const& values, In const& at, std::string const& metric,
             Trend const& trend, std::optional<In> const& X, std::int64_t count,
             std::uint64_t seed) {
            auto const drawn = draws(f, values, at, metric, trend, X, count, seed);
            return detail::as_array<2>(drawn.rows, {drawn.count, drawn.places});
          },
          "values"_a.noconvert(), "new_locations"_a.noconvert(), "metric"_a, "trend"_a,
          "X_new"_a.none(), "count"_a, "seed"_a);
  m.def("random_folds", &random_folds, "n"_a, "k"_a, "seed"_a);
  m.def(
      "block_folds",
      [](In const& at, std::string const& metric, std::int64_t k) {
        return block_folds(locations("locations", at, metric), k);
      },
      "locations"_a.noconvert(), "metric"_a, "k"_a);
  m.def(
      "variogram",
      [](In const& at, std::string const& metric, In const& values, int classes, double cutoff) {
        std::vector<double> rows;
        auto const found = empirical_variogram(locations("locations", at, metric),
                                               detail::require_vector("values", values),
                                               {.classes = classes, .cutoff = cutoff});
        for (auto const& one : found)
          rows.insert(rows.end(), {one.distance, one.semivariance, static_cast<double>(one.pairs)});
        return detail::as_array<2>(rows, {found.size(), 3});
      },
      "locations"_a.noconvert(), "metric"_a, "values"_a.noconvert(), "classes"_a, "cutoff"_a);
}

}  // namespace strata::python
