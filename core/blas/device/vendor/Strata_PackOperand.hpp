// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PACK_OPERAND_HPP
#define STRATA_PACK_OPERAND_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/blas/basics/detail/Strata_Elementwise.hpp>
#include <core/blas/device/vendor/Strata_DeviceBuffer.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

// Operands and results of a matrix-unit GEMM that wants other layouts than the caller's.
namespace strata::vendor {

/// What happens to FP8 numbers on the way: OCP's E4M3 and E5M2 become exactly half their value in
/// the FNUZ kinds. There the same bits mean half the value, but for -0 and what is not finite. NaN
/// stays NaN; an infinity, which FNUZ lacks, becomes NaN.
enum class Recoding { None, E4m3ToFnuz, E5m2ToFnuz };

KOKKOS_INLINE_FUNCTION std::uint8_t recoded(Recoding recoding, std::uint8_t bits) {
  if (recoding == Recoding::None) return bits;
  int const magnitude = bits & 0x7f, largest = recoding == Recoding::E4m3ToFnuz ? 0x7e : 0x7b;
  if (magnitude > largest) return 0x80;
  return magnitude == 0 ? 0 : bits;
}

/// packed = op(source), recoded, padded with zeros to rows x cols; one byte per element, leading
/// dimension `rows`.
///
/// Tiles go through team scratch, so that both the reads and the writes are of neighbouring bytes.
template <class ExecutionSpace, class Matrix>
void pack_bytes(ExecutionSpace const& exec, Op op, Matrix const& source, std::uint8_t* packed,
                std::int64_t rows, std::int64_t cols, Recoding recoding = Recoding::None) {
  constexpr int tile = 64, pitch = tile + 4;  // an odd number of words: no bank conflicts
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  using Scratch = Kokkos::View<std::uint8_t*, typename ExecutionSpace::scratch_memory_space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  auto const* const data = static_cast<std::uint8_t const*>(source.data);
  bool const trans = op == Op::Trans;
  std::int64_t const m = source.rows, n = source.cols, ld = source.ld;
  std::int64_t const row_tiles = round_up(rows, tile) / tile,
                     col_tiles = round_up(cols, tile) / tile;
  auto policy = Policy(exec, static_cast<int>(row_tiles * col_tiles), Kokkos::AUTO);
  policy.set_scratch_size(0, Kokkos::PerTeam(Scratch::shmem_size(tile * pitch)));
  Kokkos::parallel_for(
      "strata::vendor::pack", policy, KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        Scratch const block(team.team_scratch(0), tile * pitch);
        std::int64_t const i0 = team.league_rank() % row_tiles * tile;
        std::int64_t const j0 = team.league_rank() / row_tiles * tile;
        std::int64_t const r0 = trans ? j0 : i0,
                           c0 = trans ? i0 : j0;  // the tile's position in source
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, tile * tile), [&](int e) {
          std::int64_t const r = r0 + e % tile, c = c0 + e / tile;
          block(e % tile + e / tile * pitch) =
              r < m && c < n ? recoded(recoding, data[r + c * ld]) : std::uint8_t(0);
        });
        team.team_barrier();
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, tile * tile), [&](int e) {
          int const i = e % tile, j = e / tile;
          if (i0 + i < rows && j0 + j < cols)
            packed[i0 + i + (j0 + j) * rows] = block(trans ? j + i * pitch : i + j * pitch);
        });
      });
}

/// C = scale product + beta C, rounded once to C's type T; `product` has the leading dimension ldp.
///
/// The scale is applied in fp64: scales of operands may lie beyond fp32 where C does not.
template <class T, class ExecutionSpace, class Matrix>
void store_product(ExecutionSpace const& exec, strata::detail::Factor const& scale,
                   float const* product, std::int64_t ldp, double beta, Matrix const& C) {
  using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;
  auto const factor = static_cast<Compute>(beta);
  T* const data = C.template as<T>();
  std::int64_t const ld = C.ld;
  Kokkos::parallel_for(
      "strata::vendor::store",
      Kokkos::MDRangePolicy<ExecutionSpace, Kokkos::Rank<2, Kokkos::Iterate::Left>,
                            Kokkos::IndexType<std::int64_t>>(exec, {0, 0}, {C.rows, C.cols}),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        auto value = static_cast<Compute>(scale() * static_cast<double>(product[i + j * ldp]));
        T& c = data[i + j * ld];
        if (factor != Compute(0)) value += factor * static_cast<Compute>(c);
        c = static_cast<T>(value);
      });
}

}  // namespace strata::vendor

#endif
