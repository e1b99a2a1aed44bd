// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MATERN_KERNEL_HPP
#define STRATA_MATERN_KERNEL_HPP

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <geostat/Strata_Locations.hpp>
#include <geostat/model/detail/Strata_BesselK.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace strata::geostat::detail {

inline bool has_closed_form(double nu) { return nu == 0.5 || nu == 1.5 || nu == 2.5; }

// 2^(1-nu) / Gamma(nu) x^nu K_nu(x) for nu = 1/2, 3/2, 5/2.
KOKKOS_INLINE_FUNCTION double matern_closed_form(double nu, double x) {
  double const polynomial = nu == 0.5 ? 1.0 : nu == 1.5 ? 1.0 + x : 1.0 + x + x * x / 3;
  return x > 800 ? 0.0 : polynomial * Kokkos::exp(-x);  // avoids inf * 0
}

// The same and -x times its derivative by x; nothing of the one by nu.
KOKKOS_INLINE_FUNCTION MaternTerms matern_closed_terms(double nu, double x) {
  if (x > 800) return {0, 0, 0};
  double const value = nu == 0.5 ? 1.0 : nu == 1.5 ? 1.0 + x : 1.0 + x + x * x / 3;
  double const slope = nu == 0.5 ? x : nu == 1.5 ? x * x : x * x * (1 + x) / 3;
  double const decay = Kokkos::exp(-x);
  return {value * decay, slope * decay, 0};
}

/// A BesselK or MaternGradient of nu, which need not work where there is a closed form.
template <class Terms>
Terms unless_closed(bool closed, double nu) {
  return closed ? Terms(BesselK::OrderAlone{nu}) : Terms(nu);
}

/// 2^(1-nu) / Gamma(nu) x^nu K_nu(x), what depends on nu alone worked out by the constructor.
class MaternCorrelation {
 public:
  explicit MaternCorrelation(double nu)
      : bessel_(unless_closed<BesselK>(has_closed_form(nu), nu)), closed_(has_closed_form(nu)) {}

  KOKKOS_FUNCTION double operator()(double x) const {
    return closed_ ? matern_closed_form(bessel_.order(), x) : bessel_.matern(x);
  }
  bool is_closed() const { return closed_; }
  double order() const { return bessel_.order(); }

 private:
  BesselK bessel_;
  bool closed_;
};

// A(i, j) for the rows and columns from `first_row` and `first_col` on; below the diagonal of the
// whole matrix only, or with what lies opposite too.
template <class Entries, class MatrixView>
struct CovarianceFill {
  using Scalar = typename MatrixView::non_const_value_type;
  enum class Part { Block, Lower, Both };
  Entries entries;
  std::int64_t first_row, first_col;
  Part part;
  MatrixView A;

  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t j) const {
    if (part != Part::Block && i < j) return;
    auto const value = static_cast<Scalar>(entries(first_row + i, first_col + j));
    A(i, j) = value;
    if (part == Part::Both) A(j, i) = value;
  }
};

// The host's values must live until `exec` has been fenced.
template <class MemorySpace, class ExecutionSpace, class Value>
Kokkos::View<Value*, MemorySpace> copy_of(ExecutionSpace const& exec,
                                          std::vector<Value> const& values, char const* label) {
  Kokkos::View<Value const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const host(
      values.data(), values.size());
  auto const copy = allocate<Kokkos::View<Value*, MemorySpace>>(exec, label, values.size());
  Kokkos::deep_copy(exec, copy, host);
  return copy;
}

/// Locations where kernels read them.
template <class MemorySpace>
using Points = Kokkos::View<Location*, MemorySpace>;

// Fences `exec`.
template <class MemorySpace, class ExecutionSpace>
Points<MemorySpace> points_of(ExecutionSpace const& exec, Locations const& locations) {
  std::vector<Location> points;
  for (std::size_t k = 0; k < locations.x.size(); ++k)
    points.push_back(
        {locations.x[k], locations.y[k], cosine_of_latitude(locations.metric, locations.y[k])});
  auto const copy = copy_of<MemorySpace>(exec, points, "strata::CovarianceEntries::points");
  exec.fence("strata::CovarianceEntries::copied");  // the points on the host die here
  return copy;
}

}  // namespace strata::geostat::detail

#endif
