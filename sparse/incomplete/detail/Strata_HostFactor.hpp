// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_HOST_FACTOR_HPP
#define STRATA_SPARSE_DETAIL_HOST_FACTOR_HPP

#include <sparse/products/detail/Strata_HostCsr.hpp>

#include <cstdint>
#include <vector>

namespace strata::sparse::detail {

/// M = (I + L) D (I + U), near A: L strictly lower, U strictly upper.
struct HostFactor {
  HostCsr L, U;  ///< U has its columns in descending order: what is needed last stands last
  std::vector<double> inverse;  ///< inverses of D's entries
  double shift = 0;             ///< M is of A + shift diag(A)
  std::int64_t replaced = 0;    ///< pivots that were too small
};

/// Incomplete Cholesky factor of a symmetric A with a positive diagonal, U = L', on the pattern of
/// level-of-fill `fill`.
///
/// Where a pivot is below 1e-8 of its diagonal entry, A + alpha diag(A) is factored. alpha begins
/// at 1e-3 and is four times as large each time. For a symmetric positive definite A one of these
/// matrices is diagonally dominant enough.
/// Source   J. Meijerink, H. van der Vorst, Math. Comp. 31, 1977, doi:10.2307/2006423; T.
///          Manteuffel, Math. Comp. 34, 1980, doi:10.1090/S0025-5718-1980-0559197-0 (the shift).
HostFactor incomplete_cholesky(HostCsr const& A, int fill);

/// Incomplete LU factors of any A on the pattern of level-of-fill `fill`, its diagonal included.
///
/// A pivot below 2^-20 of its row's largest entry is replaced by 2^-10 of that.
/// Source   Y. Saad, Iterative methods for sparse linear systems, 2003, algorithms 10.4 and 10.5,
///          doi:10.1137/1.9780898718003.
HostFactor incomplete_lu(HostCsr const& A, int fill);

/// The pattern of (I + L) + U by level-of-fill, with A's values and zeros elsewhere; the diagonal
/// is in it.
///
/// An entry that elimination makes has level lev_ik + lev_kj + 1; those above `fill` are left out.
/// A's own have level 0.
HostCsr filled_pattern(HostCsr const& A, int fill);

}  // namespace strata::sparse::detail

#endif
