// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_EXTENTS_HPP
#define STRATA_SPARSE_DETAIL_EXTENTS_HPP

#include <core/Strata_Errors.hpp>

#include <cstdint>

namespace strata::sparse::detail {

/// Throws   ShapeError if a vector of `work` is shorter than what of it is read or written.
template <class View>
void require_entries(char const* work, char const* name, View const& vector, std::int64_t needed) {
  auto const entries = static_cast<std::int64_t>(vector.extent(0));
  STRATA_REQUIRE(ShapeError, entries >= needed, work, ": ", name, " has ", entries,
                 " entries, must have ", needed, " or more");
}

}  // namespace strata::sparse::detail

#endif
