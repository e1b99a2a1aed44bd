// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_SYMMETRIC_INVERSE_HPP
#define STRATA_SPARSE_DETAIL_SYMMETRIC_INVERSE_HPP

#include <sparse/formats/Strata_EllMatrix.hpp>

#include <cstdint>

namespace strata::sparse::detail {

/// A becomes A^-1, row by row, symmetric to the bit, by Gauss-Jordan elimination without pivoting.
///
/// Result   whether it did: a symmetric matrix with a diagonal near 1 whose pivots are all above
///          1e-10, as a positive definite one has them that is not nearly singular. Else A holds
///          nothing of use.
/// Sync     2 n kernels on `exec`; fences.
template <class Exec>
bool invert_symmetric(Exec const& exec, Vector<double, typename Exec::memory_space> const& A,
                      std::int64_t n);

}  // namespace strata::sparse::detail

#endif
