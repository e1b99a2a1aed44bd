// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PAIR_COVARIANCE_HPP
#define STRATA_PAIR_COVARIANCE_HPP

#include <geostat/detail/Strata_CovarianceGradient.hpp>
#include <geostat/detail/Strata_MaternColumns.hpp>
#include <geostat/detail/Strata_MaternKernel.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace strata::geostat::detail {

/// Blocks where kernels read them: see ConditioningBlocks.
template <class MemorySpace>
struct BlockViews {
  Kokkos::View<std::int64_t*, MemorySpace> offsets, response_offsets;
  Kokkos::View<std::int32_t*, MemorySpace> members, responses;
};

/// Numbers of each response, n rows by columns.
template <class MemorySpace>
using ResponseRows = Kokkos::View<double**, Kokkos::LayoutLeft, MemorySpace>;

/// A covariance of pairs of places, where kernels evaluate it, and its derivatives by range and nu,
/// where these are wanted. On hosts with many pairs a table of nu serves. Places are in the plane
/// of `Directions`.
template <class MemorySpace, bool derivatives>
class PairCovariance {
 public:
  /// Sync: fences `exec` if there is a second structure.
  template <class Exec>
  PairCovariance(Exec const& exec, MaternCovariance const& c, Locations const& places,
                 std::int64_t pairs, bool by_nu, bool by_nu_2)
      : nugget_(c.nugget),
        turn_(turn_of(c)),
        metric_(places.metric),
        terms_(exec, c, pairs, by_nu, by_nu_2) {
    if constexpr (!derivatives && std::is_same_v<MemorySpace, Kokkos::HostSpace>)
      if (detail::has_columns(terms_.first()) && metric_ == Metric::Euclidean &&
          places.further.empty() && (!c.second || detail::has_columns(terms_.second())))
        column_ = matern_column();
  }

  /// Variance of the field.
  KOKKOS_FUNCTION double field() const { return terms_.field(); }
  KOKKOS_FUNCTION double nugget() const { return nugget_; }
  /// The structures.
  KOKKOS_FUNCTION AllTerms<MemorySpace, derivatives> const& terms() const { return terms_; }

  /// Covariance of the field at two places.
  KOKKOS_FUNCTION double operator()(Location const& a, Location const& b) const {
    return terms_.covariance(distance(metric_, a, b));
  }
  KOKKOS_FUNCTION double distance_of(Location const& a, Location const& b) const {
    return distance(metric_, a, b);
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
    KOKKOS_IF_ON_HOST((add_columns(from, x, y, n, C);))
  }

 private:
  void add_columns(Location const& from, double const* x, double const* y, std::int64_t n,
                   double* C) const {
    column_(columns_of(terms_.first(), false), from, x, y, n, C);
    if (terms_.has_second()) column_(columns_of(terms_.second(), true), from, x, y, n, C);
  }

  double nugget_, turn_;
  Metric metric_;
  AllTerms<MemorySpace, derivatives> terms_;
  MaternColumn* column_ = nullptr;
};

}  // namespace strata::geostat::detail

#endif
