// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/tree/Strata_InPlace.hpp>

#include <core/Strata_Backends.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/tree/Strata_BlockTree.hpp>

#include <algorithm>

namespace strata::dense {

namespace {

// With a vendor's POTRF one leaf is as fast as the products of several, up to sizes that few have
// measured; the portable one is for small leaves.
template <class Exec>
std::int64_t automatic_leaf(std::int64_t n) {
  std::int64_t const most = vendor_libraries<Exec>.factorisation ? 8192 : 256;
  return std::clamp<std::int64_t>(n, 1, most);
}

template <class Exec>
void factor(LeafBlas<Exec>& blas, Uplo uplo, MatrixRef<typename Exec::memory_space> const& A,
            std::int64_t leaf, std::int64_t offset, typename LeafBlas<Exec>::InfoView const& info) {
  std::int64_t const n = A.rows;
  if (n <= leaf) return blas.potrf(uplo, A, offset, info);
  std::int64_t const h = half_of_leaves(n, leaf), m = n - h;
  auto const A11 = A.block(0, 0, h, h), A22 = A.block(h, h, m, m);
  factor(blas, uplo, A11, leaf, offset, info);
  if constexpr (strata::runs_on_host<Exec>)
    if (info() != 0) return;
  if (uplo == Uplo::Lower) {
    auto const A21 = A.block(h, 0, m, h);
    blas.trsm(Side::Right, uplo, Op::Trans, Diag::NonUnit, 1, A11, A21);  // L21 = A21 L11^-T
    blas.syrk(uplo, Op::NoTrans, -1, A21, 1, A22);                        // A22 -= L21 L21^T
  } else {
    auto const A12 = A.block(0, h, h, m);
    blas.trsm(Side::Left, uplo, Op::Trans, Diag::NonUnit, 1, A11, A12);  // U12 = U11^-T A12
    blas.syrk(uplo, Op::Trans, -1, A12, 1, A22);                         // A22 -= U12^T U12
  }
  factor(blas, uplo, A22, leaf, offset + h, info);
}

}  // namespace

template <class Exec>
Info potrf_in_place(LeafBlas<Exec>& blas, Uplo uplo,
                    MatrixRef<typename Exec::memory_space> const& A, std::int64_t leaf_size) {
  STRATA_REQUIRE(ShapeError, A.rows == A.cols, "potrf_in_place: A is ", A.rows, " x ", A.cols,
                 ", must be square");
  STRATA_REQUIRE(ValueError, leaf_size >= 0, "potrf_in_place: the leaf size is ", leaf_size,
                 ", must be >= 1, or 0 for automatic");
  if (A.rows == 0) return Info::success();
  Region const region(blas.exec(), "strata::dense::potrf_in_place");
  Exec const& exec = blas.exec();
  typename LeafBlas<Exec>::InfoView const info(
      reinterpret_cast<std::int64_t*>(blas.scratch(0, sizeof(std::int64_t))));
  Kokkos::deep_copy(exec, info, 0);
  exec.fence("strata::dense::potrf_in_place: the status is 0");
  factor(blas, uplo, A, leaf_size > 0 ? leaf_size : automatic_leaf<Exec>(A.rows), 0, info);
  std::int64_t order = 0;
  Kokkos::deep_copy(exec, order, info);
  exec.fence("strata::dense::potrf_in_place: read the pivot status");
  return order == 0 ? Info::success() : Info::breakdown(order);
}

template <class Exec>
void potrs_in_place(LeafBlas<Exec>& blas, Uplo uplo,
                    ConstMatrixRef<typename Exec::memory_space> const& factor,
                    MatrixRef<typename Exec::memory_space> const& B) {
  STRATA_REQUIRE(ShapeError, factor.rows == factor.cols && B.rows == factor.rows,
                 "potrs_in_place: the factor is ", factor.rows, " x ", factor.cols, ", B ", B.rows,
                 " x ", B.cols);
  if (B.rows == 0 || B.cols == 0) return;
  Region const region(blas.exec(), "strata::dense::potrs_in_place");
  Op const first = uplo == Uplo::Lower ? Op::NoTrans : Op::Trans;  // L Y = B or U^T Y = B
  blas.trsm(Side::Left, uplo, first, Diag::NonUnit, 1, factor, B);
  blas.trsm(Side::Left, uplo, transposed(first), Diag::NonUnit, 1, factor, B);
}

#define STRATA_INSTANTIATE(Exec)                                                                  \
  template Info potrf_in_place<Exec>(LeafBlas<Exec>&, Uplo, MatrixRef<Exec::memory_space> const&, \
                                     std::int64_t);                                               \
  template void potrs_in_place<Exec>(LeafBlas<Exec>&, Uplo,                                       \
                                     ConstMatrixRef<Exec::memory_space> const&,                   \
                                     MatrixRef<Exec::memory_space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
