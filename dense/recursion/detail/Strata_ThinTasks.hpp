// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_THIN_TASKS_HPP
#define STRATA_DETAIL_THIN_TASKS_HPP

#include <core/Strata_Precision.hpp>
#include <core/blas/basics/Strata_Pack.hpp>

#include <Kokkos_BitManipulation.hpp>
#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

// What the tasks of `ThinSolve` are, and have in common.
namespace strata::dense::detail {

/// Part of a leaf's block row or block column in one stored block: what it is multiplied with are
/// elements [begin, begin + count) of the vector.
struct FactorStrip {
  void const* data;
  double const* scale;
  std::int64_t ld, begin, count;
  Precision precision;
};

/// A leaf's strips, in the order in which the vector's elements are solved for, and the tasks that
/// share their chunks.
struct ThinSide {
  int first = 0, count = 0, parts = 0;
};

/// A leaf: elements [begin, begin + size) of the vector, and L^-T of its diagonal block.
struct ThinLeaf {
  void const* inverse;
  std::int64_t ld, begin;
  int size;
  ThinSide before, after;
};

/// What a task makes of a leaf's numbers from `first` on: `part` of the products of its strips, or
/// its solution.
struct ThinTask {
  enum class Kind : int { RowProducts, Down, ColumnProducts, Up } kind;
  int leaf, first, part;
};

namespace thin {

constexpr int threads = 256;  ///< threads of a team
constexpr int batch = 8;      ///< packs of a chunk that a thread has, all under way at a time
constexpr int outputs = 64;   ///< outputs of a task's products
constexpr int lanes = threads * batch / outputs;  ///< threads that share a column of a chunk
constexpr int slices = threads / outputs;         ///< slices of the threads whose sums are added up
constexpr int most_parts = 4;                     ///< most parts of a leaf's products
constexpr int most_rows = 2048;       ///< most rows of a leaf, whose numbers a team's scratch holds
constexpr int packs_of_inverse = 16;  ///< packs that a thread has at a time

/// Columns of a chunk of a block row, rows of a chunk of a block column.
template <class T>
constexpr int chunk_width = lanes * Pack<T>::size;

/// Numbers of a leaf that a task solves for: its part of an inverse of 1024 rows is as much as the
/// threads have at a time.
template <class S>
constexpr int solved_at_once = threads * packs_of_inverse * Pack<S>::size / 1024;

/// `with_type` on a device, for the types that are not wider than S.
template <class S, class Function>
KOKKOS_FORCEINLINE_FUNCTION void with_device_type(Precision precision, Function const& f) {
  switch (precision) {
    case Precision::fp64:
      if constexpr (std::is_same_v<S, double>) f(fp64());
      return;
    case Precision::fp32:
      return f(fp32());
    case Precision::fp16:
      return f(fp16());
    case Precision::bf16:
      return f(bf16());
    case Precision::fp8_e4m3:
      return f(fp8_e4m3());
    case Precision::fp8_e5m2:
      return f(fp8_e5m2());
    case Precision::fp8_e4m3fnuz:
      return f(fp8_e4m3fnuz());
    case Precision::fp8_e5m2fnuz:
      return f(fp8_e5m2fnuz());
    default:
      return;  // product formats, which are stored as others
  }
}

/// A pack on its way: numbers of less than 32 bits would take a register each.
struct Words {
  Pack<std::uint32_t> words = {};

  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION void load(T const* a) {
    words = load_pack(reinterpret_cast<std::uint32_t const*>(a));
  }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION Pack<T> as() const {
    return Kokkos::bit_cast<Pack<T>>(words);
  }
  /// What lies behind a matrix's last row is any number.
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION void clear_from(int end) {
    Pack<T> pack = as<T>();
#pragma unroll
    for (int i = 0; i < Pack<T>::size; ++i)
      if (i >= end) pack.x[i] = T(0.0f);
    words = Kokkos::bit_cast<Pack<std::uint32_t>>(pack);
  }
};

/// The scratch memory of a team.
template <class S>
struct alignas(16) Scratch {
  static constexpr int widest = chunk_width<fp8_e4m3>;
  static constexpr int most_sums = threads * Pack<fp8_e4m3>::size + outputs;
  S x[2][widest];            ///< numbers of two chunks in turn
  S parts[slices][outputs];  ///< parts of the sums over lanes
  S sums[most_sums];         ///< sums over chunks, by the lanes
  int turn;

  /// A leaf's numbers, behind the sums over them.
  KOKKOS_FORCEINLINE_FUNCTION S* z() { return sums + most_sums - most_rows; }

  // `solve_down` has 8 sums a thread, and its columns lie apart by one more.
  static_assert(most_sums - most_rows >= threads * 8 + outputs);
};

}  // namespace thin

}  // namespace strata::dense::detail

#endif
