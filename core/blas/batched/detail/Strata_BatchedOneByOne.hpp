// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_BATCHED_ONE_BY_ONE_HPP
#define STRATA_BATCHED_ONE_BY_ONE_HPP

#include <core/blas/Strata_LeafBlas.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace strata::detail {

/// A batch of systems where there is neither a kernel nor a vendor's routine for it: one after the
/// other.
///
/// Shape    as in BatchedBlas.
/// Sync     enqueued; `solve` fences where `info` has numbers and is not in host memory.
template <class Exec>
struct BatchedOneByOne {
  using Matrix = MatrixRef<typename Exec::memory_space>;
  using ConstMatrix = ConstMatrixRef<typename Exec::memory_space>;
  using InfoView = Kokkos::View<std::int64_t*, typename Exec::memory_space>;

  LeafBlas<Exec>& leaf;

  /// A = L L^T or U^T U, each.
  void factor(Exec const& exec, Uplo uplo, Matrix const& A, Batch const& batch,
              InfoView const& info) const {
    Kokkos::deep_copy(exec, info, 0);
    for (std::int64_t b = 0; b < batch.count; ++b)
      leaf.potrf(uplo, A.shifted(b * batch.stride_a), 0,
                 Kokkos::subview(info, static_cast<std::size_t>(b)));
  }

  /// B = A^-1 B, each; where `info` has numbers and one is not 0, that B is as it was.
  void solve(Exec const& exec, Uplo uplo, ConstMatrix const& A, Matrix const& B, Batch const& batch,
             InfoView const& info) const {
    Kokkos::View<std::int64_t*, Kokkos::HostSpace> const failed(
        Kokkos::view_alloc(Kokkos::WithoutInitializing, "strata::core::batched::failed"),
        info.extent(0));
    Kokkos::deep_copy(exec, failed, info);
    if (info.extent(0) > 0) exec.fence("strata::core::batched::failed");
    Op const first = uplo == Uplo::Lower ? Op::NoTrans : Op::Trans;
    for (std::int64_t b = 0; b < batch.count; ++b) {
      if (info.extent(0) > 0 && failed(static_cast<std::size_t>(b)) != 0) continue;
      for (Op const op : {first, transposed(first)})
        leaf.trsm(Side::Left, uplo, op, Diag::NonUnit, 1, A.shifted(b * batch.stride_a),
                  B.shifted(b * batch.stride_b));
    }
  }
};

}  // namespace strata::detail

#endif
