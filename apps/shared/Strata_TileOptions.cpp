// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_TileOptions.hpp>

#include <apps/shared/Strata_Exit.hpp>
#include <apps/shared/Strata_Options.hpp>
#include <ooc/Strata_Cholesky.hpp>

#include <algorithm>

namespace strata::apps {

namespace {

std::vector<Precision> parse_precisions(std::string const& text) {
  std::vector<Precision> list;
  for (std::size_t begin = 0; begin <= text.size();) {
    auto const end = std::min(text.find(',', begin), text.size());
    auto const name = text.substr(begin, end - begin);
    list.push_back(name == "fp8" ? Precision::fp8_e4m3 : precision_from_name(name));
    begin = end + 1;
  }
  ooc::PrecisionRule{.accuracy = 0.5, .precisions = list}.check();
  return list;
}

}  // namespace

void add_tile_options(OptionGroup& group, TileOptions& options, CLI::Option* needed) {
  CLI::Option* const added[] = {
      group.parsed("--precisions", options.precisions, "LIST", parse_precisions,
                   "of tiles, used with --epsilon [fp64,fp32,fp16,fp8]; without it fp64; "
                   "fp16_split for fp32 multiplies fp32 tiles on matrix units"),
      group.add("--epsilon", options.epsilon, "E",
                "paper B's accuracy: tiles are rounded where that changes the matrix by less"),
      group.add("--devices", options.devices, "N", "GPUs, or workers on a host [1]")
          ->check(CLI::Range(1, 64).description("")),
      group.bytes("--device-memory", options.device_memory,
                  "of each for tiles, as 40GB; the matrix may be larger [what is free]"),
      group.add("--tile", options.tile, "N", "order of the tiles [the library's choice]")
          ->check(at_least<std::int64_t>(1))};
  if (needed)
    for (auto* const option : added) option->needs(needed);
}

void check(TileOptions const& options) {
  STRATA_REQUIRE(apps::UsageError, options.epsilon >= 0 && options.epsilon < 1,
                 "--epsilon: ", options.epsilon, " must be in [0, 1)");
  STRATA_REQUIRE(apps::UsageError, options.precisions.size() < 2 || options.epsilon > 0,
                 "--precisions with more than fp64 needs --epsilon");
}

ooc::PrecisionRule precision_rule(TileOptions const& options) {
  ooc::PrecisionRule rule;
  rule.accuracy = options.epsilon;
  if (!options.precisions.empty()) rule.precisions = options.precisions;
  return rule;
}

ooc::Devices tile_devices(TileOptions const& options) {
  return ooc::make_devices(options.devices, options.device_memory);
}

}  // namespace strata::apps
