// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_LEVEL_OPTIONS_HPP
#define STRATA_SPARSE_DETAIL_LEVEL_OPTIONS_HPP

#include <sparse/formats/Strata_MatrixOptions.hpp>

#include <cmath>

namespace strata::sparse::detail {

/// The options of level `level`, from 0 on, of a hierarchy on grids of which each has an eighth of
/// the points of the one before: `on_progress` hears of all levels.
inline MatrixOptions level_options(MatrixOptions options, int level) {
  if (!options.on_progress) return options;
  double const left = std::pow(0.125, level);
  options.on_progress = [left, tell = options.on_progress](double part) {
    tell(1 - left * (1 - 0.875 * part));
  };
  return options;
}

}  // namespace strata::sparse::detail

#endif
