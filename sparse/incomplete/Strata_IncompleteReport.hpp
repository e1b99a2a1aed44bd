// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_INCOMPLETE_REPORT_HPP
#define STRATA_SPARSE_INCOMPLETE_REPORT_HPP

#include <cstdint>

namespace strata::sparse {

/// What an incomplete factorisation did.
struct IncompleteReport {
  int fill = 0;               ///< level of fill
  std::int64_t entries = 0;   ///< entries of the factors and the diagonal, over all ranks
  double shift = 0;           ///< L D L' factors A + shift diag(A); the largest of all ranks
  std::int64_t replaced = 0;  ///< pivots of L D U that were too small, over all ranks
};

}  // namespace strata::sparse

#endif
