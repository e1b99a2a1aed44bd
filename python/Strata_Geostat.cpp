// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Covariances, likelihoods, fits and kriging.
#include <geostat/Strata_Likelihood.hpp>
#include <geostat/fit/Strata_Fit.hpp>
#include <geostat/fit/Strata_GeostatFields.hpp>
#include <geostat/kriging/Strata_Prediction.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>
#include <python/detail/Strata_Arrays.hpp>
#include <python/detail/Strata_Bind.hpp>
#include <python/detail/Strata_BindFields.hpp>
#include <python/detail/Strata_Covariances.hpp>
#include <python/detail/Strata_Work.hpp>

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace strata::python {

namespace {

using namespace nb::literals;
using namespace geostat;
using c::Exec;
using detail::In, detail::Kept, detail::Out, detail::Factoring, detail::KeptCovarianceFactor;
using detail::locations, detail::factor_flops, detail::pass_flops;
using Shared = detail::SharedCovarianceFactor;

Shared factor(MaternCovariance const& covariance, In const& at, std::string const& metric,
              double accuracy, std::int64_t tile_size, int devices, std::size_t budget_bytes,
              std::string const& storage, std::optional<In> const& errors) {
  auto const places = locations("locations", at, metric, errors);
  auto const chosen = detail::factor_options(accuracy, tile_size, devices, budget_bytes, storage);
  return detail::run(factor_flops(places.size()) + pass_flops(places.size(), 1),
                     [covariance, places, chosen](auto&) {
                       return std::make_shared<KeptCovarianceFactor>(covariance, places, chosen);
                     });
}

void update(Shared const& f, MaternCovariance const& covariance) {
  // In the memory that there is; after an exception there is no factor.
  detail::work_with(f, factor_flops(f->order()) + pass_flops(f->order(), 1),
                    [covariance](Factoring& work) {
                      work.factor.refactor(work.exec, covariance);
                      return KeptCovarianceFactor::require_definite(work);
                    });
}

Likelihood likelihood(Shared const& f, In const& values, Trend const& trend) {
  auto const y = detail::require_vector("values", values);
  return detail::work_with(f, pass_flops(f->order(), 2),
                           [kept = Kept(values), y, how = trend](Factoring& work) {
                             auto const found = log_likelihood(work.exec, work.factor, y, how);
                             if (found.info != 0) throw NotPositiveDefinite(found.info);
                             return found;
                           });
}

Prediction prediction(Shared const& f, In const& values, In const& at, std::string const& metric,
                      Trend const& trend, std::optional<In> const& X, bool variances, bool exact) {
  auto const y = detail::require_vector("values", values);
  auto const places = locations("new_locations", at, metric);
  PredictionOptions const options{.trend_columns = detail::columns_of("X_new", X),
                                  .nugget = exact ? NuggetIs::Variation : NuggetIs::Error,
                                  .variances = variances};
  return detail::work_with(f, pass_flops(f->order(), places.size()),
                           [kept = Kept(values), y, places, how = trend, options](Factoring& work) {
                             return predict(work.exec, work.factor, y, places, how, options);
                           });
}

dense::LogDeterminantEstimate log_determinant(Shared const& f) {
  return detail::work_with(f, pass_flops(f->order(), 16),
                           [](Factoring& work) { return work.factor.log_determinant(work.exec); });
}

// One or several of a field's realisations are not asked for at once: the seed tells them apart.
std::vector<double> field(MaternCovariance const& covariance, In const& at,
                          std::string const& metric, std::uint64_t seed) {
  auto const places = locations("locations", at, metric);
  return detail::run(factor_flops(places.size()), [covariance, places, seed](auto&) {
    return synthetic_field(*c::new_instance(), covariance, places, seed);
  });
}

void fill_matrix(MaternCovariance const& covariance, In const& at, std::string const& metric,
                 Out const& A) {
  auto const places = locations("locations", at, metric);
  auto const a = detail::require_stored("A", A);
  auto const n = places.size();
  STRATA_REQUIRE(ShapeError, !a.transposed && a.rows == n && a.cols == n, "A must be ", n, " x ",
                 n);
  detail::run(pass_flops(n, 0), [kept = Kept(A), covariance, places, a](auto&) {
    auto const found = covariance_matrix(covariance, places);
    for (std::int64_t j = 0; j < a.cols; ++j)
      std::copy_n(found.data() + j * found.stride(1), a.rows, a.data + j * a.ld);
    return true;
  });
}

struct Fitted {
  Fit fit;
  Shared factor;  // null: the matrix was nowhere positive definite
};

FitOptions default_options(In const& at, std::string const& metric, In const& values,
                           Trend const& trend, std::string const& family,
                           std::optional<In> const& errors) {
  auto const [first, second] = families_of(family);
  return default_fit_options(locations("locations", at, metric, errors),
                             detail::require_vector("values", values), trend, first, second);
}

Fitted run_fit(In const& at, std::string const& metric, In const& values, FitOptions const& chosen,
               nb::object const& on_step, std::optional<In> const& errors) {
  auto const places = locations("locations", at, metric, errors);
  auto const y = detail::require_vector("values", values);
  return detail::run(detail::long_flops, [kept = Kept(values, on_step), places, y, chosen,
                                          step = on_step.ptr()](detail::Call& call) {
    auto const instance = c::new_instance();
    auto found = fit(*instance, places, y, detail::told(chosen, step, call));
    Fitted result{found, nullptr};
    if (found.factor->info().ok())
      result.factor =
          std::make_shared<KeptCovarianceFactor>(instance, std::move(*found.factor), places.size());
    return result;
  });
}

void bind_reports(nb::module_& m) {
  detail::bind_described<CovarianceFactorReport>(m, "CovarianceFactorReport",
                                                 "What a factorisation took.");
  // NumPy's arrays in place of lists.
  detail::bind_described<Likelihood>(m, "Likelihood", "A Gaussian log-likelihood and its parts.")
      .def_prop_ro(
          "coefficients", [](Likelihood const& l) { return detail::as_array(l.coefficients); },
          nb::rv_policy::reference,
          nb::for_getter(nb::sig("def coefficients(self) -> numpy.typing.NDArray[numpy.float64]")),
          "Coefficients of the trend, by generalised least squares.")
      .def_prop_ro(
          "coefficient_covariance",
          [](Likelihood const& l) {
            auto const k = l.coefficients.size();
            return detail::as_array<2>(l.coefficient_covariance, {k, k});
          },
          nb::rv_policy::reference,
          nb::for_getter(
              nb::sig("def coefficient_covariance(self) -> numpy.typing.NDArray[numpy.float64]")),
          "Covariance of the coefficients at this covariance, k x k.");
  detail::bind_described<FitStep>(m, "FitStep", "One evaluation of the likelihood in a fit.");
  detail::bind_described<Fit>(m, "FitReport", "A maximum-likelihood estimate.");
}

void bind_fit_options(nb::module_& m) {
  nb::class_<FitOptions>(m, "FitOptions", "Where to search, and when to stop.")
      .def_rw("start", &FitOptions::start)
      .def_rw("lower", &FitOptions::lower)
      .def_rw("upper", &FitOptions::upper)
      .def_rw("fixed", &FitOptions::fixed)
      .def_rw("fixed_second", &FitOptions::fixed_second)
      .def_rw("directions", &FitOptions::directions)
      .def_rw("tolerance", &FitOptions::tolerance)
      .def_rw("max_evaluations", &FitOptions::max_evaluations)
      .def(
          "choose",
          [](FitOptions& self, std::string const& search, double accuracy, std::int64_t tile_size,
             int devices, std::size_t budget_bytes, std::string const& storage) {
            self.search = from_name<Search>(search);
            self.factor =
                detail::factor_options(accuracy, tile_size, devices, budget_bytes, storage);
          },
          "search"_a, "accuracy"_a, "tile_size"_a, "devices"_a, "budget_bytes"_a, "storage"_a);
  nb::class_<AlsoEstimated>(m, "AlsoEstimated", "What was estimated beside the four parameters.")
      .def(nb::init<>());
  m.def("also_estimated", &also_estimated, "fit"_a, "options"_a);
}

// As it is written in Python, but for numbers.
std::string text_of(Covariance const& c) {
  constexpr char const* names[] = {"Matern", "Exponential", "Gaussian", "Spherical",
                                   "PoweredExponential"};
  auto const shape = [](Family family, char const* number) {
    return family == Family::Matern ? std::string(", nu={") + number + "!r}"
           : has_shape(family)      ? std::string(", power={") + number + "!r}"
                                    : "";
  };
  std::string const axes = c.has_axes()         ? ", axes={9!r}"
                           : c.has_directions() ? ", angle={4!r}, ratio={5!r}"
                                                : "";
  std::string first = std::string(names[static_cast<int>(c.family)]) +
                      "(sigma2={0!r}, range={1!r}" + shape(c.family, "2") + ", nugget={3!r}" +
                      axes + ")";
  if (!c.second) return first;
  return first + " + " + names[static_cast<int>(c.second->family)] + "(sigma2={6!r}, range={7!r}" +
         shape(c.second->family, "8") + axes + ")";
}

// The second structure alone.
std::optional<Covariance> second_of(Covariance const& c) {
  if (!c.second) return {};
  auto const& s = *c.second;
  return Covariance{s.sigma2, s.range, s.nu, 0, s.family, c.angle, c.ratio, {}, c.axes};
}

auto all_of(Covariance const& c) {
  SecondStructure const s = c.second.value_or(SecondStructure{});
  return std::tuple(c.sigma2, c.range, c.nu, c.nugget, std::string(name_of(c.family)), c.angle,
                    c.ratio, c.second.has_value(), s.sigma2, s.range, s.nu,
                    std::string(name_of(s.family)));
}

Covariance sum_of(Covariance const& a, Covariance const& b) {
  STRATA_REQUIRE(ValueError, !a.second && !b.second,
                 "a covariance has two structures at most, and this sum has three or more");
  STRATA_REQUIRE(ValueError, a.angle == b.angle && a.ratio == b.ratio && a.axes == b.axes,
                 "both structures have the same directions and axes, and these have (", a.angle,
                 ", ", a.ratio, ") and (", b.angle, ", ", b.ratio, ")");
  Covariance sum = a;
  sum.nugget += b.nugget;
  sum.second = {b.sigma2, b.range, b.nu, b.family};
  return sum;
}

void bind_covariance(nb::module_& m) {
  using Cov = Covariance;
  nb::class_<Cov>(m, "Covariance",
                  "The covariance of a stationary Gaussian field: Matern's, or of another family.")
      .def(
          "__init__",
          [](Cov* self, double sigma2, double range, double nu, double nugget,
             std::string const& family, double angle, double ratio,
             std::vector<double> const& axes) {
            Cov const given{sigma2, range, nu, nugget, from_name<Family>(family),
                            angle,  ratio, {}, axes};
            given.check();
            new (self) Cov(given);
          },
          "sigma2"_a, "range"_a, "nu"_a = 0.5, "nugget"_a = 0.0, nb::kw_only(),
          "family"_a = "matern", "angle"_a = 0.0, "ratio"_a = 1.0, "axes"_a = std::vector<double>{},
          nb::sig(
              "def __init__(self, sigma2: float, range: float, nu: float = 0.5, nugget: float = "
              "0.0, *, family: str = 'matern', angle: float = 0.0, ratio: float = 1.0, axes: "
              "collections.abc.Sequence[float] = ()) -> None"))
      .def_ro("sigma2", &Cov::sigma2, "Variance of the field.")
      .def_ro("range", &Cov::range, "In the unit of distances.")
      .def_ro("nu", &Cov::nu, "Smoothness, or the power of a powered exponential.")
      .def_ro("nugget", &Cov::nugget, "Variance of the errors of observations.")
      .def_prop_ro(
          "family", [](Cov const& c) { return std::string(name_of(c.family)); },
          "Family, as `fit` takes it.")
      .def_ro("angle", &Cov::angle, "Angle of the longest range, in degrees clockwise from y.")
      .def_ro("ratio", &Cov::ratio, "Range across that axis by the one along it.")
      .def_prop_ro(
          "axes", [](Cov const& c) { return nb::tuple(nb::cast(c.axes)); },
          nb::sig("def axes(self) -> tuple[float, ...]"),
          "Ranges of y and further coordinates by `range`, that of x; empty: one for all.")
      .def_prop_ro(
          "ranges", [](Cov const& c) { return nb::tuple(nb::cast(c.ranges())); },
          nb::sig("def ranges(self) -> tuple[float, ...]"),
          "Range of each coordinate, x first, or the one of all.")
      .def_prop_ro("second", &second_of,
                   "Second structure of a sum, without a nugget; None: there is one alone.")
      .def("__add__", &sum_of, nb::is_operator(), "other"_a,
           "The covariance of two structures, one of each; the nugget is the sum of both.")
      .def("__repr__",
           [](Cov const& c) {
             SecondStructure const s = c.second.value_or(SecondStructure{});
             return nb::str(text_of(c).c_str())
                 .format(c.sigma2, c.range, c.nu, c.nugget, c.angle, c.ratio, s.sigma2, s.range,
                         s.nu, nb::tuple(nb::cast(c.axes)));
           })
      .def(
          "__eq__",
          [](Cov const& a, nb::object const& other) {
            Cov b;
            return nb::try_cast(other, b) && a.axes == b.axes && all_of(a) == all_of(b);
          },
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__",
           [](Cov const& c) {
             return nb::hash(nb::make_tuple(all_of(c), nb::tuple(nb::cast(c.axes))));
           })
      .def(
          "__call__",
          [](Cov const& c, In const& h) {
            auto const distances = detail::require_vector("h", h);
            std::vector<double> values;
            for (double const one : distances) {
              STRATA_REQUIRE(ValueError, one >= 0, "h is ", one, ", must be >= 0");
              values.push_back(c(one));
            }
            return detail::as_array(values);
          },
          "h"_a.noconvert(),
          nb::sig("def __call__(self, h: numpy.typing.NDArray[numpy.float64]) -> "
                  "numpy.typing.NDArray[numpy.float64]"),
          "C(h) at distances h >= 0, without the nugget.");
  m.def(
      "with_second",
      [](Covariance first, double sigma2, double range, double nu, std::string const& family) {
        first.second = {sigma2, range, nu, from_name<Family>(family)};
        first.check();
        return first;
      },
      "first"_a, "sigma2"_a, "range"_a, "nu"_a, "family"_a);
}

}  // namespace

void bind_geostat(nb::module_& m) {
  bind_covariance(m);
  bind_reports(m);
  nb::class_<Prediction>(m, "Prediction", "The field where it was not observed.")
      .def_prop_ro(
          "mean", [](Prediction const& p) { return detail::as_array(p.mean); },
          nb::rv_policy::reference)
      .def_prop_ro(
          "variance", [](Prediction const& p) { return detail::as_array(p.variance); },
          nb::rv_policy::reference)
      .def_ro("backward_error", &Prediction::backward_error)
      .def_ro("converged", &Prediction::converged);
  nb::class_<KeptCovarianceFactor> covariance_factor(m, "CovarianceFactor",
                                                     "The factor of a covariance matrix.");
  bind_kriging(m, covariance_factor);
  covariance_factor.def_prop_ro("order", &KeptCovarianceFactor::order)
      .def_prop_ro("covariance",
                   [](Shared const& f) {
                     return detail::answer(
                         f, [](Factoring& work) { return work.factor.covariance(); });
                   })
      .def_prop_ro("report",
                   [](Shared const& f) {
                     return detail::answer(f, [](Factoring& work) { return work.factor.report(); });
                   })
      .def("update", &update, "covariance"_a)
      .def("likelihood", &likelihood, "values"_a.noconvert(), "trend"_a)
      .def("log_determinant", &log_determinant)
      .def("predict", &prediction, "values"_a.noconvert(), "new_locations"_a.noconvert(),
           "metric"_a, "trend"_a, "X_new"_a.none(), "variances"_a, "exact"_a);
  m.def("covariance_factor", &factor, "covariance"_a, "locations"_a.noconvert(), "metric"_a,
        "accuracy"_a, "tile_size"_a, "devices"_a, "budget_bytes"_a, "storage"_a,
        "error_variances"_a.none());
  m.def("covariance_matrix", &fill_matrix, "covariance"_a, "locations"_a.noconvert(), "metric"_a,
        "A"_a.noconvert());
  m.def(
      "synthetic_field",
      [](MaternCovariance const& covariance, In const& at, std::string const& metric,
         std::uint64_t seed) { return detail::as_array(field(covariance, at, metric, seed)); },
      "covariance"_a, "locations"_a.noconvert(), "metric"_a, "seed"_a);
  m.def(
      "can_fit", [](std::string const& search) { return can_fit(from_name<Search>(search)); },
      "search"_a = "scoring", "Whether this build can search so: all can by scoring.");
  m.def(
      "copies",
      [](In const& at, std::string const& metric, In const& values) {
        auto const found = find_copies(locations("locations", at, metric),
                                       detail::require_vector("values", values));
        return std::array{found.places, found.of_same_value, found.first, found.second};
      },
      "locations"_a.noconvert(), "metric"_a, "values"_a.noconvert());
  m.def(
      "why_no_error",
      [](Fit const& found, std::array<bool, 4> const& fixed) { return why_no_error(found, fixed); },
      "fit"_a, "fixed"_a);

  bind_fit_options(m);
  bind_inference(m, covariance_factor);
  m.def("default_fit_options", &default_options, "locations"_a.noconvert(), "metric"_a,
        "values"_a.noconvert(), "trend"_a, "family"_a, "error_variances"_a.none());
  m.def(
      "fit",
      [](In const& at, std::string const& metric, In const& values, FitOptions const& chosen,
         nb::object const& on_step, std::optional<In> const& errors) {
        auto const found = run_fit(at, metric, values, chosen, on_step, errors);
        return std::pair(found.fit, found.factor);
      },
      "locations"_a.noconvert(), "metric"_a, "values"_a.noconvert(), "options"_a,
      "on_step"_a.none(), "error_variances"_a.none(),
      nb::sig("def fit(locations: object, metric: str, values: object, options: FitOptions, "
              "on_step: object, error_variances: object | None) -> "
              "tuple[FitReport, CovarianceFactor | None]"));
  bind_neighbours(m);
}

}  // namespace strata::python
