// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/kriging/Strata_Prediction.hpp>

#include <comm/Strata_Together.hpp>
#include <core/Strata_MatrixRef.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace strata::geostat {

namespace {

// New locations at a time.
std::int64_t block_of(std::int64_t n, std::int64_t m) {
  constexpr std::int64_t numbers = std::int64_t{1} << 23;
  return std::min(m, std::clamp<std::int64_t>(numbers / std::max<std::int64_t>(n, 1), 128, 4096));
}

// sums(j) = (A' B)_jj.
template <class Exec, class Block, class Sums>
void column_products(Exec const& exec, Block const& A, Block const& B, Sums const& sums) {
  auto const n = static_cast<std::int64_t>(A.extent(0));
  using Policy = Kokkos::TeamPolicy<Exec>;
  Kokkos::parallel_for(
      "strata::geostat::predict::products",
      Policy(exec, static_cast<int>(A.extent(1)), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        int const j = team.league_rank();
        double sum = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamVectorRange(team, n),
            [&](std::int64_t i, double& s) { s += A(i, j) * B(i, j); }, sum);
        Kokkos::single(Kokkos::PerTeam(team), [&]() { sums(j, 0) = sum; });
      });
}

// Of blocks of new locations C' [w T], and diag(C' S^-1 C).
template <class Exec>
class Blocks {
 public:
  using Block = typename CovarianceFactor<Exec>::Block;

  Blocks(Exec const& exec, CovarianceFactor<Exec>& factor, detail::Weights<Exec> const& weights,
         std::int64_t width, bool variances)
      : exec_(exec), factor_(factor), weights_(weights), blas_(exec), variances_(variances) {
    std::int64_t const n = factor.order(),
                       columns = static_cast<std::int64_t>(weights.both.extent(1));
    C_ = allocate<Block>(exec, "strata::geostat::predict::C", n, width);
    if (variances && factor.map().is_mixed())
      X_ = allocate<Block>(exec, "strata::geostat::predict::X", n, width);
    forms_ = allocate<Block>(exec, "strata::geostat::predict::forms", width, columns);
    explained_ = allocate_zeros<Block>(exec, "strata::geostat::predict::explained", width, 1);
    forms = allocate_host_matrix("strata::geostat::predict::host_forms", width, columns);
    explained = allocate_host_matrix("strata::geostat::predict::host_explained", width, 1);
  }

  template <class Entries>
  void work(Entries const& entries, std::int64_t first, std::int64_t count, Prediction& result) {
    auto const now = std::pair(std::int64_t{0}, count);
    Block const C = Kokkos::subview(C_, Kokkos::ALL, now);
    entries.fill(exec_, 0, first, C);
    blas_.gemm(Op::Trans, Op::NoTrans, 1, matrix_ref(C), matrix_ref(weights_.both), 0,
               matrix_ref(forms_).block(0, 0, count, static_cast<std::int64_t>(forms_.extent(1))));
    if (variances_) explain(C, now, result);
    Kokkos::deep_copy(exec_, forms, forms_);
    Kokkos::deep_copy(exec_, explained, explained_);
    exec_.fence("strata::geostat::predict::block");
  }

  HostMatrix forms, explained;

 private:
  void explain(Block const& C, std::pair<std::int64_t, std::int64_t> now, Prediction& result) {
    if (X_.extent(0) == 0) {
      factor_.half_solve(exec_, Op::NoTrans, C);
      return column_products<Exec>(exec_, C, C, explained_);
    }
    Block const X = Kokkos::subview(X_, Kokkos::ALL, now);
    auto const solve = factor_.solve(exec_, C, X);
    result.backward_error = std::max(result.backward_error, solve.backward_error);
    result.converged = result.converged && solve.converged;
    column_products<Exec>(exec_, C, X, explained_);
  }

  Exec const& exec_;
  CovarianceFactor<Exec>& factor_;
  detail::Weights<Exec> const& weights_;
  LeafBlas<Exec> blas_;
  bool variances_;
  Block C_, X_, forms_, explained_;
};

// What a new location's own columns of the trend's basis, f, add: to the mean f'b, to the variance
// |L^-1 f - T'c|^2.
template <class Exec>
std::pair<double, double> of_trend(detail::Weights<Exec> const& weights, std::vector<double> f,
                                   HostMatrix const& forms, std::int64_t j) {
  double mean = 0, variance = 0;
  for (std::size_t l = 0; l < f.size(); ++l) mean += f[l] * weights.coefficients[l];
  detail::substitute(weights.L, f);
  for (std::size_t l = 0; l < f.size(); ++l) {
    double const left = f[l] - forms(j, l + 1);
    variance += left * left;
  }
  return {mean, variance};
}

}  // namespace

void detail::check_variation(Locations const& locations, std::span<double const> values,
                             MaternCovariance const& covariance, NuggetIs nugget) {
  if (nugget == NuggetIs::Error || covariance.nugget == 0) return;
  auto const copies = find_copies(locations, values);
  STRATA_REQUIRE(ValueError, copies.places == 0, "locations ", copies.first + 1, " and ",
                 copies.second + 1,
                 " (counted from 1) are one place, where a nugget that is a variation of the field "
                 "has one value: leave one out, or take it for the observations' error");
}

template <class Exec>
Prediction predict(Exec const& exec, CovarianceFactor<Exec>& factor, std::span<double const> values,
                   Locations const& new_locations, Trend const& trend,
                   PredictionOptions const& options) {
  using Memory = typename Exec::memory_space;
  Region const region(exec, "strata::geostat::predict");
  std::int64_t const m = new_locations.size();
  std::vector<double> F;
  auto const entries = together(factor.comm(), [&] {
    F = trend.rows(m, options.trend_columns);
    detail::check_variation(factor.locations(), values, factor.covariance(), options.nugget);
    return CovarianceEntries<Memory>(exec, factor.covariance(), factor.locations(), new_locations,
                                     options.nugget);
  });
  auto const weights = detail::weights(exec, factor, values, trend);
  std::int64_t const width = block_of(factor.order(), m);
  Blocks<Exec> blocks(exec, factor, weights, width, options.variances);
  double const varies = options.nugget == NuggetIs::Variation ? factor.covariance().nugget : 0,
               field = factor.covariance().field() + varies;
  Prediction result;
  result.backward_error = weights.solve.backward_error;
  result.converged = weights.solve.converged;
  std::vector<double> f(static_cast<std::size_t>(trend.columns()));
  for (std::int64_t first = 0; first < m; first += width) {
    std::int64_t const count = std::min(width, m - first);
    blocks.work(entries, first, count, result);
    for (std::int64_t j = 0; j < count; ++j) {
      for (std::size_t l = 0; l < f.size(); ++l)
        f[l] = F[static_cast<std::size_t>(first + j) + l * static_cast<std::size_t>(m)];
      auto const [mean, variance] = of_trend(weights, f, blocks.forms, j);
      result.mean.push_back(mean + blocks.forms(j, 0));
      if (options.variances)
        result.variance.push_back(std::max(0.0, field - blocks.explained(j, 0) + variance));
    }
    tell_together(factor.comm(), options.on_progress,
                  static_cast<double>(first + count) / static_cast<double>(m));
  }
  return result;
}

#define STRATA_INSTANTIATE(Exec)                                                                   \
  template Prediction predict<Exec>(Exec const&, CovarianceFactor<Exec>&, std::span<double const>, \
                                    Locations const&, Trend const&, PredictionOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
