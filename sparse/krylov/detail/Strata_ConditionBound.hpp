// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_CONDITION_BOUND_HPP
#define STRATA_SPARSE_DETAIL_CONDITION_BOUND_HPP

#include <sparse/krylov/Strata_Preconditioner.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>

namespace strata::sparse::detail {

/// A bound from below of A's condition in the infinity norm: ||A|| ||d|| / ||A d|| of d = M^-1 1,
/// of M^-1 d, and so on. Constants, and what is smooth, are what the inverses of many matrices
/// enlarge most.
///
/// `norm_A`: ||A||_oo. Collective; fences. Throws MemoryError on all ranks.
template <class Exec, class Scalar>
double condition_bound(Exec const& exec, DistributedMatrix<Exec> const& A, double norm_A,
                       Preconditioner<Exec, Scalar> const& M, int steps = 2);

}  // namespace strata::sparse::detail

#endif
