// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/portable/detail/Strata_WidenedBlas.hpp>

#include <core/blas/basics/vendor/Strata_VendorBlas.hpp>
#include <core/blas/portable/detail/Strata_PortableBlas.hpp>
#include <core/blas/portable/detail/Strata_TrsmByHalves.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <algorithm>

namespace strata::detail {
namespace {

constexpr std::int64_t block_bytes = std::int64_t{64} << 20;
constexpr std::int64_t syrk_limit =
    512;  // a block on the diagonal is formed whole in low precision

constexpr std::int64_t bytes_of(Precision precision) {
  return static_cast<std::int64_t>(traits(precision).bytes);
}
/// Order of a square block of `block_bytes`.
constexpr std::int64_t edge(Precision accumulator) {
  return accumulator == Precision::fp64 ? 2816 : 4096;
}
/// Columns of `rows` numbers that fit `block_bytes`, but 64 at least.
constexpr std::int64_t chunk(Precision accumulator, std::int64_t rows, std::int64_t cols) {
  return std::min(cols, std::max<std::int64_t>(64, block_bytes / (rows * bytes_of(accumulator))));
}
constexpr Precision accumulator_of(Precision a, Precision b) {
  return a == Precision::fp64 || b == Precision::fp64 ? Precision::fp64 : Precision::fp32;
}

/// How alpha, beta and the operands' scales are applied. Either the backend applies them and writes
/// C directly, or they are applied when a product in the accumulator's type is rounded into C.
template <class Exec>
struct Scaling {
  Factor factor;
  double beta;
  bool direct;

