// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_COVARIANCE_GRADIENT_HPP
#define STRATA_COVARIANCE_GRADIENT_HPP

#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <geostat/Strata_CovarianceFactor.hpp>
#include <geostat/detail/Strata_MaternKernel.hpp>
#include <geostat/model/detail/Strata_MaternTable.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace strata::geostat::detail {

/// Four numbers, as of sigma2, range, nu and nugget.
struct FourSums {
  double of[4] = {0, 0, 0, 0};

  KOKKOS_INLINE_FUNCTION FourSums& operator+=(FourSums const& other) {
    for (int k = 0; k < 4; ++k) of[k] += other.of[k];
    return *this;
  }
};

/// The derivatives of a covariance matrix's entries by sigma2, range, nu and nugget, evaluated
/// where they are asked for. The derivative by nu, if it is not wanted, is any number: without it
/// there are closed forms for nu = 1/2, 3/2 and 5/2.
///
/// Memory   24 bytes for each location in MemorySpace, and 2.4 kB; on hosts of many locations a
///          table of 108 kB.
/// Error    see MaternGradient, times sigma2 by nu, and sigma2 / range by range.
template <class MemorySpace>
class CovarianceGradient {
 public:
  /// Sync     fences `exec`.
  template <class ExecutionSpace>
  CovarianceGradient(ExecutionSpace const& exec, MaternCovariance const& c,
                     Locations const& locations, bool by_nu)
      : sigma2_(c.sigma2),
        range_(c.range),
        nu_(c.nu),
        closed_(!by_nu && has_closed_form(c.nu)),
        metric_(locations.metric),
        matern_(unless_closed<MaternGradient>(closed_, c.nu)),
        points_(points_of<MemorySpace>(exec, locations)) {
    auto const pairs = locations.size() * locations.size() / 2;
    if (!closed_) table_ = table_for<MemorySpace>(c.nu, pairs, true);
    table_on_host_ = table_.get();
  }

  KOKKOS_FUNCTION FourSums operator()(std::int64_t i, std::int64_t j) const {
    double const x = distance(metric_, points_(i), points_(j)) / range_;
    MaternTerms const m = closed_ ? matern_closed_terms(nu_, x) : terms(x);
    return {{m.value, sigma2_ * m.by_log_range / range_, sigma2_ * m.by_nu, i == j ? 1.0 : 0.0}};
  }

 private:
  KOKKOS_FUNCTION MaternTerms terms(double x) const {
    if constexpr (std::is_same_v<MemorySpace, Kokkos::HostSpace>)
      if (table_on_host_) return table_on_host_->derivatives(x);
    return matern_(x);
  }

  double sigma2_, range_, nu_;
  bool closed_;
  Metric metric_;
  MaternGradient matern_;
  std::shared_ptr<MaternTable const> table_;  // on hosts, if any
  MaternTable const* table_on_host_ = nullptr;
  Points<MemorySpace> points_;
};

/// Columns of S^-1 and the like that are worked on at a time.
inline constexpr std::int64_t column_block = 512;

/// The unit vectors from number `first` on.
template <class ExecutionSpace, class Block>
void fill_unit_vectors(ExecutionSpace const& exec, std::int64_t first, Block const& E) {
  for_each_element(
      "strata::geostat::unit_vectors", exec, static_cast<std::int64_t>(E.extent(0)),
      static_cast<std::int64_t>(E.extent(1)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) { E(i, j) = i == first + j ? 1.0 : 0.0; });
}

/// What solves of many columns came to.
struct ManySolves {
  double backward_error = 0;  ///< the largest
  bool converged = true;
};

/// X = S^-1 X, its rows from `first_row` on, before which X is 0. The factor alone serves if all
/// tiles are in fp64. Else the solve is refined to fp64 with S, which may make a more accurate
/// factor, and find that there is none. Other rows are undefined then.
template <class ExecutionSpace>
void solve_in_place(ExecutionSpace const& exec, CovarianceFactor<ExecutionSpace>& factor,
                    typename CovarianceFactor<ExecutionSpace>::Block const& X, ManySolves& solves,
                    std::int64_t first_row = 0) {
  if (!factor.map().is_mixed()) {
    factor.half_solve(exec, Op::NoTrans, X, first_row);
    factor.half_solve(exec, Op::Trans, X, first_row);
    return;
  }
  auto const report = factor.solve(exec, X, X);
  solves.backward_error = std::max(solves.backward_error, report.backward_error);
  solves.converged = solves.converged && report.converged;
}

}  // namespace strata::geostat::detail

template <>
struct Kokkos::reduction_identity<strata::geostat::detail::FourSums> {
  KOKKOS_FORCEINLINE_FUNCTION static strata::geostat::detail::FourSums sum() { return {}; }
};

#endif
