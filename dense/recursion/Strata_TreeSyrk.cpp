// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/recursion/Strata_TreeSyrk.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <dense/recursion/detail/Strata_TreeSyrk.hpp>

#include <utility>

namespace strata::dense {

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
  detail::TreeSyrk<ExecutionSpace>(blas, layers, leaf_size, uplo, op)(alpha, A.as_stored(),
                                                                      C.as_stored());
}

#define STRATA_INSTANTIATE(Exec)                                                                   \
  template void tree_syrk<Exec>(LeafBlas<Exec>&, LayerList const&, std::int64_t, Uplo, Op, double, \
                                ConstMatrixRef<Exec::memory_space> const&, double,                 \
                                MatrixRef<Exec::memory_space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
