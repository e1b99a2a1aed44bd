// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/vendor/Strata_ThinTriangular.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>

#include <Kokkos_BitManipulation.hpp>

#include <cstdint>
#include <optional>
#include <type_traits>

namespace strata::vendor {

#ifdef KOKKOS_ENABLE_CUDA
namespace {

constexpr int order = 64;  // of a diagonal block
constexpr int threads = 256, lanes = 32, warps = threads / lanes;
constexpr int batch = order * order / threads;  // numbers of a block that a thread has

/// Numbers that one team writes and others wait for: each is its own flag, as all bits are 1 until it is there.
template <class T>
struct Published {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  static constexpr Bits unset = ~Bits(0);

  Bits* bits;

  KOKKOS_FORCEINLINE_FUNCTION void write(std::int64_t i, T value) const {
    auto const given = Kokkos::bit_cast<Bits>(value);
    Bits const written = given == unset ? unset >> 1 : given;  // a NaN, too
    *static_cast<Bits volatile*>(bits + i) = written;
  }

  /// Numbers i, i + step, ...: those from `end` on are 0.
  template <int count>
  KOKKOS_FORCEINLINE_FUNCTION void read(std::int64_t i, int step, std::int64_t end,
                                        T (&values)[count]) const {
    bool is_there;
    do {
      is_there = true;
#pragma unroll
      for (int k = 0; k < count; ++k) {
        Bits const now =
            i + k * step < end ? *static_cast<Bits const volatile*>(bits + i + k * step) : Bits(0);
        is_there = is_there && now != unset;
        values[k] = Kokkos::bit_cast<T>(now);
      }
    } while (!is_there);
  }
};

template <class T>
struct Scratch {
  T diagonal[order * (order + 1)];
  T sums[threads / order][order];
  int turn;
  bool overflows;
};

/// The kernel: `forward` solves with L, from its first block to its last one, else with L^T, from its last block.
template <class T, bool forward>
struct Substitute {
  static constexpr int groups = forward ? threads / order : 1;  // of partial sums

  T const* l;
  std::int64_t n, ld, ldx;
  int blocks, cols;
  bool is_unit;
  T alpha;
  T* x;
  Published<T> solved;
  unsigned* started;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    auto& scratch = *static_cast<Scratch<T>*>(team.team_scratch(0).get_shmem(sizeof(Scratch<T>)));
    int const t = team.team_rank();
    if (t == 0) {
      scratch.turn = static_cast<int>(Kokkos::atomic_fetch_add(started, 1u) + 1);
      scratch.overflows = false;
    }
    team.team_barrier();
    int const col = scratch.turn % cols, step = scratch.turn / cols;
    Published<T> const y{solved.bits + col * n};
    std::int64_t const first = std::int64_t{forward ? step : blocks - 1 - step} * order;
    int const rows = static_cast<int>(n - first < order ? n - first : order);
    load_diagonal(scratch, t, first, rows);
    team.team_barrier();
    T right[2], inverse[2];  // of the rows of a lane, early, as all wait for who has them
    for (int h = 0; h < 2; ++h) {
      int const i = t % lanes + h * lanes;
      right[h] = i < rows ? alpha * x[first + turn_of(i, rows) + col * ldx] : T(0);
      inverse[h] = 1 / scratch.diagonal[i * (order + 2)];
    }
    T const reciprocal = 1 / scratch.diagonal[t % order * (order + 2)];
    if (!may_multiply(scratch, t, reciprocal)) scratch.overflows = true;
    team.team_barrier();
    bool const divided = !scratch.overflows;
    if (divided) multiply(scratch, t, reciprocal);
    if constexpr (forward)
      add_blocks_before(scratch, t, first, rows, y);
    else
      add_blocks_after(scratch, t, first, rows, y);
    team.team_barrier();
    if (t >= lanes) return;
    T* const solution = x + first + col * ldx;
    if (divided)
      substitute<true>(scratch, t, first, rows, right, inverse, solution, y);
    else
      substitute<false>(scratch, t, first, rows, right, inverse, solution, y);
  }

 private:
  /// A block's rows in the order in which they are solved.
  KOKKOS_FORCEINLINE_FUNCTION static int turn_of(int row, int rows) {
    return forward ? row : rows - 1 - row;
  }

