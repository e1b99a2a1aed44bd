// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_THIN_PRODUCT_HPP
#define STRATA_THIN_PRODUCT_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/memory/detail/Strata_Workspace.hpp>

#include <Kokkos_Core.hpp>

namespace strata::detail {

/// C = alpha op(A) B + beta C for a C of one or two columns, at the rate at which A can be read.
///
/// B and C are fp64 or fp32, of the same type, without scales; A is of any type and may have one.
/// Sums are accumulated in C's type, in an order that depends on the shape alone.
/// Sync     enqueued. Memory: on devices workspace for partial sums of C, at most a sixteenth of
///          A's numbers.
/// Result   false, with nothing done, if the operands are others or A is small; false on a host
///          where A is fp64 or fp32: any BLAS is as fast there.
template <class Exec>
bool thin_product(Exec const& exec, Workspace<Exec>& workspace, Op op_a, double alpha,
                  ConstMatrixRef<typename Exec::memory_space> const& A,
                  ConstMatrixRef<typename Exec::memory_space> const& B, double beta,
                  MatrixRef<typename Exec::memory_space> const& C);

}  // namespace strata::detail

#endif
