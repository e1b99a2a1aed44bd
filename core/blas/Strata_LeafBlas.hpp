// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LEAF_BLAS_HPP
#define STRATA_LEAF_BLAS_HPP

#include <core/Strata_EnumNames.hpp>
#include <core/Strata_MatrixRef.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace strata {

template <class ExecutionSpace>
class IntegerBlas;

/// Which code runs a leaf operation.
enum class BlasPath {
  Automatic,      ///< the vendor library where it has the operation and types, else Kokkos Kernels,
                  ///< else portable; and Strata's own where that is faster, as for a small potrf
  Vendor,         ///< BLAS/LAPACK and oneDNN, cuBLAS/cuSOLVER, or rocBLAS/rocSOLVER
  KokkosKernels,  ///< KokkosBlas::gemm and ::trsm, one type for all operands
  Portable,       ///< Strata's own Kokkos kernel: every operation, every type, every backend
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(BlasPath) {
  return enum_names<BlasPath>("path", {{BlasPath::Automatic, "automatic"},
                                       {BlasPath::Vendor, "vendor"},
                                       {BlasPath::KokkosKernels, "Kokkos Kernels"},
                                       {BlasPath::Portable, "portable"}});
}

/// The dense operations that the block algorithms end in, on one execution-space instance.
///
/// Owns the vendor handles and the workspace of its instance; make one per instance and keep it.
/// Matrices are column-major, in any mix of precisions. Operands narrower than fp32 are widened
/// exactly. Sums are fp64 if an operand of the product is fp64, else fp32. The result is rounded
/// once to its type. Where both operands of a product are in tf32, or both in fp16_split, the
/// product is made in that format (`detail::FormattedProduct`). The additional error is at most 4
/// unit roundoffs of the format. Where both are in one of int8x6 to int8x16, the product is made of
/// integers (`detail::IntegerProduct`). All other operations take such operands as the fp32 or fp64
/// numbers that are stored. beta = 0 overwrites, NaN included. A scale (`MatrixRef::scale`) is
/// honoured on inputs and on the results of gemm and convert; any other matrix that is written must
/// have none.
///
/// Sync     every call is enqueued on the instance; none fences, except to let the workspace grow.
/// Memory   the workspace grows to the largest request and is kept; `reserve` makes later calls
///          free of allocation. It holds blocks that are widened for a library: at most 64 MiB for
///          each operand, but all of the matrix for a potrf in low precision; a copy of a small
///          potrf's matrix; partial sums of a product with one or two columns, at most a 16th of
///          the matrix' numbers; copies of operands in tf32 and fp16_split, 64 MiB each, for which
///          `reserve_product` makes room. On CUDA each cuBLAS handle has a workspace of 32 MiB.
///          Handle and workspace are `Lent`: a later object uses them again.
/// Throws   ShapeError with all extents if they do not fit or a result has a scale, before
///          anything is written; ValueError if the path asked for has no such operation and types,
///          or an extent is too large for the vendor's integers; MemoryError with the bytes that
///          the workspace can't get; VendorError from a vendor library.
template <class ExecutionSpace>
class LeafBlas {
 public:
  using execution_space = ExecutionSpace;                      ///< type of the instance
  using memory_space = typename ExecutionSpace::memory_space;  ///< memory of the matrices
  /// A matrix that is written.
  using Matrix = MatrixRef<memory_space>;
  /// A matrix that is read.
  using ConstMatrix = ConstMatrixRef<memory_space>;
  /// The order of the leading minor that is not positive, or 0.
  using InfoView = Kokkos::View<std::int64_t, memory_space>;

  /// With the vendor's handles, made unless some are left. Throws VendorError.
  explicit LeafBlas(ExecutionSpace const& exec, BlasPath path = BlasPath::Automatic);
  ~LeafBlas();
  LeafBlas(LeafBlas&&) noexcept;
  LeafBlas& operator=(LeafBlas&&) noexcept;

  /// The instance that it works on.
  ExecutionSpace const& exec() const;

  /// The same on a second instance of the device, whose kernels go first where both have some to
  /// run; on a host this object. Made at the first call and kept.
  LeafBlas& urgent();

  /// What products of integers are made of, on the same instance; made at the first call and kept.
  IntegerBlas<ExecutionSpace>& integers();

  /// Room for later calls' workspace, in bytes.
  void reserve(std::size_t bytes);