  /// The diagonal block in the order of solving, lower triangular; beyond its rows an identity.
  KOKKOS_FUNCTION void load_diagonal(Scratch<T>& scratch, int t, std::int64_t first,
                                     int rows) const {
    int const i = t % order;
    for (int j = t / order; j < order; j += threads / order) {
      bool const is_inside = i < rows && i >= j;
      T const value = is_inside ? l[first + i + (first + j) * ld] : T(0);
      if (i >= rows || j >= rows)
        scratch.diagonal[i + j * (order + 1)] = T(i == j);
      else if (forward)
        scratch.diagonal[i + j * (order + 1)] = i == j && is_unit ? T(1) : value;
      else
        scratch.diagonal[turn_of(j, rows) + turn_of(i, rows) * (order + 1)] =
            i == j && is_unit ? T(1) : value;
    }
  }

  /// sums = the blocks left of the diagonal one, times what is solved. Thread (row, group) has `batch` columns of each.
  KOKKOS_FUNCTION void add_blocks_before(Scratch<T>& scratch, int t, std::int64_t first, int rows,
                                         Published<T> const& y) const {
    int const row = t % order, group = t / order;
    T const* a = l + first + (row < rows ? row : 0) + std::int64_t{group} * batch * ld;
    T sum = 0, next[batch], solution[batch];
    auto const load = [&] {
#pragma unroll
      for (int k = 0; k < batch; ++k) next[k] = a[k * ld];
      a += order * ld;
    };
    if (first > 0) load();
    for (std::int64_t begin = 0; begin < first; begin += order) {
      T now[batch];
#pragma unroll
      for (int k = 0; k < batch; ++k) now[k] = next[k];
      if (begin + order < first) load();
      y.read(begin + group * batch, 1, n, solution);
#pragma unroll
      for (int k = 0; k < batch; ++k) sum += now[k] * solution[k];
    }
    scratch.sums[group][row] = sum;
  }

  /// sums = the blocks below the diagonal one, transposed, times what is solved. A warp has `columns` columns, a lane
  /// two rows of each block.
  KOKKOS_FUNCTION void add_blocks_after(Scratch<T>& scratch, int t, std::int64_t first, int rows,
                                        Published<T> const& y) const {
    constexpr int columns = order / warps, of_lane = order / lanes;
    int const lane = t % lanes, warp = t / lanes;
    T sum[columns] = {}, next[columns][of_lane], solution[of_lane];
    auto const load = [&](std::int64_t begin) {
#pragma unroll
      for (int c = 0; c < columns; ++c)
#pragma unroll
        for (int k = 0; k < of_lane; ++k) {
          std::int64_t const i = begin + lane + k * lanes;
          next[c][k] = i < n ? l[i + (first + warp * columns + c) * ld] : T(0);
        }
    };
    std::int64_t begin = std::int64_t{blocks - 1} * order;
    if (begin > first) load(begin);
    for (; begin > first; begin -= order) {
      T now[columns][of_lane];
#pragma unroll
      for (int c = 0; c < columns; ++c)
#pragma unroll
        for (int k = 0; k < of_lane; ++k) now[c][k] = next[c][k];
      if (begin - order > first) load(begin - order);
      y.read(begin + lane, lanes, n, solution);
#pragma unroll
      for (int c = 0; c < columns; ++c)
#pragma unroll
        for (int k = 0; k < of_lane; ++k) sum[c] += now[c][k] * solution[k];
    }
#pragma unroll
    for (int c = 0; c < columns; ++c) {
      for (int delta = lanes / 2; delta > 0; delta /= 2)
        sum[c] += Kokkos::shfl_down(sum[c], delta, int{lanes});
      if (lane == 0 && warp * columns + c < rows)
        scratch.sums[0][turn_of(warp * columns + c, rows)] = sum[c];
    }
  }

  /// Whether row t % 64 can be divided by its diagonal beforehand, which a step of the substitution would wait for.
  KOKKOS_FUNCTION bool may_multiply(Scratch<T> const& scratch, int t, T reciprocal) const {
    int const i = t % order;
    bool may = Kokkos::isfinite(reciprocal) &&
               Kokkos::abs(reciprocal) >= Kokkos::Experimental::norm_min_v<T>;
    for (int j = t / order; j < i; j += threads / order)
      may = may && Kokkos::isfinite(scratch.diagonal[i + j * (order + 1)] * reciprocal);
    return may;
  }
  KOKKOS_FUNCTION void multiply(Scratch<T>& scratch, int t, T reciprocal) const {
    int const i = t % order;
    for (int j = t / order; j < i; j += threads / order)
      scratch.diagonal[i + j * (order + 1)] *= reciprocal;
  }

