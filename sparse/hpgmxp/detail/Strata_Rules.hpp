// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_RULES_HPP
#define STRATA_DETAIL_RULES_HPP

#include <sparse/comm/Strata_Communicator.hpp>
#include <sparse/hpgmxp/Strata_Hpgmxp.hpp>

#include <array>
#include <cstdint>

// What the benchmark's run types mean.
namespace strata::sparse::detail {

inline constexpr std::int64_t timed_iterations = 300;  ///< of a timed solve, at least

/// Of the ranks.
inline std::array<int, 3> grid_of(HpgmxpOptions const& options, int ranks) {
  return options.grid == std::array<int, 3>{0, 0, 0} ? process_grid(ranks) : options.grid;
}

/// Which parts run.
inline bool has_validation(RunType run) {
  return run == RunType::Benchmark || run == RunType::BenchmarkNoRef || run == RunType::Validation;
}
inline bool has_mixed(RunType run) {
  return run == RunType::Benchmark || run == RunType::BenchmarkNoRef ||
         run == RunType::StandaloneMixed;
}
inline bool has_fp64(RunType run) {
  return run == RunType::Benchmark || run == RunType::StandaloneRef;
}

}  // namespace strata::sparse::detail

#endif
