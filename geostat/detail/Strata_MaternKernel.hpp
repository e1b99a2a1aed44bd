// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MATERN_KERNEL_HPP
#define STRATA_MATERN_KERNEL_HPP

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <geostat/Strata_Locations.hpp>
#include <geostat/detail/Strata_MaternColumns.hpp>
#include <geostat/model/Strata_Covariance.hpp>
#include <geostat/model/detail/Strata_BesselK.hpp>
#include <geostat/model/detail/Strata_Correlation.hpp>
#include <geostat/model/detail/Strata_MaternTable.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
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

/// Coordinates in which a covariance with directions has none: u along the major axis, v across it,
/// stretched by 1 / ratio. Where each coordinate has a range, all but x are divided by `axes`.
struct Directions {
  double cosine = 1, sine = 0, stretch = 1;
  bool differ = false;
  std::vector<double> axes;  ///< Covariance::axes

  /// Turned although there are no directions: for derivatives.
  explicit Directions(Covariance const& c, bool turned = false);
  /// All of them.
  Locations operator()(Locations locations) const;

 private:
  Locations along_axes(Locations locations) const;
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
class Points {
 public:
  Points() = default;
  /// Fences `exec`.
  template <class ExecutionSpace>
  Points(ExecutionSpace const& exec, Locations const& locations) {
    auto const count = locations.further.size();
    std::vector<double> further;
    std::vector<Location> points;
    for (std::size_t k = 0; count > 0 && k < locations.x.size(); ++k)
      for (auto const& one : locations.further) further.push_back(one[k]);
    if (count > 0)
      further_ = copy_of<MemorySpace>(exec, further, "strata::CovarianceEntries::further");
    for (std::size_t k = 0; k < locations.x.size(); ++k)
      points.push_back(
          {locations.x[k], locations.y[k], cosine_of_latitude(locations.metric, locations.y[k]),
           count > 0 ? further_.data() + k * count : nullptr, static_cast<int>(count)});
    points_ = copy_of<MemorySpace>(exec, points, "strata::CovarianceEntries::points");
    exec.fence("strata::CovarianceEntries::copied");  // what is on the host dies here
  }

  KOKKOS_FUNCTION Location const& operator()(std::int64_t i) const { return points_(i); }
  KOKKOS_FUNCTION Location const* data() const { return points_.data(); }
  KOKKOS_FUNCTION std::int64_t size() const { return static_cast<std::int64_t>(points_.extent(0)); }

 private:
  Kokkos::View<Location*, MemorySpace> points_;
  Kokkos::View<double*, MemorySpace> further_;  // what they point to
};

// Fences `exec`.
template <class MemorySpace, class ExecutionSpace>
Points<MemorySpace> points_of(ExecutionSpace const& exec, Locations const& locations) {
  return {exec, locations};
}

/// A structure of a covariance, sigma2 rho(h / range), where kernels evaluate it.
template <class MemorySpace, bool derivatives>
struct StructureTerms {
  using Terms = std::conditional_t<derivatives, MaternGradient, BesselK>;

  double sigma2, range, nu;
  Family family;
  bool by_nu;  ///< whether the derivative by nu is there
  bool plain, closed;
  Terms terms;
  MaternTable const* table = nullptr;  ///< on hosts, if any

  /// The first structure's.
  StructureTerms(Covariance const& c, bool by_nu)
      : StructureTerms(c.sigma2, c.range, c.order(), c.family, by_nu) {}
  StructureTerms(SecondStructure const& s, bool by_nu)
      : StructureTerms(s.sigma2, s.range, s.order(), s.family, by_nu) {}

  /// rho and its derivatives at a distance; these are any numbers where they are not wanted.
  KOKKOS_FUNCTION MaternTerms operator()(double h) const {
    double const x = h / range;
    if (plain) return plain_terms(family, nu, x);
    if (closed) return matern_closed_terms(nu, x);
    if constexpr (std::is_same_v<MemorySpace, Kokkos::HostSpace>) {
      if (table && derivatives) return table->derivatives(x);
      if (table) return {(*table)(x), 0, 0};
    }
    if constexpr (derivatives)
      return terms(x);
    else
      return {terms.matern(x), 0, 0};
  }

