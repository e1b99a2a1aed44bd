// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_KRYLOV_PASS_HPP
#define STRATA_SPARSE_DETAIL_KRYLOV_PASS_HPP

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <core/detail/Strata_Team.hpp>
#include <cstdint>
#include <type_traits>

// One pass of Gram-Schmidt over the basis: w -= Q update, then what its purpose says, chunk by chunk of rows.
namespace strata::sparse::detail {

/// Columns are this times what is stored: with it, entries of vectors of length 1 stay within fp16's range, and
/// normal in it while there are fewer than 10^17.
template <class Scalar, class Stored>
inline constexpr double stored_unit = std::is_same_v<Scalar, Stored> ? 1.0 : 0x1p-15;

enum class Purpose {
  Update,    ///< nothing more
  Products,  ///< the products Q'w
  Square,    ///< those and w'w, behind them
  Finish,    ///< w / beta becomes a column, and the coefficients go to the host
};

/// What remains to be done at the end: beta^2 = w'w - g'g, both of the w before its last update by Q g, as Q'Q = I.
template <class Stored>
struct Finish {
  Stored* column;
  double const *coefficients, *g, *square;  // g and square are among the coefficients
  double* host;                             // gets beta^2 as the last of them
  int count, products;                      // numbers of coefficients, and in g

  /// From the squares of g's entries; not a number if they aren't.
  KOKKOS_FUNCTION double beta_squared(double g_squared) const {
    double const rest = *square - g_squared;
    return rest < 0 ? 0 : rest;
  }
};

/// What a pass over the basis works on: k columns as they are stored, and w.
template <class Scalar, class Stored>
struct PassData {
  Stored const* Q;
  Scalar* w;
  double const* update;  // or nullptr
  double* partial;       // chunk fastest
  std::int64_t rows, stride, chunk, chunks;
  int k;
  Purpose purpose;
  Finish<Stored> finish;

