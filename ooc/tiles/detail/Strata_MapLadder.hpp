// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_TILES_DETAIL_MAP_LADDER_HPP
#define STRATA_OOC_TILES_DETAIL_MAP_LADDER_HPP

#include <core/Strata_Ladder.hpp>
#include <dense/tree/Strata_Layers.hpp>
#include <ooc/schedule/Strata_PrecisionMap.hpp>

#include <vector>

namespace strata::ooc::detail {

/// One rung: the rule to round the matrix by.
struct LadderStep {
  Rung rung;
  PrecisionRule rule;
};

/// All rungs of a matrix that was rounded by `rule`: the first alone if that left every tile in
/// fp64. Layers are promoted, as in `dense`. The last is in fp64 without integers.
inline std::vector<LadderStep> map_ladder(TileNorms const& norms, PrecisionRule const& rule) {
  constexpr double ratio = 100;
  std::vector<LadderStep> steps{{Rung::AsAsked, rule}};
  PrecisionMap last = precision_map(norms, rule);
  auto const is_plain = [](PrecisionMap const& map) {
    return !map.is_mixed() && map.moduli() == 0;
  };
  if (is_plain(last)) return steps;
  PrecisionRule next = rule;
  auto const more_accurate = [&] {
    if (next.layers.empty()) {
      next.accuracy /= ratio;
      return Rung::StricterAccuracy;
    }
    auto const promoted = dense::LayerList(next.layers).promoted();
    next.layers.assign(promoted.begin(), promoted.end());
    return Rung::HigherLayers;
  };
  int const stricter_rungs = rule.accuracy > 0 ? 2 : 0;
  for (int k = 0; k < stricter_rungs || !next.layers.empty(); ++k) {
    Rung const rung = more_accurate();
    PrecisionMap map = precision_map(norms, next);
    if (is_plain(map)) break;
    if (map == last) continue;
    steps.push_back({rung, next});
    last = std::move(map);
  }
  next.accuracy = 0;
  next.layers.clear();
  next.precisions = {Precision::fp64};
  steps.push_back({Rung::Fp64, next});
  return steps;
}

}  // namespace strata::ooc::detail

#endif