 private:
  StructureTerms(double sigma2, double range, double order, Family family, bool wants_nu)
      : sigma2(sigma2),
        range(range),
        nu(order),
        family(family),
        by_nu(wants_nu && has_shape(family)),
        plain(!is_matern(family)),
        closed(plain || (!by_nu && has_closed_form(order))),
        terms(unless_closed<Terms>(closed, order)) {}
};

/// The same for columns of a matrix on hosts.
template <class MemorySpace, bool derivatives>
ColumnCovariance columns_of(StructureTerms<MemorySpace, derivatives> const& s, bool is_added) {
  return {s.sigma2, s.range, s.nu, s.table, s.family, is_added};
}
/// Whether there are such columns.
template <class MemorySpace, bool derivatives>
bool has_columns(StructureTerms<MemorySpace, derivatives> const& s) {
  return (s.closed || s.table) && s.family != Family::PoweredExponential;
}

/// The second structure of a covariance in memory that kernels read, or nothing.
template <class MemorySpace, bool derivatives>
class SecondTerms {
 public:
  using Structure = StructureTerms<MemorySpace, derivatives>;

  SecondTerms() = default;
  /// Sync: fences `exec`.
  template <class Exec>
  SecondTerms(Exec const& exec, Covariance const& c, std::int64_t pairs, bool by_nu) {
    if (!c.second) return;
    auto made = std::make_shared<Structure>(*c.second, by_nu);
    if (!made->closed) table_ = table_for<MemorySpace>(made->nu, pairs, derivatives);
    made->table = table_.get();
    host_ = made;
    take(exec);
  }
  /// A copy in memory of its own. Sync: fences `exec`.
  template <class Exec>
  SecondTerms(Exec const& exec, SecondTerms const& other)
      : host_(other.host_), table_(other.table_) {
    if (host_) take(exec);
  }

  KOKKOS_FUNCTION bool is_there() const { return on_device_.extent(0) > 0; }
  KOKKOS_FUNCTION Structure const& operator*() const { return on_device_(0); }
  /// The same on the host.
  Structure const* on_host() const { return host_.get(); }

 private:
  template <class Exec>
  void take(Exec const& exec) {
    std::vector<Structure> const one{*host_};
    on_device_ = copy_of<MemorySpace>(exec, one, "strata::geostat::second_structure");
    exec.fence("strata::geostat::second_structure");
  }

  std::shared_ptr<Structure const> host_;
  std::shared_ptr<MaternTable const> table_;  // on hosts, if any
  Kokkos::View<Structure*, MemorySpace> on_device_;
};

/// Both structures, of which kernels take derivatives or not; on hosts with many pairs a table of
/// nu serves.
template <class MemorySpace, bool derivatives>
class AllTerms {
 public:
  /// Sync: fences `exec` if there is a second structure.
  template <class Exec>
  AllTerms(Exec const& exec, Covariance const& c, std::int64_t pairs, bool by_nu, bool by_nu_2)
      : first_(c, by_nu), second_(exec, c, pairs, by_nu_2) {
    if (!first_.closed) table_ = table_for<MemorySpace>(first_.nu, pairs, derivatives);
    first_.table = table_.get();
  }

  KOKKOS_FUNCTION StructureTerms<MemorySpace, derivatives> const& first() const { return first_; }
  KOKKOS_FUNCTION bool has_second() const { return second_.is_there(); }
  KOKKOS_FUNCTION StructureTerms<MemorySpace, derivatives> const& second() const {
    return *second_;
  }
  /// Variance of the field.
  KOKKOS_FUNCTION double field() const {
    return first_.sigma2 + (has_second() ? second().sigma2 : 0);
  }
  /// Covariance of the field at a distance.
  KOKKOS_FUNCTION double covariance(double h) const {
    double const c = first_.sigma2 * first_(h).value;
    return has_second() ? c + second().sigma2 * second()(h).value : c;
  }

 private:
  StructureTerms<MemorySpace, derivatives> first_;
  SecondTerms<MemorySpace, derivatives> second_;
  std::shared_ptr<MaternTable const> table_;  // on hosts, if any
};

}  // namespace strata::geostat::detail

#endif
