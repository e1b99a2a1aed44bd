// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SOLVE_EACH_HPP
#define STRATA_SOLVE_EACH_HPP

#include <core/Strata_MatrixRef.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <vector>

namespace strata::dense {

/// One of many systems A X = B, of an order of its own.
template <class MemorySpace>
struct VariedSystem {
  Uplo uplo = Uplo::Lower;        ///< triangle of A that is read
  ConstMatrixRef<MemorySpace> A;  ///< n x n, fp64 or fp32
  MatrixRef<MemorySpace> B;       ///< n x m of the same type; becomes X
};

/// What became of the systems, one number each.
struct EachSolved {
  /// 0, or the order of the first leading minor that is not positive, or NaN.
  std::vector<std::int64_t> info;
  std::vector<double> log_determinants;  ///< log det A; NaN where info is not 0

  /// The first system without a factor; -1: all have one.
  std::int64_t first_failed() const;
};

/// Factor and solve many symmetric positive definite systems of different orders in one call.
///
/// Systems of about one order are copied to batches, padded with ones on the diagonal. The kernels
/// of `BatchedBlas` do a batch as a whole: on hosts by threads, each with several systems in the
/// lanes of its vectors, on devices by teams. Orders above `BatchedBlas::largest_order` are done
/// one after the other, on hosts also orders above 256 and orders that few systems have.
///
/// Shape    A: n x n, B: n x m; n, m >= 0. All are of one type. No B overlaps another matrix.
/// Result   X in place of B, but where info is not 0, whose B is as it was. But for rounding, what
///          happens to one system depends on no other.
/// Sync     fences `exec`.
/// Memory   batches of 32 MiB at most, or of one system where that is larger. Cost n^3/3 + 2 n^2 m
///          flops a system, and up to half as much again for the padding.
/// Throws   ShapeError and ValueError with the number of the system, from 0, before anything is
///          written; MemoryError, VendorError.
/// Error    Cholesky's in the type of the systems, c n u; nothing is scaled or refined.
template <class ExecutionSpace>
[[nodiscard]] EachSolved solve_each(
    ExecutionSpace const& exec,
    std::vector<VariedSystem<typename ExecutionSpace::memory_space>> const& systems);

}  // namespace strata::dense

#endif
