// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_KRYLOV_PASS_HPP
#define STRATA_SPARSE_DETAIL_KRYLOV_PASS_HPP

#include <core/kokkos_ext/Strata_Team.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

// One pass of Gram-Schmidt over the basis: w -= Q update, then what its purpose says, chunk by
// chunk of rows.
namespace strata::sparse::detail {

/// Columns are this times what is stored: with it, entries of vectors of length 1 stay within
/// fp16's range, and normal in it while there are fewer than 10^17.
template <class Scalar, class Stored>
inline constexpr double stored_unit = std::is_same_v<Scalar, Stored> ? 1.0 : 0x1p-15;

enum class Purpose {
  Update,    ///< nothing more
  Products,  ///< the products Q'w
  Square,    ///< those and w'w, behind them
  Finish,    ///< w / beta becomes a column, and the coefficients go to the host
  Measure,   ///< w becomes a column, and w'w is summed
};
constexpr bool makes_a_column(Purpose purpose) {
  return purpose == Purpose::Finish || purpose == Purpose::Measure;
}
constexpr bool makes_products(Purpose purpose) {
  return purpose == Purpose::Products || purpose == Purpose::Square;
}
constexpr bool makes_a_square(Purpose purpose) {
  return purpose == Purpose::Square || purpose == Purpose::Measure;
}

/// How w becomes a column: w times `factor` is `size` times what is stored.
struct Keeping {
  double factor, size, inverse_size;
};

/// What the pass that makes a column knows of w before its last update, by Q g. It knows w'w, of
/// all ranks for Finish and of this one for Measure, and g of all ranks.
template <class Stored>
struct Ending {
  Stored* column;
  double const *coefficients, *g, *square;  // g and square are among the coefficients
  double* host;         // of Finish: gets the coefficients, beta^2 as the last of them
  double* scale;        // of Measure: gets what the column's unit is multiplied by
  int count, products;  // numbers of coefficients, and in g

  /// beta^2 = w'w - g'g, as Q'Q = I; not a number if they aren't.
  KOKKOS_FUNCTION double beta_squared(double g_squared) const {
    double const rest = *square - g_squared;
    return rest < 0 ? 0 : rest;
  }
  /// A power of two that no entry of the new w is 1.5 times as large as: |w - Q g| <= |w| + |g|. 1
  /// if those are 0, or not numbers.
  KOKKOS_FUNCTION double most(double g_squared) const {
    double const size = Kokkos::sqrt(*square + g_squared);
    if (!(size > 0x1p-500 && size < 0x1p500)) return 1;
    auto const exponent = Kokkos::bit_cast<std::uint64_t>(size) & 0x7ff0000000000000u;
    return 2 * Kokkos::bit_cast<double>(exponent);
  }
};

/// What a pass over the basis works on: k columns as they are stored, and w.
template <class Scalar, class Stored>
struct PassData {
  Stored const* Q;
  Scalar* w;
  double const* update;  // or nullptr
  double const* scales;  // columns are these times the unit times what is stored
  double const* factor;  // that w is multiplied by once it is updated, or nullptr
  double* partial;       // chunk fastest
  std::int64_t rows, stride, chunk, chunks;
  int k;
  Purpose purpose;
  Ending<Stored> end;

  static constexpr double unit = stored_unit<Scalar, Stored>;
  int products() const { return makes_products(purpose) ? k : 0; }
  int sums() const { return products() + (makes_a_square(purpose) ? 1 : 0); }
  /// What h_j is to be multiplied by to update w by stored column j.
  KOKKOS_FUNCTION double coefficient(int j) const { return unit * scales[j] * update[j]; }

