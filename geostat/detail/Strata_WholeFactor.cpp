// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/detail/Strata_WholeFactor.hpp>

#include <core/Strata_MatrixRef.hpp>
#include <core/io/Strata_HostMatrix.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace strata::geostat::detail {

namespace {

// Columns that a product evaluates at a time, of 64 MiB or fewer where there are more than 64.
std::int64_t columns_at_a_time(std::int64_t n) {
  constexpr std::int64_t numbers = std::int64_t{1} << 23;
  return std::min(n, std::clamp<std::int64_t>(numbers / std::max<std::int64_t>(n, 1), 64, 512));
}

// k with the variance in [1/2, 2) 4^k.
int exponent_of(double variance) {
  int exponent = 0;
  (void)std::frexp(variance, &exponent);
  return exponent >> 1;  // rounds down
}

template <class Exec, class Block>
void scale(Exec const& exec, Block const& V, double factor) {
  if (factor == 1) return;
  for_each_element(
      "strata::geostat::whole_factor::scale", exec, static_cast<std::int64_t>(V.extent(0)),
      static_cast<std::int64_t>(V.extent(1)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) { V(i, j) *= factor; });
}

template <class Exec, class Block>
void copy_diagonal(Exec const& exec, Block const& H, Block const& target) {
  for_each_element(
      "strata::geostat::whole_factor::diagonal", exec, static_cast<std::int64_t>(H.extent(0)), 1,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t) { target(i, 0) = H(i, i); });
}

template <class Exec, class Block>
double largest_of(Exec const& exec, Block const& V, int column) {
  double largest = 0;
  Kokkos::parallel_reduce(
      "strata::geostat::whole_factor::largest", Kokkos::RangePolicy<Exec>(exec, 0, V.extent(0)),
      KOKKOS_LAMBDA(std::int64_t i, double& most) {
        if (V(i, column) > most) most = V(i, column);
      },
      Kokkos::Max<double>(largest));
  return largest;
}

}  // namespace

template <class Exec>
std::size_t WholeFactor<Exec>::bytes_needed(std::int64_t n) {
  return dense_bytes("covariance factor", n, n + columns_at_a_time(n) + 2,
                     std::numeric_limits<std::size_t>::max());
}

template <class Exec>
WholeFactor<Exec>::WholeFactor(Exec const& exec, std::int64_t n)
    : exec_(exec),
      blas_(exec),
      H_(allocate<Block>(exec, "strata::geostat::whole_factor::H", n, n)),
      columns_(
          allocate<Block>(exec, "strata::geostat::whole_factor::columns", n, columns_at_a_time(n))),
      vectors_(allocate<Block>(exec, "strata::geostat::whole_factor::vectors", n, 2)),
      minor_(allocate_zeros<decltype(minor_)>(exec, "strata::geostat::whole_factor::minor")),
      diagonal_(static_cast<std::size_t>(n)) {}

template <class Exec>
void WholeFactor<Exec>::refactor(MaternCovariance const& covariance, Locations const& locations,
                                 std::function<void(double)> const& on_fill) {
  Region const region(exec_, "strata::geostat::WholeFactor");
  entries_.reset();
  Kokkos::Timer timer;
  covariance.check();
  exponent_ = exponent_of(covariance.field() + covariance.nugget);
  MaternCovariance scaled = covariance;
  scaled.sigma2 = std::ldexp(covariance.sigma2, -2 * exponent_);
  if (scaled.second) scaled.second->sigma2 = std::ldexp(scaled.second->sigma2, -2 * exponent_);
  scaled.nugget = std::ldexp(covariance.nugget, -2 * exponent_);
  Locations at = locations;
  for (double& error : at.error_variances) error = std::ldexp(error, -2 * exponent_);
  CovarianceEntries<Space> const entries(exec_, scaled, at);
  entries.fill(exec_, H_, Triangle::Lower);
  measure();
  fill_seconds_ = timer.seconds();
  if (on_fill) on_fill(1);
  timer.reset();
  Kokkos::deep_copy(exec_, minor_, 0);
  blas_.potrf(Uplo::Lower, matrix_ref(H_), 0, minor_);
  take_diagonal();
  factor_seconds_ = timer.seconds();
  entries_.emplace(entries);
}

// Row sums of H, whose entries are not negative.
template <class Exec>
void WholeFactor<Exec>::measure() {
  norm_inf_ = 0;
  if (order() == 0) return;
  auto const ones = matrix_ref(vectors_).block(0, 0, order(), 1),
             sums = matrix_ref(vectors_).block(0, 1, order(), 1);
  Kokkos::deep_copy(exec_, vectors_, 1.0);
  blas_.symm(Uplo::Lower, 1, matrix_ref(H_), ones, 0, sums);
  norm_inf_ = std::ldexp(largest_of(exec_, vectors_, 1), 2 * exponent_);
}

