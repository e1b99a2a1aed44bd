// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PERF_OOC_TILE_COSTS_HPP
#define STRATA_PERF_OOC_TILE_COSTS_HPP

#include <core/blas/Strata_FlopCount.hpp>
#include <ooc/executor/Strata_Simulate.hpp>
#include <ooc/schedule/Strata_TilePlan.hpp>

#include <cstddef>
#include <cstdint>

namespace strata::study {

using ooc::Rates, ooc::TilePlan;

/// Seconds of the operations on tiles, and bytes, by the rates of a machine.
class TileCosts {
 public:
  TileCosts(TilePlan const& plan, Rates const& rates)
      : plan_(plan), rates_(rates), is_mixed_(plan.map().is_mixed()) {}

  double product(std::int64_t i, std::int64_t j, std::int64_t k) const {
    std::size_t const form =
        is_mixed_ ? static_cast<std::size_t>(ooc::precision_rank(plan_.product(i, j, k))) : 0;
    std::int64_t const m = plan_.rows(i), n = plan_.rows(j), depth = plan_.rows(k);
    return static_cast<double>(i == j ? syrk_flops(m, depth) : gemm_flops(m, n, depth)) /
           rates_.product_flop_per_s[form];
  }
  double finish(std::int64_t i, std::int64_t j) const {
    std::int64_t const m = plan_.rows(i), n = plan_.rows(j);
    return i == j ? static_cast<double>(potrf_flops(m)) / rates_.potrf_flop_per_s()
                  : static_cast<double>(trsm_flops(n, m)) / rates_.solve_flop_per_s;
  }
  double bytes(std::int64_t i, std::int64_t j) const {
    return static_cast<double>(
        ooc::tile_copy_bytes(plan_.map().at(i, j), plan_.rows(i), plan_.rows(j)));
  }
  /// Bytes of a tile that is not final.
  double sum_bytes(std::int64_t i, std::int64_t j) const {
    return static_cast<double>(
        ooc::number_bytes(plan_.working(i, j), plan_.rows(i), plan_.rows(j)));
  }
  /// Seconds from the device of a maker to a device of another rank.
  double message(std::int64_t i, std::int64_t j) const {
    return bytes(i, j) * (1 / rates_.out_bytes_per_s + 1 / rates_.network_bytes_per_s +
                          1 / rates_.in_bytes_per_s) +
           rates_.message_seconds;
  }

 private:
  TilePlan const& plan_;
  Rates const& rates_;
  bool is_mixed_;
};

}  // namespace strata::study

#endif
