// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_MatrixRef.hpp>
#include <core/blas/Strata_FlopCount.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/recursion/Strata_TreePotrf.hpp>
#include <dense/recursion/Strata_TreeSyrk.hpp>
#include <dense/recursion/Strata_TreeTrsm.hpp>

#include <StrataPerf_Harness.hpp>

#include <algorithm>
#include <cmath>

namespace strata::perf {

namespace {

using namespace strata::dense;
using Blas = LeafBlas<Exec>;
using Tree = BlockTree<LayerList, Exec>;
using enum Precision;

std::int64_t leaf_size(std::int64_t n, LayerList const& layers) {
  std::int64_t const asked = settings().leaf_size;
  return asked > 0 ? asked : automatic_leaf_size<Exec>(n, layers);
}

// No chain of factorisations asks for large leaves of SYRK and TRSM.
std::int64_t product_leaf_size(std::int64_t n, LayerList const& layers) {
  return settings().leaf_size > 0 ? settings().leaf_size
                                  : std::min<std::int64_t>(leaf_size(n, layers), 256);
}

// ---- SYRK, lower triangle of C -= A A^T, n = k
// ---------------------------------------------------

// ||(C + A A^T) v|| / ||A A^T v|| for a random v.
double syrk_error(Blas& blas, Matrix const& A, Matrix const& C) {
  Exec const& exec = blas.exec();
  OwnedMatrix const v(exec, C.cols, 1, fp64), t(exec, A.cols, 1, fp64), y(exec, C.rows, 1, fp64),
      z(exec, C.rows, 1, fp64);
  fill_uniform(exec, v.ref(), -1, 5);
  blas.gemm(Op::Trans, Op::NoTrans, 1, A, v.ref(), 0, t.ref());
  blas.gemm(Op::NoTrans, Op::NoTrans, -1, A, t.ref(), 0, z.ref());
  blas.symm(Uplo::Lower, 1, C, v.ref(), 0, y.ref());
  return relative_difference(exec, y.ref(), z.ref());
}

void vendor_syrk(Run& run, std::int64_t n) {
  Exec const& exec = run.exec();
  OwnedMatrix const A(exec, n, n, fp64), C(exec, n, n, fp64);
  fill_uniform(exec, A.ref(), -1, 1);
  Blas& blas = shared_blas(BlasPath::Vendor);
  run.measure([&] { fill_zero(exec, C.ref()); },
              [&] { blas.syrk(Uplo::Lower, Op::NoTrans, -1, A.ref(), 1, C.ref()); });
  run.count_flops(syrk_flops(n, n), fp64);
  run.count_error("error", error_limit({fp64}, n),
                  [&] { return syrk_error(blas, A.ref(), C.ref()); });
  run.is_vendor(text("syrk ", n));
}

void syrk(Run& run, LayerList const& layers, std::int64_t n) {
  Exec const& exec = run.exec();
  Precision const type = accumulator(layers.leaf());
  OwnedMatrix const A(exec, n, n, type), C(exec, n, n, type);
  fill_uniform(exec, A.ref(), -1, 1);
  Blas& blas = shared_blas();
  run.measure([&] { fill_zero(exec, C.ref()); },
              [&] {
                tree_syrk(blas, layers, product_leaf_size(n, layers), Uplo::Lower, Op::NoTrans, -1,
                          A.ref(), 1, C.ref());
              });
  run.count_flops(syrk_flops(n, n), layers.at_depth(0));
  run.count_error("error", error_limit(layers, n),
                  [&] { return syrk_error(blas, A.ref(), C.ref()); });
  run.count_ratio(text("syrk ", n));
}

// ---- TRSM, X L^T = B, m = n
// ----------------------------------------------------------------------

// ||X L^T v - B v|| / ||B v|| for a random v, which needs L before and B again after the solve.
class TrsmProbe {
 public:
  TrsmProbe(Blas& blas, Matrix const& L)
      : v_(blas.exec(), L.rows, 1, fp64), t_(blas.exec(), L.rows, 1, fp64) {
    fill_uniform(blas.exec(), v_.ref(), -1, 5);
    blas.gemm(Op::Trans, Op::NoTrans, 1, L, v_.ref(), 0, t_.ref());
  }
  static void fill(Exec const& exec, Matrix const& B) { fill_uniform(exec, B, 0, 2); }
  double error(Blas& blas, Matrix const& X) const {
    Exec const& exec = blas.exec();
    OwnedMatrix const y(exec, X.rows, 1, fp64), z(exec, X.rows, 1, fp64);
    blas.gemm(Op::NoTrans, Op::NoTrans, 1, X, t_.ref(), 0, y.ref());
    fill(exec, X);
    blas.gemm(Op::NoTrans, Op::NoTrans, 1, X, v_.ref(), 0, z.ref());
    return relative_difference(exec, y.ref(), z.ref());
  }

