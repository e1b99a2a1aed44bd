// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_DSPOSV_HPP
#define STRATA_C_DSPOSV_HPP

#include <c/detail/Strata_Runtime.hpp>
#include <core/Strata_MatrixRef.hpp>

namespace strata::c::detail {

/// What the numbers of a symmetric matrix are to fp32 once its diagonal is scaled to 1.
enum class Range {
  Fits,
  NaN,        ///< there is one, and nothing that overflows
  Overflows,  ///< |a_ij| / sqrt(a_ii a_jj) is beyond fp32, or infinite; or the diagonal is
};

/// Look at the triangle `uplo` of A. Fences `exec`.
Range range_of(Exec const& exec, Uplo uplo, ConstMatrixRef<Memory> const& A);

}  // namespace strata::c::detail

#endif