  /// From the squares of g's entries.
  KOKKOS_FUNCTION Keeping keeping(double g_squared) const {
    if (purpose == Purpose::Measure) {
      double const most = std::is_same_v<Scalar, Stored> ? 1.0 : end.most(g_squared);
      return {1, unit * most, 1 / (unit * most)};
    }
    double const beta_squared = end.beta_squared(g_squared);
    return {beta_squared > 0 ? 1 / Kokkos::sqrt(beta_squared) : 0.0, unit, 1 / unit};
  }
};

/// Entry of a column as it is stored, and w as that.
template <class Scalar, class Stored>
KOKKOS_FUNCTION void keep(double value, Keeping const& keeping, Stored& q, Scalar& w) {
  q = static_cast<Stored>(value * keeping.inverse_size);
  w = static_cast<Scalar>(keeping.size * static_cast<double>(q));
}

/// What a thread of a device reads of a column at once: a row, or two side by side of 16 bits each.
template <class Scalar, class Stored>
struct LoadedRows {
  static constexpr int count = sizeof(Stored) == 2 ? 2 : 1;
  using Word = std::conditional_t<count == 2, std::uint32_t, Stored>;
  Word word;

  /// The rows at q, or zeros.
  KOKKOS_FUNCTION static LoadedRows of(Stored const* q, bool wanted) {
    return {wanted ? *reinterpret_cast<Word const*>(q) : Word(0)};
  }
  KOKKOS_FUNCTION Scalar operator[](int row) const {
    if constexpr (count == 2)
      return static_cast<Scalar>(Stored::from_bits(static_cast<std::uint16_t>(word >> 16 * row)));
    else
      return word;
  }
};

/// A chunk by a device's team: a thread loads its rows of up to `width` columns at once, and keeps
/// a sum for each column. So the basis is read from memory once and many loads are under way.
/// Numbers of 16 bits are read in pairs; columns and w have room for an even number of rows, 0 in
/// the last.
///
/// A thread's sums, of at most 64 rows, are made in Scalar; the sums over threads, and w'w, in
/// fp64.
template <class Exec, class Scalar, class Stored, int width, Purpose purpose>
struct DevicePass {
  static constexpr int threads = 128, together = 8, parts = threads / together;
  static constexpr bool multiplies = makes_products(purpose), squares = makes_a_square(purpose),
                        keeps = makes_a_column(purpose);
  using Loaded = LoadedRows<Scalar, Stored>;
  static constexpr int side = Loaded::count;
  template <class T>
  struct alignas(side * sizeof(T)) Rows {
    T at[side];
  };
  using Policy =
      Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<threads, sizeof(Scalar) == 8 ? 3 : 4>>;
  using Member = typename Policy::member_type;
  using Memory = typename Exec::scratch_memory_space;
  using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  using Coefficients = Kokkos::View<Scalar[width], Memory, Unmanaged>;
  using Room = Kokkos::View<double[together * threads], Memory, Unmanaged>;
  PassData<Scalar, Stored> d;

  Policy policy(Exec const& exec) const {
    return Policy(exec, static_cast<int>(d.chunks), threads)
        .set_scratch_size(
            0, Kokkos::PerTeam(static_cast<int>(Coefficients::shmem_size() + Room::shmem_size())));
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Room const room(team.team_scratch(0));
    Coefficients const h(team.team_scratch(0));
    std::int64_t const chunk = team.league_rank(), begin = chunk * d.chunk,
                       end = begin + d.chunk < d.rows ? begin + d.chunk : d.rows;
    int const thread = team.team_rank();
    if (thread < width)
      h(thread) = d.update && thread < d.k ? static_cast<Scalar>(d.coefficient(thread)) : Scalar(0);
    Scalar const factor = d.factor ? static_cast<Scalar>(*d.factor) : Scalar(1);
    Keeping keeping{1, 1, 1};
    if constexpr (keeps) keeping = end_of(team, room);
    team.team_barrier();
    double square = 0;
    Scalar sums[width] = {};
    for (std::int64_t row = begin + side * thread; row < end; row += side * threads) {
      Loaded q[width];
#pragma unroll
      for (int j = 0; j < width; ++j) q[j] = Loaded::of(d.Q + row + j * d.stride, j < d.k);
      auto& stored = *reinterpret_cast<Rows<Scalar>*>(d.w + row);
      Rows<Scalar> w = stored;
      if (d.update) {
#pragma unroll
        for (int r = 0; r < side; ++r) w.at[r] = (w.at[r] - product(h, q, r)) * factor;
      }
      if constexpr (keeps) {
        Rows<Stored> column;
        for (int r = 0; r < side; ++r)
          keep(static_cast<double>(w.at[r] * static_cast<Scalar>(keeping.factor)), keeping,
               column.at[r], w.at[r]);
        if constexpr (!std::is_same_v<Scalar, Stored>)  // else w is the column
          *reinterpret_cast<Rows<Stored>*>(d.end.column + row) = column;
      }
      if (d.update || keeps) stored = w;
#pragma unroll
      for (int r = 0; r < side; ++r) {
        if constexpr (squares)
          square += static_cast<double>(w.at[r]) * static_cast<double>(w.at[r]);
        if constexpr (multiplies) {
#pragma unroll
          for (int j = 0; j < width; ++j) sums[j] += q[j][r] * w.at[r];
        }
      }
    }
    if constexpr (multiplies) {
#pragma unroll
      for (int first = 0; first < width; first += together) {
        double part[together];
#pragma unroll
        for (int j = 0; j < together; ++j) part[j] = d.unit * static_cast<double>(sums[first + j]);
        add_up(team, room, part, first, d.k);
      }
    }
    if constexpr (squares) {
      double part[together] = {square};
      int const behind = multiplies ? d.k : 0;
      add_up(team, room, part, behind, behind + 1);
    }
  }

