// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// A stream's products of integers: tiles of L become integers on the device, and each visit's sum
// of their products is made a number once.
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <ooc/executor/detail/Strata_ExecutorOperands.hpp>
#include <ooc/team/detail/Strata_TileIntegers.hpp>

#include <algorithm>

namespace strata::ooc::detail {

template <class Exec>
void Executor<Exec>::Stream::prepare_integers() {
  auto const n = executor_.diagonal_.size();
  auto const edge = static_cast<std::size_t>(plan_.rows(0));
  double* const memory =
      worker_.rows.need(worker_.exec(), "strata::ooc::stream::rows", 3 * n + edge + 1).data();
  integers_.units = reinterpret_cast<RowUnit*>(memory);
  double* const diagonal = memory + 2 * n;
  integers_.squares = diagonal + n;
  integers_.bound = integers_.squares + edge;
  in_.copy(diagonal, executor_.diagonal_.data(), n * sizeof(double));
  in_.fence();
  blas_->integers().bound_units(diagonal, static_cast<std::int64_t>(n), map().moduli(),
                                integers_.units);
  std::int64_t const ld = plan_.padded_edge();
  std::size_t const before = static_cast<std::size_t>(number_) * plan_.integer_sum_bytes();
  integers_.sums.data =
      executor_.integer_sums_[static_cast<std::size_t>(device_)] + before / sizeof(std::int32_t);
  integers_.sums.ld = ld;
  integers_.sums.plane = ld * ld;
}

// Finds out whether the device's products are exact, and which algorithm is the fastest for each
// number of moduli.
template <class Exec>
void Executor<Exec>::Stream::warm_up_integers(std::byte* tile) {
  std::int64_t const edge = plan_.rows(0);
  using Buffer = Kokkos::View<std::byte*, Space>;
  auto const buffer =
      allocate_zeros<Buffer>(worker_.exec(), "strata::ooc::warm_up", plan_.squares_offset());
  Hold hold;
  hold.data = buffer.data();
  Planes const A = planes(hold, 0, 0);
  auto const C = stored_tile<Space>(tile, Precision::fp64, edge, edge);
  auto& blas = blas_->integers();
  blas.residues(C, Op::NoTrans, integers_.units, A);
  ModularSums<Space>& X = integers_.sums;
  X.rows = X.cols = edge;
  auto const tiles = map().moduli_histogram();
  for (X.moduli = least_moduli; X.moduli <= A.moduli; ++X.moduli)
    if (X.moduli == A.moduli || tiles[static_cast<std::size_t>(X.moduli - least_moduli)] > 0)
      for (bool const accumulate : {false, true}) blas.multiply(A, A, X, accumulate);
  X.moduli = A.moduli;
  X.depth = 0;
  for (int times = 0; times < 2; ++times) multiply_with_itself(A);
  blas.combine(X, integers_.units, integers_.units, {-1, 1}, C);
  X.depth = 0;
  worker_.exec().fence("strata::ooc::warm_up");
}

template <class Exec>
auto Executor<Exec>::Stream::planes(Hold const& hold, std::int64_t i, std::int64_t k) const
    -> Planes {
  std::int64_t const ld = plan_.padded_edge();
  return {reinterpret_cast<std::int8_t*>(hold.data),
          plan_.rows(i),
          plan_.rows(k),
          ld,
          ld * ld,
          map().moduli()};
}

// Fill the slot with the integers of the stored tile, and what is known of their rows.
template <class Exec>
void Executor<Exec>::Stream::make_integers(Hold const& hold, std::int64_t i, std::int64_t k) {
  Exec const& exec = worker_.exec();
  Hold const source = fetch(i, k, false);
  std::int64_t const rows = plan_.rows(i);
  auto const L = stored_tile<Space>(source.data, Precision::fp64, rows, plan_.rows(k));
  double* const sums = squares(hold);
  {
    Span const span = works("integers", i, k);
    Kokkos::deep_copy(exec,
                      Kokkos::View<double*, Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
                          sums, static_cast<std::size_t>(rows)),
                      0.0);
    blas_->integers().residues(L, Op::NoTrans, integers_.units + i * executor_.matrix_.tile_size(),
                               planes(hold, i, k), {sums, nullptr, 0});
    largest_square(exec, rows, sums, sums + plan_.rows(0));
  }
  Mark const made = work_.record();
  memory().release(source.begin, made);
  memory().publish(hold.begin, made);
  step();
}

