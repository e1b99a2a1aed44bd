// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/Strata_LikelihoodGradient.hpp>

#include <comm/Strata_Together.hpp>
#include <core/Strata_MatrixRef.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <geostat/detail/Strata_CovarianceGradient.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace strata::geostat {

namespace {

// What entries of S_k are multiplied with, and where they are kept, if anywhere.
template <class Block>
struct Contraction {
  Block X;  // columns of S^-1
  Block w;
  Block T;  // by which S^-1 - T T' takes its place; without columns for ML
  double sill;
  Block sums;
  std::array<Block, 5> kept;  // columns of S_sigma2, S_range, S_nu, S_stretch and S_shear
};
// Which derivatives these are.
constexpr std::array<std::size_t, 5> kept_ones = {0, 1, 2, 4, 5};

// sums(j, :) = sum_i (w w' / sill + T T' - X)_ij S_k,ij for the columns X of S^-1 from number
// `first` on. Of two entries that lie opposite in the whole matrix one is evaluated: rows above the
// block are not, those below it count twice.
template <class Exec, class Block>
void contract(Exec const& exec,
              detail::CovarianceGradient<typename Exec::memory_space> const& gradient,
              std::int64_t first, Contraction<Block> const& with) {
  Block const X = with.X, w = with.w, T = with.T, sums = with.sums, by_sigma2 = with.kept[0],
              by_range = with.kept[1], by_nu = with.kept[2], by_stretch = with.kept[3],
              by_shear = with.kept[4];
  double const sill = with.sill;
  bool const keeps_sigma2 = by_sigma2.extent(1) > 0, keeps_range = by_range.extent(1) > 0,
             keeps_nu = by_nu.extent(1) > 0, keeps_directions = by_stretch.extent(1) > 0;
  auto const trend = static_cast<std::int64_t>(T.extent(1));
  auto const n = static_cast<std::int64_t>(X.extent(0)),
             last = first + static_cast<std::int64_t>(X.extent(1));
  using Policy = Kokkos::TeamPolicy<Exec>;
  Kokkos::parallel_for(
      "strata::geostat::log_likelihood_gradient::contract",
      Policy(exec, static_cast<int>(X.extent(1)), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        std::int64_t const j = team.league_rank(), column = first + j;
        detail::EntrySums total;
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(team, first, n),
            [&](std::int64_t i, detail::EntrySums& sum) {
              double taken = w(i, 0) * w(column, 0) / sill;
              for (std::int64_t l = 0; l < trend; ++l) taken += T(i, l) * T(column, l);
              double const weight = (i < last ? 1 : 2) * (taken - X(i, j));
              auto const entry = gradient(i, column);
              for (int k = 0; k < detail::derivative_count; ++k) sum.of[k] += weight * entry.of[k];
              if (keeps_sigma2) by_sigma2(i, j) = entry.of[0];
              if (keeps_range) by_range(i, j) = entry.of[1];
              if (keeps_nu) by_nu(i, j) = entry.of[2];
              if (keeps_directions) by_stretch(i, j) = entry.of[4], by_shear(i, j) = entry.of[5];
            },
            Kokkos::Sum<detail::EntrySums>(total));
        Kokkos::single(Kokkos::PerTeam(team), [&]() {
          for (int k = 0; k < detail::derivative_count; ++k) sums(j, k) = total.of[k];
        });
      });
}

// About a row of tiles where those before the columns are passed over, else as many as pay for a
// pass over all. A device with the whole factor wants many, and passes over rows before them, too.
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
  result.by_angle = result.by_ratio = nan;
  result.backward_error = nan;
  result.solve_converged = false;
  return result;
}

}  // namespace

namespace detail {

namespace {

using Six = std::array<double, derivative_count>;
using Wanted = std::array<bool, derivative_count>;

// Products of S_k, whose columns on and below the diagonal come block by block, with w, and what
// they come to.
template <class Exec>
class Information {
 public:
  using Block = typename CovarianceFactor<Exec>::Block;

  Information(Exec const& exec, CovarianceFactor<Exec>& factor, Weights<Exec> const& weights,
              Wanted const& wanted, std::int64_t width)
      : exec_(exec), factor_(factor), weights_(weights), wanted_(wanted), blas_(exec) {
    std::int64_t const n = factor.order();
    products_ = allocate_zeros<Block>(exec, "strata::geostat::log_likelihood_gradient::products", n,
                                      derivative_count);
    for (std::size_t k = 0; k < kept_ones.size(); ++k)
      if (wanted[kept_ones[k]])
        columns_[k] =
            allocate<Block>(exec, "strata::geostat::log_likelihood_gradient::columns", n, width);
  }

