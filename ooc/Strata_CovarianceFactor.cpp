// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <chrono>
#include <core/Strata_LeafBlas.hpp>
#include <core/detail/Strata_Instantiate.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <ooc/Strata_CovarianceFactor.hpp>
#include <optional>
#include <string>

namespace strata::ooc {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

dense::LayerList const fp64_layer{Precision::fp64};

}  // namespace

template <class Exec>
struct CovarianceFactor<Exec>::State {
  MaternCovariance covariance;
  Locations locations;
  CovarianceFactorReport report;
  LeafBlas<Exec> blas;
  Block S;
  std::optional<dense::CholeskyFactor<Exec>> factor;

  dense::CholeskyFactor<Exec>& checked() {
    STRATA_REQUIRE(ValueError, factor->info().ok(),
                   "covariance factor: there is none, the leading minor of order ",
                   factor->info().order(), " is not positive");
    return *factor;
  }
};

template <class Exec>
std::size_t CovarianceFactor<Exec>::bytes_needed(std::int64_t n) {
  auto const leaf = dense::automatic_leaf_size<Exec>(n, fp64_layer);
  auto const tree = dense::BlockTree<dense::LayerList, Exec>::bytes_needed(n, fp64_layer, leaf);
  return static_cast<std::size_t>(n) * static_cast<std::size_t>(n) * sizeof(double) + tree.stored +
         tree.working;
}

template <class Exec>
CovarianceFactor<Exec>::CovarianceFactor(Exec const& exec, MaternCovariance const& covariance,
                                         Locations const& locations,
                                         CovarianceFactorOptions const& options) {
  Kokkos::Profiling::ScopedRegion const region("strata::ooc::CovarianceFactor");
  check_covariance(covariance, locations);
  std::int64_t const n = locations.size();
  std::size_t const bytes = bytes_needed(n);
  STRATA_REQUIRE(MemoryError, bytes <= options.max_bytes, "a covariance matrix of order ", n,
                 " and its factor need ", bytes, " bytes; the limit is ", options.max_bytes);
  auto start = Clock::now();
  Block const S(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing,
                                   std::string("strata::ooc::CovarianceFactor::S")),
                n, n);
  fill_covariance(exec, covariance, locations, S, Triangle::Lower);
  double const fill_seconds = seconds_since(start);
  start = Clock::now();
  state_ = std::make_unique<State>(covariance, locations, CovarianceFactorReport{},
                                   LeafBlas<Exec>(exec), S, std::nullopt);
  state_->factor.emplace(dense::cholesky(exec, S, fp64_layer));
  exec.fence("strata::ooc::CovarianceFactor::factored");
  auto const leaf = state_->factor->report().leaf_size;
  std::int64_t const tiles = leaf > 0 ? (n + leaf - 1) / leaf : 0;
  state_->report = {.n = n,
                    .tile_size = leaf,
                    .tiles = {tiles * (tiles + 1) / 2, 0, 0, 0},
                    .bytes = bytes,
                    .fill_seconds = fill_seconds,
                    .factor_seconds = seconds_since(start)};
}

template <class Exec>
CovarianceFactor<Exec>::~CovarianceFactor() = default;
template <class Exec>
CovarianceFactor<Exec>::CovarianceFactor(CovarianceFactor&&) noexcept = default;
template <class Exec>
CovarianceFactor<Exec>& CovarianceFactor<Exec>::operator=(CovarianceFactor&&) noexcept = default;

template <class Exec>
MaternCovariance const& CovarianceFactor<Exec>::covariance() const {
  return state_->covariance;
}

template <class Exec>
Locations const& CovarianceFactor<Exec>::locations() const {
  return state_->locations;
}

template <class Exec>
Info CovarianceFactor<Exec>::info() const {
  return state_->factor->info();
}

template <class Exec>
CovarianceFactorReport const& CovarianceFactor<Exec>::report() const {
  return state_->report;
}

template <class Exec>
double CovarianceFactor<Exec>::factor_log_determinant() const {
  return state_->checked().log_determinant(state_->blas.exec()).value;
}

template <class Exec>
dense::LogDeterminantEstimate CovarianceFactor<Exec>::log_determinant(Exec const& exec) {
  return state_->checked().log_determinant(exec);
}

template <class Exec>
dense::RefinementReport CovarianceFactor<Exec>::solve(Exec const& exec, Block const& B,
                                                      Block const& X) {
  return state_->checked().solve(exec, B, X).refinement;
}

template <class Exec>
void CovarianceFactor<Exec>::precondition(Exec const& exec, Block const& R) {
  (void)state_->checked().solve(exec, R, R, {.refine = dense::Refine::None});
}

template <class Exec>
void CovarianceFactor<Exec>::apply(Exec const&, Block const& X, Block const& Y) {
  state_->blas.symm(Uplo::Lower, 1, matrix_ref(state_->S), matrix_ref(X), 0, matrix_ref(Y));
}

#define STRATA_INSTANTIATE(Exec) template class CovarianceFactor<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc
