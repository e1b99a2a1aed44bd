// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PYTHON_COVARIANCES_HPP
#define STRATA_PYTHON_COVARIANCES_HPP

#include <geostat/Strata_CovarianceFactor.hpp>
#include <geostat/Strata_Matern.hpp>
#include <geostat/fit/Strata_Fit.hpp>
#include <python/detail/Strata_Arrays.hpp>
#include <python/detail/Strata_Bind.hpp>
#include <python/detail/Strata_BindFields.hpp>
#include <python/detail/Strata_Work.hpp>
#include <python/detail/Strata_Worked.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace strata::python::detail {

/// Numbers for the four parameters of a covariance.
template <>
struct AsPython<geostat::Parameters> {
  static constexpr char const* name = "numpy.typing.NDArray[numpy.float64]";
  static auto from(geostat::Parameters const& of) { return as_array(of); }
};
/// Numbers for the three of a second structure.
template <>
struct AsPython<std::array<double, 3>> {
  static constexpr char const* name = "numpy.typing.NDArray[numpy.float64]";
  static auto from(std::array<double, 3> const& of) {
    return as_array(std::vector<double>(of.begin(), of.end()));
  }
};
/// Numbers, of which there may be none.
template <>
struct AsPython<std::vector<double>> {
  static constexpr char const* name = "numpy.typing.NDArray[numpy.float64]";
  static auto from(std::vector<double> const& of) { return as_array(of); }
};
/// Numbers for their pairs.
template <>
struct AsPython<std::array<geostat::Parameters, 4>> {
  static constexpr char const* name = "numpy.typing.NDArray[numpy.float64]";
  static auto from(std::array<geostat::Parameters, 4> const& of) {
    std::vector<double> rows;
    for (auto const& row : of) rows.insert(rows.end(), row.begin(), row.end());
    return as_array<2>(rows, {4, 4});
  }
};

/// Rows of two or more numbers as locations, with known error variances of observations: a copy.
///
/// Throws   ShapeError, ValueError for a metric without that name.
inline geostat::Locations locations(char const* name, In const& array, std::string const& metric,
                                    std::optional<In> const& errors = {}) {
  STRATA_REQUIRE(
      ShapeError,
      array.ndim() == 2 && array.shape(1) >= 2 && array.shape(1) <= geostat::most_coordinates, name,
      " must be n x 2, or have up to 8 coordinates, has ", array.ndim(), " dimensions",
      array.ndim() == 2 ? " and " : "",
      array.ndim() == 2 ? std::to_string(array.shape(1)) + " columns" : "");
  geostat::Locations found;
  found.metric = from_name<geostat::Metric>(metric);
  auto const row = array.stride(0), column = array.stride(1);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(array.shape(0)); ++i) {
    found.x.push_back(array.data()[i * row]);
    found.y.push_back(array.data()[i * row + column]);
  }
  for (std::int64_t k = 2; k < static_cast<std::int64_t>(array.shape(1)); ++k) {
    auto& further = found.further.emplace_back();
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(array.shape(0)); ++i)
      further.push_back(array.data()[i * row + k * column]);
  }
  if (!errors) return found;
  auto const variances = require_vector("error_variances", *errors);
  STRATA_REQUIRE(ShapeError, variances.size() == found.x.size(), "error_variances are ",
                 variances.size(), ", ", name, " ", found.x.size());
  found.error_variances.assign(variances.begin(), variances.end());
  return found;
}

/// As Python has them.
///
/// Throws   ValueError for less than one device, or a storage without that name.
inline geostat::CovarianceFactorOptions factor_options(double accuracy, std::int64_t tile_size,
                                                       int devices, std::size_t budget_bytes,
                                                       std::string const& storage) {
  ooc::PrecisionRule rule;
  rule.accuracy = accuracy;
  geostat::CovarianceFactorOptions chosen(rule);
  chosen.tile_size = tile_size;
  chosen.devices = ooc::make_devices(devices, budget_bytes);
  chosen.storage = from_name<ooc::TileStorage>(storage);
  return chosen;
}

