// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/Strata_PosvMixed.hpp>

#include <core/info/Strata_Version.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/Strata_Automatic.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/tree/Strata_BlockTree.hpp>
#include <dense/tree/Strata_InPlace.hpp>

#include <algorithm>
#include <cmath>

namespace strata::dense {

namespace {

template <class Exec>
using Matrix = MatrixRef<typename Exec::memory_space>;
template <class Exec>
using ConstMatrix = ConstMatrixRef<typename Exec::memory_space>;

// All but the leaves in `low`.
template <class Exec>
LayerList over_fp32(Precision low, std::int64_t n) {
  auto const leaf = automatic_leaf_size<Exec>(n, {Precision::fp32});
  std::vector<Precision> layers;
  for (std::int64_t size = n; size > leaf; size = half_of_leaves(size, leaf)) layers.push_back(low);
  layers.push_back(Precision::fp32);
  return LayerList(layers);
}

// What is tried before fp64, in this order: fp32 is what LAPACK's own would take.
template <class Exec>
std::vector<LayerList> low_layers(std::int64_t n, std::int64_t columns,
                                  std::optional<LayerList> const& asked) {
  constexpr bool on_host = strata::runs_on_host<Exec>;
  if (asked) return {*asked};
  if (fp64_is_faster(n, columns)) return {};
  LayerList const plain{Precision::fp32};
  LayerList const lowest =
      on_host ? over_fp32<Exec>(Precision::bf16, n) : automatic_layers<Exec>(n);
  // AMX multiplies bf16 16 times as fast as fp32; AVX-512's twice is lost in the conversions.
  bool const worth_it = !on_host || (n >= 4096 && host_has_matrix_units(Precision::bf16));
  if (!worth_it || lowest == plain || lowest.is_fp64()) return {plain};
  return {lowest, plain};
}

// A refinement costs two or three readings of the matrix: so many cost less than the next
// factorisation.
int patience(std::int64_t n, bool last) {
  return last ? static_cast<int>(std::max<std::int64_t>(30, n / 64)) : 30;
}

template <class Memory, class Data>
auto view_of(MatrixRef<Memory, Data> const& A, bool transposed) {
  auto const extent = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  std::size_t const rows = extent(transposed ? A.cols : A.rows),
                    cols = extent(transposed ? A.rows : A.cols);
  Kokkos::LayoutStride const layout(rows, transposed ? extent(A.ld) : 1, cols,
                                    transposed ? 1 : extent(A.ld));
  return Kokkos::View<ConstLike<double, Data>**, Kokkos::LayoutStride, Memory>(
      A.template as<double>(), layout);
}

template <class Exec>
StridedMatrix<double const> strided(ConstMatrix<Exec> const& A) {
  return {A.template as<double>(), A.rows, A.cols, 1, A.ld};
}

// The worst of a symmetric matrix once its diagonal is scaled to 1: 2 where a number is beyond
// fp32, or infinite; 1 where one is NaN.
template <class Exec>
int worst_of(Exec const& exec, Uplo uplo, ConstMatrix<Exec> const& A) {
  double const* const a = A.template as<double>();
  std::int64_t const n = A.rows, ld = A.ld;
  bool const lower = uplo == Uplo::Lower;
  int worst = 0;
  Kokkos::parallel_reduce(
      "strata::dense::posv_mixed::range",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, n),
      KOKKOS_LAMBDA(std::int64_t j, int& found) {
        constexpr double largest = 0x1.fffffep127;  // of fp32
        auto const scale = [&](std::int64_t i) {
          double const d = a[i + i * ld];
          return d > 0 && Kokkos::isfinite(d) ? Kokkos::sqrt(d) : 1.0;
        };
        double const scale_j = scale(j);
        for (std::int64_t i = lower ? j : 0; i < (lower ? n : j + 1); ++i) {
          double const value = a[i + j * ld];
          bool const fits = !(Kokkos::abs(value) / scale(i) / scale_j > largest);
          int const kind = !fits ? 2 : value != value ? 1 : 0;
          found = kind > found ? kind : found;
        }
      },
      Kokkos::Max<int>(worst));
  exec.fence("strata::dense::posv_mixed: read the range");
  return worst;
}

// X = A^-1 B from a factor in `layers`; what became of it.
template <class Exec>
CholeskyAttempt try_layers(Exec const& exec, Uplo uplo, ConstMatrix<Exec> const& A,
                           ConstMatrix<Exec> const& B, Matrix<Exec> const& X,
                           LayerList const& layers, MixedOptions const& options, bool last,
                           MixedReport& report) {
  bool const first = report.attempts.empty();
  CholeskyAttempt attempt{{{first ? Rung::AsAsked : Rung::HigherLayers}}, layers, 0};
  RefinementOptions refinement;
  // ||r|| <= 2 tolerance ||A|| ||x||, as ||b|| <= ||A|| ||x|| + ||r||
  refinement.tolerance = std::sqrt(static_cast<double>(A.rows)) * 0x1p-54;
  refinement.max_iterations =
      options.max_iterations > 0 ? options.max_iterations : patience(A.rows, last);
  try {
    CholeskyFactor<Exec> factor(exec, view_of(A, uplo == Uplo::Upper), layers,
                                {.leaf_size = options.leaf_size, .ladder = false});
    attempt = factor.report().attempts.front();
    attempt.rung = first ? Rung::AsAsked : Rung::HigherLayers;
    if (!factor.info().ok()) {
      bool const fits = worst_of(exec, uplo, A) == 0;
      attempt.outcome = fits ? Outcome::BrokeDown : Outcome::Overflowed;
      return attempt;
    }
    auto const solve = factor.solve(exec, view_of(B, false), view_of(X, false), refinement);
    bool const held = solve.converged && solve.backward_error <= refinement.tolerance;
    attempt.outcome = held ? Outcome::Held : Outcome::NotConverged;
    report.iterations = held ? std::max<std::int64_t>(0, solve.iterations - 1) : 0;
  } catch (ValueError const&) {  // what is not finite, or has sums that are not
    attempt.outcome = worst_of(exec, uplo, A) == 1 ? Outcome::BrokeDown : Outcome::Overflowed;
  }
  return attempt;
}

// X = A^-1 B from the factor of A in its place.
template <class Exec>
CholeskyAttempt solve_in_place(LeafBlas<Exec>& blas, Uplo uplo, Matrix<Exec> const& A,
                               ConstMatrix<Exec> const& B, Matrix<Exec> const& X) {
  CholeskyAttempt attempt{{{Rung::Fp64}}, LayerList{Precision::fp64}, 0};
  Kokkos::Timer const timer;
  Info const info = potrf_in_place(blas, uplo, A);
  attempt.factor_seconds = timer.seconds();
  attempt.info = info.order();
  attempt.outcome = info.ok() ? Outcome::Held : Outcome::BrokeDown;
  if (!info.ok() || B.cols == 0) return attempt;
  blas.convert(Op::NoTrans, B, X);
  potrs_in_place(blas, uplo, A, X);
  blas.exec().fence("strata::dense::posv_mixed: X is ready");
  return attempt;
}

}  // namespace

