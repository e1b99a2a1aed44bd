// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/Strata_TreeCholesky.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Replay.hpp>
#include <dense/detail/Strata_LayeredSyrk.hpp>
#include <dense/detail/Strata_TreePotrf.hpp>

#include <utility>
#include <vector>

namespace strata::dense {

template <class ExecutionSpace>
void tree_potrf(LeafBlas<ExecutionSpace>& blas, BlockTree<LayerList, ExecutionSpace> const& tree,
                Kokkos::View<std::int64_t, typename ExecutionSpace::memory_space> const& info) {
  if (tree.order() == 0) return;
  STRATA_REQUIRE(ValueError, tree.root().working.data != nullptr, "tree_potrf: the tree of order ",
                 tree.order(), " has not been loaded");
  Region const region(blas.exec(), "strata::dense::tree_potrf");
  detail::TreePotrf<ExecutionSpace>(blas, tree, info)();
}

// What was captured is for the places of all of the tree's blocks and of the status.
template <class ExecutionSpace>
struct RepeatedPotrf<ExecutionSpace>::State {
  using Places = std::vector<void const*>;

  State(ExecutionSpace const& exec, Tree const& factored) : tree(factored), blas(exec) {}
  ~State() { blas.exec().fence("strata::dense::RepeatedPotrf: free the scratch"); }

  Places now(InfoView const& info) const {
    Places found{info.data()};
    for (auto const& node : tree.nodes())
      found.insert(found.end(),
                   {node.working.data, node.stored.data, node.inverse.data, node.low_inverse.data});
    return found;
  }

  Tree const& tree;
  LeafBlas<ExecutionSpace> blas;
  strata::Replay<ExecutionSpace> replay;
  Places places;
};

template <class ExecutionSpace>
RepeatedPotrf<ExecutionSpace>::RepeatedPotrf(ExecutionSpace const& exec, Tree const& tree)
    : state_(std::make_unique<State>(exec, tree)) {}
template <class ExecutionSpace>
RepeatedPotrf<ExecutionSpace>::~RepeatedPotrf() = default;
template <class ExecutionSpace>
RepeatedPotrf<ExecutionSpace>::RepeatedPotrf(RepeatedPotrf&&) noexcept = default;
template <class ExecutionSpace>
RepeatedPotrf<ExecutionSpace>& RepeatedPotrf<ExecutionSpace>::operator=(RepeatedPotrf&&) noexcept =
    default;

template <class ExecutionSpace>
void RepeatedPotrf<ExecutionSpace>::operator()(InfoView const& info) {
  State& s = *state_;
  if (s.tree.order() == 0) return;
  auto places = s.now(info);
  if (places != s.places) {
    s.blas.exec().fence("strata::dense::RepeatedPotrf: capture anew");
    s.replay = {};
    s.places = std::move(places);
  }
  s.replay.run(s.blas.exec(), [&] { tree_potrf(s.blas, s.tree, info); });
}

template <class ExecutionSpace>
void tree_trsm(LeafBlas<ExecutionSpace>& blas, Side side, Op op, Diag diag, double alpha,
               BlockTree<LayerList, ExecutionSpace> const& L,
               MatrixRef<typename ExecutionSpace::memory_space> const& B, Products products) {
  STRATA_REQUIRE(ShapeError, (side == Side::Left ? B.rows : B.cols) == L.order(),
                 "tree_trsm: B is ", B.rows, " x ", B.cols, ", L on its ",
                 side == Side::Left ? "left" : "right", " has order ", L.order());
  STRATA_REQUIRE(ValueError, is_arithmetic(B.precision) && B.scale == nullptr,
                 "tree_trsm: B is in ", traits(B.precision).name,
                 ", must be unscaled fp64 or fp32");
  if (B.rows == 0 || B.cols == 0) return;
  Region const region(blas.exec(), "strata::dense::tree_trsm");
  if (alpha != 1)
    blas.gemm(Op::NoTrans, Op::NoTrans, 0, B.block(0, 0, B.rows, 0), B.block(0, 0, 0, B.cols),
              alpha, B);
  if (alpha == 0) return;
  detail::TreeRecursion<ExecutionSpace>(blas).trsm(L, side, op, diag, B.as_stored(), products);
}

template <class ExecutionSpace>
void tree_syrk(LeafBlas<ExecutionSpace>& blas, LayerList const& layers, std::int64_t leaf_size,
               Uplo uplo, Op op, double alpha,
               ConstMatrixRef<typename ExecutionSpace::memory_space> const& A, double beta,
               MatrixRef<typename ExecutionSpace::memory_space> const& C) {
  std::int64_t const n = op == Op::NoTrans ? A.rows : A.cols,
                     k = op == Op::NoTrans ? A.cols : A.rows;
  STRATA_REQUIRE(ShapeError, C.rows == n && C.cols == n, "tree_syrk: C is ", C.rows, " x ", C.cols,
                 ", op(A) is ", n, " x ", k);
  STRATA_REQUIRE(ValueError, leaf_size >= 1, "tree_syrk: the leaf size is ", leaf_size,
                 ", must be >= 1");
  using ConstMatrix = ConstMatrixRef<typename ExecutionSpace::memory_space>;
  for (auto const& [name, matrix] : {std::pair('A', A), std::pair('C', ConstMatrix(C))})
    STRATA_REQUIRE(ValueError, is_arithmetic(matrix.precision) && matrix.scale == nullptr,
                   "tree_syrk: ", name, " is in ", traits(matrix.precision).name,
                   ", must be unscaled fp64 or fp32");
  if (n == 0) return;
  Region const region(blas.exec(), "strata::dense::tree_syrk");
  auto const none = op == Op::NoTrans ? A.block(0, 0, n, 0) : A.block(0, 0, 0, n);
  if (beta != 1 || k == 0) blas.syrk(uplo, op, 0, none, beta, C);
  if (k == 0 || alpha == 0) return;
  detail::LayeredSyrk<ExecutionSpace>(blas, layers, leaf_size, uplo, op)(alpha, A.as_stored(),
                                                                         C.as_stored());
}

#define STRATA_INSTANTIATE(Exec)                                                                   \
  template void tree_potrf<Exec>(LeafBlas<Exec>&, BlockTree<LayerList, Exec> const&,               \
                                 Kokkos::View<std::int64_t, Exec::memory_space> const&);           \
  template class RepeatedPotrf<Exec>;                                                              \
  template void tree_trsm<Exec>(LeafBlas<Exec>&, Side, Op, Diag, double,                           \
                                BlockTree<LayerList, Exec> const&,                                 \
                                MatrixRef<Exec::memory_space> const&, Products);                   \
  template void tree_syrk<Exec>(LeafBlas<Exec>&, LayerList const&, std::int64_t, Uplo, Op, double, \
                                ConstMatrixRef<Exec::memory_space> const&, double,                 \
                                MatrixRef<Exec::memory_space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