  /// Reserves memory for products in `format` of up to m x n x k, and for batches of no more
  /// numbers in all. The result has the type in which `format` is stored. Precisions that are not
  /// product formats need none.
  ///
  /// Throws   ShapeError if an extent is negative.
  void reserve_product(Precision format, std::int64_t m, std::int64_t n, std::int64_t k);

  /// Promises that these scales, which lie in one memory, keep their values until the next call. If
  /// all scales of a product are among them, its factor alpha a b / c is written to the device
  /// once, not for each such product. An empty view ends the promise; `urgent()` is told apart.
  void set_fixed_scales(Kokkos::View<double const*, memory_space> const& scales);

  static constexpr int scratch_slots = 8;  ///< number of slots of `scratch`, numbered from 0
  /// Memory for the operands of algorithms made of these operations, at least `bytes`, aligned to
  /// 64. A slot is kept and grows to its largest request, which fences and loses its numbers.
  ///
  /// Throws   MemoryError with the bytes that it can't get; ValueError for another slot.
  std::byte* scratch(int slot, std::size_t bytes);
  /// Gives back all slots, also the slots of `urgent()`. Fences.
  void release_scratch();

  /// C = alpha op(A) op(B) + beta C. Cost 2 m n k flops. If C has a scale, it is divided out of
  /// what is stored, and C's as it is in beta C.
  void gemm(Op op_a, Op op_b, double alpha, ConstMatrix const& A, ConstMatrix const& B, double beta,
            Matrix const& C);

  /// The same for a batch, of which A, B and C are the first; no two results may overlap. In one
  /// launch where the vendor's library can, which small products need to fill a device.
  void gemm(Op op_a, Op op_b, double alpha, ConstMatrix const& A, ConstMatrix const& B, double beta,
            Matrix const& C, Batch const& batch);

  /// C = alpha op(A) op(A)^T + beta C; only the triangle `uplo` of C is read and written. Cost n^2
  /// k flops.
  void syrk(Uplo uplo, Op op, double alpha, ConstMatrix const& A, double beta, Matrix const& C);

  /// Solve op(A) X = alpha B (Left) or X op(A) = alpha B (Right) for a triangular A; X overwrites
  /// B. Only the triangle `uplo` of A is read, without its diagonal if `diag` is Unit. Cost m n
  /// (order of A) flops.
  void trsm(Side side, Uplo uplo, Op op, Diag diag, double alpha, ConstMatrix const& A,
            Matrix const& B);

  /// A = L L^T (Lower) or U^T U (Upper) in place; the other triangle is not touched.
  /// Cost n^3/3 flops.
  ///
  /// Result   *info stays if it is not 0 on entry. Else, if the leading minor of order j is the
  ///          first whose pivot is not a positive finite number, *info becomes offset + j. Then
  ///          only the leading block of order j - 1 holds defined numbers.
  /// Sync     enqueued; *info stays in device memory.
  void potrf(Uplo uplo, Matrix const& A, std::int64_t offset, InfoView const& info);

  /// Solve L L^T X = B for the lower triangle L of A, as two `trsm` do; X overwrites B.
  ///
  /// Shape    A: n x n, B: n x m. Cost 2 n^2 m flops; on CUDA one kernel for few columns.
  /// Sync     enqueued.
  void potrs(ConstMatrix const& A, Matrix const& B);

  /// A = L L^T in place (Lower), and inverse = L^-T, the part below its diagonal 0. If `largest` is
  /// given, *largest is the largest finite magnitude in the inverse, or 0.
  ///
  /// Shape    A, inverse: n x n of one arithmetic type. Cost n^3/3 flops and as many for the
  ///          inverse; on devices 3 times that, in products that keep them busy.
  /// Result   *info as for `potrf`; *largest in the memory of the space.
  /// Memory   on devices up to 4 n^2 numbers of workspace.
  /// Throws   also ValueError if the matrices are not of one arithmetic type without scale.
  /// Error    |L^-T L^T - I| <= c n eps |L^-T| |L^T|.
  void potrf_invert(Matrix const& A, Matrix const& inverse, std::int64_t offset,
                    InfoView const& info, double* largest = nullptr);

  /// C = alpha A B + beta C for a symmetric A of which the triangle `uplo` is read. Cost 2 n^2 m
  /// flops.
  void symm(Uplo uplo, double alpha, ConstMatrix const& A, ConstMatrix const& B, double beta,
            Matrix const& C);

  /// target = op(source), each element rounded once to nearest; both may have a scale (target's is
  /// divided out).
  void convert(Op op, ConstMatrix const& source, Matrix const& target);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata

#endif
