// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <core/detail/Strata_Instantiate.hpp>
#include <dense/Strata_Quantise.hpp>
#include <dense/detail/Strata_TreeRecursion.hpp>

namespace strata::dense::detail {

namespace {

Precision coarser(Precision a, Precision b) {
  return traits(a).unit_roundoff >= traits(b).unit_roundoff ? a : b;
}

std::size_t packed_bytes(std::int64_t rows, std::int64_t cols, Precision precision) {
  std::int64_t const ld = (rows + 15) / 16 * 16;
  return static_cast<std::size_t>(ld * cols) * traits(precision).bytes;
}

}  // namespace

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::potrf(Tree const& tree, Node const& A, InfoView const& info) {
  if (A.depth == 0) reserve(tree);
  if (A.is_leaf()) {
    blas_.potrf(Uplo::Lower, A.working, A.begin, info);
    if (A.scale != nullptr) quantise(blas_, A.working, A.stored, A.scale, tree.scaling());
    return;
  }
  Precision const layer = A.stored.precision;
  potrf(tree, tree.left(A), info);  // A11 = L11 L11^T
  trsm(tree, tree.left(A), Side::Right, Op::Trans, Diag::NonUnit, A.working,
       layer);  // A21 = A21 L11^-T
  if (A.scale != nullptr) quantise(blas_, A.working, A.stored, A.scale, tree.scaling());
  syrk(tree, tree.right(A), -1, A.stored);  // A22 -= A21 A21^T
  potrf(tree, tree.right(A), info);         // A22 = L22 L22^T
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::trsm(Tree const& tree, Node const& L, Side side, Op op,
                                         Diag diag, Matrix const& B,
                                         std::optional<Precision> layer) {
  if (L.is_leaf()) {
    Matrix const A = in_precision(B.precision, L.stored, scratch_[0], tree.scaling());
    return blas_.trsm(side, Uplo::Lower, op, diag, 1, A, B);
  }
  std::int64_t const n1 = L.first_size, n2 = L.size - n1;
  bool const left = side == Side::Left;
  Matrix const B1 = left ? B.block(0, 0, n1, B.cols) : B.block(0, 0, B.rows, n1);
  Matrix const B2 = left ? B.block(n1, 0, n2, B.cols) : B.block(0, n1, B.rows, n2);
  bool const downwards = left == (op == Op::NoTrans);  // which half can be solved first
  Matrix const &X = downwards ? B1 : B2, &rest = downwards ? B2 : B1;
  trsm(tree, downwards ? tree.left(L) : tree.right(L), side, op, diag, X, layer);
  Precision const product = layer ? coarser(*layer, L.stored.precision) : B.precision;
  Matrix const Xp = in_precision(product, X, scratch_[0], tree.scaling());
  Matrix const L21 =
      layer ? in_precision(product, L.stored, scratch_[1], tree.scaling()) : L.stored;
  if (left) {
    blas_.gemm(op, Op::NoTrans, -1, L21, Xp, 1, rest);  // rest -= op(L21) X
  } else {
    blas_.gemm(Op::NoTrans, op, -1, Xp, L21, 1, rest);  // rest -= X op(L21)
  }
  trsm(tree, downwards ? tree.right(L) : tree.left(L), side, op, diag, rest, layer);
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::syrk(Tree const& tree, Node const& C, double alpha,
                                         Matrix const& A) {
  if (C.is_leaf()) {
    // A leaf is stored whole and its upper triangle means nothing: a full product suits matrix
    // units better.
    if (is_arithmetic(A.precision))
      return blas_.syrk(Uplo::Lower, Op::NoTrans, alpha, A, 1, C.working);
    return blas_.gemm(Op::NoTrans, Op::Trans, alpha, A, A, 1, C.working);
  }
  std::int64_t const n1 = C.first_size, n2 = C.size - n1;
  Matrix const A1 = A.block(0, 0, n1, A.cols), A2 = A.block(n1, 0, n2, A.cols);
  syrk(tree, tree.left(C), alpha, A1);                              // C11 += alpha A1 A1^T
  blas_.gemm(Op::NoTrans, Op::Trans, alpha, A2, A1, 1, C.working);  // C21 += alpha A2 A1^T
  syrk(tree, tree.right(C), alpha, A2);                             // C22 += alpha A2 A2^T
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::syrk(LayerList const& layers, std::int64_t leaf_size,
                                         std::size_t depth, Uplo uplo, Op op, double alpha,
                                         Matrix const& A, Matrix const& C) {
  std::int64_t const n = C.rows, k = op == Op::NoTrans ? A.cols : A.rows;
  if (n <= leaf_size) {
    Precision const precision = coarser(layers.leaf(), A.precision);
    return blas_.syrk(uplo, op, alpha, in_precision(precision, A, scratch_[0]), 1, C);
  }
  std::int64_t const n1 = half_of_leaves(n, leaf_size), n2 = n - n1;
  bool const rows = op == Op::NoTrans;
  Matrix const A1 = rows ? A.block(0, 0, n1, k) : A.block(0, 0, k, n1);
  Matrix const A2 = rows ? A.block(n1, 0, n2, k) : A.block(0, n1, k, n2);
  Precision const precision = coarser(layers.at_depth(depth), A.precision);
  syrk(layers, leaf_size, depth + 1, uplo, op, alpha, A1, C.block(0, 0, n1, n1));
  Matrix const P1 = in_precision(precision, A1, scratch_[0]),
               P2 = in_precision(precision, A2, scratch_[1]);
  if (uplo == Uplo::Lower) {
    blas_.gemm(op, transposed(op), alpha, P2, P1, 1, C.block(n1, 0, n2, n1));
  } else {
    blas_.gemm(op, transposed(op), alpha, P1, P2, 1, C.block(0, n1, n1, n2));
  }
  syrk(layers, leaf_size, depth + 1, uplo, op, alpha, A2, C.block(n1, n1, n2, n2));
}

// A itself if it has the precision, else its copy in the scratch: quantised or rounded, or widened.
template <class ExecutionSpace>
auto TreeRecursion<ExecutionSpace>::in_precision(Precision precision, Matrix const& A,
                                                 Operand& scratch, BlockScaling scaling) -> Matrix {
  if (A.precision == precision) return A;
  std::size_t const bytes = packed_bytes(A.rows, A.cols, precision);
  if (scratch.numbers.size() < bytes) {
    scratch.numbers = Buffer();
    scratch.numbers = Buffer(Kokkos::view_alloc(blas_.exec(), Kokkos::WithoutInitializing,
                                                "strata::dense::TreeRecursion::operand"),
                             bytes);
  }
  Matrix copy{scratch.numbers.data(), A.rows, A.cols, (A.rows + 15) / 16 * 16, precision, nullptr};
  if (is_arithmetic(precision)) {
    blas_.convert(Op::NoTrans, A, copy);
    return copy;
  }
  if (scratch.scale.data() == nullptr)
    scratch.scale = Kokkos::View<double, memory_space>(
        Kokkos::view_alloc(blas_.exec(), "strata::dense::TreeRecursion::scale"));
  copy.scale = scratch.scale.data();
  quantise(blas_, A, copy, scratch.scale.data(), scaling);
  return copy;
}

// Room for the largest operands of potrf: a half of A21's columns, and the largest block of L11.
template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::reserve(Tree const& tree) {
  if (tree.root().is_leaf()) return;
  Node const &root = tree.root(), &left = tree.left(root);
  Precision const widest = Precision::fp32;  // what is converted becomes fp32 or narrower
  std::size_t const first =
      packed_bytes(root.size - root.first_size, left.first_size, root.stored.precision);
  std::size_t const leaf = packed_bytes(tree.leaf_size(), tree.leaf_size(), widest);
  std::size_t const second =
      packed_bytes(left.size - left.first_size, left.first_size, root.stored.precision);
  std::size_t const bytes[] = {std::max(first, leaf), second};
  for (std::size_t i = 0; i < 2; ++i) {
    if (scratch_[i].numbers.size() < bytes[i])
      scratch_[i].numbers = Buffer(Kokkos::view_alloc(blas_.exec(), Kokkos::WithoutInitializing,
                                                      "strata::dense::TreeRecursion::operand"),
                                   bytes[i]);
  }
}

#define STRATA_INSTANTIATE(Exec) template class TreeRecursion<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
