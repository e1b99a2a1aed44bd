// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_INCOMPLETE_REPORT_HPP
#define STRATA_SPARSE_INCOMPLETE_REPORT_HPP

#include <cstdint>

namespace strata::sparse {

/// What an incomplete factorisation did.
struct IncompleteReport {
  int fill = 0;              ///< level of fill
  std::int64_t entries = 0;  ///< of the factors, with the diagonal, over all ranks
  double shift = 0;  ///< of L D L': it is that of A + shift diag(A); the largest of all ranks
  std::int64_t replaced =
      0;  ///< of L D U: pivots that were too small and were replaced, over all ranks
};

}  // namespace strata::sparse

#endif
