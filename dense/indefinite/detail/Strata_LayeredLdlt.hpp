// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_LAYERED_LDLT_HPP
#define STRATA_DETAIL_LAYERED_LDLT_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/tree/Strata_Layers.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::dense::detail {

/// The type that a factor with these layers is stored and summed in: the last layer's.
inline Precision ldlt_storage(LayerList const& layers) {
  return storage(layers.leaf()) == Precision::fp64 ? Precision::fp64 : Precision::fp32;
}

/// M = L D L^T in place without pivoting, by halves:
///
///     L21 D1 = A21 L11^-T,   A22 -= L21 (L21 D1)^T.
///
/// The product at depth d of the recursion is made in the precision of the d-th layer; L, D and all
/// sums have the type of the leaves. Pivots of any size are taken.
///
/// Shape    M: n x n, fp64 or fp32, of which the lower triangle is read. All of it is written.
/// Result   L below the diagonal, D on it and D L^T above it.
/// Sync     enqueued. Cost n^3/3 flops.
/// Throws   MemoryError.
template <class ExecutionSpace>
void layered_ldlt(LeafBlas<ExecutionSpace>& blas, LayerList const& layers,
                  MatrixRef<typename ExecutionSpace::memory_space> const& M);

/// The largest magnitude on and above the diagonal, where the pivots and the rows of all reduced
/// matrices stand; infinity if one is not finite. Fences.
template <class ExecutionSpace>
double largest_reduced(ExecutionSpace const& exec,
                       ConstMatrixRef<typename ExecutionSpace::memory_space> const& M);

/// W = (L D L^T)^-1 W, W: n x m of M's type. Enqueued.
template <class ExecutionSpace>
void ldlt_solve(LeafBlas<ExecutionSpace>& blas,
                ConstMatrixRef<typename ExecutionSpace::memory_space> const& M,
                MatrixRef<typename ExecutionSpace::memory_space> const& W);

}  // namespace strata::dense::detail

#endif
