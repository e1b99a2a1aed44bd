// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// LAPACK's dsposv: the factorisation in layers, and in fp64 where that fails.
#include <c/detail/Strata_Dsposv.hpp>

#include <c/detail/Strata_LapackCall.hpp>
#include <c/detail/Strata_Operand.hpp>
#include <c/detail/Strata_Options.hpp>
#include <c/strata.h>
#include <core/info/Strata_Version.hpp>
#include <dense/Strata_Automatic.hpp>
#include <dense/Strata_Cholesky.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

using namespace strata::c::detail;
using strata::Precision;
using strata::Uplo;
using strata::dense::LayerList;

namespace {

constexpr bool on_host = Kokkos::SpaceAccessibility<Exec, Kokkos::HostSpace>::accessible;

// LAPACK's iter where fp64 had to do it.
enum Fallback : std::int64_t {
  not_worth_it = -1,
  overflowed = -2,
  broke_down = -3,
  diverged = -31
};

// All but the leaves in `low`.
LayerList over_fp32(Precision low, std::int64_t n) {
  auto const leaf = strata::dense::automatic_leaf_size<Exec>(n, {Precision::fp32});
  std::vector<Precision> layers;
  for (std::int64_t size = n; size > leaf; size = strata::dense::half_of_leaves(size, leaf))
    layers.push_back(low);
  layers.push_back(Precision::fp32);
  return LayerList(std::move(layers));
}

// What is tried before fp64, in this order: fp32 is what LAPACK's own would take.
std::vector<LayerList> low_layers(std::int64_t n, std::int64_t nrhs,
                                  std::optional<LayerList> const& asked) {
  if (asked) return {*asked};
  if (strata::dense::fp64_is_faster(n, nrhs)) return {};
  LayerList const plain{Precision::fp32};
  LayerList const lowest =
      on_host ? over_fp32(Precision::bf16, n) : strata::dense::automatic_layers<Exec>(n);
  // AMX multiplies bf16 16 times as fast as fp32; AVX-512's twice is lost in the conversions.
  bool const worth_it = !on_host || (n >= 4096 && strata::host_has_matrix_units(Precision::bf16));
  if (!worth_it || lowest == plain || lowest.is_fp64()) return {plain};
  return {lowest, plain};
}

using Matrix = strata::MatrixRef<Memory>;
using ConstMatrix = strata::ConstMatrixRef<Memory>;
using strata::dense::CholeskyFactor;

template <class Data>
auto view_of(strata::MatrixRef<Memory, Data> const& a, bool transposed) {
  using Scalar = strata::ConstLike<double, Data>;
  auto const extent = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  std::size_t const rows = extent(transposed ? a.cols : a.rows),
                    cols = extent(transposed ? a.rows : a.cols);
  Kokkos::LayoutStride const layout(rows, transposed ? extent(a.ld) : 1, cols,
                                    transposed ? 1 : extent(a.ld));
  return Kokkos::View<Scalar**, Kokkos::LayoutStride, Memory>(a.template as<double>(), layout);
}

// A refinement costs two or three readings of the matrix: so many cost less than the next factorisation.
int patience(std::int64_t n, bool last) {
  return last ? static_cast<int>(std::max<std::int64_t>(30, n / 64)) : 30;
}

// X = A^-1 B from a factor in `layers`; the number of refinements, or why there is no X.
std::int64_t solve_low(Exec const& exec, Uplo uplo, ConstMatrix const& A, ConstMatrix const& B,
                       Matrix const& X, LayerList const& layers, Choices const& options,
                       bool last) {
  strata::dense::CholeskyOptions factor_options;
  factor_options.leaf_size = options.cholesky.leaf_size;
  factor_options.ladder = false;
  strata::dense::RefinementOptions refinement;
  // ||r|| <= 2 tolerance ||A|| ||x||, as ||b|| <= ||A|| ||x|| + ||r||
  refinement.tolerance = std::sqrt(static_cast<double>(A.rows)) * 0x1p-54;
  refinement.max_iterations = options.refinement.max_iterations > 0
                                  ? options.refinement.max_iterations
                                  : patience(A.rows, last);
  try {
    CholeskyFactor<Exec> factor(exec, view_of(A, uplo == Uplo::Upper), layers, factor_options);
    if (!factor.info().ok())
      return range_of(exec, uplo, A) == Range::Fits ? broke_down : overflowed;
    auto const report = factor.solve(exec, view_of(B, false), view_of(X, false), refinement);
    if (!report.converged || report.backward_error > refinement.tolerance) return diverged;
    return std::max<std::int64_t>(0, report.iterations - 1);
  } catch (strata::ValueError const&) {  // what is not finite, or has sums that are not
    return range_of(exec, uplo, A) == Range::NaN ? broke_down : overflowed;
  }
}

}  // namespace

strata_status strata_dsposv(char uplo, int64_t n, int64_t nrhs, double* A, int64_t lda,
                            double const* B, int64_t ldb, double* X, int64_t ldx,
                            strata_options const* options, int64_t* iter, int64_t* info) {
  return lapack_call("strata_dsposv", info, [&](std::int64_t& order) {
    if (iter == nullptr) throw strata::ValueError("iter is a null pointer");
    *iter = 0;
    Uplo const triangle = require_triangle(uplo);
    require_system(n, nrhs, A, lda, B, ldb);
    require_matrix("X", X, n, nrhs, ldx, sizeof(double), 8, 9);
    Choices const asked = choices(options);
    if (n == 0) return;
    User const user;
    Workbench const bench;
    Exec const& exec = bench.exec();
    Operand<double> const a(exec, A, n, n, lda, part_of(triangle));
    Operand<double const> const b(exec, B, n, nrhs, ldb, Part::All);
    Operand<double> const x(exec, X, n, nrhs, ldx, Part::None);
    auto const tries = low_layers(n, nrhs, asked.layers);
    *iter = not_worth_it;
    for (auto const& layers : tries) {
      *iter = solve_low(exec, triangle, a.matrix(), b.matrix(), x.matrix(), layers, asked,
                        &layers == &tries.back());
      if (*iter >= 0 || *iter == overflowed) break;
    }
    if (*iter < 0) {
      overwrite(a.in_place(), [&] {
        order = potrf_in_place(bench, triangle, a.matrix(), 0);
        if (order == 0 && nrhs > 0) {
          bench.blas().convert(strata::Op::NoTrans, b.matrix(), x.matrix());
          potrs_in_place(bench, triangle, a.matrix(), x.matrix());
        }
      });
    }
    overwrite(*iter < 0, [&] {
      if (*iter < 0) a.write_back(exec, part_of(triangle));
      if (order == 0) x.write_back(exec, Part::All);
      exec.fence("strata::c::dsposv: X is written");
    });
  });
}
