// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/recursion/detail/Strata_TreeRecursion.hpp>

#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/recursion/detail/Strata_ProductBatch.hpp>
#include <dense/tree/Strata_Quantise.hpp>

#include <algorithm>

namespace strata::dense::detail {

namespace {

constexpr std::size_t scale_bytes = 256;

std::int64_t leaves(std::int64_t size, std::int64_t leaf_size) {
  return (size + leaf_size - 1) / leaf_size;
}

// The precisions of a tree's blocks that are coarser than the arithmetic `precision` and stored
// otherwise, each once.
template <class Tree>
std::vector<Precision> coarser_layers(Tree const& tree, Precision precision) {
  std::vector<Precision> found;
  for (auto const& node : tree.nodes()) {
    Precision const p = node.stored.precision;
    bool const is_new = std::find(found.begin(), found.end(), p) == found.end();
    if (!node.is_leaf() && is_new && storage(p) != precision && coarser(precision, p) == p)
      found.push_back(p);
  }
  return found;
}

// X = -A in fp64.
template <class ExecutionSpace>
void copy_negative(ExecutionSpace const& exec,
                   ConstMatrixRef<typename ExecutionSpace::memory_space> const& A,
                   MatrixRef<typename ExecutionSpace::memory_space> const& X) {
  double const* const a = A.template as<double>();
  double* const x = X.template as<double>();
  std::int64_t const lda = A.ld, ldx = X.ld;
  strata::for_each_element(
      "strata::dense::invert::copy_negative", exec, A.rows, A.cols,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) { x[i + j * ldx] = -a[i + j * lda]; });
}

std::size_t packed_bytes(std::int64_t rows, std::int64_t cols, Precision precision) {
  std::int64_t const ld = (rows + 15) / 16 * 16;
  return static_cast<std::size_t>(ld * cols) * traits(precision).bytes;
}

}  // namespace

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::potrf(Tree const& tree, Node const& A, InfoView const& info) {
  if (A.is_leaf()) {
    factor_leaf(tree, A, info);
    if (on_leaf) on_leaf(A);
    return;
  }
  Node const& A11 = tree.left(A);
  Matrix const operand =
      A11.is_leaf() ? first_operand(tree, A11, panel(A, 0, A.first_size)) : Matrix{};
  potrf(tree, A11, info);  // A11 = L11 L11^T
  if (broke_down(info)) return;
  auto A21 = panel(A, 0, A.first_size);
  A21.operand = operand;
  solve(tree, A11, A21);  // L21 = A21 L11^-T
  finish(tree, A21, tree.strips(A).front().stored);
  for (Terms const& of : terms(A.begin, A.first_size, A21.left().precision)) {
    auto const part = [&](ConstMatrix const& X) { return X.block(0, of.begin, X.rows, of.count); };
    syrk(tree, tree.right(A), -1, part(A21.left()), part(A21.right()));  // A22 -= L21 L21^T
  }
  potrf(tree, tree.right(A), info);  // A22 = L22 L22^T
}

template <class ExecutionSpace>
auto TreeRecursion<ExecutionSpace>::terms(std::int64_t begin, std::int64_t count,
                                          Precision precision) -> std::vector<Terms> {
  constexpr std::int64_t first = 16;
  if (!runs_on_host<ExecutionSpace> || precision != Precision::fp64 || begin > 0 ||
      count < 2 * first)
    return {{0, count}};
  return {{0, first}, {first, count - first}};
}

