// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/Strata_CovarianceFactor.hpp>

#include <comm/Strata_Together.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <geostat/Strata_MaternTiles.hpp>
#include <geostat/detail/Strata_KeptTiles.hpp>
#include <geostat/detail/Strata_WholeFactor.hpp>

#include <algorithm>
#include <limits>

namespace strata::geostat {

namespace {

template <class Exec>
std::int64_t chosen_tile_size(std::int64_t n, ooc::Devices const& devices,
                              CovarianceFactorOptions const& options) {
  if (options.tile_size != 0) return options.tile_size;
  return ooc::TileMatrix<Exec>::automatic_tile_size(n, devices.front().budget_bytes);
}

// The memory of workers on a host is the host's.
template <class Exec>
ooc::TileStorage storage_of(CovarianceFactorOptions const& options) {
  bool const is_open = options.storage == ooc::TileStorage::Automatic;
  return is_open && strata::runs_on_host<Exec> ? ooc::TileStorage::Host : options.storage;
}

template <class Exec>
ooc::TileMatrixOptions matrix_options(ooc::Devices const& devices,
                                      CovarianceFactorOptions const& options) {
  ooc::TileMatrixOptions result(options.rule);
  result.max_bytes = options.max_bytes;
  result.anywhere = true;
  result.storage = storage_of<Exec>(options);
  result.devices = devices;
  result.nodes = ooc::numa_nodes<Exec>(devices);
  result.comm = options.comm;
  result.grid = options.grid;
  result.on_progress = options.on_fill;
  return result;
}

// What a whole one may take of the memory of the instance's device.
template <class Exec>
std::size_t most_bytes(Exec const& exec, ooc::Devices const& devices,
                       CovarianceFactorOptions const& options) {
  std::size_t most = std::numeric_limits<std::size_t>::max();
  if (strata::runs_on_host<Exec>) most = options.max_bytes;
  for (auto const& device : devices)
    if (device.id == ooc::device_of(exec) && device.budget_bytes > 0)
      most = std::min(most, device.budget_bytes);
  return most;
}

// Whether it is to lie on one device alone, in fp64, and a third more memory than it takes is free
// there.
template <class Exec>
bool may_be_whole(Exec const& exec, std::int64_t n, ooc::Devices const& devices,
                  CovarianceFactorOptions const& options) {
  if (storage_of<Exec>(options) == ooc::TileStorage::Host) return false;
  if (n == 0 || options.tile_size != 0 || options.rule.may_mix()) return false;
  if (options.comm && options.comm->size() > 1) return false;
  if (devices.size() != 1 || devices.front().id != ooc::device_of(exec)) return false;
  std::size_t const bytes = detail::WholeFactor<Exec>::bytes_needed(n);
  return bytes <= most_bytes(exec, devices, options) && bytes / 3 * 4 <= ooc::free_bytes(exec);
}

template <class Exec>
std::unique_ptr<detail::WholeFactor<Exec>> whole_factor(Exec const& exec, std::int64_t n,
                                                        ooc::Devices const& devices,
                                                        CovarianceFactorOptions const& options) {
  if (!may_be_whole(exec, n, devices, options)) return nullptr;
  try {
    return std::make_unique<detail::WholeFactor<Exec>>(exec, n);
  } catch (MemoryError const&) {  // in tiles then
    return nullptr;
  }
}

}  // namespace

template <class Exec>
std::size_t CovarianceFactor<Exec>::bytes_needed(std::int64_t n, std::int64_t tile_size) {
  return ooc::TileMatrix<Exec>::bytes_needed(
      n, tile_size != 0 ? tile_size : ooc::TileMatrix<Exec>::automatic_tile_size(n));
}

template <class Exec>
std::size_t CovarianceFactor<Exec>::bytes_needed(std::int64_t n,
                                                 CovarianceFactorOptions const& options) {
  Communicator const* const comm = options.comm.get();
  std::int64_t const tile =
      options.tile_size != 0 ? options.tile_size : ooc::TileMatrix<Exec>::automatic_tile_size(n);
  auto const grid = options.grid == ooc::RankGrid{0, 0}
                        ? ooc::automatic_grid(comm ? comm->size() : 1)
                        : options.grid;
  return ooc::TileMatrix<Exec>::bytes_needed(n, tile, grid, comm ? comm->rank() : 0);
}

template <class Exec>
CovarianceFactor<Exec>::CovarianceFactor(Exec const& exec, Team const& team,
                                         MaternCovariance const& covariance,
                                         Locations const& locations,
                                         CovarianceFactorOptions const& options)
    : team_(team),
      locations_(locations),
      options_(options),
      whole_(whole_factor(exec, locations.size(), team.devices(), options)) {
  refactor(exec, covariance);
}
template <class Exec>
CovarianceFactor<Exec>::~CovarianceFactor() = default;
template <class Exec>
CovarianceFactor<Exec>::CovarianceFactor(CovarianceFactor&&) noexcept = default;
template <class Exec>
CovarianceFactor<Exec>& CovarianceFactor<Exec>::operator=(CovarianceFactor&&) noexcept = default;

template <class Exec>
void CovarianceFactor<Exec>::refactor(Exec const& exec, MaternCovariance const& covariance) {
  Region const region(exec, "strata::geostat::CovarianceFactor");
  if (!whole_) return refactor_tiles(exec, covariance);
  exec.fence("strata::geostat::CovarianceFactor::begin");
  whole_->refactor(covariance, locations_, options_.on_fill);
  covariance_ = covariance;
  describe();
}

// Closed forms in the plane are evaluated in vectors, as fast as they are copied.
template <class Exec>
bool CovarianceFactor<Exec>::has_room_for_a_copy(Exec const& exec) const {
  if (!strata::runs_on_host<Exec> || !options_.keep_matrix) return false;
  if (detail::Correlation(covariance_).is_vectorised() && locations_.metric == Metric::Euclidean)
    return false;
  std::size_t const bytes = bytes_needed(order(), options_);
  return bytes <= options_.max_bytes / 3 && bytes <= ooc::free_bytes(exec) / 3;
}

template <class Exec>
void CovarianceFactor<Exec>::refactor_tiles(Exec const& exec, MaternCovariance const& covariance) {
  auto tiles = together(comm(), [&] { return matern_tiles(exec, covariance, locations_); });
  covariance_ = covariance;
  if (!options_.keep_matrix) kept_.reset();
  if (!kept_ && has_room_for_a_copy(exec)) kept_ = std::make_shared<detail::KeptTiles<Exec>>();
  if (kept_) {
    kept_->begin(std::move(tiles));
    tiles = [kept = kept_](Exec const& instance, std::int64_t row, std::int64_t col,
                           ooc::TileView<Exec> const& tile) {
      kept->fill(instance, row, col, tile);
    };
  }
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
  choices.on_silence = options_.on_silence;
  choices.transport = options_.transport;
  factor_.emplace(ooc::cholesky(team_, std::move(matrix), choices));
  describe();
}

// Assigned one by one: nvcc loses the names of a brace list in a template.
template <class Exec>
void CovarianceFactor<Exec>::describe() {
  report_ = {};
  if (whole_) {
    report_.storage = ooc::TileStorage::Devices;
    report_.whole = true;
    report_.n = report_.tile_size = order();
    report_.tiles = {1, 0, 0, 0};
    report_.bytes = WholeFactor::bytes_needed(order());
    report_.fill_seconds = whole_->fill_seconds();
    report_.factor_seconds = whole_->factor_seconds();
    return;
  }
  auto const& report = factor_->report();
  report_.storage = factor_->matrix().storage();
  report_.no_room = factor_->matrix().report().no_room;
  report_.n = report.n;
  report_.tile_size = report.tile_size;
  report_.tiles = report.histogram;
  report_.moduli = report.moduli;
  report_.bytes = factor_->matrix().report().bytes;
  report_.bytes_in = report.bytes_in();
  report_.bytes_out = report.bytes_out();
  report_.rung = report.rung;
  report_.attempts = report.attempts;
  report_.fill_seconds = first_fill_seconds_;
  report_.factor_seconds = report.setup_seconds;
  for (auto const& attempt : report.attempts) {
    report_.fill_seconds += attempt.fill_seconds;
    report_.factor_seconds += attempt.factor_seconds;
  }
}

template <class Exec>
ooc::TileFactor<Exec> const& CovarianceFactor<Exec>::factor() const {
  STRATA_REQUIRE(ValueError, !whole_,
                 "covariance factor: it is whole, not in tiles, which a tile size asks for");
  STRATA_REQUIRE(ValueError, factor_,
                 "covariance factor: there is none, since an exception left none");
  return *factor_;
}

template <class Exec>
auto CovarianceFactor<Exec>::whole() const -> WholeFactor& {
  STRATA_REQUIRE(ValueError, whole_->is_filled(),
                 "covariance factor: there is none, since an exception left none");
  return *whole_;
}

template <class Exec>
void CovarianceFactor<Exec>::require_factor(char const* function) const {
  Info const found = whole().info();
  STRATA_REQUIRE(ValueError, found.ok(), function, ": there is no factor; the minor of order ",
                 found.order(), " is not positive");
}

template <class Exec>
Info CovarianceFactor<Exec>::info() const {
  return whole_ ? whole().info() : factor().info();
}

template <class Exec>
ooc::PrecisionMap const& CovarianceFactor<Exec>::map() const {
  static ooc::PrecisionMap const of_one_tile(1);
  return whole_ ? of_one_tile : factor().matrix().map();
}

template <class Exec>
double CovarianceFactor<Exec>::norm_inf() const {
  return whole_ ? whole().norm_inf() : factor().matrix().given_norm_inf();
}

template <class Exec>
double CovarianceFactor<Exec>::factor_log_determinant() const {
  if (!whole_) return factor().log_determinant();
  require_factor("log_determinant");
  return whole().log_determinant();
}

template <class Exec>
dense::LogDeterminantEstimate CovarianceFactor<Exec>::log_determinant(
    Exec const& exec, dense::LogDeterminantOptions const& probes) const {
  bool const mixed = map().is_mixed();
  if (mixed && options_.log_det == LogDet::Corrected) return factor().log_determinant(exec, probes);
  dense::LogDeterminantEstimate result;
  result.value = factor_log_determinant();
  result.rounding_error =
      whole_ ? whole_->rounding_error(probes) : factor().rounding_error(exec, probes);
  if (mixed) result.standard_error = std::numeric_limits<double>::quiet_NaN();
  return result;
}

// The instance's work is done before the whole factor's own begins.
template <class Exec>
auto CovarianceFactor<Exec>::whole_after(Exec const& exec, char const* function,
                                         Block const& X) const -> WholeFactor& {
  require_factor(function);
  STRATA_REQUIRE(ShapeError, static_cast<std::int64_t>(X.extent(0)) == order(), function, ": ",
                 X.extent(0), " rows, the matrix has ", order());
  exec.fence("strata::geostat::CovarianceFactor::begin");
  return *whole_;
}

template <class Exec>
dense::SolveReport CovarianceFactor<Exec>::solve(Exec const& exec, Block const& B, Block const& X) {
  if (whole_) return whole_after(exec, "solve", B).solve(B, X);
  (void)factor();  // or throws
  auto report = factor_->solve(exec, B, X);
  if (report.climbs > 0 || !info().ok()) describe();
  return report;
}

template <class Exec>
void CovarianceFactor<Exec>::half_solve(Exec const& exec, Op op, Block const& V,
                                        std::int64_t first_row) const {
  if (!whole_) return factor().half_solve(exec, op, V, first_row);
  STRATA_REQUIRE(ValueError, first_row >= 0 && first_row <= order(), "half_solve: first_row is ",
                 first_row, ", must be 0 to ", order());
  whole_after(exec, "half_solve", V).half_solve(op, V, first_row);
}

template <class Exec>
void CovarianceFactor<Exec>::apply(Exec const& exec, Block const& X, Block const& Y) const {
  if (!whole_) return factor().apply(exec, X, Y);
  STRATA_REQUIRE(ShapeError, X.extent(0) == Y.extent(0) && X.extent(1) == Y.extent(1),
                 "apply: X is ", X.extent(0), " x ", X.extent(1), ", Y is ", Y.extent(0), " x ",
                 Y.extent(1));
  whole_after(exec, "apply", X).apply(X, Y);
}

#define STRATA_INSTANTIATE(Exec) template class CovarianceFactor<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
