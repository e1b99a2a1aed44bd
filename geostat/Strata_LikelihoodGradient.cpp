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
  Kokkos::Array<Block, detail::derivative_count - 1>
      kept;   // columns of the derivatives but the nugget's; some are empty
  int count;  // derivatives behind these are not wanted
};
// Which derivatives these are.
constexpr int kept_count = detail::derivative_count - 1;
// The derivative whose columns are kept at k.
KOKKOS_INLINE_FUNCTION constexpr int kept_one(int k) { return k < 3 ? k : k + 1; }

// sums(j, :) = sum_i (w w' / sill + T T' - X)_ij S_k,ij for the columns X of S^-1 from number
// `first` on. Of two entries that lie opposite in the whole matrix one is evaluated: rows above the
// block are not, those below it count twice.
template <class Exec, class Block>
void contract(Exec const& exec,
              detail::CovarianceGradient<typename Exec::memory_space> const& gradient,
              std::int64_t first, Contraction<Block> const& with) {
  Block const X = with.X, w = with.w, T = with.T, sums = with.sums;
  auto const kept = with.kept;
  double const sill = with.sill;
  int const count = with.count;
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
              for (int k = 0; k < count; ++k) sum.of[k] += weight * entry.of[k];
              for (int k = 0; k + 1 < count; ++k)
                if (kept[k].extent(1) > 0) kept[k](i, j) = entry.of[kept_one(k)];
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

LikelihoodGradient not_positive_definite(LikelihoodGradient result, std::int64_t order,
                                         std::size_t axes) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  result.info = order;
  result.by = {nan, nan, nan, nan};
  result.by_angle = result.by_ratio = nan;
  result.by_second = {nan, nan, nan};
  result.by_axes.assign(axes, nan);
  result.backward_error = nan;
  result.solve_converged = false;
  return result;
}

}  // namespace

namespace detail {

namespace {

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
    for (int k = 0; k < kept_count; ++k)
      if (is_kept(k))
        columns_[k] =
            allocate<Block>(exec, "strata::geostat::log_likelihood_gradient::columns", n, width);
  }

  // Where a block's columns are to be kept.
  Kokkos::Array<Block, kept_count> columns(std::int64_t count) const {
    Kokkos::Array<Block, kept_count> result;
    for (int k = 0; k < kept_count; ++k)
      if (is_kept(k))
        result[k] = Kokkos::subview(columns_[k], Kokkos::ALL, std::pair(std::int64_t{0}, count));
    return result;
  }

  // products += S_k w by the columns from number `first` on, and by the rows that lie opposite.
  void add(std::int64_t first, std::int64_t count) {
    std::int64_t const n = factor_.order(), rows = n - first, below = rows - count;
    auto const w = matrix_ref(weights_.values), y = matrix_ref(products_);
    for (int k = 0; k < kept_count; ++k) {
      if (!is_kept(k)) continue;
      auto const A = matrix_ref(columns_[k]);
      std::int64_t const column = kept_one(k);
      blas_.gemm(Op::NoTrans, Op::NoTrans, 1, A.block(first, 0, rows, count),
                 w.block(first, 0, count, 1), 1, y.block(first, column, rows, 1));
      if (below > 0)
        blas_.gemm(Op::Trans, Op::NoTrans, 1, A.block(first + count, 0, below, count),
                   w.block(first + count, 0, below, 1), 1, y.block(first, column, count, 1));
    }
  }

  OfEachTwo finish(double sill, ManySolves& solves) {
    std::int64_t const n = factor_.order();
    if (wanted_[By::nugget])
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
    OfEachTwo result{};
    for (std::size_t j = 0; j < result.size(); ++j)
      for (std::size_t k = 0; k <= j; ++k) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) sum += Q(i, j) * X(i, k);
        for (OfEach const& form : of_trend) sum -= form[j] * form[k];
        result[j][k] = result[k][j] = sum / (2 * sill);
      }
    return result;
  }

 private:
  bool is_kept(int k) const { return wanted_[static_cast<std::size_t>(kept_one(k))]; }

  // T' Q, row by row.
  std::vector<OfEach> trend_forms(HostMatrix const& Q) const {
    auto const k = static_cast<std::int64_t>(weights_.trend.extent(1)), n = factor_.order();
    auto const T = allocate_host_matrix("strata::geostat::log_likelihood_gradient::T", n, k);
    Kokkos::deep_copy(exec_, T, weights_.trend);
    exec_.fence("strata::geostat::log_likelihood_gradient::trend");
    std::vector<OfEach> result(static_cast<std::size_t>(k), OfEach{});
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
  Kokkos::Array<Block, kept_count> columns_;
};

}  // namespace

