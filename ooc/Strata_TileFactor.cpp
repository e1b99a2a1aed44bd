// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <cmath>
#include <core/detail/Strata_Instantiate.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/detail/Strata_TileFeed.hpp>

namespace strata::ooc {

namespace {

// Y = D X, or Y = D^-1 X; an empty d is the identity.
template <class Exec, class Block>
void scale_rows(Exec const& exec, Kokkos::View<double const*, typename Exec::memory_space> const& d,
                Block const& X, Block const& Y, bool inverse = false) {
  bool const scaled = d.extent(0) > 0;
  strata::detail::for_each_element(
      "strata::ooc::solve::scale", exec, static_cast<std::int64_t>(X.extent(0)),
      static_cast<std::int64_t>(X.extent(1)), KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        double const factor = scaled ? d(i) : 1;
        Y(i, j) = inverse ? X(i, j) / factor : factor * X(i, j);
      });
}

template <class Exec>
using BlockOf = typename TileFactor<Exec>::Block;

// Rows of a block of vectors that belong to tile row i.
template <class Exec>
auto part(TileMatrix<Exec> const& matrix, BlockOf<Exec> const& V, std::int64_t i) {
  return matrix_ref(V).block(i * matrix.tile_size(), 0, matrix.rows(i),
                             static_cast<std::int64_t>(V.extent(1)));
}

// V = L^-1 V:  V_k = L_kk^-1 V_k,  V_i -= L_ik V_k
template <class Exec>
void forward(Exec const& exec, TileMatrix<Exec> const& matrix, BlockOf<Exec> const& V) {
  LeafBlas<Exec> blas(exec);
  detail::TileFeed<Exec> feed(exec, matrix);
  for (std::int64_t k = 0; k < matrix.tiles(); ++k) {
    auto const X = part<Exec>(matrix, V, k);
    blas.trsm(Side::Left, Uplo::Lower, Op::NoTrans, Diag::NonUnit, 1, feed.next(k, k).matrix, X);
    for (std::int64_t i = k + 1; i < matrix.tiles(); ++i) {
      auto const L = feed.next(i, k);
      blas.gemm(L.op, Op::NoTrans, -1, L.matrix, X, 1, part<Exec>(matrix, V, i));
    }
  }
  exec.fence("strata::ooc::solve::forward");
}

// V = L^-T V:  V_k -= L_ik^T V_i,  V_k = L_kk^-T V_k
template <class Exec>
void backward(Exec const& exec, TileMatrix<Exec> const& matrix, BlockOf<Exec> const& V) {
  LeafBlas<Exec> blas(exec);
  detail::TileFeed<Exec> feed(exec, matrix);
  for (std::int64_t k = matrix.tiles() - 1; k >= 0; --k) {
    auto const X = part<Exec>(matrix, V, k);
    for (std::int64_t i = matrix.tiles() - 1; i > k; --i) {
      auto const L = feed.next(i, k);
      blas.gemm(transposed(L.op), Op::NoTrans, -1, L.matrix, part<Exec>(matrix, V, i), 1, X);
    }
    blas.trsm(Side::Left, Uplo::Lower, Op::Trans, Diag::NonUnit, 1, feed.next(k, k).matrix, X);
  }
  exec.fence("strata::ooc::solve::backward");
}

// Y = H X, each tile for both triangles
template <class Exec>
void apply_scaled(Exec const& exec, TileMatrix<Exec> const& matrix, BlockOf<Exec> const& X,
                  BlockOf<Exec> const& Y) {
  LeafBlas<Exec> blas(exec);
  std::int64_t const edge = std::min(matrix.order(), matrix.tile_size());
  Kokkos::View<double*, typename Exec::memory_space> const buffer(
      Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "strata::ooc::apply::tile"),
      static_cast<std::size_t>(edge * edge));
  Kokkos::deep_copy(exec, Y, 0.0);
  for (std::int64_t j = 0; j < matrix.tiles(); ++j) {
    for (std::int64_t i = j; i < matrix.tiles(); ++i) {
      TileView<Exec> const tile(buffer.data(), static_cast<std::size_t>(matrix.rows(i)),
                                static_cast<std::size_t>(matrix.rows(j)));
      matrix.generate_tile(exec, i, j, tile);
      auto const A = matrix_ref(tile);
      auto const Xi = part<Exec>(matrix, X, i), Xj = part<Exec>(matrix, X, j);
      auto const Yi = part<Exec>(matrix, Y, i), Yj = part<Exec>(matrix, Y, j);
      if (i == j) {
        blas.symm(Uplo::Lower, 1, A, Xi, 1, Yi);
        continue;
      }
      blas.gemm(Op::NoTrans, Op::NoTrans, 1, A, Xj, 1, Yi);
      blas.gemm(Op::Trans, Op::NoTrans, 1, A, Xi, 1, Yj);
    }
  }
  exec.fence("strata::ooc::apply");
}

template <class Exec>
BlockOf<Exec> allocate_like(Exec const& exec, char const* label, BlockOf<Exec> const& V) {
  return BlockOf<Exec>(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, std::string(label)),
                       V.extent(0), V.extent(1));
}

}  // namespace

