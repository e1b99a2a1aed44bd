// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Numbers to integers modulo S numbers.
#include <core/integers/detail/Strata_ResidueKernels.hpp>

#include <core/integers/detail/Strata_Moduli.hpp>
#include <core/integers/vendor/Strata_Dot4.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <cmath>

namespace strata::detail {
namespace {

constexpr std::uint64_t exponent_bits = 0x7ffull;

KOKKOS_FORCEINLINE_FUNCTION int biased_exponent(double x) {
  return static_cast<int>((Kokkos::bit_cast<std::uint64_t>(x) >> 52) & exponent_bits);
}

// 2^e of a normal number.
KOKKOS_FORCEINLINE_FUNCTION double power_of_two(int e) {
  return Kokkos::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
}

// The least m 2^e, m in 17 to 32, that is no less than r > 0.
KOKKOS_FORCEINLINE_FUNCTION double rounded_up(double r) {
  constexpr std::uint64_t rest = (std::uint64_t{1} << 48) - 1;
  constexpr double least_unit = 0x1p-1022;  // whose reciprocal is finite
  auto const bits = Kokkos::bit_cast<std::uint64_t>(r < least_unit ? least_unit : r);
  return Kokkos::bit_cast<double>((bits + rest) & ~rest);
}

KOKKOS_FORCEINLINE_FUNCTION RowUnit unit_of(double ratio) {
  bool const is_finite = biased_exponent(ratio) < static_cast<int>(exponent_bits);
  double const unit = is_finite ? rounded_up(ratio) : ratio - ratio;
  return {unit, is_finite ? 1 / unit : 0.0};
}

// Terms of a row that a thread adds up.
constexpr std::int64_t chunk = 64;

template <class Exec, class Function>
void for_each_chunk(char const* label, Exec const& exec, Strided const& A, Function const& f) {
  std::int64_t const chunks = (A.cols + chunk - 1) / chunk;
  Kokkos::parallel_for(
      label, Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, A.rows * chunks),
      KOKKOS_LAMBDA(std::int64_t t) {
        std::int64_t const row = t % A.rows, begin = t / A.rows * chunk;
        f(row, begin, begin + chunk < A.cols ? begin + chunk : A.cols);
      });
}

template <class Exec>
void largest_exponents(Exec const& exec, Strided const& A, RowSize* sizes) {
  for_each_chunk(
      "strata::core::integers::largest_exponents", exec, A,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t begin, std::int64_t end) {
        int largest = 0;
        for (std::int64_t k = begin; k < end; ++k) {
          int const e = biased_exponent(A.data[i * A.row_stride + k * A.col_stride]);
          largest = e > largest ? e : largest;
        }
        Kokkos::atomic_max(&sizes[i].exponent, largest);
      });
}

// |a_k| 2^(15 - E), rounded up, is at most 2^16 where |a_k| < 2^(E + 1); its scale may be no
// number, but is two.
template <class Exec>
void sums_of_squares(Exec const& exec, Strided const& A, RowSize* sizes) {
  for_each_chunk(
      "strata::core::integers::sums_of_squares", exec, A,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t begin, std::int64_t end) {
        int const biased = sizes[i].exponent > 1 ? sizes[i].exponent : 1;
        int const lift = 15 + 1023 - biased, half = lift / 2;
        double const first = power_of_two(half), second = power_of_two(lift - half);
        std::uint64_t sum = 0;
        for (std::int64_t k = begin; k < end; ++k) {
          double const x = Kokkos::abs(A.data[i * A.row_stride + k * A.col_stride]);
          double const y = Kokkos::ceil(x * first * second);
          auto const t = static_cast<std::uint64_t>(y <= 65536 ? y : 0);
          sum += t * t;
        }
        Kokkos::atomic_add(&sizes[i].squares, sum);
      });
}

/// As many bytes as one store takes.
struct alignas(16) Run {
  std::uint32_t words[4];
};

constexpr int tile_rows = 32, tile_cols = 128, run = 16, runs = tile_cols / run;

