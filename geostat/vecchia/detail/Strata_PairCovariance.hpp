// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PAIR_COVARIANCE_HPP
#define STRATA_PAIR_COVARIANCE_HPP

#include <geostat/detail/Strata_CovarianceGradient.hpp>
#include <geostat/detail/Strata_MaternColumns.hpp>
#include <geostat/detail/Strata_MaternKernel.hpp>
#include <geostat/model/detail/Strata_Correlation.hpp>
#include <geostat/model/detail/Strata_MaternTable.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <memory>
#include <type_traits>

namespace strata::geostat::detail {

/// A covariance of pairs of places, where kernels evaluate it, and its derivatives by range and nu,
/// where these are wanted. On hosts with many pairs a table of nu serves. Places are in the plane
/// of `Directions`.
template <class MemorySpace, bool derivatives>
class PairCovariance {
 public:
  PairCovariance(MaternCovariance const& c, Metric metric, std::int64_t pairs, bool by_nu)
      : sigma2_(c.sigma2),
        range_(c.range),
        nu_(c.order()),
        nugget_(c.nugget),
        turn_(turn_of(c)),
        family_(c.family),
        plain_(!is_matern(c.family)),
        closed_(plain_ || ((!by_nu || !has_shape(c.family)) && has_closed_form(c.order()))),
        metric_(metric),
        terms_(unless_closed<Terms>(closed_, c.order())) {
    if (!closed_) table_ = table_for<MemorySpace>(c.nu, pairs, derivatives);
    table_on_host_ = table_.get();
    if constexpr (!derivatives && std::is_same_v<MemorySpace, Kokkos::HostSpace>)
      if ((closed_ || table_) && metric == Metric::Euclidean &&
          c.family != Family::PoweredExponential)
        column_ = matern_column();
  }

  KOKKOS_FUNCTION double sigma2() const { return sigma2_; }
  KOKKOS_FUNCTION double range() const { return range_; }
  KOKKOS_FUNCTION double nugget() const { return nugget_; }

  /// Correlation and its derivatives; these are any numbers where they are not wanted.
  KOKKOS_FUNCTION MaternTerms operator()(Location const& a, Location const& b) const {
    double const x = distance(metric_, a, b) / range_;
    if (plain_) return plain_terms(family_, nu_, x);
    if (closed_) return matern_closed_terms(nu_, x);
    if constexpr (std::is_same_v<MemorySpace, Kokkos::HostSpace>) {
      if (table_on_host_ && derivatives) return table_on_host_->derivatives(x);
      if (table_on_host_) return {(*table_on_host_)(x), 0, 0};
    }
    if constexpr (derivatives)
      return terms_(x);
    else
      return {terms_.matern(x), 0, 0};
  }

  /// By stretch and shear, of two places for which this is -x times the derivative by x.
  KOKKOS_FUNCTION ByDirections by_directions(double by_log_range, Location const& a,
                                             Location const& b) const {
    return detail::by_directions(by_log_range, turn_, a, b);
  }
  /// Whether two places are one; on the sphere they may have several longitudes, which round.
  KOKKOS_FUNCTION bool is_one_place(Location const& a, Location const& b) const {
    return distance(metric_, a, b) <= (metric_ == Metric::Euclidean ? 0 : 1e-9);
  }

  /// Whether columns are evaluated in vectors.
  KOKKOS_FUNCTION bool has_columns() const { return column_ != nullptr; }
  /// C[i] = covariance of a place and place i of n, without the nugget; on hosts.
  KOKKOS_FUNCTION void column(Location const& from, double const* x, double const* y,
                              std::int64_t n, double* C) const {
    KOKKOS_IF_ON_HOST((column_({sigma2_, range_, nu_, table_on_host_, family_}, from, x, y, n, C);))
  }

 private:
  using Terms = std::conditional_t<derivatives, MaternGradient, BesselK>;
  double sigma2_, range_, nu_, nugget_, turn_;
  Family family_;
  bool plain_, closed_;
  Metric metric_;
  Terms terms_;
  std::shared_ptr<MaternTable const> table_;  // on hosts, if any
  MaternTable const* table_on_host_ = nullptr;
  MaternColumn* column_ = nullptr;
};

}  // namespace strata::geostat::detail

#endif