  // Where a block's columns are to be kept.
  std::array<Block, 5> columns(std::int64_t count) const {
    std::array<Block, 5> result;
    for (std::size_t k = 0; k < kept_ones.size(); ++k)
      if (wanted_[kept_ones[k]])
        result[k] = Kokkos::subview(columns_[k], Kokkos::ALL, std::pair(std::int64_t{0}, count));
    return result;
  }

  // products += S_k w by the columns from number `first` on, and by the rows that lie opposite.
  void add(std::int64_t first, std::int64_t count) {
    std::int64_t const n = factor_.order(), rows = n - first, below = rows - count;
    auto const w = matrix_ref(weights_.values), y = matrix_ref(products_);
    for (std::size_t k = 0; k < kept_ones.size(); ++k) {
      if (!wanted_[kept_ones[k]]) continue;
      auto const A = matrix_ref(columns_[k]);
      auto const column = static_cast<std::int64_t>(kept_ones[k]);
      blas_.gemm(Op::NoTrans, Op::NoTrans, 1, A.block(first, 0, rows, count),
                 w.block(first, 0, count, 1), 1, y.block(first, column, rows, 1));
      if (below > 0)
        blas_.gemm(Op::Trans, Op::NoTrans, 1, A.block(first + count, 0, below, count),
                   w.block(first + count, 0, below, 1), 1, y.block(first, column, count, 1));
    }
  }

  std::array<Six, derivative_count> finish(double sill, ManySolves& solves) {
    std::int64_t const n = factor_.order();
    if (wanted_[3])
      Kokkos::deep_copy(exec_, Kokkos::subview(products_, Kokkos::ALL, std::pair(3, 4)),
                        weights_.values);
    auto const Q = allocate_host_matrix("strata::geostat::log_likelihood_gradient::Q", n,
                                        derivative_count),
               X = allocate_host_matrix("strata::geostat::log_likelihood_gradient::PQ", n,
                                        derivative_count);
    Kokkos::deep_copy(exec_, Q, products_);
    solve_in_place(exec_, factor_, products_, solves);
    Kokkos::deep_copy(exec_, X, products_);
    exec_.fence("strata::geostat::log_likelihood_gradient::solved");
    auto const of_trend = trend_forms(Q);
    std::array<Six, derivative_count> result{};
    for (std::size_t j = 0; j < result.size(); ++j)
      for (std::size_t k = 0; k <= j; ++k) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) sum += Q(i, j) * X(i, k);
        for (Six const& form : of_trend) sum -= form[j] * form[k];
        result[j][k] = result[k][j] = sum / (2 * sill);
      }
    return result;
  }

 private:
  // T' Q, row by row.
  std::vector<Six> trend_forms(HostMatrix const& Q) const {
    auto const k = static_cast<std::int64_t>(weights_.trend.extent(1)), n = factor_.order();
    auto const T = allocate_host_matrix("strata::geostat::log_likelihood_gradient::T", n, k);
    Kokkos::deep_copy(exec_, T, weights_.trend);
    exec_.fence("strata::geostat::log_likelihood_gradient::trend");
    std::vector<Six> result(static_cast<std::size_t>(k), Six{});
    for (std::int64_t l = 0; l < k; ++l)
      for (std::size_t j = 0; j < derivative_count; ++j)
        for (std::int64_t i = 0; i < n; ++i)
          result[static_cast<std::size_t>(l)][j] += T(i, l) * Q(i, j);
    return result;
  }

  Exec const& exec_;
  CovarianceFactor<Exec>& factor_;
  Weights<Exec> const& weights_;
  Wanted wanted_;
  LeafBlas<Exec> blas_;
  Block products_;
  std::array<Block, 5> columns_;
};

void take_information(std::array<Six, derivative_count> const& all, LikelihoodDerivatives& result) {
  for (std::size_t j = 0; j < 4; ++j) std::copy_n(all[j].begin(), 4, result.information[j].begin());
  result.information_of_directions = {all[4], all[5]};
}

}  // namespace

void take_directions(Covariance const& c, std::array<double, 6> const& by,
                     LikelihoodDerivatives& result) {
  double const kappa = -std::log(c.ratio);
  result.by_directions = {by[4], by[5]};
  result.gradient.by_angle = 2 * kappa * by[5] * radians_per_degree;
  result.gradient.by_ratio = (by[1] * c.range / 2 - by[4]) / c.ratio;
}

