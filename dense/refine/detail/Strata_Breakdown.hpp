// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_BREAKDOWN_HPP
#define STRATA_DETAIL_BREAKDOWN_HPP

#include <core/Strata_MatrixRef.hpp>
#include <dense/refine/Strata_Condition.hpp>

#include <cstdint>

namespace strata::dense::detail {

/// The two rows of a symmetric matrix that are most alike, of the triangle `uplo`, into
/// `breakdown`.
///
/// Sync     fences `exec`. Cost: one pass over the triangle.
template <class ExecutionSpace>
void find_twins(ExecutionSpace const& exec, Uplo uplo,
                ConstMatrixRef<typename ExecutionSpace::memory_space> const& A,
                Breakdown& breakdown);

/// What the pivots of a failed attempt in fp64 tell: order, pivot and least_pivot are there, `norm`
/// is ||H||_inf and n its order.
void judge(std::int64_t n, double norm, Breakdown& breakdown);

}  // namespace strata::dense::detail

#endif
