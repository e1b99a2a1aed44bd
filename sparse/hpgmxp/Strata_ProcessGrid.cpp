// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/hpgmxp/Strata_ProcessGrid.hpp>

#include <algorithm>
#include <cmath>

namespace strata::sparse {

std::array<int, 3> process_grid(int ranks) {
  std::array<int, 3> best{1, 1, ranks};
  double best_ratio = 0;
  for (int x = static_cast<int>(std::lround(std::cbrt(ranks))); x > 0; --x) {
    if (ranks % x != 0) continue;
    for (int y = static_cast<int>(std::lround(std::sqrt(ranks / x))); y > 0; --y) {
      if (ranks / x % y != 0) continue;
      int const z = ranks / x / y;
      double const ratio = static_cast<double>(std::min({x, y, z})) / std::max({x, y, z});
      if (ratio > best_ratio) best = {x, y, z};
      best_ratio = std::max(ratio, best_ratio);
    }
  }
  return best;
}

}  // namespace strata::sparse
