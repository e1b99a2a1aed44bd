// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// target = op(source): one kernel per pair of types, or per arithmetic type if transposed.
#include <core/Strata_Errors.hpp>
#include <core/blas/basics/detail/Strata_Elementwise.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

namespace strata::detail {
namespace {

// A multiplication in fp32 and one more rounding equal one rounding if fp32 has all exponents of
// both numbers. All types but fp64 and bf16 meet this: bf16's subnormals are as small as fp32's.
template <class Source, class Target>
inline constexpr bool scales_in_fp32 =
    !std::is_same_v<Source, double> && !std::is_same_v<Target, double> &&
    !std::is_same_v<Target, bf16>;

KOKKOS_INLINE_FUNCTION bool is_normal_fp32(double x) { return x >= 0x1p-126 && x <= 0x1p127; }

/// One team converts a chunk of a column.
template <class Exec, class Source, class Target>
struct ConvertColumns {
  /// Numbers of a column for a team: fewer where there are few, or some of a device's processors do
  /// all.
  static std::int64_t chunk_of(std::int64_t rows, std::int64_t cols) {
    constexpr std::int64_t large = runs_on_host<Exec> ? 8192 : 2048, small = 256, enough = 64;
    bool const is_large = runs_on_host<Exec> || rows / large * cols >= enough;
    return is_large ? large : small;
  }

  Source const* source;
  Target* target;
  double const* source_scale;
  double const* target_scale;
  std::int64_t rows, cols, source_ld, target_ld, chunk, chunks;
  Part part;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    double const ratio =
        (source_scale ? *source_scale : 1.0) / (target_scale ? *target_scale : 1.0);
    for (std::int64_t item = member.league_rank(); item < chunks * cols;
         item += member.league_size()) {
      std::int64_t const j = item / chunks;
      RowRange const range(part, j, rows);
      std::int64_t const first = (item % chunks) * chunk;
      std::int64_t const begin = first < range.begin ? range.begin : first;
      std::int64_t const end = first + chunk < range.end ? first + chunk : range.end;
      if (begin < end)
        column(member, static_cast<int>(end - begin), ratio, source + begin + j * source_ld,
               target + begin + j * target_ld);
    }
  }

 private:
  template <class Member>
  KOKKOS_FUNCTION static void column(Member const& member, int count, double ratio,
                                     Source const* KOKKOS_RESTRICT from,
                                     Target* KOKKOS_RESTRICT to) {
    using Work = std::conditional_t<std::is_same_v<Source, double>, double, float>;
    if (ratio == 1) {
      team_for(member, count,
               [=](int i) { to[i] = static_cast<Target>(static_cast<Work>(from[i])); });
      return;
    }
    if constexpr (scales_in_fp32<Source, Target>) {
      if (is_normal_fp32(ratio)) {
        auto const factor = static_cast<float>(ratio);
        team_for(member, count,
                 [=](int i) { to[i] = static_cast<Target>(static_cast<float>(from[i]) * factor); });
        return;
      }
    }
    team_for(member, count,
             [=](int i) { to[i] = static_cast<Target>(static_cast<double>(from[i]) * ratio); });
  }
};

/// One team transposes a tile of the target by way of scratch memory.
template <class Exec, class Work>
struct TransposeTiles {
  static constexpr int edge = 32, padded = edge + 1;
  static constexpr std::size_t scratch_bytes = edge * padded * sizeof(Work);

  ConstMatrixRef<typename Exec::memory_space> source;
  MatrixRef<typename Exec::memory_space> target;
  std::int64_t tile_rows, tiles;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto* const tile =
        static_cast<Work*>(member.team_scratch(0).get_shmem(std::size_t{scratch_bytes}));
    double const ratio =
        (source.scale ? *source.scale : 1.0) / (target.scale ? *target.scale : 1.0);
    for (std::int64_t item = member.league_rank(); item < tiles; item += member.league_size()) {
      std::int64_t const i0 = (item % tile_rows) * edge, j0 = (item / tile_rows) * edge;
      int const m = static_cast<int>(target.rows - i0 < edge ? target.rows - i0 : edge);
      int const n = static_cast<int>(target.cols - j0 < edge ? target.cols - j0 : edge);
      std::int64_t const source_ld = source.ld, target_ld = target.ld;
      with_stored_type(source.precision, source.data, [&](auto const* data) {
        auto const* const from = data + j0 + i0 * source_ld;
        team_for_tile<edge>(member, m, [=](int j, int i) {
          if (j < n)
            tile[i + j * padded] = static_cast<Work>(from[j + i * source_ld]) * Work(ratio);
        });
      });
      member.team_barrier();
      with_stored_type(target.precision, target.data, [&](auto* data) {
        using Target = std::remove_pointer_t<decltype(data)>;
        auto* const to = data + i0 + j0 * target_ld;
        team_for_tile<edge>(member, n, [=](int i, int j) {
          if (i < m) to[i + j * target_ld] = static_cast<Target>(tile[i + j * padded]);
        });
      });
      member.team_barrier();
    }
  }
};

template <class Work, class Exec>
void transpose(Exec const& exec, ConstMatrixRef<typename Exec::memory_space> const& source,
               MatrixRef<typename Exec::memory_space> const& target) {
  using Kernel = TransposeTiles<Exec, Work>;
  std::int64_t const tile_rows = (target.rows + Kernel::edge - 1) / Kernel::edge;
  std::int64_t const tiles = tile_rows * ((target.cols + Kernel::edge - 1) / Kernel::edge);
  launch_teams("strata::core::convert::transpose", exec, tiles, Kernel::scratch_bytes,
               Kernel{source, target, tile_rows, tiles});
}

}  // namespace

template <class Exec>
void convert(Exec const& exec, Op op, Part part,
             ConstMatrixRef<typename Exec::memory_space> const& source,
             MatrixRef<typename Exec::memory_space> const& target) {
  if (target.rows == 0 || target.cols == 0) return;
  bool const scaled = source.scale || target.scale;
  if (op == Op::Trans) {
    if (scaled || source.precision == Precision::fp64)
      return transpose<double>(exec, source, target);
    return transpose<float>(exec, source, target);
  }
  with_type(source.precision, [&]<class Source>(std::type_identity<Source>) {
    with_type(target.precision, [&]<class Target>(std::type_identity<Target>) {
      using Kernel = ConvertColumns<Exec, Source, Target>;
      std::int64_t const chunk = Kernel::chunk_of(target.rows, target.cols),
                         chunks = (target.rows + chunk - 1) / chunk;
      launch_teams("strata::core::convert", exec, chunks * target.cols, 0,
                   Kernel{static_cast<Source const*>(source.data),
                          static_cast<Target*>(target.data), source.scale, target.scale,
                          target.rows, target.cols, source.ld, target.ld, chunk, chunks, part});
    });
  });
}

#define STRATA_INSTANTIATE_CONVERT(Space)                                    \
  template void convert(Space const&, Op, Part,                              \
                        ConstMatrixRef<typename Space::memory_space> const&, \
                        MatrixRef<typename Space::memory_space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_CONVERT)

}  // namespace strata::detail