/// 32 rows of the integers of a matrix, from their first column to their last, a tile of columns at
/// a time.
template <class Exec>
struct Residues {
  using Planes = ResiduePlanes<typename Exec::memory_space>;
  static constexpr int positions = tile_rows * runs;
  static constexpr int numbers = (tile_rows + 1) * tile_cols + 2 * runs;
  static constexpr std::size_t scratch_bytes =
      numbers * sizeof(std::int64_t) + (positions + tile_rows) * sizeof(double);

  Strided A;
  RowUnit const* units;
  Planes planes;
  RowCheck check;
  double limit;  // of a row's squares
  std::int64_t tiles;
  Moduli m;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto* const z =
        static_cast<std::int64_t*>(member.team_scratch(0).get_shmem(std::size_t{scratch_bytes}));
    auto *const parts = reinterpret_cast<double*>(z + numbers), *const squares = parts + positions;
    for (std::int64_t tile = member.league_rank(); tile < tiles; tile += member.league_size()) {
      std::int64_t const row = tile * tile_rows;
      team_for(member, tile_rows, [=](int r) { squares[r] = 0; });
      for (std::int64_t col = 0; col < planes.depth; col += tile_cols) {
        load(member, row, col, z);
        member.team_barrier();
        team_for(member, positions, [=, this](int position) {
          int const part = position % runs, r = position / runs;
          parts[position] = store(row, col, r, part, z);
        });
        member.team_barrier();
        team_for(member, tile_rows, [=](int r) {
          for (int part = 0; part < runs; ++part) squares[r] += parts[r * runs + part];
        });
      }
      if (check.squares != nullptr)
        team_for(member, tile_rows, [=, this](int r) { judge(row + r, squares[r]); });
      member.team_barrier();
    }
  }

 private:
  // Where neighbours in a row, in a column and in a run of columns lie in different banks.
  KOKKOS_FORCEINLINE_FUNCTION static int place(int r, int c) {
    return r + (tile_rows + 1) * c + 2 * (c / run);
  }

  // z(r, c) = rint(a / mu)
  template <class Member>
  KOKKOS_FUNCTION void load(Member const& member, std::int64_t row, std::int64_t col,
                            std::int64_t* z) const {
    auto const element = [=, this](int r, int c) {
      std::int64_t const i = row + r, k = col + c;
      bool const inside = i < A.rows && k < A.cols;
      z[place(r, c)] = inside ? integer(A.data[i * A.row_stride + k * A.col_stride], units[i]) : 0;
    };
    if (A.row_stride == 1)
      team_for_tile<tile_rows>(member, tile_cols, element);
    else
      team_for_tile<tile_cols>(member, tile_rows, [=](int c, int r) { element(r, c); });
  }

  // The integer nearest to x / mu: of more than 53 bits the quotient has not all, but what it
  // leaves of x has the others. What does not fit, or is not finite, becomes a number that no row
  // with a norm in its bound has.
  KOKKOS_FORCEINLINE_FUNCTION static std::int64_t integer(double x, RowUnit const& mu) {
    constexpr double most = 0x1.fffffffffffffp62;  // 2^63 - 1024
    double const y = Kokkos::nearbyint(x * mu.reciprocal);
    if (!(Kokkos::abs(y) <= most)) return static_cast<std::int64_t>(y < 0 ? -most : most);
    double const rest = Kokkos::fma(-y, mu.unit, x);
    return static_cast<std::int64_t>(y) +
           static_cast<std::int64_t>(Kokkos::nearbyint(rest * mu.reciprocal));
  }

  // 16 integers of a row by their remainders; the sum of their squares.
  KOKKOS_FUNCTION double store(std::int64_t row, std::int64_t col, int r, int part,
                               std::int64_t const* z) const {
    std::int64_t const i = row + r, k = col + part * run;
    if (i >= planes.rows || k >= planes.depth) return 0;
    std::uint32_t low[run], high[run];
    double sum = 0;
#pragma unroll
    for (int c = 0; c < run; ++c) {
      std::int64_t const x = z[place(r, part * run + c)];
      auto const bytes = static_cast<std::uint64_t>(x) ^ 0x0080808080808080ull;
      low[c] = static_cast<std::uint32_t>(bytes);
      high[c] = static_cast<std::uint32_t>(bytes >> 32);
      sum += static_cast<double>(x) * static_cast<double>(x);
    }
    for (int s = 0; s < m.count; ++s) {
      Run packed = {};
#pragma unroll
      for (int c = 0; c < run; ++c) {
        std::int32_t const t =
            vendor::dot4(high[c], m.of[s].high, vendor::dot4(low[c], m.of[s].low, m.of[s].offset));
        auto const byte =
            static_cast<std::uint8_t>(remainder(static_cast<std::uint32_t>(t), m.of[s]));
        packed.words[c / 4] |= static_cast<std::uint32_t>(byte) << (8 * (c % 4));
      }
      *reinterpret_cast<Run*>(planes.data + s * planes.plane + i * planes.ld + k) = packed;
    }
    return sum;
  }

  // A sum that a fused operation made otherwise is as far from the limit.
  KOKKOS_FUNCTION void judge(std::int64_t row, double more) const {
    if (row >= planes.rows) return;
    double const sum = check.squares[row] += more;
    if (sum <= limit || check.info == nullptr) return;
    std::int64_t const order = check.first_row + row + 1;
    std::int64_t before = Kokkos::atomic_load(check.info);
    while (before == 0 || before > order) {
      std::int64_t const found = Kokkos::atomic_compare_exchange(check.info, before, order);
      if (found == before) break;
      before = found;
    }
  }
};

}  // namespace

