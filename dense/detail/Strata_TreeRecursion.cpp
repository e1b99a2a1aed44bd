// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <core/detail/Strata_Instantiate.hpp>
#include <core/detail/Strata_Team.hpp>
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

template <class Matrix>
std::int64_t elements_between(Matrix const& from, Matrix const& to) {
  auto const bytes = static_cast<char const*>(to.data) - static_cast<char const*>(from.data);
  return bytes / static_cast<std::int64_t>(traits(from.precision).bytes);
}

// The products of [first, last), all of one shape and equally far apart.
template <class Iterator>
Batch batch_of(Iterator first, Iterator last) {
  if (last - first == 1) return {};
  auto const second = first + 1;
  return {last - first, elements_between(first->A, second->A),
          elements_between(first->B, second->B), elements_between(first->C, second->C)};
}

// As many products as make a batch, from the first on; large ones are better alone.
template <class Iterator>
Iterator end_of_batch(Iterator first, Iterator last) {
  constexpr std::int64_t largest = 2048;
  auto end = first + 1;
  if (first->C.rows > largest || first->C.cols > largest) return end;
  auto const alike = [&](auto const& p) {
    return p.C.rows == first->C.rows && p.C.cols == first->C.cols && p.C.ld == first->C.ld &&
           p.C.precision == first->C.precision &&
           (p.A.data == p.B.data) == (first->A.data == first->B.data);
  };
  auto const distance = [&](auto const& p, auto const& q) {
    return std::array{elements_between(p.A, q.A), elements_between(p.B, q.B),
                      elements_between(p.C, q.C)};
  };
  while (end != last && alike(*end) && distance(*(end - 1), *end) == distance(*first, *(first + 1)))
    ++end;
  return end;
}

}  // namespace

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::potrf(Tree const& tree, Node const& A, InfoView const& info) {
  if (A.is_leaf()) return factor_leaf(tree, A, info);
  potrf(tree, tree.left(A), info);  // A11 = L11 L11^T
  auto A21 = panel(A, 0, A.first_size);
  solve(tree, tree.left(A), A21);  // L21 = A21 L11^-T
  finish(tree, A21, tree.strips(A).front().stored);
  syrk(tree, tree.right(A), -1, A21.solution);  // A22 -= L21 L21^T
  potrf(tree, tree.right(A), info);             // A22 = L22 L22^T
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::factor_leaf(Tree const& tree, Node const& A,
                                                InfoView const& info) {
  if (A.inverse.data != nullptr) {
    blas_.potrf_invert(A.working, A.inverse, A.begin, info);
    tree.quantise_inverse(blas_, A);
  } else {
    blas_.potrf(Uplo::Lower, A.working, A.begin, info);
  }
  if (A.scale == nullptr) return;
  if (traits(A.stored.precision).bytes == 1)
    quantise(blas_, A.working, A.stored, A.scale, tree.scaling());
  else
    blas_.convert(Op::NoTrans, A.working, A.stored);
}

template <class ExecutionSpace>
auto TreeRecursion<ExecutionSpace>::panel(Node const& A, std::int64_t begin, std::int64_t cols)
    -> Panel<memory_space> {
  Panel<memory_space> B{A.working.block(0, begin, A.working.rows, cols),
                        A.stored.block(0, begin, A.stored.rows, cols), A.operand_scale};
  if (A.scale != nullptr) B.solution.scale = A.solution_scale;
  Precision const precision = solve_precision(A.stored.precision);
  if (precision != A.stored.precision) {
    B.solution = place(scratch_[2], A.stored.rows, cols, precision);
    B.solution.scale = A.solution_scale;
  }
  return B;
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::finish(Tree const& tree, Panel<memory_space>& X,
                                           Matrix const& stored) {
  if (X.solution.precision == stored.precision) return;
  quantise(blas_, X.solution, stored, const_cast<double*>(stored.scale), tree.scaling());
  X.solution = stored;
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::solve(Tree const& tree, Node const& L,
                                          Panel<memory_space> const& B) {
  if (L.is_leaf()) return solve_leaf(tree, L, B);
  auto const B1 = B.columns(0, L.first_size), B2 = B.columns(L.first_size, L.size - L.first_size);
  solve(tree, tree.left(L), B1);                        // X1 = B1 L11^-T
  update(tree, -1, B1.solution, L.stored, B2.working);  // B2 -= X1 L21^T
  solve(tree, tree.right(L), B2);                       // X2 = B2 L22^-T
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::solve_leaf(Tree const& tree, Node const& L,
                                               Panel<memory_space> const& B) {
  if (L.inverse.data == nullptr) {
    Matrix const A = in_precision(B.working.precision, L.stored, scratch_[0], tree.scaling());
    blas_.trsm(Side::Right, Uplo::Lower, Op::Trans, Diag::NonUnit, 1, A, B.working);
    if (B.solution.data != B.working.data) blas_.convert(Op::NoTrans, B.working, B.solution);
    return;
  }
  Precision const precision = B.solution.precision;
  Matrix right = place(scratch_[0], B.working.rows, B.working.cols, precision);
  right.scale = is_arithmetic(precision) ? nullptr : B.operand_scale;
  blas_.convert(Op::NoTrans, B.working, right);
  Matrix const inverse = precision == L.low_inverse.precision && L.low_inverse.data != nullptr
                             ? L.low_inverse
                             : in_precision(precision, L.inverse, scratch_[1]);
  blas_.gemm(Op::NoTrans, Op::NoTrans, 1, right, inverse, 0, B.solution);  // X = B L^-T
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::trsm(Tree const& tree, Node const& L, Side side, Op op,
                                         Diag diag, Matrix const& B,
                                         std::optional<Precision> layer) {
  if (L.is_leaf()) return trsm_leaf(tree, L, side, op, diag, B);
  std::int64_t const n1 = L.first_size, n2 = L.size - n1;
  bool const left = side == Side::Left;
  Matrix const B1 = left ? B.block(0, 0, n1, B.cols) : B.block(0, 0, B.rows, n1);
  Matrix const B2 = left ? B.block(n1, 0, n2, B.cols) : B.block(0, n1, B.rows, n2);
  bool const downwards = left == (op == Op::NoTrans);  // which half can be solved first
  Matrix const &X = downwards ? B1 : B2, &rest = downwards ? B2 : B1;
  trsm(tree, downwards ? tree.left(L) : tree.right(L), side, op, diag, X, layer);
  Precision const product = layer ? coarser(*layer, L.stored.precision) : B.precision;
  Matrix const Xp = in_precision(product, X, scratch_[0], tree.scaling());
  for (auto const& [begin, stored] : tree.strips(L)) {
    Matrix const L21 = layer ? in_precision(product, stored, scratch_[1], tree.scaling()) : stored;
    // The strip is a part of the product's sum, or of its result.
    auto const part = [&](Matrix const& A) {
      return left ? A.block(begin, 0, stored.cols, A.cols) : A.block(0, begin, A.rows, stored.cols);
    };
    if (left)
      blas_.gemm(op, Op::NoTrans, -1, L21, downwards ? part(Xp) : Xp, 1,
                 downwards ? rest : part(rest));  // rest -= op(L21) X
    else
      blas_.gemm(Op::NoTrans, op, -1, downwards ? part(Xp) : Xp, L21, 1,
                 downwards ? rest : part(rest));  // rest -= X op(L21)
  }
  trsm(tree, downwards ? tree.right(L) : tree.left(L), side, op, diag, rest, layer);
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::trsm_leaf(Tree const& tree, Node const& L, Side side, Op op,
                                              Diag diag, Matrix const& B) {
  bool const by_inverse =
      L.inverse.data != nullptr && L.inverse.precision == B.precision && diag == Diag::NonUnit;
  if (!by_inverse) {
    Matrix const A = in_precision(B.precision, L.stored, scratch_[0], tree.scaling());
    return blas_.trsm(side, Uplo::Lower, op, diag, 1, A, B);
  }
  Matrix const right = place(scratch_[0], B.rows, B.cols, B.precision);
  blas_.convert(Op::NoTrans, B, right);
  if (side == Side::Left)
    blas_.gemm(transposed(op), Op::NoTrans, 1, L.inverse, right, 0, B);  // op(L)^-1 B
  else
    blas_.gemm(Op::NoTrans, transposed(op), 1, right, L.inverse, 0, B);  // B op(L)^-1
}

// C11 += alpha A1 A1^T;  C21 += alpha A2 A1^T;  C22 += alpha A2 A2^T, down to the leaves, blocks of
// one shape in batches. A leaf is stored whole and its upper triangle means nothing: a full product
// suits matrix units better than a SYRK.
template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::syrk(Tree const& tree, Node const& C, double alpha,
                                         Matrix const& A, Node const* skip) {
  std::vector<Product> products;
  collect(tree, C, A, skip, products);
  std::stable_sort(products.begin(), products.end(), [](Product const& p, Product const& q) {
    return p.C.rows != q.C.rows ? p.C.rows < q.C.rows : p.C.cols < q.C.cols;
  });
  bool const by_syrk = strata::detail::runs_on_host<ExecutionSpace> && is_arithmetic(A.precision);
  for (auto first = products.begin(); first != products.end();) {
    auto const last = end_of_batch(first, products.end());
    if (by_syrk && first->A.data == first->B.data)
      for (; first != last; ++first)
        blas_.syrk(Uplo::Lower, Op::NoTrans, alpha, first->A, 1, first->C);
    else
      blas_.gemm(Op::NoTrans, Op::Trans, alpha, first->A, first->B, 1, first->C,
                 batch_of(first, last));
    first = last;
  }
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::collect(Tree const& tree, Node const& C, Matrix const& A,
                                            Node const* skip,
                                            std::vector<Product>& products) const {
  if (&C == skip) return;
  if (C.is_leaf()) return products.push_back({A, A, C.working});
  Matrix const A1 = A.block(0, 0, C.first_size, A.cols),
               A2 = A.block(C.first_size, 0, C.size - C.first_size, A.cols);
  products.push_back({A2, A1, C.working});
  collect(tree, tree.left(C), A1, skip, products);
  collect(tree, tree.right(C), A2, skip, products);
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::update(Tree const& tree, double alpha, Matrix const& A,
                                           Matrix const& B, Matrix const& C) {
  Precision const product = coarser(A.precision, B.precision);
  Matrix const Ap = in_precision(product, A, scratch_[0], tree.scaling());
  Matrix const Bp = in_precision(product, B, scratch_[1], tree.scaling());
  blas_.gemm(Op::NoTrans, Op::Trans, alpha, Ap, Bp, 1, C);
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

template <class ExecutionSpace>
auto TreeRecursion<ExecutionSpace>::place(Operand& scratch, std::int64_t rows, std::int64_t cols,
                                          Precision precision) -> Matrix {
  std::size_t const bytes = packed_bytes(rows, cols, precision);
  if (scratch.numbers.size() < bytes) {
    scratch.numbers = Buffer();
    scratch.numbers = Buffer(Kokkos::view_alloc(blas_.exec(), Kokkos::WithoutInitializing,
                                                "strata::dense::TreeRecursion::operand"),
                             bytes);
  }
  return {scratch.numbers.data(), rows, cols, (rows + 15) / 16 * 16, precision, nullptr};
}

// A itself if it has the precision, else its copy in the scratch: quantised or rounded, or widened.
template <class ExecutionSpace>
auto TreeRecursion<ExecutionSpace>::in_precision(Precision precision, Matrix const& A,
                                                 Operand& scratch, BlockScaling scaling) -> Matrix {
  if (A.precision == precision) return A;
  Matrix copy = place(scratch, A.rows, A.cols, precision);
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

#define STRATA_INSTANTIATE(Exec) template class TreeRecursion<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