struct Factoring {
  Factoring(geostat::MaternCovariance const& covariance, geostat::Locations const& at,
            geostat::CovarianceFactorOptions const& chosen)
      : factor(exec, covariance, at, chosen) {}
  Factoring(c::Instance own, geostat::CovarianceFactor<c::Exec>&& made)
      : instance(std::move(own)), factor(std::move(made)) {}

  c::Instance instance = c::new_instance();  // first: it outlives the rest
  c::Exec exec = *instance;
  geostat::CovarianceFactor<c::Exec> factor;
};

/// The factor of a covariance matrix in Python's hands.
class KeptCovarianceFactor : public Worked<Factoring> {
 public:
  /// Throws   NotPositiveDefinite; what CovarianceFactor throws.
  KeptCovarianceFactor(geostat::MaternCovariance const& covariance, geostat::Locations const& at,
                       geostat::CovarianceFactorOptions const& chosen)
      : Worked(std::in_place, covariance, at, chosen), order_(at.size()) {
    require_definite(made());
  }
  KeptCovarianceFactor(c::Instance const& instance, geostat::CovarianceFactor<c::Exec>&& made,
                       std::int64_t order)
      : Worked(std::in_place, instance, std::move(made)), order_(order) {}
  std::int64_t order() const { return order_; }

  static bool require_definite(Factoring const& work) {
    auto const info = work.factor.info();
    if (!info.ok()) throw NotPositiveDefinite(info.order());
    return true;
  }

 private:
  std::int64_t order_;
};
using SharedCovarianceFactor = std::shared_ptr<KeptCovarianceFactor>;

/// The options of a fit that tells a function of Python's, or None, of each evaluation, and ends
/// when that raises or when nobody waits any more. The function is kept alive by the caller as long
/// as they are used.
inline geostat::FitOptions told(geostat::FitOptions options, PyObject* on_step, Call const& call) {
  options.on_step = [on_step, &call](geostat::FitStep const& step) {
    call.require_wanted();
    if (on_step == Py_None) return;
    Callback const callback(call);
    nb::borrow<nb::object>(on_step)(step);
  };
  return options;
}

/// The columns of an array of one or two dimensions; none: no column.
///
/// Throws   ShapeError.
inline std::vector<std::vector<double>> columns_of(char const* name, std::optional<In> const& X) {
  std::vector<std::vector<double>> columns;
  if (!X) return columns;
  auto const found = require_stored(name, *X);
  std::int64_t const rows = found.transposed ? found.cols : found.rows,
                     cols = found.transposed ? found.rows : found.cols;
  for (std::int64_t j = 0; j < cols; ++j) {
    columns.emplace_back();
    for (std::int64_t i = 0; i < rows; ++i)
      columns.back().push_back(found.data[found.transposed ? j + i * found.ld : i + j * found.ld]);
  }
  return columns;
}

/// Flops of a factorisation, and of passes over the covariances, which are evaluated anew.
inline double factor_flops(std::int64_t n) { return std::pow(static_cast<double>(n), 3) / 3; }
inline double pass_flops(std::int64_t n, std::int64_t columns) {
  return (1000.0 + static_cast<double>(columns)) * std::pow(static_cast<double>(n), 2);
}

}  // namespace strata::python::detail

namespace strata::python {

/// Trends, cross-validation, simulations, variograms.
void bind_kriging(nb::module_& m, nb::class_<detail::KeptCovarianceFactor>& factor);

/// Gradients, the Fisher information and what follows from it, profile intervals.
void bind_inference(nb::module_& m, nb::class_<detail::KeptCovarianceFactor>& factor);

/// Fits and predictions by Vecchia's approximation.
void bind_neighbours(nb::module_& m);

}  // namespace strata::python

#endif
