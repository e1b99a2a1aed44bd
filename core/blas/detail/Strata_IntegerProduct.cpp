// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/detail/Strata_IntegerProduct.hpp>

#include <core/blas/basics/detail/Strata_Elementwise.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <algorithm>

namespace strata::detail {
namespace {

template <class Exec>
constexpr std::int64_t most_extent = runs_on_host<Exec> ? 512 : 8192;
template <class Exec>
constexpr std::int64_t most_terms = runs_on_host<Exec> ? 4096 : 16384;

// Of the planes of an operand's block, and of the sums of a block of the result. Libraries read up
// to 15 rows more.
template <class Exec>
std::size_t planes_bytes(int moduli, std::int64_t rows, std::int64_t depth) {
  using Blas = IntegerBlas<Exec>;
  std::int64_t const r = Blas::padded(std::min(rows, most_extent<Exec>)),
                     k = Blas::padded(std::min(depth, most_terms<Exec>));
  return static_cast<std::size_t>(moduli * r * k + 255) / 256 * 256;
}
template <class Exec>
std::size_t sums_bytes(int moduli, std::int64_t rows, std::int64_t cols) {
  using Blas = IntegerBlas<Exec>;
  return static_cast<std::size_t>(moduli * Blas::padded(std::min(rows, most_extent<Exec>)) *
                                  Blas::padded(std::min(cols, most_extent<Exec>))) *
         sizeof(std::int32_t);
}
std::size_t units_bytes(std::int64_t rows) {
  return (static_cast<std::size_t>(rows) * sizeof(RowUnit) + 255) / 256 * 256;
}

}  // namespace

template <class Exec>
void IntegerProduct<Exec>::reserve(int moduli, std::int64_t m, std::int64_t n, std::int64_t k) {
  units_.ensure(units_bytes(m) + units_bytes(n));
  planes_.ensure(planes_bytes<Exec>(moduli, m, k) + planes_bytes<Exec>(moduli, n, k));
  sums_.ensure(sums_bytes<Exec>(moduli, m, n));
}

template <class Exec>
auto IntegerProduct<Exec>::operand(IntegerBlas<Exec>& blas, ConstMatrix const& A, Op op, int moduli,
                                   RowUnit* units) -> Operand {
  ConstMatrix const numbers = A.as_stored().without_scale();
  blas.measure_units(numbers, op, moduli, units);
  bool const normal = op == Op::NoTrans;
  return {numbers, op, units, normal ? A.rows : A.cols, normal ? A.cols : A.rows};
}

template <class Exec>
auto IntegerProduct<Exec>::planes(IntegerBlas<Exec>& blas, Operand const& A, int moduli,
                                  std::int64_t row, std::int64_t rows, std::int64_t first,
                                  std::int64_t terms, std::byte* room) -> Planes {
  using Blas = IntegerBlas<Exec>;
  std::int64_t const ld = Blas::padded(terms);
  Planes const result{
      reinterpret_cast<std::int8_t*>(room), rows, terms, ld, ld * Blas::padded(rows), moduli};
  blas.residues(A.block(row, rows, first, terms), A.op, A.units + row, result);
  return result;
}

template <class Exec>
void IntegerProduct<Exec>::block(IntegerBlas<Exec>& blas, Operand const& A, Operand const& B,
                                 int moduli, std::int64_t i, std::int64_t j,
                                 SumScaling const& scaling, Matrix const& C) {
  using Blas = IntegerBlas<Exec>;
  std::int64_t const ld = Blas::padded(C.rows);
  Sums sums{reinterpret_cast<std::int32_t*>(sums_.data()),
            C.rows,
            C.cols,
            ld,
            ld * Blas::padded(C.cols),
            moduli};
  std::byte* const room_b = planes_.data() + planes_bytes<Exec>(moduli, A.rows, A.depth);
  for (std::int64_t k = 0; k < A.depth; k += most_terms<Exec>) {
    std::int64_t const terms = std::min(most_terms<Exec>, A.depth - k);
    Planes const a = planes(blas, A, moduli, i, C.rows, k, terms, planes_.data());
    Planes const b = planes(blas, B, moduli, j, C.cols, k, terms, room_b);
    blas.multiply(a, b, sums, k > 0);
  }
  if (C.precision == Precision::fp64)
    return blas.combine(sums, A.units + i, B.units + j, scaling, C);
  typename Workspace<Exec>::Frame frame(result_,
                                        Workspace<Exec>::bytes(Precision::fp64, C.rows, C.cols));
  Matrix const product = frame.take(Precision::fp64, C.rows, C.cols);
  auto whole = scaling;
  whole.beta = 0;
  blas.combine(sums, A.units + i, B.units + j, whole, product);
  Part const part = scaling.part == Triangle::Both    ? Part::Full
                    : scaling.part == Triangle::Lower ? Part::Lower
                                                      : Part::Upper;
  detail::combine(exec_, part, {}, product, scaling.beta, C);
}

template <class Exec>
void IntegerProduct<Exec>::gemm(IntegerBlas<Exec>& blas, Op op_a, Op op_b, double alpha,
                                ConstMatrix const& A, ConstMatrix const& B, double beta,
                                Matrix const& C) {
  int const moduli = moduli_of(A.precision);
  reserve(moduli, C.rows, C.cols, op_a == Op::NoTrans ? A.cols : A.rows);
  auto* const units = reinterpret_cast<RowUnit*>(units_.data());
  Operand const left = operand(blas, A, op_a, moduli, units),
                right = operand(blas, B, transposed(op_b), moduli,
                                reinterpret_cast<RowUnit*>(units_.data() + units_bytes(C.rows)));
  for (std::int64_t j = 0; j < C.cols; j += most_extent<Exec>)
    for (std::int64_t i = 0; i < C.rows; i += most_extent<Exec>)
      block(blas, left, right, moduli, i, j, {alpha, beta, A.scale, B.scale},
            C.block(i, j, std::min(most_extent<Exec>, C.rows - i),
                    std::min(most_extent<Exec>, C.cols - j)));
}

// Blocks of the upper triangle are those of the lower one's, with rows and columns exchanged.
template <class Exec>
void IntegerProduct<Exec>::syrk(IntegerBlas<Exec>& blas, Uplo uplo, Op op, double alpha,
                                ConstMatrix const& A, double beta, Matrix const& C) {
  constexpr std::int64_t edge = most_extent<Exec> / 2;
  int const moduli = moduli_of(A.precision);
  reserve(moduli, C.rows, C.rows, op == Op::NoTrans ? A.cols : A.rows);
  Operand const rows = operand(blas, A, op, moduli, reinterpret_cast<RowUnit*>(units_.data()));
  for (std::int64_t j = 0; j < C.cols; j += edge)
    for (std::int64_t i = j; i < C.rows; i += edge) {
      std::int64_t const m = std::min(edge, C.rows - i), n = std::min(edge, C.cols - j);
      SumScaling scaling{alpha, beta, A.scale, A.scale};
      bool const lower = uplo == Uplo::Lower;
      scaling.part = i > j ? Triangle::Both : lower ? Triangle::Lower : Triangle::Upper;
      block(blas, rows, rows, moduli, lower ? i : j, lower ? j : i, scaling,
            lower ? C.block(i, j, m, n) : C.block(j, i, n, m));
    }
}

#define STRATA_INSTANTIATE(Space) template class IntegerProduct<Space>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::detail
