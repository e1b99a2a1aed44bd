// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/kriging/Strata_CrossValidation.hpp>

#include <comm/Strata_Together.hpp>
#include <core/Strata_MatrixRef.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/problems/Strata_Random.hpp>
#include <geostat/detail/Strata_CovarianceGradient.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace strata::geostat {

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

// What the trend leaves of a diagonal entry of S^-1 where it leaves nothing but rounding.
bool is_left(double left, double whole, std::int64_t n) {
  return left > 0x1p-44 * static_cast<double>(n) * whole;
}

// The unit vectors of these observations.
template <class Exec, class Block>
void fill_unit_vectors_of(Exec const& exec, std::vector<std::int64_t> const& which,
                          Block const& E) {
  Kokkos::View<std::int64_t const*, Kokkos::HostSpace,
               Kokkos::MemoryTraits<Kokkos::Unmanaged>> const host(which.data(), which.size());
  auto const at = allocate<Kokkos::View<std::int64_t*, typename Exec::memory_space>>(
      exec, "strata::geostat::cross_validate::which", which.size());
  Kokkos::deep_copy(exec, at, host);
  for_each_element(
      "strata::geostat::cross_validate::unit_vectors", exec, static_cast<std::int64_t>(E.extent(0)),
      static_cast<std::int64_t>(E.extent(1)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) { E(i, j) = i == at(j) ? 1.0 : 0.0; });
  exec.fence("strata::geostat::cross_validate::copied");
}

template <class Exec>
class Validation {
 public:
  using Block = typename CovarianceFactor<Exec>::Block;

  Validation(Exec const& exec, CovarianceFactor<Exec>& factor, detail::Weights<Exec> const& weights,
             std::function<void(double)> const& on_progress, CrossValidation& result)
      : exec_(exec), factor_(factor), on_progress_(on_progress), result_(result), blas_(exec) {
    auto const n = factor.order(), columns = static_cast<std::int64_t>(weights.both.extent(1));
    both_ = allocate_host_matrix("strata::geostat::cross_validate::weights", n, columns);
    Kokkos::deep_copy(exec, both_, weights.both);
    exec.fence("strata::geostat::cross_validate::begun");
    result.residual.assign(static_cast<std::size_t>(n), unknown);
    result.variance = result.residual;
  }

  // Each alone: diag P from blocks of columns of S^-1.
  void leave_one_out() {
    std::int64_t const n = factor_.order(), width = std::min(n, detail::column_block);
    auto const X = allocate<Block>(exec_, "strata::geostat::cross_validate::X", n, width);
    HostMatrix const host = allocate_host_matrix("strata::geostat::cross_validate::host", n, width);
    for (std::int64_t first = 0; first < n && factor_.info().ok(); first += width) {
      std::int64_t const count = std::min(width, n - first);
      Block const now = Kokkos::subview(X, Kokkos::ALL, std::pair(std::int64_t{0}, count));
      detail::fill_unit_vectors(exec_, first, now);
      bool const halves = !factor_.map().is_mixed();
      halves ? factor_.half_solve(exec_, Op::NoTrans, now, first)
             : detail::solve_in_place(exec_, factor_, now, solves_);
      Kokkos::deep_copy(exec_, host, X);
      exec_.fence("strata::geostat::cross_validate::block");
      for (std::int64_t j = 0; j < count; ++j) {
        double diagonal = halves ? 0 : host(first + j, j);
        for (std::int64_t i = first; halves && i < n; ++i) diagonal += host(i, j) * host(i, j);
        take(first + j, diagonal);
      }
      tell(first + count);
    }
    end();
  }

  // Fold by fold: P_BB, its factor, and what it says of the residuals.
  void leave_out(std::map<std::int64_t, std::vector<std::int64_t>> const& folds) {
    std::int64_t done = 0;
    for (auto const& [number, which] : folds) {
      if (!factor_.info().ok()) break;
      take(which, projected(which));
      tell(done += static_cast<std::int64_t>(which.size()));
    }
    end();
  }

 private:
  double trend_product(std::int64_t i, std::int64_t j) const {
    double sum = 0;
    for (std::size_t l = 1; l < both_.extent(1); ++l) sum += both_(i, l) * both_(j, l);
    return sum;
  }