  template <class Matrix>
  Scaling(double alpha, double const* first, double const* second, double beta_c,
          Precision accumulator, Matrix const& C)
      : factor{alpha, first, second}, beta(beta_c) {
    if constexpr (runs_on_host<Exec>) factor = {factor()};
    direct = C.precision == accumulator && !factor.first && !factor.second &&
             is_representable(accumulator, factor.alpha) && is_representable(accumulator, beta);
  }
  double backend_alpha() const { return direct ? factor.alpha : 1; }
  double backend_beta(bool first_panel) const { return !first_panel ? 1 : direct ? beta : 0; }
};

}  // namespace

template <class Exec, class Backend>
auto WidenedBlas<Exec, Backend>::widen(ConstMatrix const& A, Matrix const& room, Part part) const
    -> Matrix {
  Matrix const wide{room.data, A.rows, A.cols, std::max<std::int64_t>(1, A.rows), room.precision};
  convert(exec_, Op::NoTrans, part, A, wide);
  return wide;
}

template <class Exec, class Backend>
auto WidenedBlas<Exec, Backend>::widened(ConstMatrix const& A, Matrix const& room, Part part) const
    -> ConstMatrix {
  if (A.precision == room.precision && !A.scale) return A;
  return widen(A, room, part);
}

// One block of a product, in low precision if the backend can, else widened.
template <class Exec, class Backend>
bool WidenedBlas<Exec, Backend>::multiply(Op op_a, Op op_b, double alpha, ConstMatrix const& A,
                                          ConstMatrix const& B, double beta, Matrix const& C,
                                          Matrix const& room_a, Matrix const& room_b) {
  bool const narrow = A.precision != room_a.precision || B.precision != room_b.precision;
  if (narrow && backend_.gemm(op_a, op_b, alpha, A, B, beta, C)) return true;
  return backend_.gemm(op_a, op_b, alpha, widened(A, room_a), widened(B, room_b), beta, C);
}

template <class Exec, class Backend>
bool WidenedBlas<Exec, Backend>::gemm(Op op_a, Op op_b, double alpha, ConstMatrix const& A,
                                      ConstMatrix const& B, double beta, Matrix const& C) {
  Precision const wide = accumulator_of(A.precision, B.precision);
  Scaling<Exec> const scaling(alpha, A.scale, B.scale, beta, wide, C);
  bool const normal_a = op_a == Op::NoTrans, normal_b = op_b == Op::NoTrans;
  std::int64_t const k = normal_a ? A.cols : A.rows;
  std::int64_t const mb = std::min(C.rows, edge(wide)), nb = std::min(C.cols, edge(wide)),
                     kb = std::min(k, edge(wide));
  std::int64_t const size_a = A.precision == wide ? 0 : mb, size_b = B.precision == wide ? 0 : nb,
                     size_c = scaling.direct ? 0 : mb;
  Frame frame(workspace_, workspace_.bytes(wide, size_a, kb) + workspace_.bytes(wide, kb, size_b) +
                              workspace_.bytes(wide, size_c, nb));
  Matrix const room_a = frame.take(wide, size_a, kb), room_b = frame.take(wide, kb, size_b);
  Matrix const room_c = frame.take(wide, size_c, nb);

  for (std::int64_t j = 0; j < C.cols; j += nb) {
    for (std::int64_t i = 0; i < C.rows; i += mb) {
      std::int64_t const m = std::min(mb, C.rows - i), n = std::min(nb, C.cols - j);
      Matrix const C_block = C.block(i, j, m, n);
      Matrix const target = scaling.direct ? C_block : room_c.block(0, 0, m, n);
      for (std::int64_t p = 0; p < k; p += kb) {
        std::int64_t const depth = std::min(kb, k - p);
        ConstMatrix const A_block = normal_a ? A.block(i, p, m, depth) : A.block(p, i, depth, m);
        ConstMatrix const B_block = normal_b ? B.block(p, j, depth, n) : B.block(j, p, n, depth);
        if (!multiply(op_a, op_b, scaling.backend_alpha(), A_block.without_scale(),
                      B_block.without_scale(), scaling.backend_beta(p == 0), target, room_a,
                      room_b))
          return false;
      }
      if (!scaling.direct) combine(exec_, Part::Full, scaling.factor, target, beta, C_block);
    }
  }
  return true;
}

// Divides by halves, so that all but blocks of order `syrk_limit` is a gemm.
template <class Exec, class Backend>
bool WidenedBlas<Exec, Backend>::syrk(Uplo uplo, Op op, double alpha, ConstMatrix const& A,
                                      double beta, Matrix const& C) {
  std::int64_t const n = C.rows;
  if (n <= syrk_limit) return syrk_block(uplo, op, alpha, A, beta, C);
  std::int64_t const n1 = half_of(n, syrk_limit), n2 = n - n1;
  bool const normal = op == Op::NoTrans, lower = uplo == Uplo::Lower;
  ConstMatrix const A1 = normal ? A.block(0, 0, n1, A.cols) : A.block(0, 0, A.rows, n1);
  ConstMatrix const A2 = normal ? A.block(n1, 0, n2, A.cols) : A.block(0, n1, A.rows, n2);
  Matrix const off_diagonal = lower ? C.block(n1, 0, n2, n1) : C.block(0, n1, n1, n2);
  return syrk(uplo, op, alpha, A1, beta, C.block(0, 0, n1, n1)) &&
         gemm(op, transposed(op), alpha, lower ? A2 : A1, lower ? A1 : A2, beta, off_diagonal) &&
         syrk(uplo, op, alpha, A2, beta, C.block(n1, n1, n2, n2));
}

template <class Exec, class Backend>
bool WidenedBlas<Exec, Backend>::syrk_block(Uplo uplo, Op op, double alpha, ConstMatrix const& A,
                                            double beta, Matrix const& C) {
  Precision const wide = accumulator_of(A.precision, A.precision);
  Scaling<Exec> const scaling(alpha, A.scale, A.scale, beta, wide, C);
  bool const normal = op == Op::NoTrans, narrow = A.precision != wide;
  std::int64_t const n = C.rows, k = normal ? A.cols : A.rows, kb = chunk(wide, n, k);
  std::int64_t const size_a = narrow ? n : 0, size_c = narrow || !scaling.direct ? n : 0;
  Frame frame(workspace_, workspace_.bytes(wide, size_a, kb) + workspace_.bytes(wide, size_c, n));
  Matrix const room_a = frame.take(wide, size_a, kb), room_c = frame.take(wide, size_c, n);
  // Sums of squares grow without cancelling, which fp8 units' short accumulators don't take: fp16
  // holds both kinds of fp8 exactly and accumulates in fp32.
  Matrix room_low = room_a;
  room_low.precision = traits(A.precision).bytes == 1 ? Precision::fp16 : A.precision;

  bool formed_whole = false;  // both triangles in room_c, by the backend's product in low precision
  for (std::int64_t p = 0; p < k; p += kb) {
    std::int64_t const depth = std::min(kb, k - p);
    ConstMatrix const block =
        (normal ? A.block(0, p, n, depth) : A.block(p, 0, depth, n)).without_scale();
    if (narrow && (p == 0 || formed_whole)) {
      ConstMatrix const low = widened(block, room_low);
      formed_whole = backend_.gemm(op, transposed(op), 1, low, low, p == 0 ? 0 : 1, room_c);
      if (!formed_whole && p > 0) return false;
    }
    if (!formed_whole && !backend_.syrk(uplo, op, scaling.backend_alpha(), widened(block, room_a),
                                        scaling.backend_beta(p == 0), scaling.direct ? C : room_c))
      return false;
  }
  if (formed_whole || !scaling.direct)
    combine(exec_, part_of(uplo), scaling.factor, room_c, beta, C);
  return true;
}

template <class Exec, class Backend>
bool WidenedBlas<Exec, Backend>::trsm(Side side, Uplo uplo, Op op, Diag diag, double alpha,
                                      ConstMatrix const& A, Matrix const& B) {
  Precision const wide = accumulator_of(A.precision, B.precision);
  bool const left = side == Side::Left, in_place = B.precision == wide;
  std::int64_t const order = A.rows, count = left ? B.cols : B.rows;
  std::int64_t const limit = std::min(order, edge(wide));
  std::int64_t const width = in_place ? count : chunk(wide, order, count);
  std::int64_t const size_x = in_place ? 0 : width;
  std::size_t const square = workspace_.bytes(wide, limit, limit);
  Frame frame(workspace_, workspace_.bytes(wide, order, size_x) + (order > limit ? 3 : 1) * square);
  Matrix const room_x = frame.take(wide, left ? order : size_x, left ? size_x : order);
  Matrix const room_a = frame.take(wide, limit, limit);

  auto const solve = [&](double factor, ConstMatrix const& A_block, Matrix const& X) {
    ConstMatrix const triangle = widened(A_block, room_a, part_of(uplo));
    return backend_.trsm(side, uplo, op, diag, factor, triangle, X);
  };
  auto const update = [&](Op op_x, Op op_y, ConstMatrix const& X, ConstMatrix const& Y, double beta,
                          Matrix const& C) { return gemm(op_x, op_y, -1, X, Y, beta, C); };
  for (std::int64_t j = 0; j < count; j += width) {
    std::int64_t const n = std::min(width, count - j);
    Matrix const part = left ? B.block(0, j, order, n) : B.block(j, 0, n, order);
    Matrix const X = in_place ? part : widen(part, room_x);
    if (!trsm_by_halves(side, uplo, op, alpha, A, X, limit, solve, update)) return false;
    if (!in_place) convert(exec_, Op::NoTrans, Part::Full, X, part);
  }
  return true;
}

template <class Exec, class Backend>
bool WidenedBlas<Exec, Backend>::potrf(Uplo uplo, Matrix const& A, std::int64_t offset,
                                       InfoView const& info) {
  if (is_arithmetic(A.precision)) return false;
  Frame frame(workspace_, workspace_.bytes(Precision::fp32, A.rows, A.cols));
  Matrix const wide = widen(A, frame.take(Precision::fp32, A.rows, A.cols), part_of(uplo));
  if (!backend_.potrf(uplo, wide, offset, info)) return false;
  convert(exec_, Op::NoTrans, part_of(uplo), wide, A);
  return true;
}

template <class Exec, class Backend>
bool WidenedBlas<Exec, Backend>::symm(Uplo uplo, double alpha, ConstMatrix const& A,
                                      ConstMatrix const& B, double beta, Matrix const& C) {
  Precision const wide = accumulator_of(A.precision, B.precision);
  Scaling<Exec> const scaling(alpha, A.scale, B.scale, beta, wide, C);
  std::int64_t const n = A.rows, limit = std::min(n, edge(wide)), width = chunk(wide, n, C.cols);
  std::int64_t const size_b = B.precision == wide ? 0 : width, size_c = scaling.direct ? 0 : width;
  std::size_t const square = workspace_.bytes(wide, limit, limit);
  Frame frame(workspace_, workspace_.bytes(wide, n, size_b) + workspace_.bytes(wide, n, size_c) +
                              (n > limit ? 2 : 1) * square);
  Matrix const room_b = frame.take(wide, n, size_b), room_c = frame.take(wide, n, size_c);
  Matrix const room_a = frame.take(wide, limit, limit);

  for (std::int64_t j = 0; j < C.cols; j += width) {
    std::int64_t const cols = std::min(width, C.cols - j);
    Matrix const C_block = C.block(0, j, n, cols);
    Matrix const target = scaling.direct ? C_block : room_c.block(0, 0, n, cols);
    ConstMatrix const X = widened(B.block(0, j, n, cols).without_scale(), room_b);
    if (!symm_by_halves(uplo, scaling.backend_alpha(), A.without_scale(), X,
                        scaling.backend_beta(true), target, room_a))
      return false;
    if (!scaling.direct) combine(exec_, Part::Full, scaling.factor, target, beta, C_block);
  }
  return true;
}

// C1 = A11 B1 + A21^T B2,  C2 = A21 B1 + A22 B2, in the accumulator's type but for A
template <class Exec, class Backend>
bool WidenedBlas<Exec, Backend>::symm_by_halves(Uplo uplo, double alpha, ConstMatrix const& A,
                                                ConstMatrix const& B, double beta, Matrix const& C,
                                                Matrix const& room_a) {
  std::int64_t const n = A.rows, limit = edge(room_a.precision);
  if (n <= limit) return backend_.symm(uplo, alpha, widened(A, room_a, part_of(uplo)), B, beta, C);
  std::int64_t const n1 = half_of(n, limit), n2 = n - n1, cols = C.cols;
  bool const lower = uplo == Uplo::Lower;
  ConstMatrix const off_diagonal = lower ? A.block(n1, 0, n2, n1) : A.block(0, n1, n1, n2);
  Op const op21 = lower ? Op::NoTrans : Op::Trans;
  ConstMatrix const B1 = B.block(0, 0, n1, cols), B2 = B.block(n1, 0, n2, cols);
  Matrix const C1 = C.block(0, 0, n1, cols), C2 = C.block(n1, 0, n2, cols);
  return symm_by_halves(uplo, alpha, A.block(0, 0, n1, n1), B1, beta, C1, room_a) &&
         gemm(transposed(op21), Op::NoTrans, alpha, off_diagonal, B2, 1, C1) &&
         gemm(op21, Op::NoTrans, alpha, off_diagonal, B1, beta, C2) &&
         symm_by_halves(uplo, alpha, A.block(n1, n1, n2, n2), B2, 1, C2, room_a);
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot stand in parentheses
#define STRATA_INSTANTIATE_WIDENED(Space)                 \
  template class WidenedBlas<Space, vendor::Blas<Space>>; \
  template class WidenedBlas<Space, PortableBlas<Space>>;
// NOLINTEND(bugprone-macro-parentheses)
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_WIDENED)

}  // namespace strata::detail
