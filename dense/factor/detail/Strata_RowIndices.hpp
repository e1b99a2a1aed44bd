// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_ROW_INDICES_HPP
#define STRATA_DETAIL_ROW_INDICES_HPP

#include <core/kokkos_ext/Strata_Allocate.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <vector>

namespace strata::dense::detail {

/// Indices of rows where a space works.
template <class ExecutionSpace>
using RowIndices = Kokkos::View<std::int64_t*, typename ExecutionSpace::memory_space>;

/// A host's indices there. Fences.
template <class ExecutionSpace>
RowIndices<ExecutionSpace> row_indices(ExecutionSpace const& exec,
                                       std::vector<std::int64_t> const& rows) {
  auto const there = strata::allocate<RowIndices<ExecutionSpace>>(
      exec, "strata::dense::cholesky::rows", rows.size());
  Kokkos::deep_copy(exec, there,
                    Kokkos::View<std::int64_t const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(
                        rows.data(), rows.size()));
  exec.fence("strata::dense::cholesky: the rows are there");
  return there;
}

}  // namespace strata::dense::detail

#endif