 private:
  // Row r of Q h, by several chains of sums.
  KOKKOS_FUNCTION static Scalar product(Coefficients const& h, Loaded const (&q)[width], int r) {
    constexpr int chains = 4;
    Scalar part[chains] = {};
#pragma unroll
    for (int j = 0; j < width; ++j) part[j % chains] += h(j) * q[j][r];
    return (part[0] + part[1]) + (part[2] + part[3]);
  }

  // How w becomes a column; the first team tells the host, or how large the column's unit is.
  KOKKOS_FUNCTION Keeping end_of(Member const& team, Room const& room) const {
    auto const& end = d.end;
    int const thread = team.team_rank();
    double part = 0;
    for (int j = thread; j < end.products; j += threads) part += end.g[j] * end.g[j];
    room(thread) = part;
    team.team_barrier();
    double g_squared = 0;
    for (int t = 0; t < threads && t < end.products; ++t) g_squared += room(t);
    Keeping const keeping = d.keeping(g_squared);
    if (team.league_rank() == 0) {
      if constexpr (purpose == Purpose::Measure) {
        if (thread == 0) *end.scale = keeping.size / d.unit;
      } else {
        for (int i = thread; i < end.count; i += threads)
          end.host[i] = i < end.count - 1 ? end.coefficients[i] : end.beta_squared(g_squared);
      }
    }
    return keeping;
  }

  // The threads' sums of up to `together` columns from `first` on, those below `last`, in an order
  // that is always the same.
  KOKKOS_FUNCTION void add_up(Member const& team, Room const& room, double const* part, int first,
                              int last) const {
    int const thread = team.team_rank(), column = thread / parts, lane = thread % parts;
#pragma unroll
    for (int j = 0; j < together; ++j) room(j * threads + thread) = part[j];
    team.team_barrier();
    double sum = 0;
    for (int t = lane; t < threads; t += parts) sum += room(column * threads + t);
    team.team_barrier();
    room(thread) = sum;
    team.team_barrier();
    if (lane == 0 && first + column < last) {
      double total = 0;
      for (int t = 0; t < parts; ++t) total += room(thread + t);
      d.partial[team.league_rank() + (first + column) * d.chunks] = total;
    }
    team.team_barrier();
  }
};

/// A chunk by one thread of a host, in blocks of rows that stay in the first-level cache.
template <class Scalar, class Stored>
struct HostPass {
  static constexpr std::int64_t block = 128;
  PassData<Scalar, Stored> d;

