// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MATERN_KERNEL_HPP
#define STRATA_MATERN_KERNEL_HPP

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <geostat/Strata_Locations.hpp>
#include <geostat/model/Strata_Covariance.hpp>
#include <geostat/model/detail/Strata_BesselK.hpp>
#include <geostat/model/detail/Strata_Correlation.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace strata::geostat::detail {

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

/// rho(x) of any family, what depends on nu alone worked out by the constructor.
class Correlation {
 public:
  explicit Correlation(Covariance const& c)
      : matern_(is_matern(c.family) ? c.order() : 0.5), family_(c.family), nu_(c.nu) {}

  KOKKOS_FUNCTION double operator()(double x) const {
    bool const is_plain = family_ != Family::Matern && family_ != Family::Exponential;
    return is_plain ? plain_terms(family_, nu_, x).value : matern_(x);
  }
  /// Whether Matern's functions are evaluated, and have no closed form.
  bool has_bessel() const { return is_matern(family_) && !matern_.is_closed(); }
  /// Whether hosts evaluate it in vectors without a table.
  bool is_vectorised() const { return family_ != Family::PoweredExponential && !has_bessel(); }
  double order() const { return matern_.order(); }
  Family family() const { return family_; }

 private:
  MaternCorrelation matern_;
  Family family_;
  double nu_;
};

/// The plane in which a covariance with directions has none: u along the major axis, v across it,
/// stretched by 1 / ratio.
struct Directions {
  double cosine = 1, sine = 0, stretch = 1;
  bool differ = false;

  /// Turned although there are no directions: for derivatives.
  explicit Directions(Covariance const& c, bool turned = false);
  Location operator()(Location const& at) const {
    if (!differ) return at;
    return {at.x * sine + at.y * cosine, (at.x * cosine - at.y * sine) * stretch, at.cosine};
  }
  /// All of them.
  Locations operator()(Locations locations) const;
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