// X += Z_ik Z_jk^T modulo the numbers of the tile, and what bounds it.
template <class Exec>
void Executor<Exec>::Stream::multiply_integers(std::int64_t i, std::int64_t j, std::int64_t k,
                                               Precision form) {
  Exec const& exec = worker_.exec();
  ModularSums<Space>& X = integers_.sums;
  bool const accumulate = X.depth > 0;
  X.rows = plan_.rows(i);
  X.cols = plan_.rows(j);
  X.moduli = executor_.options_.ladder ? moduli_of(form) : map().moduli();
  Operand const A = operand(i, k, form);
  Planes const Zi = planes(A.hold, i, k);
  if (i == j) {
    {
      Span const span = works("syrk", i, k);
      multiply_with_itself(Zi);
      add_squares(exec, X.rows, squares(A.hold), integers_.squares, accumulate);
    }
    release({&A});
  } else {
    Operand const B = operand(j, k, form);
    {
      Span const span = works("gemm", i, k);
      blas_->integers().multiply(Zi, planes(B.hold, j, k), X, accumulate);
      if (X.moduli < map().moduli())
        add_bound(exec, squares(A.hold) + plan_.rows(0), squares(B.hold) + plan_.rows(0),
                  integers_.bound, accumulate);
    }
    release({&A, &B});
  }
  step();
}

// X += Z Z^T in blocks of rows, each up to the diagonal.
template <class Exec>
void Executor<Exec>::Stream::multiply_with_itself(Planes const& Z) {
  constexpr std::int64_t blocks = 4, least = 256;  // rows, of which products are still fast
  ModularSums<Space>& X = integers_.sums;
  std::int64_t const rows = std::max(least, (Z.rows / blocks + 15) / 16 * 16);
  std::int64_t depth = 0;
  for (std::int64_t row = 0; row < Z.rows; row += rows) {
    ModularSums<Space> part = X;
    part.data += row;
    part.rows = std::min(rows, Z.rows - row);
    part.cols = row + part.rows;
    blas_->integers().multiply(Z.row_block(row, part.rows), Z.row_block(0, part.cols), part,
                               X.depth > 0);
    depth = part.depth;
  }
  X.depth = depth;
}

// C -= mu_i mu_j X. If a row's integers outgrew its norm's bound, there is no factor, and the
// leading minor that ends with this row is told. Where fewer moduli were taken than would do for
// any row, the sum's own bound matters.
template <class Exec>
void Executor<Exec>::Stream::combine_integers(Sums const& C, std::int64_t i, std::int64_t j) {
  ModularSums<Space>& X = integers_.sums;
  if (X.depth == 0) return;
  Exec const& exec = worker_.exec();
  std::int64_t const edge = executor_.matrix_.tile_size();
  {
    Span const span = works("combine", i, j);
    SumScaling scaling{-1, 1};
    if (i == j) scaling.part = Triangle::Lower;
    blas_->integers().combine(X, integers_.units + i * edge, integers_.units + j * edge, scaling,
                              C.matrix);
    double const limit = largest_integer_sum(X.moduli);
    if (i == j)
      judge_rows(exec, X.rows, integers_.squares, limit, i * edge, worker_.info.data());
    else if (X.moduli < map().moduli())
      judge_bound(exec, integers_.bound, limit, static_cast<std::int64_t>(number(i, j)) + 1,
                  worker_.outgrown.data());
  }
  X.depth = 0;
  step();
}

#define STRATA_INSTANTIATE(Exec)                                                                \
  template void Executor<Exec>::Stream::prepare_integers();                                     \
  template void Executor<Exec>::Stream::warm_up_integers(std::byte*);                           \
  template void Executor<Exec>::Stream::make_integers(Hold const&, std::int64_t, std::int64_t); \
  template void Executor<Exec>::Stream::multiply_integers(std::int64_t, std::int64_t,           \
                                                          std::int64_t, Precision);             \
  template void Executor<Exec>::Stream::combine_integers(Sums const&, std::int64_t, std::int64_t);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc::detail
