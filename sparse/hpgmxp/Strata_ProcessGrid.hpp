// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PROCESS_GRID_HPP
#define STRATA_PROCESS_GRID_HPP

#include <array>

namespace strata::sparse {

/// The benchmark's grid of boxes for a number of ranks: the factors with the largest ratio of the
/// smallest to the largest. x is tried from round(cbrt(ranks)) down, then y from round(sqrt(ranks /
/// x)) down.
std::array<int, 3> process_grid(int ranks);

}  // namespace strata::sparse

#endif
