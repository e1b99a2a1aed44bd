// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_BATCHED_BLAS_HPP
#define STRATA_BATCHED_BLAS_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/blas/Strata_LeafBlas.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <memory>

namespace strata {

/// Factorisations and solves of many small systems of one order, on one execution-space instance.
///
/// Each call takes the matrices of the first system, and where the others lie. There are
/// `batch.count` systems, `stride_a` numbers between the matrices and `stride_b` between the
/// right-hand sides. What happens to one system depends on no other. Up to order `largest_order`
/// Strata's own kernels take a batch as a whole. Larger systems go to the vendor's kernels, or one
/// after the other to `LeafBlas`. So do, on hosts, batches that would leave most lanes of the
/// vectors empty.
///
/// Sync     enqueued on the instance; fences to let the workspace grow, and in `posv` where one
///          system after the other goes to `LeafBlas`.
/// Memory   on hosts L and four right-hand sides of a vector's systems for each thread, 1.1 MiB at
///          n = 512; the vendor's path on a device 20 bytes a system. It is kept.
/// Throws   ShapeError with all extents if they do not fit, before anything is written; ValueError
///          for types other than fp64 and fp32, for matrices with a scale, and if the path has no
///          such operation; MemoryError, VendorError.
template <class ExecutionSpace>
class BatchedBlas {
 public:
  using execution_space = ExecutionSpace;                      ///< type of the instance
  using memory_space = typename ExecutionSpace::memory_space;  ///< memory of the matrices
  /// The first of a batch of matrices.
  using Matrix = MatrixRef<memory_space>;
  /// The same, to be read.
  using ConstMatrix = ConstMatrixRef<memory_space>;
  /// One number for each system.
  using InfoView = Kokkos::View<std::int64_t*, memory_space>;

  /// Order up to which one kernel does a whole system.
  static constexpr std::int64_t largest_order = 512;

  /// Vendor: cuSOLVER's or rocSOLVER's batched routines, or LAPACK's for one system after the
  /// other. Portable: Strata's kernels. Automatic: those, where they are the faster.
  explicit BatchedBlas(ExecutionSpace const& exec, BlasPath path = BlasPath::Automatic);
  ~BatchedBlas();
  BatchedBlas(BatchedBlas&&) noexcept;
  BatchedBlas& operator=(BatchedBlas&&) noexcept;

  /// The instance that it works on.
  ExecutionSpace const& exec() const;

  /// A = L L^T (Lower) or U^T U (Upper) in place, each; the other triangle is not read, nor written
  /// but by a GPU vendor's routines.
  ///
  /// Shape    A: n x n; info: one number a system. Cost n^3/3 flops a system.
  /// Result   info: 0, or the order of the first leading minor that is not positive, or NaN; that
  ///          system's triangle then holds no defined numbers.
  void potrf(Uplo uplo, Matrix const& A, Batch const& batch, InfoView const& info);

  /// B = A^-1 B, each, with the factors that `potrf` has left. Cost 2 n^2 m flops a system.
  ///
  /// Shape    B: n x m. `stride_a` may be 0: one factor for all.
  /// Result   where there is no factor, no defined numbers.
  void potrs(Uplo uplo, ConstMatrix const& A, Matrix const& B, Batch const& batch);

  /// Both, reading A once.
  ///
  /// Result   where info is not 0, B is as it was; a GPU vendor's routines leave no defined numbers
  ///          there.
  void posv(Uplo uplo, Matrix const& A, Matrix const& B, Batch const& batch, InfoView const& info);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata

#endif
