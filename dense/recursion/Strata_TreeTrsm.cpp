// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/recursion/Strata_TreeTrsm.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <dense/recursion/detail/Strata_TreeRecursion.hpp>

namespace strata::dense {

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

#define STRATA_INSTANTIATE(Exec)                                         \
  template void tree_trsm<Exec>(LeafBlas<Exec>&, Side, Op, Diag, double, \
                                BlockTree<LayerList, Exec> const&,       \
                                MatrixRef<Exec::memory_space> const&, Products);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