  void take(std::int64_t i, double diagonal) {
    double const left = diagonal - trend_product(i, i);
    if (!is_left(left, diagonal, factor_.order())) return;
    result_.residual[static_cast<std::size_t>(i)] = both_(i, 0) / left;
    result_.variance[static_cast<std::size_t>(i)] = 1 / left;
  }

  // (S^-1)_BB - T_B T_B'.
  HostMatrix projected(std::vector<std::int64_t> const& which) {
    auto const n = factor_.order(), m = static_cast<std::int64_t>(which.size());
    HostMatrix const P = allocate_host_matrix("strata::geostat::cross_validate::P", m, m);
    std::int64_t const width = std::min(m, detail::column_block);
    auto const X = allocate<Block>(exec_, "strata::geostat::cross_validate::X", n, width);
    HostMatrix const host = allocate_host_matrix("strata::geostat::cross_validate::host", n, width);
    for (std::int64_t first = 0; first < m; first += width) {
      std::int64_t const count = std::min(width, m - first);
      Block const now = Kokkos::subview(X, Kokkos::ALL, std::pair(std::int64_t{0}, count));
      fill_unit_vectors_of<Exec>(exec_, {which.begin() + first, which.begin() + first + count},
                                 now);
      detail::solve_in_place(exec_, factor_, now, solves_);
      Kokkos::deep_copy(exec_, host, X);
      exec_.fence("strata::geostat::cross_validate::block");
      for (std::int64_t j = 0; j < count; ++j)
        for (std::int64_t i = 0; i < m; ++i) {
          auto const row = which[static_cast<std::size_t>(i)],
                     column = which[static_cast<std::size_t>(first + j)];
          P(i, first + j) = host(row, j) - trend_product(row, column);
        }
    }
    return P;
  }

  void take(std::vector<std::int64_t> const& which, HostMatrix const& P) {
    auto const m = static_cast<std::int64_t>(which.size());
    double whole = 0;
    for (std::int64_t i = 0; i < m; ++i) {
      auto const row = which[static_cast<std::size_t>(i)];
      whole = std::max(whole, P(i, i) + trend_product(row, row));
    }
    // L^-1 [w I], for P = L L'.
    auto const L = allocate<Block>(exec_, "strata::geostat::cross_validate::L", m, m),
               V = allocate<Block>(exec_, "strata::geostat::cross_validate::V", m, m + 1);
    HostMatrix const host =
        allocate_host_matrix("strata::geostat::cross_validate::V_host", m, m + 1);
    std::fill_n(host.data(), host.size(), 0.0);
    for (std::int64_t i = 0; i < m; ++i) {
      host(i, 0) = both_(which[static_cast<std::size_t>(i)], 0);
      host(i, i + 1) = 1;
    }
    Kokkos::deep_copy(exec_, L, P);
    Kokkos::deep_copy(exec_, V, host);
    auto const info = allocate_zeros<typename LeafBlas<Exec>::InfoView>(
        exec_, "strata::geostat::cross_validate::info");
    blas_.potrf(Uplo::Lower, matrix_ref(L), 0, info);
    Kokkos::deep_copy(exec_, P, L);
    std::int64_t minor = 0;
    Kokkos::deep_copy(exec_, minor, info);
    exec_.fence("strata::geostat::cross_validate::factored");
    for (std::int64_t i = 0; i < m; ++i)
      if (minor != 0 || !is_left(P(i, i) * P(i, i), whole, factor_.order())) return;
    blas_.trsm(Side::Left, Uplo::Lower, Op::NoTrans, Diag::NonUnit, 1, matrix_ref(L),
               matrix_ref(V));
    Kokkos::deep_copy(exec_, host, V);
    exec_.fence("strata::geostat::cross_validate::solved");
    for (std::int64_t i = 0; i < m; ++i) {
      double residual = 0, variance = 0;
      for (std::int64_t k = i; k < m; ++k) {
        residual += host(k, i + 1) * host(k, 0);
        variance += host(k, i + 1) * host(k, i + 1);
      }
      auto const row = static_cast<std::size_t>(which[static_cast<std::size_t>(i)]);
      result_.residual[row] = residual;
      result_.variance[row] = variance;
    }
  }

