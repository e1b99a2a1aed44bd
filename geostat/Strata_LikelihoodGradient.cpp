// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/Strata_LikelihoodGradient.hpp>

#include <comm/Strata_Together.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <geostat/detail/Strata_CovarianceGradient.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace strata::geostat {

namespace {

// sums(j, :) = sum_i (w w' - X)_ij S_k,ij for the columns X of S^-1 from number `first` on. Of two entries that lie
// opposite in the whole matrix one is evaluated: rows above the block are not, those below it count twice.
template <class Exec, class Block>
void contract(Exec const& exec,
              detail::CovarianceGradient<typename Exec::memory_space> const& gradient,
              std::int64_t first, Block const& X, Block const& w, Block const& sums) {
  auto const n = static_cast<std::int64_t>(X.extent(0)),
             last = first + static_cast<std::int64_t>(X.extent(1));
  using Policy = Kokkos::TeamPolicy<Exec>;
  Kokkos::parallel_for(
      "strata::geostat::log_likelihood_gradient::contract",
      Policy(exec, static_cast<int>(X.extent(1)), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        std::int64_t const j = team.league_rank(), column = first + j;
        detail::FourSums total;
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(team, first, n),
            [&](std::int64_t i, detail::FourSums& sum) {
              double const weight = (i < last ? 1 : 2) * (w(i, 0) * w(column, 0) - X(i, j));
              auto const entry = gradient(i, column);
              for (int k = 0; k < 4; ++k) sum.of[k] += weight * entry.of[k];
            },
            Kokkos::Sum<detail::FourSums>(total));
        Kokkos::single(Kokkos::PerTeam(team), [&]() {
          for (int k = 0; k < 4; ++k) sums(j, k) = total.of[k];
        });
      });
}

// About a row of tiles where those before the columns are passed over, else as many as pay for a pass over all. A
// device with the whole factor wants many, and passes over rows before them, too.
template <class Exec>
std::int64_t columns_at_a_time(CovarianceFactor<Exec> const& factor) {
  std::int64_t const n = factor.order(), most = std::min(n, detail::column_block);
  if (factor.map().is_mixed()) return most;
  if (factor.is_whole()) return std::min(n, std::clamp<std::int64_t>(n / 8, 1024, 2048));
  return std::min(most, std::max<std::int64_t>(factor.report().tile_size, 128));
}

LikelihoodGradient not_positive_definite(LikelihoodGradient result, std::int64_t order) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  result.info = order;
  result.by = {nan, nan, nan, nan};
  result.backward_error = nan;
  result.solve_converged = false;
  return result;
}

}  // namespace

template <class Exec>
LikelihoodGradient log_likelihood_gradient(Exec const& exec, CovarianceFactor<Exec>& factor,
                                           std::span<double const> values, Mean mean,
                                           std::array<bool, 4> const& wanted,
                                           std::function<void(double)> const& on_progress) {
  using Block = typename CovarianceFactor<Exec>::Block;
  Region const region(exec, "strata::geostat::log_likelihood_gradient");
  Stopwatch const watch;
  together(factor.comm(), [&] { detail::check_values(factor.order(), values); });
  LikelihoodGradient result;
  if (!factor.info().ok()) return not_positive_definite(result, factor.info().order());
  auto const weights = detail::weights(exec, factor, values, mean);
  detail::ManySolves solves{weights.solve.backward_error, weights.solve.converged};
  detail::CovarianceGradient<typename Exec::memory_space> const gradient(
      exec, factor.covariance(), factor.locations(), wanted[2]);
  std::int64_t const n = factor.order(), width = columns_at_a_time(factor);
  auto const X = allocate<Block>(exec, "strata::geostat::log_likelihood_gradient::X", n, width),
             sums =
                 allocate<Block>(exec, "strata::geostat::log_likelihood_gradient::sums", width, 4);
  HostMatrix const host =
      allocate_host_matrix("strata::geostat::log_likelihood_gradient::host", width, 4);
  for (std::int64_t first = 0; first < n && factor.info().ok(); first += width) {
    std::int64_t const columns = std::min(width, n - first);
    Block const X_now = Kokkos::subview(X, Kokkos::ALL, std::pair(std::int64_t{0}, columns));
    detail::fill_unit_vectors(exec, first, X_now);
    detail::solve_in_place(exec, factor, X_now, solves, first);
    contract(exec, gradient, first, X_now, weights.values, sums);
    Kokkos::deep_copy(exec, host, sums);
    exec.fence("strata::geostat::log_likelihood_gradient::block");
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::size_t k = 0; k < 4; ++k) result.by[k] += host(j, k) / 2;
    tell_together(factor.comm(), on_progress,
                  static_cast<double>(first + columns) / static_cast<double>(n));
  }
  result.backward_error = solves.backward_error;
  result.solve_converged = solves.converged;
  for (std::size_t k = 0; k < 4; ++k)
    if (!wanted[k]) result.by[k] = std::numeric_limits<double>::quiet_NaN();
  if (!factor.info().ok()) result = not_positive_definite(result, factor.info().order());
  result.seconds = watch.seconds();
  return result;
}

#define STRATA_INSTANTIATE(Exec)                                           \
  template LikelihoodGradient log_likelihood_gradient<Exec>(               \
      Exec const&, CovarianceFactor<Exec>&, std::span<double const>, Mean, \
      std::array<bool, 4> const&, std::function<void(double)> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
