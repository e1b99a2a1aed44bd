// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/Strata_Prediction.hpp>

#include <comm/Strata_Together.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>

#include <algorithm>
#include <utility>

namespace strata::geostat {

namespace {

constexpr std::int64_t chunk = 256;  // new locations at a time

// forms(j, 0) = (C' w)_j, forms(j, 1) = (C' X)_jj, forms(j, 2) = (1' X)_j.
template <class Exec, class Block, class Forms>
void column_forms(Exec const& exec, Block const& C, Block const& X, Block const& w,
                  Forms const& forms) {
  auto const n = static_cast<std::int64_t>(C.extent(0));
  using Policy = Kokkos::TeamPolicy<Exec>;
  Kokkos::parallel_for(
      "strata::geostat::predict::forms", Policy(exec, static_cast<int>(C.extent(1)), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        int const j = team.league_rank();
        double mean = 0, explained = 0, ones = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamVectorRange(team, n),
            [&](std::int64_t i, double& s) { s += C(i, j) * w(i, 0); }, mean);
        Kokkos::parallel_reduce(
            Kokkos::TeamVectorRange(team, n),
            [&](std::int64_t i, double& s) { s += C(i, j) * X(i, j); }, explained);
        Kokkos::parallel_reduce(
            Kokkos::TeamVectorRange(team, n), [&](std::int64_t i, double& s) { s += X(i, j); },
            ones);
        Kokkos::single(Kokkos::PerTeam(team), [&]() {
          forms(j, 0) = mean;
          forms(j, 1) = explained;
          forms(j, 2) = ones;
        });
      });
}

}  // namespace

template <class Exec>
Prediction predict(Exec const& exec, CovarianceFactor<Exec>& factor, std::span<double const> values,
                   Locations const& new_locations, Mean mean,
                   std::function<void(double)> const& on_progress) {
  using Block = typename CovarianceFactor<Exec>::Block;
  using Memory = typename Exec::memory_space;
  Region const region(exec, "strata::geostat::predict");
  std::int64_t const n = factor.order(), m = new_locations.size();
  auto const entries = together(factor.comm(), [&] {
    return CovarianceEntries<Memory>(exec, factor.covariance(), factor.locations(), new_locations);
  });
  auto const weights = detail::weights(exec, factor, values, mean);
  std::int64_t const width = std::min(m, chunk);
  auto const C = allocate<Block>(exec, "strata::geostat::predict::C", n, width),
             X = allocate<Block>(exec, "strata::geostat::predict::X", n, width),
             forms = allocate<Block>(exec, "strata::geostat::predict::forms", width, 3);
  HostMatrix const host = allocate_host_matrix("strata::geostat::predict::host", width, 3);
  Prediction result{std::vector<double>(static_cast<std::size_t>(m)),
                    std::vector<double>(static_cast<std::size_t>(m)), weights.solve.backward_error,
                    weights.solve.converged};
  for (std::int64_t first = 0; first < m; first += width) {
    std::int64_t const columns = std::min(width, m - first);
    auto const now = std::pair(std::int64_t{0}, columns);
    Block const C_now = Kokkos::subview(C, Kokkos::ALL, now),
                X_now = Kokkos::subview(X, Kokkos::ALL, now);
    entries.fill(exec, 0, first, C_now);
    auto const solve = factor.solve(exec, C_now, X_now);
    result.backward_error = std::max(result.backward_error, solve.backward_error);
    result.converged = result.converged && solve.converged;
    column_forms(exec, C_now, X_now, weights.values, forms);
    Kokkos::deep_copy(exec, host, forms);
    exec.fence("strata::geostat::predict::chunk");
    for (std::int64_t j = 0; j < columns; ++j) {
      auto const k = static_cast<std::size_t>(first + j);
      double variance = factor.covariance().sigma2 - host(j, 1);
      if (mean == Mean::Constant)
        variance += (1 - host(j, 2)) * (1 - host(j, 2)) / weights.ones_form;
      result.mean[k] = weights.mean + host(j, 0);
      result.variance[k] = variance > 0 ? variance : 0;
    }
    tell_together(factor.comm(), on_progress,
                  static_cast<double>(first + columns) / static_cast<double>(m));
  }
  return result;
}

#define STRATA_INSTANTIATE(Exec)                                                                   \
  template Prediction predict<Exec>(Exec const&, CovarianceFactor<Exec>&, std::span<double const>, \
                                    Locations const&, Mean, std::function<void(double)> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
