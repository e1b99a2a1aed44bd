// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/tree/detail/Strata_BandedCopy.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>

#include <algorithm>
#include <limits>
#include <type_traits>

namespace strata::dense::detail {

namespace {

constexpr std::int64_t alignment = 256;

std::int64_t padded(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

std::int64_t bands_of(std::int64_t extent, std::int64_t band) { return (extent + band - 1) / band; }

std::int64_t leading(std::int64_t rows) { return (rows + 15) / 16 * 16; }

// At most as many parts as bands, numbered by the path of halves that leads to them.
std::int64_t parts_of(std::int64_t bands) {
  std::int64_t parts = 1;
  while (parts < bands) parts *= 2;
  return parts;
}

/// Tiles of a matrix, each within one band; teams take them in turn.
struct Tiles {
  static constexpr std::int64_t rows = 2048, cols = 4, most_teams = 4096;

  std::int64_t extent_rows, extent_cols, band;
  bool along_rows;
  std::int64_t per_column, per_band;

  Tiles(std::int64_t m, std::int64_t n, bool by_rows, std::int64_t width)
      : extent_rows(m), extent_cols(n), band(width), along_rows(by_rows) {
    per_column = bands_of(by_rows ? std::min(width, m) : m, rows);
    per_band = per_column * bands_of(by_rows ? n : std::min(width, n), cols);
  }

  /// As many teams as `count` bands are worth.
  int teams(std::int64_t count) const {
    return static_cast<int>(std::min(count * per_band, most_teams));
  }

  struct Tile {
    std::int64_t row, row_end, col, col_end;
  };
  KOKKOS_INLINE_FUNCTION Tile tile(std::int64_t b, std::int64_t t) const {
    std::int64_t const begin = b * band, i = t % per_column * rows, j = t / per_column * cols;
    std::int64_t const row = along_rows ? begin + i : i, col = along_rows ? j : begin + j;
    std::int64_t const row_limit = along_rows ? least(begin + band, extent_rows) : extent_rows;
    std::int64_t const col_limit = along_rows ? extent_cols : least(begin + band, extent_cols);
    return {row, least(row + rows, row_limit), col, least(col + cols, col_limit)};
  }
  KOKKOS_INLINE_FUNCTION static std::int64_t least(std::int64_t a, std::int64_t b) {
    return a < b ? a : b;
  }
};

/// The part of a range that a band belongs to once the range is halved `levels` times.
struct Part {
  std::int64_t first, count, number;

  KOKKOS_INLINE_FUNCTION Part(std::int64_t b, std::int64_t range, std::int64_t bands, int levels)
      : first(range), count(bands), number(0) {
    for (int level = 0; level < levels; ++level) {
      std::int64_t const half = (count + 1) / 2;
      bool const is_left = b < first + half;
      if (!is_left) first += half;
      if (count > 1) count = is_left ? half : count - half;
      number = 2 * number + (is_left ? 0 : 1);
    }
  }
};

// largest[b] = the largest finite magnitude of band b.
template <class From, class ExecutionSpace>
void find_largest(ExecutionSpace const& exec, Tiles const& tiles, From const* a, std::int64_t ld,
                  std::int64_t first, std::int64_t count, double* largest) {
  using Wide = std::conditional_t<std::is_same_v<From, double>, double, float>;
  constexpr Wide finite = std::numeric_limits<Wide>::max();
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "strata::dense::BandedCopy::measure", Policy(exec, tiles.teams(count), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        for (std::int64_t item = team.league_rank(); item < count * tiles.per_band;
             item += team.league_size()) {
          std::int64_t const b = first + item / tiles.per_band;
          auto const tile = tiles.tile(b, item % tiles.per_band);
          Wide most = 0;
          Kokkos::parallel_reduce(
              Kokkos::TeamVectorRange(team, tile.row, tile.row_end),
              [&](std::int64_t i, Wide& value) {
                for (std::int64_t j = tile.col; j < tile.col_end; ++j) {
                  Wide const magnitude = Kokkos::abs(static_cast<Wide>(a[i + j * ld]));
                  value = magnitude > value && magnitude <= finite ? magnitude : value;
                }
              },
              Kokkos::Max<Wide>(most));
          // Of numbers that are not negative the bits are in the numbers' order.
          Kokkos::single(Kokkos::PerTeam(team), [&] {
            Kokkos::atomic_max(reinterpret_cast<std::int64_t*>(largest + b),
                               Kokkos::bit_cast<std::int64_t>(static_cast<double>(most)));
          });
        }
      });
}

// copy = round(a / wanted) in the bands whose copy has another scale.
template <class From, class To, class ExecutionSpace>
void round(ExecutionSpace const& exec, Tiles const& tiles, From const* a, std::int64_t lda,
           To* copy, std::int64_t ld, std::int64_t first, std::int64_t count, double const* held,
           double const* wanted) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "strata::dense::BandedCopy::round", Policy(exec, tiles.teams(count), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        for (std::int64_t item = team.league_rank(); item < count * tiles.per_band;
             item += team.league_size()) {
          std::int64_t const b = first + item / tiles.per_band;
          if (held[b] == wanted[b]) continue;
          auto const tile = tiles.tile(b, item % tiles.per_band);
          auto const convert = [&]<class Wide>(Wide factor) {
            Kokkos::parallel_for(
                Kokkos::TeamVectorRange(team, tile.row, tile.row_end), [&](std::int64_t i) {
                  for (std::int64_t j = tile.col; j < tile.col_end; ++j)
                    copy[i + j * ld] = static_cast<To>(factor * static_cast<Wide>(a[i + j * lda]));
                });
          };
          double const factor = 1 / wanted[b];
          bool const in_fp32 =
              std::is_same_v<From, float> && factor >= 0x1p-126 && factor <= 0x1p127;
          if (in_fp32)
            convert(static_cast<float>(factor));
          else
            convert(factor);
        }
      });
}

}  // namespace