template <class Exec>
LikelihoodDerivatives derivatives(Exec const& exec, CovarianceFactor<Exec>& factor,
                                  Weights<Exec> const& weights, Criterion criterion, double sill,
                                  std::array<bool, 4> const& asked, bool with_information,
                                  std::function<void(double)> const& on_progress,
                                  bool by_directions) {
  Covariance const& covariance = factor.covariance();
  Wanted const wanted = {asked[0], asked[1],      asked[2] && has_shape(covariance.family),
                         asked[3], by_directions, by_directions};
  using Block = typename CovarianceFactor<Exec>::Block;
  Stopwatch const watch;
  LikelihoodDerivatives result;
  auto& gradient = result.gradient;
  ManySolves solves{weights.solve.backward_error, weights.solve.converged};
  CovarianceGradient<typename Exec::memory_space> const entries(
      exec, covariance, factor.locations(), wanted[2], by_directions);
  std::int64_t const n = factor.order(), width = columns_at_a_time(factor);
  auto const X = allocate<Block>(exec, "strata::geostat::log_likelihood_gradient::X", n, width),
             sums = allocate<Block>(exec, "strata::geostat::log_likelihood_gradient::sums", width,
                                    derivative_count);
  HostMatrix const host = allocate_host_matrix("strata::geostat::log_likelihood_gradient::host",
                                               width, derivative_count);
  Six by{};
  std::optional<Information<Exec>> information;
  if (with_information) information.emplace(exec, factor, weights, wanted, width);
  for (std::int64_t first = 0; first < n && factor.info().ok(); first += width) {
    std::int64_t const columns = std::min(width, n - first);
    Block const X_now = Kokkos::subview(X, Kokkos::ALL, std::pair(std::int64_t{0}, columns));
    fill_unit_vectors(exec, first, X_now);
    solve_in_place(exec, factor, X_now, solves, first);
    Contraction<Block> with{X_now, weights.values, {}, sill, sums, {}};
    if (criterion == Criterion::REML) with.T = weights.trend;
    if (information) with.kept = information->columns(columns);
    contract(exec, entries, first, with);
    if (information) information->add(first, columns);
    Kokkos::deep_copy(exec, host, sums);
    exec.fence("strata::geostat::log_likelihood_gradient::block");
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::size_t k = 0; k < by.size(); ++k) by[k] += host(j, k) / 2;
    tell_together(factor.comm(), on_progress,
                  static_cast<double>(first + columns) / static_cast<double>(n));
  }
  std::copy_n(by.begin(), 4, gradient.by.begin());
  if (by_directions) take_directions(covariance, by, result);
  if (information && factor.info().ok())
    take_information(information->finish(sill, solves), result);
  gradient.backward_error = solves.backward_error;
  gradient.solve_converged = solves.converged;
  for (std::size_t k = 0; k < 4; ++k)
    if (!wanted[k]) gradient.by[k] = std::numeric_limits<double>::quiet_NaN();
  if (!factor.info().ok()) gradient = not_positive_definite(gradient, factor.info().order());
  gradient.seconds = watch.seconds();
  return result;
}

}  // namespace detail

template <class Exec>
LikelihoodGradient log_likelihood_gradient(Exec const& exec, CovarianceFactor<Exec>& factor,
                                           std::span<double const> values, Trend const& trend,
                                           std::array<bool, 4> const& wanted,
                                           std::function<void(double)> const& on_progress) {
  Region const region(exec, "strata::geostat::log_likelihood_gradient");
  Stopwatch const watch;
  together(factor.comm(), [&] { detail::check_values(factor.order(), values); });
  if (!factor.info().ok())
    return not_positive_definite(LikelihoodGradient{}, factor.info().order());
  auto const weights = detail::weights(exec, factor, values, trend);
  if (!factor.info().ok())
    return not_positive_definite(LikelihoodGradient{}, factor.info().order());
  auto result = detail::derivatives(exec, factor, weights, trend.criterion(), 1, wanted, false,
                                    on_progress, factor.covariance().has_directions())
                    .gradient;
  result.seconds = watch.seconds();
  return result;
}

#define STRATA_INSTANTIATE(Exec)                                                             \
  template LikelihoodGradient log_likelihood_gradient<Exec>(                                 \
      Exec const&, CovarianceFactor<Exec>&, std::span<double const>, Trend const&,           \
      std::array<bool, 4> const&, std::function<void(double)> const&);                       \
  template detail::LikelihoodDerivatives detail::derivatives<Exec>(                          \
      Exec const&, CovarianceFactor<Exec>&, detail::Weights<Exec> const&, Criterion, double, \
      std::array<bool, 4> const&, bool, std::function<void(double)> const&, bool);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
