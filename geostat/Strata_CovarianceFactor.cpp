// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/Strata_CovarianceFactor.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <geostat/Strata_MaternTiles.hpp>

#include <comm/Strata_Together.hpp>

#include <limits>

namespace strata::geostat {

namespace {

template <class Exec>
std::int64_t chosen_tile_size(std::int64_t n, ooc::Devices const& devices,
                              CovarianceFactorOptions const& options) {
  if (options.tile_size != 0) return options.tile_size;
  return ooc::TileMatrix<Exec>::automatic_tile_size(n, devices.front().budget_bytes);
}

template <class Exec>
ooc::TileMatrixOptions matrix_options(ooc::Devices const& devices,
                                      CovarianceFactorOptions const& options) {
  ooc::TileMatrixOptions result(options.rule);
  result.max_bytes = options.max_bytes;
  result.anywhere = true;
  result.nodes = ooc::numa_nodes<Exec>(devices);
  result.comm = options.comm;
  result.grid = options.grid;
  return result;
}

}  // namespace

template <class Exec>
std::size_t CovarianceFactor<Exec>::bytes_needed(std::int64_t n, std::int64_t tile_size) {
  return ooc::TileMatrix<Exec>::bytes_needed(
      n, tile_size != 0 ? tile_size : ooc::TileMatrix<Exec>::automatic_tile_size(n));
}

template <class Exec>
CovarianceFactor<Exec>::CovarianceFactor(Exec const& exec, Team const& team,
                                         MaternCovariance const& covariance,
                                         Locations const& locations,
                                         CovarianceFactorOptions const& options)
    : team_(team), locations_(locations), options_(options) {
  refactor(exec, covariance);
}

template <class Exec>
void CovarianceFactor<Exec>::refactor(Exec const& exec, MaternCovariance const& covariance) {
  Region const region(exec, "strata::geostat::CovarianceFactor");
  auto const tiles = together(comm(), [&] { return matern_tiles(exec, covariance, locations_); });
  covariance_ = covariance;
  std::int64_t const n = order(), tile = chosen_tile_size<Exec>(n, team_.devices(), options_);
  auto const filled = matrix_options<Exec>(team_.devices(), options_);
  auto matrix = [&] {
    if (!factor_) return ooc::TileMatrix<Exec>::generate(exec, n, tile, tiles, filled);
    auto old = std::move(*factor_).take();
    factor_.reset();
    old.refill(exec, tiles, filled);
    return old;
  }();
  first_fill_seconds_ = matrix.report().pin_seconds + matrix.report().generate_seconds;
  ooc::CholeskyOptions choices;
  choices.on_task = options_.on_task;
  factor_.emplace(ooc::cholesky(team_, std::move(matrix), choices));
  describe();
}

template <class Exec>
void CovarianceFactor<Exec>::describe() {
  auto const& report = factor_->report();
  double fill = first_fill_seconds_, seconds = report.setup_seconds;
  for (auto const& attempt : report.attempts) {
    fill += attempt.fill_seconds;
    seconds += attempt.factor_seconds;
  }
  report_ = {.n = report.n,
             .tile_size = report.tile_size,
             .tiles = report.histogram,
             .bytes = factor_->matrix().report().bytes,
             .bytes_in = report.bytes_in(),
             .bytes_out = report.bytes_out(),
             .rung = report.rung,
             .attempts = report.attempts,
             .fill_seconds = fill,
             .factor_seconds = seconds};
}

template <class Exec>
ooc::TileFactor<Exec> const& CovarianceFactor<Exec>::factor() const {
  STRATA_REQUIRE(ValueError, factor_,
                 "covariance factor: there is none, since an exception left none");
  return *factor_;
}

template <class Exec>
dense::LogDeterminantEstimate CovarianceFactor<Exec>::log_determinant(
    Exec const& exec, dense::LogDeterminantOptions const& probes) const {
  auto const& M = factor();
  bool const mixed = M.matrix().map().is_mixed();
  if (mixed && options_.log_det == LogDet::Corrected) return M.log_determinant(exec, probes);
  dense::LogDeterminantEstimate result;
  result.value = M.log_determinant();
  result.rounding_error = M.rounding_error();
  if (mixed) result.standard_error = std::numeric_limits<double>::quiet_NaN();
  return result;
}

template <class Exec>
dense::SolveReport CovarianceFactor<Exec>::solve(Exec const& exec, Block const& B, Block const& X) {
  (void)factor();  // or throws
  auto report = factor_->solve(exec, B, X);
  if (report.climbs > 0 || !info().ok()) describe();
  return report;
}

template <class Exec>
void CovarianceFactor<Exec>::half_solve(Exec const& exec, Op op, Block const& V,
                                        std::int64_t first_row) const {
  factor().half_solve(exec, op, V, first_row);
}

template <class Exec>
void CovarianceFactor<Exec>::apply(Exec const& exec, Block const& X, Block const& Y) const {
  factor().apply(exec, X, Y);
}

#define STRATA_INSTANTIATE(Exec) template class CovarianceFactor<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