template <class Exec>
void WholeFactor<Exec>::take_diagonal() {
  using Host = Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  copy_diagonal(exec_, H_, vectors_);
  Kokkos::deep_copy(exec_, Host(diagonal_.data(), diagonal_.size()),
                    Kokkos::subview(vectors_, Kokkos::ALL, 0));
  std::int64_t minor = 0;
  Kokkos::deep_copy(exec_, minor, minor_);
  exec_.fence("strata::geostat::whole_factor::factored");
  info_ = minor == 0 ? Info::success() : Info::breakdown(minor);
}

template <class Exec>
double WholeFactor<Exec>::log_determinant() const {
  long double sum = 0;
  for (double const l : diagonal_) sum += 2 * std::log(l);
  return static_cast<double>(sum + log_scaling());
}

template <class Exec>
double WholeFactor<Exec>::rounding_error(dense::LogDeterminantOptions const& options) {
  double logarithms = std::abs(static_cast<double>(log_scaling()));
  for (double const l : diagonal_) logarithms += std::abs(2 * std::log(l));
  dense::LogDeterminantOperators<Exec> of_H;
  of_H.forward = [this](Block const& V) {
    blas_.trsm(Side::Left, Uplo::Lower, Op::NoTrans, Diag::NonUnit, 1, matrix_ref(H_),
               matrix_ref(V));
  };
  return dense::log_determinant_rounding(exec_, order(), 0, of_H, options) + 0x1p-52 * logarithms;
}

// log det S - log det H
template <class Exec>
long double WholeFactor<Exec>::log_scaling() const {
  return 2.0L * exponent_ * static_cast<long double>(order()) * std::numbers::ln2_v<long double>;
}

template <class Exec>
dense::RefinementOperators<Exec> WholeFactor<Exec>::operators(Exec const& /*exec*/) {
  dense::RefinementOperators<Exec> result;
  result.apply = [this](Block const& X, Block const& Y) { multiply(X, Y); };
  result.precondition = [this](Block const& R) { substitute(R); };
  result.norm_inf = norm_inf_;
  return result;
}

// R = S^-1 R
template <class Exec>
void WholeFactor<Exec>::substitute(Block const& R) {
  double const factor = std::ldexp(1.0, -exponent_);
  scale(exec_, R, factor);
  blas_.potrs(matrix_ref(H_), matrix_ref(R));
  scale(exec_, R, factor);
}

// Y = S X, the entries of a block of columns on and below the diagonal for both triangles.
template <class Exec>
void WholeFactor<Exec>::multiply(Block const& X, Block const& Y) {
  using Columns =
      Kokkos::View<double**, Kokkos::LayoutLeft, Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  std::int64_t const n = order(), width = columns_at_a_time(n),
                     m = static_cast<std::int64_t>(X.extent(1));
  double const variance = std::ldexp(1.0, 2 * exponent_);
  auto const x = matrix_ref(X), y = matrix_ref(Y);
  for (std::int64_t first = 0; first < n; first += width) {
    std::int64_t const rows = n - first, cols = std::min(width, rows), below = rows - cols;
    Columns const columns(columns_.data(), static_cast<std::size_t>(rows),
                          static_cast<std::size_t>(cols));
    entries_->fill(exec_, first, first, columns);
    auto const A = matrix_ref(columns);
    blas_.gemm(Op::NoTrans, Op::NoTrans, variance, A, x.block(first, 0, cols, m),
               first == 0 ? 0 : 1, y.block(first, 0, rows, m));
    if (below > 0)
      blas_.gemm(Op::Trans, Op::NoTrans, variance, A.block(cols, 0, below, cols),
                 x.block(first + cols, 0, below, m), 1, y.block(first, 0, cols, m));
  }
}

template <class Exec>
dense::SolveReport WholeFactor<Exec>::solve(Block const& B, Block const& X) {
  return dense::solve(exec_, *this, dense::strided_matrix<Exec, double const>(B),
                      dense::strided_matrix<Exec, double>(X), {});
}

template <class Exec>
void WholeFactor<Exec>::half_solve(Op op, Block const& V, std::int64_t first_row) {
  std::int64_t const rows = order() - first_row;
  if (rows == 0) return;
  blas_.trsm(Side::Left, Uplo::Lower, op, Diag::NonUnit, std::ldexp(1.0, -exponent_),
             matrix_ref(H_).block(first_row, first_row, rows, rows),
             matrix_ref(V).block(first_row, 0, rows, static_cast<std::int64_t>(V.extent(1))));
  exec_.fence("strata::geostat::whole_factor::half_solve");
}

template <class Exec>
void WholeFactor<Exec>::apply(Block const& X, Block const& Y) {
  Block from = X;
  if (dense::share_memory(dense::strided_matrix<Exec, double const>(X),
                          dense::strided_matrix<Exec, double>(Y))) {
    from = allocate<Block>(exec_, "strata::geostat::whole_factor::X", X.extent(0), X.extent(1));
    Kokkos::deep_copy(exec_, from, X);
  }
  multiply(from, Y);
  exec_.fence("strata::geostat::whole_factor::apply");
}

#define STRATA_INSTANTIATE(Exec) template class WholeFactor<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat::detail