template <class Exec>
MixedReport posv_mixed(LeafBlas<Exec>& blas, Uplo uplo, Matrix<Exec> const& A,
                       ConstMatrix<Exec> const& B, Matrix<Exec> const& X,
                       MixedOptions const& options) {
  Region const region(blas.exec(), "strata::dense::posv_mixed");
  std::int64_t const n = A.rows;
  STRATA_REQUIRE(ShapeError, A.cols == n && B.rows == n && X.rows == n && B.cols == X.cols,
                 "posv_mixed: A is ", n, " x ", A.cols, ", B ", B.rows, " x ", B.cols, ", X ",
                 X.rows, " x ", X.cols);
  STRATA_REQUIRE(ShapeError, A.ld >= n && B.ld >= n && X.ld >= n,
                 "posv_mixed: the leading dimensions of A, B and X are ", A.ld, ", ", B.ld, " and ",
                 X.ld, ", must be at least ", n);
  STRATA_REQUIRE(ValueError, options.leaf_size >= 0 && options.max_iterations >= 0,
                 "posv_mixed: the leaf size is ", options.leaf_size, " and the iterations are ",
                 options.max_iterations, ", must be >= 1, or 0 for automatic");
  MixedReport report;
  if (n == 0) return report;
  auto const a = strided<Exec>(A), b = strided<Exec>(B), x = strided<Exec>(X);
  STRATA_REQUIRE(ValueError, !share_memory(x, b), "posv_mixed: X overlaps B");
  STRATA_REQUIRE(ValueError, !share_memory(x, a), "posv_mixed: X overlaps A");
  STRATA_REQUIRE(ValueError, !share_memory(b, a), "posv_mixed: B overlaps A");
  auto const tries = low_layers<Exec>(n, B.cols, options.layers);
  for (auto const& layers : tries) {
    report.attempts.push_back(try_layers<Exec>(blas.exec(), uplo, A, B, X, layers, options,
                                               &layers == &tries.back(), report));
    if (report.attempts.back().outcome == Outcome::Held) return report;
    if (report.attempts.back().outcome == Outcome::Overflowed) break;  // in all of them
  }
  (void)blas.scratch(0, sizeof(std::int64_t));  // what fp64 needs, while A is as it was
  if (options.before_overwrite) options.before_overwrite();
  report.overwritten = true;
  report.attempts.push_back(solve_in_place<Exec>(blas, uplo, A, B, X));
  if (std::int64_t const order = report.attempts.back().info; order != 0)
    report.info = Info::breakdown(order);
  return report;
}

#define STRATA_INSTANTIATE(Exec)                                                       \
  template MixedReport posv_mixed<Exec>(LeafBlas<Exec>&, Uplo, Matrix<Exec> const&,    \
                                        ConstMatrix<Exec> const&, Matrix<Exec> const&, \
                                        MixedOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