template <class ExecutionSpace>
std::size_t BandedCopy<ExecutionSpace>::bytes_needed(ConstMatrix const& A, Precision precision,
                                                     Along along, std::int64_t band) {
  std::int64_t const bands = bands_of(along == Along::Rows ? A.rows : A.cols, band);
  std::int64_t const numbers =
      leading(A.rows) * A.cols * static_cast<std::int64_t>(traits(precision).bytes);
  std::int64_t const scales = (3 * bands + parts_of(bands)) * std::int64_t{sizeof(double)};
  return static_cast<std::size_t>(padded(numbers) + padded(scales));
}

template <class ExecutionSpace>
BandedCopy<ExecutionSpace>::BandedCopy(LeafBlas<ExecutionSpace>& blas, std::byte* memory,
                                       ConstMatrix const& A, Precision precision, Along along,
                                       std::int64_t band, BlockScaling scaling)
    : blas_(blas), A_(A), along_(along), band_(band), scaling_(scaling) {
  copy_ = {memory, A.rows, A.cols, leading(A.rows), precision, nullptr};
  std::int64_t const bands = bands_of(along == Along::Rows ? A.rows : A.cols, band);
  std::int64_t const numbers =
      copy_.ld * A.cols * static_cast<std::int64_t>(traits(precision).bytes);
  largest_ = reinterpret_cast<double*>(memory + padded(numbers));
  held_ = largest_ + bands;
  wanted_ = held_ + bands;
  part_scale_ = wanted_ + bands;
  using Scales = Kokkos::View<double*, typename ExecutionSpace::memory_space,
                              Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Kokkos::deep_copy(blas.exec(), Scales(largest_, 2 * bands), 0.0);  // and `held_`
}

template <class ExecutionSpace>
void BandedCopy<ExecutionSpace>::measure(std::int64_t first, std::int64_t count) {
  Tiles const tiles(A_.rows, A_.cols, along_ == Along::Rows, band_);
  with_arithmetic_type(A_.precision, [&]<class From>(std::type_identity<From>) {
    find_largest(blas_.exec(), tiles, static_cast<From const*>(A_.data), A_.ld, first, count,
                 largest_);
  });
}

template <class ExecutionSpace>
void BandedCopy<ExecutionSpace>::unite(std::int64_t first, std::int64_t count, int levels) {
  double *const largest = largest_, *const held = held_, *const wanted = wanted_,
                *const part_scale = part_scale_;
  Precision const precision = copy_.precision;
  BlockScaling const scaling = scaling_;
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "strata::dense::BandedCopy::scale", Policy(blas_.exec(), first, first + count),
      KOKKOS_LAMBDA(std::int64_t b) {
        Part const part(b, first, count, levels);
        double most = 0;
        for (std::int64_t k = part.first; k < part.first + part.count; ++k)
          most = largest[k] > most ? largest[k] : most;
        wanted[b] = block_scale(precision, most, scaling);
        if (b == part.first) part_scale[part.number] = wanted[b];
      });
  Tiles const tiles(A_.rows, A_.cols, along_ == Along::Rows, band_);
  with_arithmetic_type(A_.precision, [&]<class From>(std::type_identity<From>) {
    with_type(precision, [&]<class To>(std::type_identity<To>) {
      round(blas_.exec(), tiles, static_cast<From const*>(A_.data), A_.ld, copy_.template as<To>(),
            copy_.ld, first, count, held, wanted);
    });
  });
  Kokkos::parallel_for(
      "strata::dense::BandedCopy::held", Policy(blas_.exec(), first, first + count),
      KOKKOS_LAMBDA(std::int64_t b) { held[b] = wanted[b]; });
}

template <class ExecutionSpace>
auto BandedCopy<ExecutionSpace>::operator()(std::int64_t begin, std::int64_t size,
                                            std::int64_t part) const -> ConstMatrix {
  ConstMatrix range = along_ == Along::Rows ? copy_.block(begin, 0, size, copy_.cols)
                                            : copy_.block(0, begin, copy_.rows, size);
  range.scale = is_arithmetic(copy_.precision) ? nullptr : part_scale_ + part;
  return range;
}

#define STRATA_INSTANTIATE(Exec) template class BandedCopy<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