template <class Exec>
TileFactor<Exec>::TileFactor(TileMatrix<Exec>&& matrix, Info info, CholeskyReport report)
    : matrix_(std::move(matrix)), info_(info), report_(std::move(report)) {}

template <class Exec>
void TileFactor<Exec>::require_factor(char const* what, std::size_t rows) const {
  STRATA_REQUIRE(ValueError, info_.ok(), what, ": there is no factor; the minor of order ",
                 info_.order(), " is not positive");
  STRATA_REQUIRE(ShapeError, static_cast<std::int64_t>(rows) == matrix_.order(), what, ": ", rows,
                 " rows, the matrix has ", matrix_.order());
}

template <class Exec>
double TileFactor<Exec>::log_determinant() const {
  require_factor("log_determinant", static_cast<std::size_t>(matrix_.order()));
  double sum = 0;
  for (std::int64_t k = 0; k < matrix_.tiles(); ++k) {
    auto const L = matrix_.tile(k, k);
    for (std::int64_t i = 0; i < L.rows; ++i)
      sum += 2 * std::log(L.template as<double>()[i * (L.ld + 1)]);
  }
  for (double const d : matrix_.scaling()) sum -= 2 * std::log(d);
  return sum;
}

template <class Exec>
dense::LogDeterminantEstimate TileFactor<Exec>::log_determinant(
    Exec const& exec, dense::LogDeterminantOptions const& options) const {
  double const of_factor = log_determinant();
  dense::LogDeterminantOperators<Exec> operators;
  operators.apply = [&](Block const& X, Block const& Y) {
    apply_scaled<Exec>(exec, matrix_, X, Y);
  };
  operators.forward = [&](Block const& V) { forward<Exec>(exec, matrix_, V); };
  operators.backward = [&](Block const& V) { backward<Exec>(exec, matrix_, V); };
  return dense::log_determinant(exec, matrix_.order(), of_factor, operators, options);
}

template <class Exec>
void TileFactor<Exec>::half_solve(Exec const& exec, Op op, Block const& V) const {
  Kokkos::Profiling::ScopedRegion const region("strata::ooc::half_solve");
  require_factor("half_solve", V.extent(0));
  if (V.size() == 0) return;
  if (op == Op::NoTrans) {
    scale_rows(exec, matrix_.device_scaling(), V, V);
    forward<Exec>(exec, matrix_, V);
  } else {
    backward<Exec>(exec, matrix_, V);
    scale_rows(exec, matrix_.device_scaling(), V, V);
    exec.fence("strata::ooc::half_solve");
  }
}

// A X = D^-1 H D^-1 X
template <class Exec>
void TileFactor<Exec>::apply(Exec const& exec, Block const& X, Block const& Y) const {
  Kokkos::Profiling::ScopedRegion const region("strata::ooc::apply");
  STRATA_REQUIRE(ShapeError,
                 static_cast<std::int64_t>(X.extent(0)) == matrix_.order() &&
                     X.extent(0) == Y.extent(0) && X.extent(1) == Y.extent(1),
                 "apply: X is ", X.extent(0), " x ", X.extent(1), ", Y is ", Y.extent(0), " x ",
                 Y.extent(1), ", the matrix has order ", matrix_.order());
  if (X.size() == 0) return;
  Block const scaled = allocate_like<Exec>(exec, "strata::ooc::apply::X", X);
  scale_rows(exec, matrix_.device_scaling(), X, scaled, true);
  apply_scaled<Exec>(exec, matrix_, scaled, Y);
  scale_rows(exec, matrix_.device_scaling(), Y, Y, true);
  exec.fence("strata::ooc::apply");
}

template <class Exec>
dense::RefinementReport TileFactor<Exec>::solve(Exec const& exec, Block const& B, Block const& X,
                                                SolveOptions const& options) const {
  Kokkos::Profiling::ScopedRegion const region("strata::ooc::solve");
  require_factor("solve", B.extent(0));
  STRATA_REQUIRE(ShapeError, B.extent(0) == X.extent(0) && B.extent(1) == X.extent(1),
                 "solve: B is ", B.extent(0), " x ", B.extent(1), " and X is ", X.extent(0), " x ",
                 X.extent(1), ", must be the same");
  dense::RefinementOperators<Exec> operators;
  operators.norm_inf = matrix_.norm_inf();
  operators.apply = [&](Block const& U, Block const& V) {
    apply_scaled<Exec>(exec, matrix_, U, V);
  };
  operators.precondition = [&](Block const& R) {
    forward<Exec>(exec, matrix_, R);
    backward<Exec>(exec, matrix_, R);
  };
  Block const scaled = allocate_like<Exec>(exec, "strata::ooc::solve::B", B);
  scale_rows(exec, matrix_.device_scaling(), B, scaled);  // H (D^-1 X) = D B
  auto const report = dense::refine(exec, operators, scaled, X, options.refinement);
  scale_rows(exec, matrix_.device_scaling(), X, X);
  exec.fence("strata::ooc::solve");
  return report;
}

#define STRATA_INSTANTIATE(Exec) template class TileFactor<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc
