// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_STUDY_HPP
#define STRATA_OOC_STUDY_HPP

#include <core/io/Strata_Trace.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/Strata_TileMatrix.hpp>

#include <nlohmann/json.hpp>

#include <map>
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
  /// Of a machine that is only simulated: Tflop/s of products in fp64, fp32, fp16, fp8 and of solves,
  /// then GB/s in, out and between devices.
  std::vector<double> rates;
  std::string json, trace, map, checkpoint;
};

/// Flops a second of fp64 products of order n, of random numbers in (-1, 1), which take the power
/// that a factor's take.
struct GemmRates {
  double best = 0;       ///< of five after a first one
  double sustained = 0;  ///< of as many as fill the seconds, one behind the other
};
GemmRates gemm_rates(std::int64_t n, double seconds);

/// One factorisation of one matrix.
struct Case {
  std::int64_t n, tile;
  double range, accuracy;
  ooc::Variant variant;
  int devices;
  double budget_bytes;
  std::int64_t column_block;
};

/// Runs cases, in the host memory of the case before where that fits.
class Runner {
 public:
  explicit Runner(Request const& request) : request_(request) {}

  /// The row of the table. A case that is refused has an "error".
  nlohmann::json run(Case const& one);
  /// The same on paper, all tiles in fp64, on the machine that `rates` describes.
  nlohmann::json simulate(Case const& one) const;

 private:
  ooc::Devices devices_of(Case const& one) const;
  void fill(Case const& one);
  void refine(ooc::TileFactor<Exec>& factor, nlohmann::json& row) const;
  void diverge(Case const& one, ooc::TileFactor<Exec> const& factor, nlohmann::json& row);

  Request const& request_;
  std::map<std::pair<std::int64_t, double>, double> exact_;  // log det in fp64, by order and range
  std::optional<ooc::TileMatrix<Exec>> matrix_;
};

}  // namespace strata::study

#endif
