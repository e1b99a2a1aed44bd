// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <c/detail/Strata_InPlace.hpp>

#include <core/Strata_Backends.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <dense/Strata_BlockTree.hpp>

#include <algorithm>

namespace strata::c::detail {

namespace {

using InfoView = LeafBlas<Exec>::InfoView;
constexpr bool on_host = Kokkos::SpaceAccessibility<Exec, Kokkos::HostSpace>::accessible;

// With a vendor's POTRF one leaf is as fast as the products of several, up to sizes that few have
// measured; the portable one is for small leaves.
std::int64_t automatic_leaf(std::int64_t n) {
  std::int64_t const most = vendor_libraries<Exec>.factorisation ? 8192 : 256;
  return std::clamp<std::int64_t>(n, 1, most);
}

void factor(LeafBlas<Exec>& blas, Uplo uplo, MatrixRef<Memory> const& A, std::int64_t leaf,
            std::int64_t offset, InfoView const& info) {
  std::int64_t const n = A.rows;
  if (n <= leaf) return blas.potrf(uplo, A, offset, info);
  std::int64_t const h = dense::half_of_leaves(n, leaf), m = n - h;
  auto const A11 = A.block(0, 0, h, h), A22 = A.block(h, h, m, m);
  factor(blas, uplo, A11, leaf, offset, info);
  if constexpr (on_host)
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

std::int64_t potrf_in_place(Workbench const& bench, Uplo uplo, MatrixRef<Memory> const& A,
                            std::int64_t leaf_size) {
  if (A.rows == 0) return 0;
  Region const region(bench.exec(), "strata::c::potrf");
  Exec const& exec = bench.exec();
  InfoView const& info = bench.info();
  Kokkos::deep_copy(exec, info, 0);
  exec.fence("strata::c::potrf: the status is 0");
  factor(bench.blas(), uplo, A, leaf_size > 0 ? leaf_size : automatic_leaf(A.rows), 0, info);
  std::int64_t order = 0;
  Kokkos::deep_copy(exec, order, info);
  exec.fence("strata::c::potrf: read the pivot status");
  return order;
}

void potrs_in_place(Workbench const& bench, Uplo uplo, MatrixRef<Memory> const& factor,
                    MatrixRef<Memory> const& B) {
  if (B.rows == 0 || B.cols == 0) return;
  Region const region(bench.exec(), "strata::c::potrs");
  Op const first = uplo == Uplo::Lower ? Op::NoTrans : Op::Trans;  // L Y = B or U^T Y = B
  bench.blas().trsm(Side::Left, uplo, first, Diag::NonUnit, 1, factor, B);
  bench.blas().trsm(Side::Left, uplo, transposed(first), Diag::NonUnit, 1, factor, B);
}

}  // namespace strata::c::detail
