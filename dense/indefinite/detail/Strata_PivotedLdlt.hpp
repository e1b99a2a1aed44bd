// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_PIVOTED_LDLT_HPP
#define STRATA_DETAIL_PIVOTED_LDLT_HPP

#include <core/Strata_MatrixRef.hpp>
#include <dense/indefinite/detail/Strata_SymmetricLines.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::dense::detail {

/// P, row by row as LAPACK's sytrf has it. With p > 0 column k has a pivot of its own and was
/// exchanged with column p, from 1. -p stands for both columns of a pivot of order two. Its second
/// one was exchanged with column p.
template <class MemorySpace>
using Pivots = Kokkos::View<std::int64_t*, MemorySpace>;

/// M = D A D, the lower triangle, in fp64, where 2^exponents is D. Enqueued.
template <class ExecutionSpace>
void load_scaled(ExecutionSpace const& exec, SymmetricLines const& A,
                 Kokkos::View<int const*, typename ExecutionSpace::memory_space> const& exponents,
                 MatrixRef<typename ExecutionSpace::memory_space> const& M);

/// M = P L D L^T P^T in place with pivots of order one and two. The other triangle is not touched.
///
/// By LAPACK's dsytrf or cuSOLVER's, where the build has one, else by a kernel of one team, which
/// is as accurate and slower.
///
/// Shape    M: n x n fp64; the lower triangle is read. pivots: n.
/// Result   0, or k where the k-th pivot, from 1, is 0 or not a number.
/// Sync     fences `exec`. Cost n^3/3 flops.
/// Throws   MemoryError; VendorError; ValueError if n is too large for the vendor's integers.
/// Source   Bunch and Kaufman, Math. Comp. 31 (1977), doi:10.1090/S0025-5718-1977-0428694-0.
template <class ExecutionSpace>
[[nodiscard]] std::int64_t pivoted_ldlt(
    ExecutionSpace const& exec, MatrixRef<typename ExecutionSpace::memory_space> const& M,
    Pivots<typename ExecutionSpace::memory_space> const& pivots);

/// The same by the kernel of one team. Throws MemoryError.
template <class ExecutionSpace>
[[nodiscard]] std::int64_t pivoted_ldlt_of_team(
    ExecutionSpace const& exec, MatrixRef<typename ExecutionSpace::memory_space> const& M,
    Pivots<typename ExecutionSpace::memory_space> const& pivots);

/// W = (P L D L^T P^T)^-1 W, W: n x m fp64. Enqueued, a team for each column.
template <class ExecutionSpace>
void pivoted_solve(ExecutionSpace const& exec,
                   ConstMatrixRef<typename ExecutionSpace::memory_space> const& M,
                   Pivots<typename ExecutionSpace::memory_space> const& pivots,
                   MatrixRef<typename ExecutionSpace::memory_space> const& W);

}  // namespace strata::dense::detail

#endif
