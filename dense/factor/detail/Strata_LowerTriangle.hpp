// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_LOWER_TRIANGLE_HPP
#define STRATA_DETAIL_LOWER_TRIANGLE_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/tree/Strata_BlockTree.hpp>
#include <dense/tree/Strata_Layers.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::dense::detail {

/// What LAPACK and the BLAS do with a lower triangle of `Scalar` numbers, by halves down to small
/// blocks, in `gemm`, `syrk` and `trsm`. The other triangle of a matrix is neither read nor
/// written. Enqueued on the instance of `blas`.
template <class ExecutionSpace, class Scalar = double>
class LowerTriangle {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using Matrix = MatrixRef<memory_space>;
  using ConstMatrix = ConstMatrixRef<memory_space>;

  /// For matrices of up to `cols` columns that are multiplied. Products of blocks are made in
  /// `format`, which is stored as Scalar numbers are.
  ///
  /// Throws   MemoryError.
  LowerTriangle(LeafBlas<ExecutionSpace>& blas, std::int64_t cols,
                Precision format = precision_of<Scalar>);

  /// B = alpha op(L) B: TRMM. Cost n^2 m flops.
  void multiply(Op op, ConstMatrix const& L, Matrix const& B, double alpha = 1);
  /// B = B L: TRMM of an m x n matrix, m and n at most `cols`. Cost n^2 m flops.
  void multiply_right(ConstMatrix const& L, Matrix const& B);
  /// L = L^-1: TRTRI. Cost n^3/3 flops. In fp64 blocks are solved with, which loses no digit.
  /// Scalars below have products alone, which keep a device busy.
  void invert(Matrix const& L);
  /// The lower triangle of L^T L instead of L: LAUUM. Cost n^3/3 flops.
  void square(Matrix const& L);

 private:
  using Block = Kokkos::View<Scalar**, Kokkos::LayoutLeft, memory_space>;
  static constexpr std::int64_t small = runs_on_host<ExecutionSpace> ? 64 : 512;

  void product(Op op_a, Op op_b, double alpha, ConstMatrix const& A, ConstMatrix const& B,
               Matrix const& C);
  Matrix small_triangle(ConstMatrix const& L);

  LeafBlas<ExecutionSpace>& blas_;
  Precision format_;
  Block triangle_, rows_;  // a small block with zeros above its diagonal; rows or columns of B
};

/// X = L Z with the stored blocks of a tree in fp64, Z and X apart; in batches. What leaves hold
/// above their diagonals may become 0. Cost n^2 m flops. Enqueued.
template <class ExecutionSpace>
void multiply_by_tree(LeafBlas<ExecutionSpace>& blas, BlockTree<LayerList, ExecutionSpace> const& L,
                      ConstMatrixRef<typename ExecutionSpace::memory_space> const& Z,
                      MatrixRef<typename ExecutionSpace::memory_space> const& X);

/// T = the lower triangle of L, and zeros above it. Enqueued.
template <class ExecutionSpace, class Scalar>
void copy_triangle(ExecutionSpace const& exec, Scalar const* L, std::int64_t ldl, Scalar* T,
                   std::int64_t ldt, std::int64_t n);
/// The lower triangle of L = T's. Enqueued.
template <class ExecutionSpace, class Scalar>
void write_triangle(ExecutionSpace const& exec, Scalar const* T, std::int64_t ldt, Scalar* L,
                    std::int64_t ldl, std::int64_t n);

}  // namespace strata::dense::detail

#endif