  void operator()(std::int64_t chunk) const {
    std::int64_t const begin = chunk * d.chunk, end = std::min(begin + d.chunk, d.rows);
    bool const keeps = makes_a_column(d.purpose), squares = makes_a_square(d.purpose);
    Keeping const keeping = keeps ? end_of(chunk) : Keeping{1, 1, 1};
    double const factor = d.factor ? *d.factor : 1;
    for (int j = 0; j < d.sums(); ++j) d.partial[chunk + j * d.chunks] = 0;
    for (std::int64_t first = begin; first < end; first += block) {
      auto const count = static_cast<int>(std::min(block, end - first));
      double wide[block];
      Scalar* KOKKOS_RESTRICT const w = d.w + first;
      if (d.update) {
        for (int i = 0; i < count; ++i) wide[i] = static_cast<double>(w[i]);
        for (int j = 0; j < d.k; ++j) {
          double const h = d.coefficient(j);
          Stored const* KOKKOS_RESTRICT const q = d.Q + first + j * d.stride;
          for (int i = 0; i < count; ++i) wide[i] -= h * static_cast<double>(q[i]);
        }
        for (int i = 0; i < count; ++i) w[i] = static_cast<Scalar>(factor * wide[i]);
      }
      for (int i = 0; keeps && i < count; ++i) {
        Stored column;
        keep(static_cast<double>(w[i] * static_cast<Scalar>(keeping.factor)), keeping, column,
             w[i]);
        d.end.column[first + i] = column;
      }
      for (int j = 0; j < d.products(); ++j)
        d.partial[chunk + j * d.chunks] += d.unit * dot(count, d.Q + first + j * d.stride, w);
      if (squares) d.partial[chunk + d.products() * d.chunks] += dot(count, w, w);
    }
  }

 private:
  // How w becomes a column; the first chunk tells the host, or how large the column's unit is.
  Keeping end_of(std::int64_t chunk) const {
    auto const& end = d.end;
    double g_squared = 0;
    for (int j = 0; j < end.products; ++j) g_squared += end.g[j] * end.g[j];
    Keeping const keeping = d.keeping(g_squared);
    if (chunk == 0 && d.purpose == Purpose::Measure) {
      *end.scale = keeping.size / d.unit;
    } else if (chunk == 0) {
      std::copy(end.coefficients, end.coefficients + end.count - 1, end.host);
      end.host[end.count - 1] = end.beta_squared(g_squared);
    }
    return keeping;
  }

  // Eight sums side by side, which the compiler can vectorise.
  template <class Other>
  static double dot(int count, Other const* a, Scalar const* b) {
    double sums[8] = {};
    int i = 0;
    for (; i + 8 <= count; i += 8)
      for (int l = 0; l < 8; ++l)
        sums[l] += static_cast<double>(a[i + l]) * static_cast<double>(b[i + l]);
    for (int l = 0; i < count; ++i, ++l)
      sums[l] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
           ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  }
};

inline constexpr int widest_pass = 32;  // columns of a device's pass

template <int width, class Exec, class Scalar, class Stored>
void launch_device_pass(Exec const& exec, PassData<Scalar, Stored> const& data) {
  if constexpr (width < widest_pass) {
    if (data.k > width) return launch_device_pass<width + 8>(exec, data);
  }
  auto const launch = [&](auto const& pass) {
    Kokkos::parallel_for("strata::sparse::KrylovBasis::pass", pass.policy(exec), pass);
  };
  switch (data.purpose) {
    case Purpose::Update:
      return launch(DevicePass<Exec, Scalar, Stored, width, Purpose::Update>{data});
    case Purpose::Products:
      return launch(DevicePass<Exec, Scalar, Stored, width, Purpose::Products>{data});
    case Purpose::Square:
      return launch(DevicePass<Exec, Scalar, Stored, width, Purpose::Square>{data});
    case Purpose::Finish:
      return launch(DevicePass<Exec, Scalar, Stored, width, Purpose::Finish>{data});
    case Purpose::Measure:
      return launch(DevicePass<Exec, Scalar, Stored, width, Purpose::Measure>{data});
  }
}

template <class Exec, class Scalar, class Stored>
void launch_pass(Exec const& exec, PassData<Scalar, Stored> const& data) {
  if constexpr (strata::runs_on_host<Exec>) {
    Kokkos::parallel_for("strata::sparse::KrylovBasis::pass", RowPolicy<Exec>(exec, 0, data.chunks),
                         HostPass<Scalar, Stored>{data});
  } else {
    launch_device_pass<8>(exec, data);
  }
}

}  // namespace strata::sparse::detail

#endif
