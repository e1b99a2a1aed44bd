// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SMALL_POTRF_HPP
#define STRATA_SMALL_POTRF_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/memory/detail/Strata_Workspace.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::detail {

/// A = L L^T in place, on hosts with vectors of 32 or 64 bytes, for orders up to 512. The calling
/// thread makes each number of L in registers, from all columns before.
///
/// Shape    A: n x n of fp64 or fp32, without scale; the triangle above the diagonal is not
///          touched. Cost n^3/3 flops.
/// Result   *info as for `LeafBlas::potrf`. False, with nothing done, if the operand is another, or
///          elsewhere than on such a host.
/// Vectors  of `most_bytes` at most.
/// Memory   workspace: (n + 40)^2 numbers.
/// Throws   MemoryError where they can't be had: another factorisation would have other bits.
/// Error    |A - L L^T| <= c n eps |L| |L^T|.
/// Source   Golub and Van Loan, Matrix Computations, 4th edition, section 4.2.6: the gaxpy version,
///          by blocks of columns.
template <class Exec>
bool small_potrf(Exec const& exec, Workspace<Exec>& workspace,
                 MatrixRef<typename Exec::memory_space> const& A, std::int64_t offset,
                 Kokkos::View<std::int64_t, typename Exec::memory_space> const& info,
                 int most_bytes = 64);

}  // namespace strata::detail

#endif