  static constexpr double unit = stored_unit<Scalar, Stored>;
  int sums() const { return purpose == Purpose::Square ? k + 1 : k; }
};

/// Entry of a column as it is stored, and w as that.
template <class Scalar, class Stored>
KOKKOS_FUNCTION void keep(double value, Stored& q, Scalar& w) {
  constexpr double unit = stored_unit<Scalar, Stored>;
  q = static_cast<Stored>(value / unit);
  w = static_cast<Scalar>(unit * static_cast<double>(q));
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

/// A chunk by a device's team: a thread loads its rows of up to `width` columns at once, so that the
/// basis is read from memory once and many loads are under way, and keeps a sum for each column. Numbers
/// of 16 bits are read in pairs; columns and w have room for an even number of rows, 0 in the last.
///
/// A thread's sums, of at most 64 rows, are made in Scalar; the sums over threads, and w'w, in fp64.
template <class Exec, class Scalar, class Stored, int width, Purpose purpose>
struct DevicePass {
  static constexpr int threads = 128, together = 8, parts = threads / together;
  static constexpr bool multiplies = purpose == Purpose::Products || purpose == Purpose::Square;
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
      h(thread) =
          d.update && thread < d.k ? static_cast<Scalar>(d.unit * d.update[thread]) : Scalar(0);
    double const scale = purpose == Purpose::Finish ? end_of(team, room) : 0;
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
        for (int r = 0; r < side; ++r) w.at[r] -= product(h, q, r);
      }
      if constexpr (purpose == Purpose::Finish) {
        Rows<Stored> column;
        for (int r = 0; r < side; ++r)
          keep(static_cast<double>(w.at[r] * static_cast<Scalar>(scale)), column.at[r], w.at[r]);
        if constexpr (!std::is_same_v<Scalar, Stored>)  // else w is the column
          *reinterpret_cast<Rows<Stored>*>(d.finish.column + row) = column;
      }
      if (d.update || purpose == Purpose::Finish) stored = w;
#pragma unroll
      for (int r = 0; r < side; ++r) {
        if constexpr (purpose == Purpose::Square)
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
    if constexpr (purpose == Purpose::Square) {
      double part[together] = {square};
      add_up(team, room, part, d.k, d.k + 1);
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

  // 1 / beta, or 0 where that is 0; the first team tells the host.
  KOKKOS_FUNCTION double end_of(Member const& team, Room const& room) const {
    auto const& end = d.finish;
    int const thread = team.team_rank();
    double part = 0;
    for (int j = thread; j < end.products; j += threads) part += end.g[j] * end.g[j];
    room(thread) = part;
    team.team_barrier();
    double g_squared = 0;
    for (int t = 0; t < threads && t < end.products; ++t) g_squared += room(t);
    double const beta_squared = end.beta_squared(g_squared);
    if (team.league_rank() == 0)
      for (int i = thread; i < end.count; i += threads)
        end.host[i] = i < end.count - 1 ? end.coefficients[i] : beta_squared;
    return beta_squared > 0 ? 1 / Kokkos::sqrt(beta_squared) : 0.0;
  }

  // The threads' sums of up to `together` columns from `first` on, those below `last`, in an order that is
  // always the same.
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
    bool const finishes = d.purpose == Purpose::Finish, squares = d.purpose == Purpose::Square,
               multiplies = d.purpose == Purpose::Products || squares;
    auto const scale = static_cast<Scalar>(finishes ? end_of(chunk) : 0);
    for (int j = 0; multiplies && j < d.sums(); ++j) d.partial[chunk + j * d.chunks] = 0;
    for (std::int64_t first = begin; first < end; first += block) {
      auto const count = static_cast<int>(std::min(block, end - first));
      double wide[block];
      Scalar* KOKKOS_RESTRICT const w = d.w + first;
      if (d.update) {
        for (int i = 0; i < count; ++i) wide[i] = static_cast<double>(w[i]);
        for (int j = 0; j < d.k; ++j) {
          double const h = d.unit * d.update[j];
          Stored const* KOKKOS_RESTRICT const q = d.Q + first + j * d.stride;
          for (int i = 0; i < count; ++i) wide[i] -= h * static_cast<double>(q[i]);
        }
        for (int i = 0; i < count; ++i) w[i] = static_cast<Scalar>(wide[i]);
      }
      for (int i = 0; finishes && i < count; ++i) {
        Stored column;
        keep(static_cast<double>(w[i] * scale), column, w[i]);
        d.finish.column[first + i] = column;
      }
      for (int j = 0; multiplies && j < d.k; ++j)
        d.partial[chunk + j * d.chunks] += d.unit * dot(count, d.Q + first + j * d.stride, w);
      if (squares) d.partial[chunk + d.k * d.chunks] += dot(count, w, w);
    }
  }

 private:
  // 1 / beta, or 0 where that is 0; the first chunk tells the host.
  double end_of(std::int64_t chunk) const {
    auto const& end = d.finish;
    double g_squared = 0;
    for (int j = 0; j < end.products; ++j) g_squared += end.g[j] * end.g[j];
    double const beta_squared = end.beta_squared(g_squared);
    if (chunk == 0) {
      std::copy(end.coefficients, end.coefficients + end.count - 1, end.host);
      end.host[end.count - 1] = beta_squared;
    }
    return beta_squared > 0 ? 1 / Kokkos::sqrt(beta_squared) : 0.0;
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
  }
}

template <class Exec, class Scalar, class Stored>
void launch_pass(Exec const& exec, PassData<Scalar, Stored> const& data) {
  if constexpr (strata::detail::runs_on_host<Exec>) {
    using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
    Kokkos::parallel_for("strata::sparse::KrylovBasis::pass", Policy(exec, 0, data.chunks),
                         HostPass<Scalar, Stored>{data});
  } else {
    launch_device_pass<8>(exec, data);
  }
}

}  // namespace strata::sparse::detail

#endif