  /// The diagonal block, by one warp; a lane has rows lane and lane + 32, `divided` by their diagonals or not.
  template <bool divided>
  KOKKOS_FUNCTION void substitute(Scratch<T> const& scratch, int lane, std::int64_t first, int rows,
                                  T (&right)[2], T const (&inverse)[2], T* const x_rows,
                                  Published<T> const& y) const {
    T const* const a = scratch.diagonal;
    T solution[2] = {};
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      int const i = lane + h * lanes;
      if (i < rows)
        for (int g = 0; g < groups; ++g) right[h] -= scratch.sums[g][i];
      if (divided) right[h] *= inverse[h];
    }
#pragma unroll
    for (int h = 0; h < 2; ++h)
#pragma unroll 8
      for (int k = 0; k < lanes; ++k) {
        T const value = Kokkos::shfl(
            divided ? right[h] : right[h] / a[(lane + h * lanes) * (order + 2)], k, int{lanes});
        T const* const column = a + (h * lanes + k) * (order + 1);
        if (lane == k) solution[h] = value;
        if (h == 0) right[0] -= column[lane] * value;
        right[1] -= column[lane + lanes] * value;
      }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      int const i = lane + h * lanes;
      if (i >= rows) continue;
      y.write(first + turn_of(i, rows), solution[h]);
      x_rows[turn_of(i, rows)] = solution[h];
    }
  }
};

template <class Bits, class Exec>
void unset(Exec const& exec, Bits* bits, std::int64_t numbers) {
  Kokkos::parallel_for(
      "strata::core::thin_triangular::unset", Kokkos::RangePolicy<Exec>(exec, 0, numbers),
      KOKKOS_LAMBDA(std::int64_t i) { bits[i] = ~Bits(0); });
}

template <class T, bool forward, class Exec>
void launch(Exec const& exec, Substitute<T, forward> const& kernel) {
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<threads, 2>>;
  Policy policy(exec, kernel.blocks * kernel.cols, threads);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(sizeof(Scratch<T>))));
  Kokkos::parallel_for("strata::core::thin_triangular", policy, kernel);
}

}  // namespace
#endif

template <class Exec>
bool thin_triangular([[maybe_unused]] Exec const& exec,
                     [[maybe_unused]] detail::Workspace<Exec>& workspace,
                     [[maybe_unused]] Side side, [[maybe_unused]] Uplo uplo, [[maybe_unused]] Op op,
                     [[maybe_unused]] Diag diag, [[maybe_unused]] double alpha,
                     [[maybe_unused]] ConstMatrixRef<typename Exec::memory_space> const& L,
                     [[maybe_unused]] MatrixRef<typename Exec::memory_space> const& X) {
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) {
    constexpr std::int64_t most_rows = 8192;  // beyond, a team takes longer than those before it
    bool const takes = side == Side::Left && uplo == Uplo::Lower && X.cols <= 4 &&
                       X.rows <= most_rows && is_arithmetic(X.precision) &&
                       L.precision == X.precision && !L.scale && !X.scale;
    if (!takes || X.rows == 0 || X.cols == 0) return false;
    using Frame = typename detail::Workspace<Exec>::Frame;
    std::int64_t const numbers = X.rows * X.cols + 1;  // and the counter
    std::optional<Frame> room;
    try {
      room.emplace(workspace, detail::Workspace<Exec>::bytes(X.precision, numbers, 1));
    } catch (MemoryError const&) {
      return false;
    }
    with_arithmetic_type(X.precision, [&]<class T>(std::type_identity<T>) {
      using Bits = typename Published<T>::Bits;
      auto* const bits = reinterpret_cast<Bits*>(room->take(X.precision, numbers, 1).data);
      unset(exec, bits, numbers);
      auto const blocks = static_cast<int>((X.rows + order - 1) / order);
      auto const solve = [&]<bool forward>(std::bool_constant<forward>) {
        launch(exec, Substitute<T, forward>{L.template as<T>(),
                                            X.rows,
                                            L.ld,
                                            X.ld,
                                            blocks,
                                            static_cast<int>(X.cols),
                                            diag == Diag::Unit,
                                            static_cast<T>(alpha),
                                            X.template as<T>(),
                                            {bits},
                                            reinterpret_cast<unsigned*>(bits + numbers - 1)});
      };
      if (op == Op::NoTrans)
        solve(std::true_type());
      else
        solve(std::false_type());
    });
    return true;
  }
#endif
  return false;
}

#define STRATA_INSTANTIATE(Space)                                                              \
  template bool thin_triangular(Space const&, detail::Workspace<Space>&, Side, Uplo, Op, Diag, \
                                double, ConstMatrixRef<typename Space::memory_space> const&,   \
                                MatrixRef<typename Space::memory_space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::vendor
