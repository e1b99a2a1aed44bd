// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_HALO_PATTERN_HPP
#define STRATA_HALO_PATTERN_HPP

#include <cstdint>
#include <vector>

namespace strata {

/// Who needs which rows of whom; on the host.
struct HaloPattern {
  /// A rank that this one has messages with.
  struct Neighbour {
    int rank;                 ///< number of the neighbour
    std::int64_t begin, end;  ///< part of `wanted` or of the halo that is the neighbour's
  };
  std::vector<Neighbour> from, to;   ///< ranks that send to this one, and that this one sends to
  std::vector<std::int64_t> wanted;  ///< local rows to send, neighbour by neighbour
  std::int64_t rows = 0, halo = 0;   ///< vectors have rows + halo entries
};

}  // namespace strata

#endif
