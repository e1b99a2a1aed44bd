// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_LARGEST_EIGENVALUE_HPP
#define STRATA_SPARSE_DETAIL_LARGEST_EIGENVALUE_HPP

#include <sparse/matrix/Strata_DistributedMatrix.hpp>

namespace strata::sparse::detail {

/// The largest eigenvalue of D^-1 A, A symmetric and D a positive diagonal, `inverse` its inverse
/// in A's order. It is found from below, by eight steps of Lanczos' method, and rounded up to a
/// power of 1.02, so that backends agree. Collective; fences. Throws MemoryError on all ranks.
template <class Exec>
double largest_eigenvalue(Exec const& exec, DistributedMatrix<Exec> const& A,
                          Vector<double, typename Exec::memory_space> const& inverse);

}  // namespace strata::sparse::detail

#endif