  void tell(std::int64_t done) {
    tell_together(factor_.comm(), on_progress_,
                  static_cast<double>(done) / static_cast<double>(factor_.order()));
  }
  void end() {
    result_.backward_error = std::max(result_.backward_error, solves_.backward_error);
    result_.converged = result_.converged && solves_.converged;
  }

  Exec const& exec_;
  CovarianceFactor<Exec>& factor_;
  std::function<void(double)> const& on_progress_;
  CrossValidation& result_;
  LeafBlas<Exec> blas_;
  HostMatrix both_;  // w and T
  detail::ManySolves solves_;
};

void check_folds(std::int64_t n, std::int64_t k) {
  STRATA_REQUIRE(ValueError, k >= 2 && k <= n, "folds: ", k, " of ", n,
                 " observations, must be at least 2 and no more than these");
}

}  // namespace

void detail::summarise(CrossValidation& result) {
  constexpr std::array<double, 3> quantiles = {0.6744897501960817, 1.6448536269514722,
                                               1.959963984540054};
  double count = 0;
  for (std::size_t i = 0; i < result.residual.size(); ++i) {
    double const e = result.residual[i], z = e / std::sqrt(result.variance[i]);
    if (std::isnan(z)) {
      ++result.without;
      continue;
    }
    ++count;
    result.mean_error += e;
    result.rmse += e * e;
    result.mean_square_z += z * z;
    for (std::size_t k = 0; k < quantiles.size(); ++k)
      result.coverage[k] += std::abs(z) <= quantiles[k] ? 1 : 0;
  }
  result.mean_error /= count;
  result.rmse = std::sqrt(result.rmse / count);
  result.mean_square_z /= count;
  for (double& part : result.coverage) part /= count;
}

template <class Exec>
CrossValidation cross_validate(Exec const& exec, CovarianceFactor<Exec>& factor,
                               std::span<double const> values, Trend const& trend,
                               std::span<std::int64_t const> folds,
                               std::function<void(double)> const& on_progress) {
  Region const region(exec, "strata::geostat::cross_validate");
  Stopwatch const watch;
  std::int64_t const n = factor.order();
  together(factor.comm(), [&] {
    detail::check_values(n, values);
    STRATA_REQUIRE(ShapeError, folds.empty() || static_cast<std::int64_t>(folds.size()) == n,
                   "cross_validate: ", folds.size(), " folds of ", n, " observations");
  });
  CrossValidation result;
  if (factor.info().ok()) {
    auto const weights = detail::weights(exec, factor, values, trend);
    result.backward_error = weights.solve.backward_error;
    result.converged = weights.solve.converged;
    Validation<Exec> validation(exec, factor, weights, on_progress, result);
    std::map<std::int64_t, std::vector<std::int64_t>> members;
    for (std::size_t i = 0; i < folds.size(); ++i)
      members[folds[i]].push_back(static_cast<std::int64_t>(i));
    folds.empty() ? validation.leave_one_out() : validation.leave_out(members);
    detail::summarise(result);
  }
  if (!factor.info().ok()) {
    result = CrossValidation();
    result.info = factor.info().order();
    result.converged = false;
  }
  result.seconds = watch.seconds();
  return result;
}

std::vector<std::int64_t> random_folds(std::int64_t n, std::int64_t k, std::uint64_t seed) {
  check_folds(n, k);
  std::vector<std::int64_t> order(static_cast<std::size_t>(n)), result(order.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [seed](auto a, auto b) {
    return random_bits(seed, static_cast<std::uint64_t>(a), 5) <
           random_bits(seed, static_cast<std::uint64_t>(b), 5);
  });
  for (std::size_t i = 0; i < order.size(); ++i)
    result[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i) % k;
  return result;
}

std::vector<std::int64_t> block_folds(Locations const& locations, std::int64_t k) {
  std::int64_t const n = locations.size();
  check_folds(n, k);
  auto const order = hilbert_order(locations.x, locations.y);
  std::vector<std::int64_t> result(order.size());
  for (std::int64_t i = 0; i < n; ++i)
    result[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = i * k / n;
  return result;
}

#define STRATA_INSTANTIATE(Exec)                                                   \
  template CrossValidation cross_validate<Exec>(                                   \
      Exec const&, CovarianceFactor<Exec>&, std::span<double const>, Trend const&, \
      std::span<std::int64_t const>, std::function<void(double)> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
