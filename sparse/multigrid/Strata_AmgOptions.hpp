// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_AMG_OPTIONS_HPP
#define STRATA_SPARSE_AMG_OPTIONS_HPP

#include <sparse/matrix/Strata_MatrixOptions.hpp>

#include <cstdint>
#include <functional>

namespace strata::sparse {

/// Choices of `make_algebraic_hierarchy`.
struct AmgOptions {
  /// i and j are coupled on the finest level if |a_ij| > strength sqrt(m_i m_j), m_i the largest of row i off
  /// the diagonal; half as much on each coarser one.
  double strength = 0.25;
  int max_levels = 20;             ///< the finest included
  std::int64_t coarse_rows = 300;  ///< solved directly from here on
  int block_size =
      1;  ///< unknowns of a node, one after the other, each aggregated by itself; divides n
  MatrixOptions matrix;  ///< of the coarse levels
  /// Called on each rank after each step with the part of the levels' making that is done, 0 to 1, as if the steps took
  /// what they take for a seven-point stencil.
  std::function<void(double)> on_progress = {};
};

}  // namespace strata::sparse

#endif