Wanted wanted_of(Covariance const& c, std::array<bool, 4> const& parameters, bool directions) {
  bool const has_second = c.second.has_value(), turn = directions && c.axes.empty();
  Wanted result = {parameters[0],
                   parameters[1] || directions,
                   parameters[2] && has_shape(c.family),
                   parameters[3],
                   turn,
                   turn,
                   has_second,
                   has_second,
                   has_second && has_shape(c.second->family)};
  for (std::size_t k = 0; directions && k < c.axes.size(); ++k) result[By::axis + k] = true;
  return result;
}

// One behind the last derivative that is wanted.
int count_of(Wanted const& wanted) {
  int count = derivative_count;
  while (count > 4 && !wanted[static_cast<std::size_t>(count - 1)]) --count;
  return count;
}

void take_derivatives(Covariance const& c, Wanted const& wanted, OfEach const& by,
                      LikelihoodDerivatives& result) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  auto const taken = [&](std::size_t k) { return wanted[k] ? by[k] : nan; };
  for (std::size_t k = 0; k < by.size(); ++k) result.by[k] = wanted[k] ? by[k] : 0;
  for (std::size_t k = 0; k < 4; ++k) result.gradient.by[k] = taken(k);
  for (std::size_t k = 0; k < 3; ++k) result.gradient.by_second[k] = taken(By::sigma2_2 + k);
  for (std::size_t k = 0; wanted[By::axis] && k < c.axes.size(); ++k)
    result.gradient.by_axes.push_back(by[By::axis + k] / c.axes[k]);
  if (!wanted[By::stretch]) return;
  double const kappa = -std::log(c.ratio);
  result.gradient.by_angle = 2 * kappa * by[By::shear] * radians_per_degree;
  double const of_second = c.second ? by[By::range_2] * c.second->range : 0;
  result.gradient.by_ratio =
      ((by[By::range] * c.range + of_second) / 2 - by[By::stretch]) / c.ratio;
}

template <class Exec>
LikelihoodDerivatives derivatives(Exec const& exec, CovarianceFactor<Exec>& factor,
                                  Weights<Exec> const& weights, Criterion criterion, double sill,
                                  Wanted const& wanted, bool with_information,
                                  std::function<void(double)> const& on_progress) {
  using Block = typename CovarianceFactor<Exec>::Block;
  Stopwatch const watch;
  LikelihoodDerivatives result;
  auto& gradient = result.gradient;
  ManySolves solves{weights.solve.backward_error, weights.solve.converged};
  CovarianceGradient<typename Exec::memory_space> const entries(exec, factor.covariance(),
                                                                factor.locations(), wanted);
  std::int64_t const n = factor.order(), width = columns_at_a_time(factor);
  auto const X = allocate<Block>(exec, "strata::geostat::log_likelihood_gradient::X", n, width),
             sums = allocate<Block>(exec, "strata::geostat::log_likelihood_gradient::sums", width,
                                    derivative_count);
  HostMatrix const host = allocate_host_matrix("strata::geostat::log_likelihood_gradient::host",
                                               width, derivative_count);
  OfEach by{};
  std::optional<Information<Exec>> information;
  if (with_information) information.emplace(exec, factor, weights, wanted, width);
  for (std::int64_t first = 0; first < n && factor.info().ok(); first += width) {
    std::int64_t const columns = std::min(width, n - first);
    Block const X_now = Kokkos::subview(X, Kokkos::ALL, std::pair(std::int64_t{0}, columns));
    fill_unit_vectors(exec, first, X_now);
    solve_in_place(exec, factor, X_now, solves, first);
    Contraction<Block> with{X_now, weights.values, {}, sill, sums, {}, count_of(wanted)};
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
  take_derivatives(factor.covariance(), wanted, by, result);
  if (information && factor.info().ok()) result.information = information->finish(sill, solves);
  gradient.backward_error = solves.backward_error;
  gradient.solve_converged = solves.converged;
  if (!factor.info().ok())
    gradient =
        not_positive_definite(gradient, factor.info().order(), factor.covariance().axes.size());
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
    return not_positive_definite({}, factor.info().order(), factor.covariance().axes.size());
  auto const weights = detail::weights(exec, factor, values, trend);
  if (!factor.info().ok())
    return not_positive_definite({}, factor.info().order(), factor.covariance().axes.size());
  auto const& c = factor.covariance();
  auto const all = detail::wanted_of(c, wanted, c.has_directions() || c.has_axes());
  auto result =
      detail::derivatives(exec, factor, weights, trend.criterion(), 1, all, false, on_progress)
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
      detail::Wanted const&, bool, std::function<void(double)> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
