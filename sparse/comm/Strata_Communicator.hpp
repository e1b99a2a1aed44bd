// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_COMMUNICATOR_HPP
#define STRATA_SPARSE_COMMUNICATOR_HPP

#include <comm/Strata_Communicator.hpp>

#include <array>

namespace strata::sparse {

using strata::AgreedError;
using strata::Communicator;
using strata::is_agreed;

/// The benchmark's grid of boxes for a number of ranks: the factors with the largest ratio of the
/// smallest to the largest, x from round(cbrt(ranks)) down, then y from round(sqrt(ranks / x)) down.
std::array<int, 3> process_grid(int ranks);

}  // namespace strata::sparse

#endif
