// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_SP_GEMM_HPP
#define STRATA_SPARSE_DETAIL_SP_GEMM_HPP

#include <sparse/comm/Strata_Communicator.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>

#include <cstdint>
#include <vector>

namespace strata::sparse::detail {

/// A B, of which this rank has the same rows as of A; `inner` spreads A's columns and B's rows,
/// `cols` B's columns. The rows of B that others have are fetched; Kokkos Kernels multiplies on
/// `Exec`. Collective; fences `exec`.
///
/// Throws   ShapeError on all ranks for 2^31 rows or columns on a rank; MemoryError.
template <class Exec>
HostRows spgemm(Exec const& exec, Communicator const& comm, std::vector<std::int64_t> const& inner,
                std::vector<std::int64_t> const& cols, HostRows const& A, HostRows const& B);

}  // namespace strata::sparse::detail

#endif