 private:
  OwnedMatrix v_, t_;
};

void vendor_trsm(Run& run, std::int64_t n) {
  Exec const& exec = run.exec();
  OwnedMatrix const L(exec, n, n, fp64), B(exec, n, n, fp64);
  fill_lower(exec, L.ref());
  Blas& blas = shared_blas(BlasPath::Vendor);
  TrsmProbe const probe(blas, L.ref());
  run.measure(
      [&] { TrsmProbe::fill(exec, B.ref()); },
      [&] { blas.trsm(Side::Right, Uplo::Lower, Op::Trans, Diag::NonUnit, 1, L.ref(), B.ref()); });
  run.count_flops(trsm_flops(n, n), fp64);
  run.count_error("error", error_limit({fp64}, n), [&] { return probe.error(blas, B.ref()); });
  run.is_vendor(text("trsm ", n));
}

void trsm(Run& run, LayerList const& layers, std::int64_t n) {
  Exec const& exec = run.exec();
  Blas& blas = shared_blas();
  OwnedMatrix L(exec, n, n, fp64);
  fill_lower(exec, L.ref());
  TrsmProbe const probe(blas, L.ref());
  Tree tree(exec, n, layers, product_leaf_size(n, layers));
  tree.load(exec, Uplo::Lower, L.ref());
  tree.quantise_all(blas);
  exec.fence("strata::perf::loaded");
  tree.release_working();
  L.free();
  OwnedMatrix const B(exec, n, n, accumulator(layers.leaf()));
  run.measure([&] { TrsmProbe::fill(exec, B.ref()); },
              [&] {
                tree_trsm(blas, Side::Right, Op::Trans, Diag::NonUnit, 1, tree, B.ref(),
                          Products::Layered);
              });
  run.count_flops(trsm_flops(n, n), layers.at_depth(0));
  run.count("bytes", static_cast<double>(tree.stored_bytes()));
  run.count_error("error", error_limit(layers, n), [&] { return probe.error(blas, B.ref()); });
  run.count_ratio(text("trsm ", n));
}

// ---- POTRF
// ---------------------------------------------------------------------------------------

std::int64_t value(Exec const& exec, Blas::InfoView const& info) {
  std::int64_t order = 0;
  Kokkos::deep_copy(exec, order, info);
  exec.fence("strata::perf::info");
  return order;
}
Blas::InfoView make_info(Exec const& exec) {
  return Blas::InfoView(Kokkos::view_alloc(exec, "strata::perf::info"));
}
void require_success(Exec const& exec, Blas::InfoView const& info) {
  std::int64_t const order = value(exec, info);
  STRATA_REQUIRE(ValueError, order == 0, "the minor of order ", order, " is not positive");
}

// Backward error of X = (L L^T)^-1 B, not refined; `solve` does it in place and leaves A there.
template <class Solve>
double solve_error(Blas& blas, MatrixView const& A, Solve const& solve) {
  Exec const& exec = blas.exec();
  auto const n = static_cast<std::int64_t>(A.extent(0));
  OwnedMatrix const B(exec, n, 1, fp64), X(exec, n, 1, fp64);
  fill_uniform(exec, B.ref(), 0, 3);
  fill_uniform(exec, X.ref(), 0, 3);
  solve(X.ref());
  return backward_error(blas, matrix_ref(A), X.ref(), B.ref());
}

void vendor_potrf(Run& run, std::int64_t n) {
  Exec const& exec = run.exec();
  MatrixView const A = fp64_matrix(exec, n, n);
  SpdMatrix const matrix(exec, "dominant", n, 1);
  Blas& blas = shared_blas(BlasPath::Vendor);
  auto const info = make_info(exec);
  auto const factor = [&] { blas.potrf(Uplo::Lower, matrix_ref(A), 0, info); };
  run.measure([&] { matrix.fill(exec, A); }, factor);
  require_success(exec, info);
  auto const error = [&](SpdMatrix const& kind) {
    return solve_error(blas, A, [&](Matrix const& X) {
      for (Op const op : {Op::NoTrans, Op::Trans})
        blas.trsm(Side::Left, Uplo::Lower, op, Diag::NonUnit, 1, matrix_ref(A), X);
      kind.fill(exec, A);
    });
  };
  run.count_flops(potrf_flops(n), fp64);
  run.count("bytes", static_cast<double>(A.size() * sizeof(double)));
  run.count_memory();
  run.count_error("backward_error", error_limit({fp64}, n), [&] { return error(matrix); });
  run.count_error("hard_backward_error", error_limit({fp64}, n), [&] {
    SpdMatrix const hard(exec, "geometric", n, settings().condition);
    hard.fill(exec, A);
    factor();
    return error(hard);
  });
  run.is_vendor(text("potrf ", n));
}

// `repeated`: as one graph, where the device has such; the first two times make it.
void potrf(Run& run, LayerList const& layers, std::int64_t n, bool repeated) {
  Exec const& exec = run.exec();
  MatrixView const A = fp64_matrix(exec, n, n);
  SpdMatrix(exec, "dominant", n, 1).fill(exec, A);
  Blas& blas = shared_blas();
  Tree tree(exec, n, layers, leaf_size(n, layers));
  auto const info = make_info(exec);
  auto const load = [&] { tree.load(exec, Uplo::Lower, matrix_ref(A)); };
  RepeatedPotrf<Exec> again(exec, tree);
  auto const factor = [&] { repeated ? again(info) : tree_potrf(blas, tree, info); };
  auto const error = [&] {
    return solve_error(blas, A, [&](Matrix const& X) {
      for (Op const op : {Op::NoTrans, Op::Trans})
        tree_trsm(blas, Side::Left, op, Diag::NonUnit, 1, tree, X, Products::AsStored);
    });
  };
  for (int times = 0; repeated && times < 2; ++times) load(), factor();
  run.measure(load, factor);
  require_success(exec, info);
  run.count_flops(potrf_flops(n), layers.at_depth(0));
  run.count("bytes", static_cast<double>(tree.stored_bytes() + tree.working_bytes()));
  run.count_memory();
  run.count_error("backward_error", error_limit(layers, n), error);
  // On the hard matrix a low layer may break down: hard_info is then the order of the minor.
  auto const broke = run.count_once("hard_info", [&] {
    SpdMatrix(exec, "geometric", n, settings().condition).fill(exec, A);
    load();
    factor();
    return static_cast<double>(value(exec, info));
  });
  if (broke == 0) run.count_error("hard_backward_error", error_limit(layers, n), error);
  run.count_ratio(text("potrf ", n));
}

void register_vendor(std::int64_t n) {
  std::string const rest = text("vendor/fp64/n:", n);
  add("dense/tree_syrk", rest, [=](Run& run) { vendor_syrk(run, n); });
  add("dense/tree_trsm", rest, [=](Run& run) { vendor_trsm(run, n); });
  add("dense/tree_potrf", rest, [=](Run& run) { vendor_potrf(run, n); });
}

Suite const suite([] {
  for (std::int64_t const n : settings().n) {
    if (has_vendor()) register_vendor(n);
    for (LayerList const& layers : settings().layers) {
      std::string const rest = short_name(layers) + text("/n:", n);
      add("dense/tree_syrk", rest, [=](Run& run) { syrk(run, layers, n); });
      add("dense/tree_trsm", rest, [=](Run& run) { trsm(run, layers, n); });
      add("dense/tree_potrf", rest, [=](Run& run) { potrf(run, layers, n, false); });
      add("dense/repeated_potrf", rest, [=](Run& run) { potrf(run, layers, n, true); });
    }
  }
});

}  // namespace

}  // namespace strata::perf