template <class Exec>
void bound_units(Exec const& exec, Strided const& H, int moduli, RowUnit* units) {
  double const norm = largest_norm(moduli_table(moduli));
  Kokkos::parallel_for(
      "strata::core::integers::bound_units",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, H.rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        double const h = H.data[i * (H.row_stride + H.col_stride)];
        units[i] = unit_of(Kokkos::sqrt(h > 0 ? h : 1.0) / norm);
      });
}

template <class Exec>
void measure_units(Exec const& exec, Strided const& A, int moduli, RowSize* sizes, RowUnit* units) {
  double const norm = largest_norm(moduli_table(moduli));
  using Range = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "strata::core::integers::no_sizes", Range(exec, 0, A.rows),
      KOKKOS_LAMBDA(std::int64_t i) { sizes[i] = RowSize{0, 0}; });
  largest_exponents(exec, A, sizes);
  sums_of_squares(exec, A, sizes);
  Kokkos::parallel_for(
      "strata::core::integers::measure_units", Range(exec, 0, A.rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        int const biased = sizes[i].exponent > 1 ? sizes[i].exponent : 1;
        if (biased == static_cast<int>(exponent_bits)) {
          units[i] = unit_of(Kokkos::Experimental::infinity_v<double>);
          return;
        }
        int const lift = biased - 1023 - 15, half = lift / 2;
        double const ratio = Kokkos::sqrt(static_cast<double>(sizes[i].squares)) / norm;
        units[i] = unit_of(ratio * power_of_two(half) * power_of_two(lift - half));
      });
}

template <class Exec>
void residues(Exec const& exec, Strided const& A, RowUnit const* units,
              ResiduePlanes<typename Exec::memory_space> const& planes, RowCheck const& check) {
  Moduli const& m = moduli_table(planes.moduli);
  std::int64_t const tiles = (planes.rows + tile_rows - 1) / tile_rows;
  launch_teams("strata::core::integers::residues", exec, tiles, Residues<Exec>::scratch_bytes,
               Residues<Exec>{A, units, planes, check, largest_squares(m), tiles, m});
}

#define STRATA_INSTANTIATE(Space)                                                            \
  template void bound_units<Space>(Space const&, Strided const&, int, RowUnit*);             \
  template void measure_units<Space>(Space const&, Strided const&, int, RowSize*, RowUnit*); \
  template void residues<Space>(Space const&, Strided const&, RowUnit const*,                \
                                ResiduePlanes<Space::memory_space> const&, RowCheck const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::detail
