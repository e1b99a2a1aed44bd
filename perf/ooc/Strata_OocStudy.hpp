// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_STUDY_HPP
#define STRATA_OOC_STUDY_HPP

#include <comm/Strata_Communicator.hpp>
#include <core/io/files/Strata_Trace.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/executor/Strata_Simulate.hpp>
#include <ooc/schedule/Strata_RankOrder.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>

#include <nlohmann/json.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace strata::study {

using Exec = Kokkos::DefaultExecutionSpace;

/// What the command line asks for; lists are run in all combinations.
struct Request {
  std::vector<std::int64_t> n = {4096};
  std::vector<std::int64_t> tile = {256};
  std::vector<double> budget_bytes = {0};
  std::vector<ooc::Variant> variants = {ooc::Variant::V4};
  std::vector<int> devices = {1};
  std::vector<std::int64_t> column_block = {0};
  std::vector<double> range = {0.02627};
  std::vector<double> accuracy = {0};
  std::vector<std::string> precisions = {"fp64", "fp32", "fp16", "fp8_e4m3"};
  double nugget = 0;
  int streams = 0, repetitions = 1, lookahead = 2;
  std::int64_t gemm_n = 8192;
  double gemm_seconds = 2;
  bool refine = false, kl = false, same_device = false, no_peer = false;
  /// Rates of a machine that is only simulated, or a file with such numbers. They are Tflop/s of
  /// products in fp64, fp32, fp16, fp8 and of solves, then GB/s in, out and between devices.
  std::vector<std::string> rates;
  std::vector<double> network;  ///< GB/s of messages, and microseconds of one
  /// numbers of ranks to be simulated, on a grid that is chosen
  std::vector<int> ranks;
  std::vector<std::string> grid;          ///< the same on these grids, "4x8", or real ones
  std::vector<std::int64_t> super_panel;  ///< columns of tiles; 0: whole tasks; empty: automatic
  bool over_ranks = false, measure = false;
  std::string json, trace, map, checkpoint;

  /// Whether ranks are simulated.
  bool has_ranks() const { return !ranks.empty() || !grid.empty(); }
};

/// Flops a second of fp64 products of order n, of random numbers in (-1, 1), which take the power
/// that a factor's take.
struct GemmRates {
  double best = 0;       ///< best of five products, after a first one
  double sustained = 0;  ///< mean of as many products as fill the seconds, one behind the other
};
GemmRates gemm_rates(std::int64_t n, double seconds);

/// What a machine does in a second, by the order of its tiles: "strata.machine_rates/1". flop_per_s
/// has fp64, fp32, fp16, fp8 (products; a missing one is as the one before), trsm and potrf, each
/// by order. bytes_per_s has in, out, peer, network.
///
/// Throws   IoError if the file can't be read; ValueError if it is none.
nlohmann::json read_rates(std::string const& path);
/// The rates for tiles of that order. Throws ValueError that says what is missing or wrong.
ooc::Rates rates_at(nlohmann::json const& document, std::int64_t tile);
/// The same for a run on a host, in fp64: how long its operations took on all ranks. With several
/// ranks, also how long messages of a tile take between two ranks, alone, after the run.
/// Collective. Throws ValueError if there were no products.
nlohmann::json rates_of_run(ooc::TileMatrix<Exec> const& matrix,
                            std::vector<RecordedSpan> const& spans, Communicator const& comm);

/// One factorisation of one matrix.
struct Case {
  std::int64_t n, tile;
  double range, accuracy;
  ooc::Variant variant;
  int devices;
  double budget_bytes;
  std::int64_t column_block;
};

/// The case's row of the table, without results.
nlohmann::json row_of(Case const& one);

/// How ranks lie, and what they play; by default as the library chooses.
struct RankCase {
  ooc::RankGrid grid{0, 0};
  std::int64_t super_panel = -1;
};
/// The cases that the command line asks for. Where it is silent, simulated ranks have whole tasks.
/// Throws ValueError for an impossible grid or number of ranks.
std::vector<RankCase> rank_cases(Request const& request);

/// Prints the head of their table.
void print_rank_heads();
/// Prints a row of the table.
void print_rank_row(nlohmann::json const& row);

/// Runs cases, in the host memory of the case before where that fits.
class Runner {
 public:
  /// Runs on the ranks of `comm`, if there is one.
  explicit Runner(Request const& request, std::shared_ptr<Communicator const> comm = nullptr)
      : request_(request), comm_(std::move(comm)) {}

  /// The row of the table. A case that is refused has an "error".
  nlohmann::json run(Case const& one, RankCase const& many);
  /// The same on paper, all tiles in fp64, on a machine with these rates.
  nlohmann::json simulate(Case const& one, ooc::Rates const& rates) const;
  /// The same by many ranks.
  nlohmann::json simulate(Case const& one, RankCase const& many, ooc::Rates const& rates) const;

 private:
  ooc::Devices devices_of(Case const& one) const;
  void fill(Case const& one, RankCase const& many);
  void refine(ooc::TileFactor<Exec>& factor, nlohmann::json& row) const;
  void diverge(Case const& one, ooc::TileFactor<Exec> const& factor, nlohmann::json& row);
  double on_paper(Case const& one, ooc::CholeskyReport const& report,
                  nlohmann::json const& rates) const;

  Request const& request_;
  std::shared_ptr<Communicator const> comm_;
  std::map<std::pair<std::int64_t, double>, double> exact_;  // log det in fp64, by order and range
  std::optional<ooc::TileMatrix<Exec>> matrix_;
};

}  // namespace strata::study

#endif
