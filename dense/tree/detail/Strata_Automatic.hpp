// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_AUTOMATIC_HPP
#define STRATA_DETAIL_AUTOMATIC_HPP

#include <cstdint>

namespace strata::dense::detail {

/// The columns of the panels (`BlockTree::panels`) with which a factorisation is fastest.
template <class ExecutionSpace>
std::int64_t automatic_panel_size(std::int64_t n, std::int64_t leaf_size);

}  // namespace strata::dense::detail

#endif
