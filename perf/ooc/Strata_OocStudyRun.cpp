// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "Strata_OocStudy.hpp"
#include <core/blas/Strata_FlopCount.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/io/files/Strata_TextFile.hpp>
#include <core/problems/Strata_Generators.hpp>
#include <core/problems/Strata_Random.hpp>
#include <geostat/Strata_Divergence.hpp>
#include <geostat/Strata_MaternTiles.hpp>
#include <ooc/executor/Strata_Simulate.hpp>
#include <ooc/schedule/Strata_Schedule.hpp>

#include <perf/ooc/Strata_SimulateRanks.hpp>

#include <algorithm>

namespace strata::study {

using Json = nlohmann::json;

namespace {

using Matrix = Kokkos::View<double**, Kokkos::LayoutLeft, Exec::memory_space>;

void fill_randomly(Exec const& exec, Matrix const& A, std::uint64_t seed) {
  auto const rows = static_cast<std::int64_t>(A.extent(0));
  Kokkos::parallel_for(
      "strata::study::gemm::fill",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(
          exec, 0, rows * static_cast<std::int64_t>(A.extent(1))),
      KOKKOS_LAMBDA(std::int64_t t) {
        A(t % rows, t / rows) = 2 * uniform(seed, t % rows, t / rows) - 1;
      });
}

}  // namespace

GemmRates gemm_rates(std::int64_t n, double seconds) {
  Exec const exec;
  Matrix const A("strata::study::A", n, n), B("strata::study::B", n, n),
      C("strata::study::C", n, n);
  fill_randomly(exec, A, 1);
  fill_randomly(exec, B, 2);
  LeafBlas<Exec> blas(exec);
  auto const rate = [&](int products) {
    exec.fence("strata::study::gemm");
    Kokkos::Timer const timer;
    for (int k = 0; k < products; ++k)
      blas.gemm(Op::NoTrans, Op::Trans, -1, matrix_ref(A), matrix_ref(B), 1, matrix_ref(C));
    exec.fence("strata::study::gemm");
    return products * static_cast<double>(gemm_flops(n, n, n)) / timer.seconds();
  };
  GemmRates rates;
  (void)rate(1);
  for (int repetition = 0; repetition < 5; ++repetition) rates.best = std::max(rates.best, rate(1));
  double const products = seconds * rates.best / static_cast<double>(gemm_flops(n, n, n));
  rates.sustained = rate(std::max(1, static_cast<int>(std::min(products, 1e6))));
  return rates;
}

ooc::Devices Runner::devices_of(Case const& one) const {
  auto devices = ooc::make_devices(one.devices, static_cast<std::size_t>(one.budget_bytes));
  if (request_.same_device)
    for (auto& device : devices) device.id = 0;
  return devices;
}

void Runner::fill(Case const& one, RankCase const& many) {
  Exec const exec;
  ooc::TileMatrixOptions options;
  options.rule.accuracy = one.accuracy;
  options.anywhere = true;
  options.nodes = ooc::numa_nodes(devices_of(one));
  options.comm = comm_;
  options.grid = many.grid;
  options.super_panel = many.super_panel;
  options.rule.precisions.clear();
  for (std::string const& name : request_.precisions)
    options.rule.precisions.push_back(from_name<Precision>(name));
  auto const tiles =
      geostat::matern_tiles(exec, geostat::MaternCovariance{1, one.range, 0.5, request_.nugget},
                            geostat::synthetic_locations(one.n));
  if (matrix_ && (matrix_->order() != one.n || matrix_->tile_size() != one.tile)) matrix_.reset();
  if (matrix_)
    matrix_->refill(exec, tiles, options);
  else
    matrix_ = ooc::TileMatrix<Exec>::generate(exec, one.n, one.tile, tiles, options);
}

void Runner::refine(ooc::TileFactor<Exec>& factor, Json& row) const {
  Exec const exec;
  using Block = ooc::TileFactor<Exec>::Block;
  auto const n = static_cast<std::size_t>(factor.matrix().order());
  Block const B("strata::study::B", n, 1), X("strata::study::X", n, 1);
  auto const host = Kokkos::create_mirror_view(B);
  for (std::size_t i = 0; i < n; ++i)
    host(i, 0) = 2 * uniform(3, static_cast<std::int64_t>(i), 0) - 1;
  Kokkos::deep_copy(B, host);
  Kokkos::Timer const timer;
  auto const report = factor.solve(exec, B, X);
  row["solve_seconds"] = timer.seconds();
  auto const solution = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), X);
  double form = 0;
  for (std::size_t i = 0; i < n; ++i) form += host(i, 0) * solution(i, 0);
  row["quadratic_form"] = form;
  row["backward_error"] = report.backward_error;
  row["refined"] = report.converged;
  row["iterations"] = report.iterations;
}

