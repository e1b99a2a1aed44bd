// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_FORMATTED_PRODUCT_HPP
#define STRATA_DETAIL_FORMATTED_PRODUCT_HPP

#include <core/blas/Strata_LeafBlas.hpp>
#include <core/memory/detail/Strata_Workspace.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace strata::detail {

/// Products of fp32 numbers in a product format, made of products that every backend has.
///
/// tf32: both operands are rounded to 11 bits and multiplied in fp32. fp16_split: an operand is s
/// (H + 2^-11 L), with fp16 matrices H and L and a power of two s. Two fp16 products are summed in
/// fp32, H_A H_B, and [H_A L_A] [L_B; H_B] of twice its depth:
///
///     op(A) op(B) = s_A s_B (H_A H_B + 2^-11 (H_A L_B + L_A H_B))
///
/// Sync     enqueued on the instance of `blas`; fences only to let the workspace grow.
/// Memory   copies of blocks of both operands, at most 64 MiB each; 64 MiB more for a result that
///          is not in fp32.
/// Error    |C - exact| <= (4 u + c k 2^-24) |op(A)| |op(B)|, u the format's unit roundoff. In
///          fp16_split, numbers below 2^-30 of the largest one have an absolute error of 2^-52 of
///          the largest one. The largest one is taken over a copied block, or over all blocks of a
///          batch. A device's library loses what is below 2^-118.
/// Source   Ootomo & Yokota, Recovering single precision accuracy from Tensor Cores while
///          surpassing the FP32 theoretical peak performance, IJHPCA 36 (2022),
///          doi:10.1177/10943420221090256; deviation: a scale for each operand, and the two
///          corrections are one product.
template <class Exec>
class FormattedProduct {
 public:
  using Matrix = MatrixRef<typename Exec::memory_space>;
  using ConstMatrix = ConstMatrixRef<typename Exec::memory_space>;
  /// Rows or columns, and depth, of the blocks that are copied. Matrix units cut off what a sum
  /// can't hold instead of rounding it. That is a bias of 2^-25 for each of their steps, of 16
  /// terms. Sums of at most `most_depth` terms stay as good as an fp32 product's.
  static constexpr std::int64_t most_extent = 16384, most_depth = 1024;

  explicit FormattedProduct(Exec const& exec) : exec_(exec), operands_(exec), result_(exec) {}

  /// Room for products of up to m x n x k, so that they allocate nothing.
  void reserve(std::int64_t m, std::int64_t n, std::int64_t k);

  /// `LeafBlas::gemm` of A and B in one product format; C has no scale and no format.
  void gemm(LeafBlas<Exec>& blas, Op op_a, Op op_b, double alpha, ConstMatrix const& A,
            ConstMatrix const& B, double beta, Matrix const& C, Batch const& batch);

  /// `LeafBlas::syrk` of the same, made of products by `blas`.
  void syrk(LeafBlas<Exec>& blas, Uplo uplo, Op op, double alpha, ConstMatrix const& A, double beta,
            Matrix const& C);

 private:
  using Frame = typename Workspace<Exec>::Frame;

  /// Blocks of an operand, one for each product of a batch, as the fp32 or fp16 products take them.
  struct Operand {
    ConstMatrix first, second, all;  // H, L and [H L], or L, H and [L H]; of tf32 `all` only
    std::int64_t stride = 0;         // from one block to the next
  };

  void add(LeafBlas<Exec>& blas, Op op_a, Op op_b, double alpha, ConstMatrix const& A,
           ConstMatrix const& B, double beta, Matrix const& C, Batch const& batch);
  Operand prepare(ConstMatrix const& A, bool is_right, bool depth_in_columns, std::int64_t count,
                  std::int64_t stride, std::byte* room);
  Operand split(ConstMatrix const& A, bool is_right, bool depth_in_columns, std::int64_t count,
                std::int64_t stride, std::byte* room);

  /// What the device knows of one operand: its largest magnitude, its scale, and 1 / s.
  double* numbers(bool is_right);

  Exec exec_;
  Workspace<Exec> operands_, result_;
  Kokkos::View<double[6], typename Exec::memory_space> numbers_;
};

}  // namespace strata::detail

#endif