template <class ExecutionSpace>
bool TreeRecursion<ExecutionSpace>::broke_down(InfoView const& info) const {
  if constexpr (strata::runs_on_host<ExecutionSpace>) {
    blas_.exec().fence("strata::dense::tree_potrf: look at the pivot status");
    return info() != 0;
  } else {
    return false;
  }
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::factor_leaf(Tree const& tree, Node const& A,
                                                InfoView const& info) {
  if (A.inverse.data != nullptr) {
    blas_.potrf_invert(A.working, A.inverse, A.begin, info, A.inverse_largest);
    tree.quantise_inverse(blas_.exec(), A);
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
                        A.stored.block(0, begin, A.stored.rows, cols), A.operand_scale,
                        A.solution_scale};
  if (A.scale != nullptr) B.solution.scale = A.solution_scale;
  Precision const precision = solve_precision(A.stored.precision);
  if (precision != A.stored.precision) {
    B.solution = scratch_matrix(block_solution, A.stored.rows, cols, precision);
    B.solution.scale = A.solution_scale;
  }
  return B;
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::reserve_panel(std::int64_t rows, std::int64_t cols) {
  (void)scratch_matrix(block_solution, rows, cols, solve_precision(Precision::fp8_e4m3));
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::reserve_operands(
    Tree const& tree, std::vector<Panel<memory_space>*> const& panels) {
  bool const has_inverses = tree.nodes().back().inverse.data != nullptr;  // of a leaf
  if (!has_inverses) return;
  std::size_t bytes = 0;
  for (auto const* panel : panels) {
    Matrix const& X = panel->solution;
    std::int64_t const cols = std::min(X.cols, tree.leaf_size());
    bytes = std::max(bytes, tree.splits_panels()
                                ? split_bytes(X.rows, cols, SplitParts::Left)
                                : scale_bytes + packed_bytes(X.rows, cols, X.precision));
  }
  (void)blas_.scratch(first_slot_ + left_operand, bytes);
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::make_room_for_split(
    std::vector<Panel<memory_space>*> const& panels) {
  constexpr SplitParts both = SplitParts::Both;
  std::size_t bytes = 0;
  for (auto const* panel : panels)
    bytes += split_bytes(panel->solution.rows, panel->solution.cols, both);
  std::byte* memory = blas_.scratch(first_slot_ + block_solution, bytes);
  for (auto* panel : panels) {
    Matrix const& X = panel->solution;
    panel->split = split_matrix<memory_space>(memory, X.rows, X.cols, both, panel->solution_scale);
    memory += split_bytes(X.rows, X.cols, both);
  }
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::finish(Tree const& tree, Panel<memory_space>& X,
                                           Matrix const& stored) {
  if (X.split.data != nullptr)
    return split(blas_.exec(), ConstMatrix(X.solution), SplitParts::Both, X.split);
  if (X.solution.precision == stored.precision) return;
  quantise(blas_, X.solution, stored, const_cast<double*>(stored.scale), tree.scaling());
  X.solution = stored;
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::solve(Tree const& tree, Node const& L,
                                          Panel<memory_space> const& B) {
  if (L.is_leaf()) return solve_leaf(tree, L, B);
  auto const B1 = B.columns(0, L.first_size), B2 = B.columns(L.first_size, L.size - L.first_size);
  solve(tree, tree.left(L), B1);  // X1 = B1 L11^-T
  for (auto const [begin, count] : terms(L.begin, L.first_size, B1.solution.precision))
    update(tree, -1, B1.solution.block(0, begin, B1.solution.rows, count),
           L.stored.block(0, begin, L.stored.rows, count), B2.working);  // B2 -= X1 L21^T
  solve(tree, tree.right(L), B2);                                        // X2 = B2 L22^-T
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::solve_leaf(Tree const& tree, Node const& L,
                                               Panel<memory_space> const& B) {
  if (L.inverse.data == nullptr) {
    ConstMatrix const A = in_precision(B.working.precision, L.stored, left_operand, tree.scaling());
    solve_columns(L, A, B.working);
    if (B.solution.data != B.working.data) blas_.convert(Op::NoTrans, B.working, B.solution);
    return;
  }
  if (moduli_of(B.solution.precision) >
      0) {  // products of integers are for updates: a leaf is solved with in fp64
    Panel<memory_space> stored = B;
    stored.solution = B.solution.as_stored();
    stored.operand = {};
    return solve_leaf(tree, L, stored);
  }
  Matrix const right = B.operand.data != nullptr ? B.operand : operand_of(tree, B);
  if (tree.splits_panels())
    return blas_.gemm(Op::NoTrans, Op::NoTrans, 1, right, split_inverse(L), 0,
                      B.solution.as_stored());
  Precision const precision = B.solution.precision;
  ConstMatrix const inverse = precision == L.low_inverse.precision && L.low_inverse.data != nullptr
                                  ? L.low_inverse
                                  : in_precision(precision, L.inverse, right_operand);
  blas_.gemm(Op::NoTrans, Op::NoTrans, 1, right, inverse, 0, B.solution);  // X = B L^-T
}

// B = B L^-T, of the leaf L as A.
template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::solve_columns(Node const& L, ConstMatrix const& A,
                                                  Matrix const& B) {
  for (auto const [begin, count] : terms(L.begin, L.size, B.precision)) {
    std::int64_t const end = begin + count, rest = L.size - end;
    Matrix const X = B.block(0, begin, B.rows, count);
    blas_.trsm(Side::Right, Uplo::Lower, Op::Trans, Diag::NonUnit, 1,
               A.block(begin, begin, count, count), X);
    if (rest > 0)
      blas_.gemm(Op::NoTrans, Op::Trans, -1, X, A.block(end, begin, rest, count), 1,
                 B.block(0, end, B.rows, rest));
  }
}

template <class ExecutionSpace>
auto TreeRecursion<ExecutionSpace>::first_operand(Tree const& tree, Node const& L,
                                                  Panel<memory_space> const& B) -> Matrix {
  Node const* leaf = &L;
  while (!leaf->is_leaf()) leaf = &tree.left(*leaf);
  bool const by_integers = moduli_of(B.solution.precision) > 0;
  return leaf->inverse.data != nullptr && !by_integers ? operand_of(tree, B.columns(0, leaf->size))
                                                       : Matrix{};
}

// In scratch: B as the product with a leaf's inverse takes it.
template <class ExecutionSpace>
auto TreeRecursion<ExecutionSpace>::operand_of(Tree const& tree, Panel<memory_space> const& B)
    -> Matrix {
  std::int64_t const rows = B.working.rows, cols = B.working.cols;
  if (tree.splits_panels()) {
    constexpr SplitParts left = SplitParts::Left;
    std::byte* const memory =
        blas_.scratch(first_slot_ + left_operand, split_bytes(rows, cols, left));
    Matrix const copy = split_matrix<memory_space>(memory, rows, cols, left, B.operand_scale);
    split(blas_.exec(), ConstMatrix(B.working), left, copy);
    return copy;
  }
  Precision const precision = B.solution.precision;
  Matrix copy = scratch_matrix(left_operand, rows, cols, precision);
  copy.scale = is_arithmetic(precision) ? nullptr : B.operand_scale;
  blas_.convert(Op::NoTrans, B.working, copy);
  return copy;
}

// In scratch, where it stays for other blocks below the leaf.
template <class ExecutionSpace>
auto TreeRecursion<ExecutionSpace>::split_inverse(Node const& L) -> ConstMatrix {
  constexpr SplitParts below = SplitParts::Below;
  std::int64_t const n = L.size;
  std::byte* const memory =
      blas_.scratch(first_slot_ + right_operand, scale_bytes + split_bytes(n, n, below));
  Matrix const copy = split_matrix<memory_space>(memory + scale_bytes, n, n, below,
                                                 reinterpret_cast<double*>(memory));
  if (split_leaf_ != &L)
    split(blas_.exec(), ConstMatrix(L.inverse), below, copy, L.inverse_largest);
  split_leaf_ = &L;
  return copy;
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::trsm(Tree const& tree, Side side, Op op, Diag diag,
                                         Matrix const& B, Products products) {
  std::vector<Copy> copies;  // of X, which quantised products take, one for each low precision
  if (products == Products::Layered) {
    auto const along = side == Side::Left ? Copy::Along::Rows : Copy::Along::Columns;
    auto const low = coarser_layers(tree, B.precision);
    std::size_t bytes = 0;
    for (Precision const p : low) bytes += Copy::bytes_needed(B, p, along, tree.leaf_size());
    std::byte* memory = low.empty() ? nullptr : blas_.scratch(first_slot_ + copies_slot, bytes);
    for (Precision const p : low) {
      copies.emplace_back(blas_, memory, B, p, along, tree.leaf_size(), tree.scaling());
      memory += Copy::bytes_needed(B, p, along, tree.leaf_size());
    }
  }
  trsm(tree, tree.root(), {side, op, diag, products}, B, copies);
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::trsm(Tree const& tree, Node const& L, Trsm const& kind,
                                         Matrix const& B, std::vector<Copy>& copies) {
  if (L.is_leaf()) {
    trsm_leaf(tree, L, kind, B);
    for (Copy& copy : copies) copy.measure(L.begin / tree.leaf_size(), 1);
    return;
  }
  auto const [side, op, diag, products] = kind;
  std::int64_t const n1 = L.first_size, n2 = L.size - n1;
  bool const left = side == Side::Left;
  Matrix const B1 = left ? B.block(0, 0, n1, B.cols) : B.block(0, 0, B.rows, n1);
  Matrix const B2 = left ? B.block(n1, 0, n2, B.cols) : B.block(0, n1, B.rows, n2);
  bool const downwards = left == (op == Op::NoTrans);  // which half can be solved first
  Matrix const &X = downwards ? B1 : B2, &rest = downwards ? B2 : B1;
  trsm(tree, downwards ? tree.left(L) : tree.right(L), kind, X, copies);
  Precision const product =
      products == Products::Layered ? coarser(B.precision, L.stored.precision) : B.precision;
  ConstMatrix Xp = storage(product) == X.precision ? X.in_format(product) : X;
  for (Copy& copy : copies) {
    if (copy.precision() != product) continue;
    std::int64_t const begin = downwards ? L.begin : L.begin + n1, size = downwards ? n1 : n2;
    copy.unite(begin / tree.leaf_size(), leaves(size, tree.leaf_size()), 0);
    Xp = copy(begin, size);
  }
  for (auto const& [begin, stored] : tree.strips(L)) {
    ConstMatrix const L21 = products == Products::Layered
                                ? in_precision(product, stored, right_operand, tree.scaling())
                                : stored;
    // The strip is a part of the product's sum, or of its result.
    auto const part = [&](auto const& A) {
      return left ? A.block(begin, 0, stored.cols, A.cols) : A.block(0, begin, A.rows, stored.cols);
    };
    if (left)
      blas_.gemm(op, Op::NoTrans, -1, L21, downwards ? part(Xp) : Xp, 1,
                 downwards ? rest : part(rest));  // rest -= op(L21) X
    else
      blas_.gemm(Op::NoTrans, op, -1, downwards ? part(Xp) : Xp, L21, 1,
                 downwards ? rest : part(rest));  // rest -= X op(L21)
  }
  trsm(tree, downwards ? tree.right(L) : tree.left(L), kind, rest, copies);
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::trsm_leaf(Tree const& tree, Node const& L, Trsm const& kind,
                                              Matrix const& B) {
  auto const [side, op, diag, products] = kind;
  bool const by_inverse =
      L.inverse.data != nullptr && L.inverse.precision == B.precision && diag == Diag::NonUnit;
  if (!by_inverse) {
    ConstMatrix const A = in_precision(B.precision, L.stored, left_operand, tree.scaling());
    return blas_.trsm(side, Uplo::Lower, op, diag, 1, A, B);
  }
  Matrix const right = scratch_matrix(left_operand, B.rows, B.cols, B.precision);
  blas_.convert(Op::NoTrans, B, right);
  if (side == Side::Left)
    blas_.gemm(transposed(op), Op::NoTrans, 1, L.inverse, right, 0, B);  // op(L)^-1 B
  else
    blas_.gemm(Op::NoTrans, transposed(op), 1, right, L.inverse, 0, B);  // B op(L)^-1
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::invert(Tree const& tree, Matrix const& X) {
  if (X.rows > 0) invert(tree, tree.root(), X);
}

// X11 = L11^-1;  X22 = L22^-1;  X21 = -L22^-1 L21 L11^-1, by solves, whose residuals are small.
template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::invert(Tree const& tree, Node const& L, Matrix const& X) {
  if (L.is_leaf()) return blas_.convert(Op::Trans, L.inverse, X);
  std::int64_t const n1 = L.first_size, n2 = L.size - n1;
  Matrix const X21 = X.block(n1, 0, n2, n1);
  std::vector<Copy> none;
  copy_negative(blas_.exec(), ConstMatrix(L.stored.as_stored()), X21);
  trsm(tree, tree.right(L), {Side::Left, Op::NoTrans, Diag::NonUnit, Products::AsStored}, X21,
       none);
  trsm(tree, tree.left(L), {Side::Right, Op::NoTrans, Diag::NonUnit, Products::AsStored}, X21,
       none);
  invert(tree, tree.left(L), X.block(0, 0, n1, n1));
  invert(tree, tree.right(L), X.block(n1, n1, n2, n2));
}

// C11 += alpha A1 A1^T;  C21 += alpha A2 A1^T;  C22 += alpha A2 A2^T, down to the leaves, blocks of
// one shape in batches. A leaf is stored whole and its upper triangle means nothing: a full product
// suits matrix units better than a SYRK.
template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::syrk(Tree const& tree, Node const& C, double alpha,
                                         ConstMatrix const& A, ConstMatrix const& B,
                                         Node const* skip) {
  std::vector<Product<memory_space>> products;
  collect(tree, C, A, B, skip, products);
  bool const by_syrk = strata::runs_on_host<ExecutionSpace> && is_arithmetic(A.precision);
  for_each_batch(products, [&](auto first, auto last) {
    if (by_syrk && first->A.data == first->B.data)
      for (; first != last; ++first)
        blas_.syrk(Uplo::Lower, Op::NoTrans, alpha, first->A, 1, first->C);
    else
      blas_.gemm(Op::NoTrans, Op::Trans, alpha, first->A, first->B, 1, first->C,
                 batch_of(first, last));
  });
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::collect(Tree const& tree, Node const& C, ConstMatrix const& A,
                                            ConstMatrix const& B, Node const* skip,
                                            std::vector<Product<memory_space>>& products) const {
  if (&C == skip) return;
  if (C.is_leaf()) return products.push_back({A, B, C.working});
  std::int64_t const n1 = C.first_size, n2 = C.size - n1;
  ConstMatrix const A1 = A.block(0, 0, n1, A.cols), A2 = A.block(n1, 0, n2, A.cols),
                    B1 = B.block(0, 0, n1, B.cols), B2 = B.block(n1, 0, n2, B.cols);
  products.push_back({A2, B1, C.working});
  collect(tree, tree.left(C), A1, B1, skip, products);
  collect(tree, tree.right(C), A2, B2, skip, products);
}

template <class ExecutionSpace>
void TreeRecursion<ExecutionSpace>::update(Tree const& tree, double alpha, ConstMatrix const& A,
                                           ConstMatrix const& B, Matrix const& C) {
  Precision const product = coarser(A.precision, B.precision);
  ConstMatrix const Ap = in_precision(product, A, left_operand, tree.scaling());
  ConstMatrix const Bp = in_precision(product, B, right_operand, tree.scaling());
  blas_.gemm(Op::NoTrans, Op::Trans, alpha, Ap, Bp, 1, C);
}

// An unscaled matrix in a scratch slot, behind room for a scale.
template <class ExecutionSpace>
auto TreeRecursion<ExecutionSpace>::scratch_matrix(Slot slot, std::int64_t rows, std::int64_t cols,
                                                   Precision precision) -> Matrix {
  std::size_t const bytes = scale_bytes + packed_bytes(rows, cols, precision);
  std::byte* const begin = blas_.scratch(first_slot_ + slot, bytes);
  return {begin + scale_bytes, rows, cols, (rows + 15) / 16 * 16, precision, nullptr};
}

// A itself if it is stored so, else its copy in the scratch: quantised or rounded, or widened.
template <class ExecutionSpace>
auto TreeRecursion<ExecutionSpace>::in_precision(Precision precision, ConstMatrix const& A,
                                                 Slot slot, BlockScaling scaling) -> ConstMatrix {
  if (storage(A.precision) == storage(precision)) return A.in_format(precision);
  Matrix copy = scratch_matrix(slot, A.rows, A.cols, precision);
  if (is_arithmetic(precision)) {
    blas_.convert(Op::NoTrans, A, copy);
    return copy;
  }
  auto* const scale = reinterpret_cast<double*>(static_cast<std::byte*>(copy.data) - scale_bytes);
  copy.scale = scale;
  quantise(blas_, A, copy, scale, scaling);
  return copy;
}

#define STRATA_INSTANTIATE(Exec) template class TreeRecursion<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