// How far the factor is from the fp64 one of the same matrix, which came before.
void Runner::diverge(Case const& one, ooc::TileFactor<Exec> const& factor, Json& row) {
  std::pair const matrix(one.n, one.range);
  if (one.accuracy == 0) exact_[matrix] = factor.log_determinant();
  auto const exact = exact_.find(matrix);
  if (one.accuracy == 0 || exact == exact_.end()) return;
  Kokkos::Timer const timer;
  auto const found = geostat::divergence(Exec(), factor, exact->second);
  row["kl_seconds"] = timer.seconds();
  row["kl_log_det_half"] = found.log_det_half;
  row["kl"] = found.full;
  row["kl_standard_error"] = found.standard_error;
  row["kl_truncation_error"] = found.truncation_error;
}

Json row_of(Case const& one) {
  return {{"n", one.n},
          {"tile_size", one.tile},
          {"range", one.range},
          {"accuracy", one.accuracy},
          {"variant", ooc::name_of(one.variant)},
          {"devices", one.devices},
          {"budget_bytes", one.budget_bytes},
          {"column_block", one.column_block}};
}

Json Runner::simulate(Case const& one, ooc::Rates const& rates) const {
  Json row = row_of(one);
  ooc::SimulationOptions options;
  options.variant = one.variant;
  options.budget_bytes = static_cast<std::size_t>(one.budget_bytes);
  options.lookahead = request_.lookahead;
  options.rates = rates;
  int const streams = one.variant == ooc::Variant::Sync ? 1
                      : request_.streams > 0            ? request_.streams
                                                        : 4;
  std::int64_t const tiles = (one.n + one.tile - 1) / one.tile;
  ooc::PrecisionMap const map(tiles);
  try {
    auto const found =
        ooc::simulate(ooc::cholesky_schedule(tiles, one.devices, streams,
                                             std::max<std::int64_t>(1, one.column_block)),
                      one.n, one.tile, map, options);
    row.update({{"simulated", true},
                {"info", 0},
                {"streams", streams},
                {"histogram", map.histogram()},
                {"host_bytes", ooc::TileMatrix<Exec>::bytes_needed(one.n, one.tile)},
                {"factor_seconds", found.seconds},
                {"flop_per_s", found.flop_per_s},
                {"bytes_in", found.bytes_in},
                {"bytes_out", found.bytes_out},
                {"bytes_peer", found.bytes_peer},
                {"busy_seconds", found.busy_seconds}});
  } catch (MemoryError const& error) {
    row["error"] = error.what();
  }
  return row;
}

// Seconds of a run on paper, by the rates that were measured beside it.
double Runner::on_paper(Case const& one, ooc::CholeskyReport const& report,
                        Json const& rates) const {
  ooc::RankOrder const order{report.tiles,   matrix_->grid(),    one.devices,
                             report.streams, report.super_panel, report.column_block};
  return study::simulate(order, one.n, one.tile, matrix_->map(), rates_at(rates, one.tile)).seconds;
}

