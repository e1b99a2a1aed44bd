// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_TILE_OPTIONS_HPP
#define STRATA_APPS_TILE_OPTIONS_HPP

#include <core/Strata_Precision.hpp>
#include <ooc/Strata_PrecisionMap.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class Option;
}  // namespace CLI
namespace strata::ooc {
struct Device;
}

namespace strata::apps {

class OptionGroup;

/// How a matrix in tiles is kept and factored; `strata mle` and `strata solve --out-of-core` have it.
struct TileOptions {
  std::vector<Precision> precisions;  ///< empty: fp64, or all four with an epsilon
  double epsilon = 0;
  std::int64_t tile = 0;  ///< 0: the library's choice
  int devices = 1;
  std::size_t device_memory = 0;  ///< bytes of tiles on each device; 0: what is free there
};

/// Add them to a command; with `needed` they are refused without that option.
void add_tile_options(OptionGroup& group, TileOptions& options, CLI::Option* needed = nullptr);

/// Throws   UsageError for numbers out of range, and precisions that are never used.
void check(TileOptions const& options);

ooc::PrecisionRule precision_rule(TileOptions const& options);
std::vector<ooc::Device> tile_devices(TileOptions const& options);

}  // namespace strata::apps

#endif