Json Runner::run(Case const& one, RankCase const& many) {
  Json row = row_of(one);
  Communicator const alone, &comm = comm_ ? *comm_ : alone;
  try {
    fill(one, many);
    row["pin_seconds"] = matrix_->report().pin_seconds;
    row["generate_seconds"] = matrix_->report().generate_seconds;
    row["host_bytes"] = matrix_->report().bytes;
    row["numa_nodes"] = Json::array();
    for (auto const& [node, bytes] : matrix_->report().node_bytes)
      row["numa_nodes"].push_back({{"node", node}, {"tile_bytes", bytes}});
    row["map"] = matrix_->map().tiles() <= 64 ? matrix_->map().to_text() : "";
    if (!request_.map.empty())
      write_text_file(request_.map + "_" + std::to_string(one.range) + "_" +
                          std::to_string(one.accuracy) + ".ppm",
                      matrix_->map().to_ppm());
    auto const devices = devices_of(one);
    ooc::CholeskyOptions options;
    options.variant = one.variant;
    options.streams = request_.streams;
    options.column_block = one.column_block;
    options.lookahead = request_.lookahead;
    options.peer_copies = !request_.no_peer;
    options.checkpoint.folder = request_.checkpoint;
    std::optional<Recorder> recorder;
    if (!request_.trace.empty() || request_.measure) recorder.emplace();
    comm.barrier();
    auto factor = ooc::cholesky(devices, std::move(*matrix_), options);
    std::vector<RecordedSpan> spans;
    if (recorder) spans = recorder->spans();
    recorder.reset();  // of what follows there is no trace
    auto const report = factor.report();
    double const seconds = comm.max(report.factor_seconds);
    row.update({{"info", factor.info().order()},
                {"streams", report.streams},
                {"column_block", report.column_block},
                {"histogram", report.histogram},
                {"setup_seconds", report.setup_seconds},
                {"ranks", comm.size()},
                {"grid", {report.grid_rows, report.grid_cols}},
                {"super_panel", report.super_panel},
                {"factor_seconds", seconds},
                {"flop_per_s", report.flop_per_s * report.factor_seconds / seconds},
                {"bytes_in", report.bytes_in()},
                {"bytes_out", report.bytes_out()},
                {"bytes_peer", report.bytes_peer()},
                {"smallest_budget_bytes", report.smallest_budget_bytes},
                {"operand_excess", report.operand_excess},
                {"first_column", report.first_column},
                {"bytes_sent", comm.gather(static_cast<std::int64_t>(report.bytes_sent))},
                {"rung", name_of(report.rung)}});
    for (auto const& attempt : report.attempts)
      row["attempts"].push_back({{"rung", name_of(attempt.rung)},
                                 {"accuracy", attempt.accuracy},
                                 {"histogram", attempt.histogram},
                                 {"info", attempt.info},
                                 {"fill_seconds", attempt.fill_seconds},
                                 {"factor_seconds", attempt.factor_seconds}});
    Json& parts = row["device_reports"] = Json::array();
    for (auto const& device : report.devices)
      parts.push_back({{"id", device.id},
                       {"pool_bytes", device.budget_bytes},
                       {"bytes_in", device.bytes_in},
                       {"bytes_out", device.bytes_out},
                       {"bytes_peer", device.bytes_peer},
                       {"hits", device.hits},
                       {"misses", device.misses},
                       {"evictions", device.evictions}});
    if (factor.info().ok()) {
      row["log_determinant"] = factor.log_determinant();
      if (request_.refine) refine(factor, row);
      if (request_.kl) diverge(one, factor, row);
    }
    if (!request_.trace.empty()) {
      std::string path = request_.trace;
      auto const dot = path.rfind(".json");
      path.insert(dot == std::string::npos ? path.size() : dot,
                  "_" + std::string(ooc::name_of(one.variant)) + "_" + std::to_string(one.devices) +
                      (one.accuracy > 0 ? "_mixed_" + std::to_string(one.range) : ""));
      write_trace(path, {{"strata_ooc_study " + std::string(ooc::name_of(one.variant)), spans}});
      row["trace"] = path;
    }
    matrix_ = std::move(factor).take();
    if (request_.measure) {
      row["rates"] = rates_of_run(*matrix_, spans, comm);
      row["simulated_seconds"] = on_paper(one, report, row["rates"]);
    }
  } catch (MemoryError const& error) {
    row["error"] = error.what();
    matrix_.reset();
  }
  return row;
}

}  // namespace strata::study
