// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/tiles/vendor/Strata_ThinTriangular.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Published.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <optional>
#include <type_traits>

namespace strata::vendor {

#ifdef KOKKOS_ENABLE_CUDA
namespace {

constexpr int order = 64;  // of a diagonal block
constexpr int threads = 256, lanes = 32, warps = threads / lanes;
constexpr int batch = order * order / threads;  // numbers of a block that a thread has

template <class T>
struct Scratch {
  T diagonal[order * (order + 1)];
  T sums[threads / order][order];
  int turn;
  bool overflows;
};

/// The operands of a substitution.
template <class T>
struct System {
  T const* l;
  std::int64_t n, ld, ldx;
  int blocks, cols;
  bool is_unit;
  T alpha;
  T* x;
};

/// A team's part: `forward` solves with L, from its first block to its last one, else with L^T,
/// from its last block.
template <class T, bool forward>
struct Substitution : System<T> {
  using System<T>::l, System<T>::n, System<T>::ld, System<T>::ldx, System<T>::blocks,
      System<T>::cols, System<T>::is_unit, System<T>::alpha, System<T>::x;
  static constexpr int groups = forward ? threads / order : 1;  // of partial sums

  Published<T> solved;
  /// right-hand side that other teams solve for; else it is in x
  Published<T> right_side = {nullptr};
  bool is_last = true;  ///< what is solved goes to x, too

  /// Block `turn` / cols in the order of solving, of column `turn` % cols.
  template <class Member>
  KOKKOS_FUNCTION void run(Member const& team, Scratch<T>& scratch, int turn) const {
    int const t = team.team_rank();
    int const col = turn % cols, step = turn / cols;
    Published<T> const y{solved.bits + col * n};
    std::int64_t const first = std::int64_t{forward ? step : blocks - 1 - step} * order;
    int const rows = static_cast<int>(n - first < order ? n - first : order);
    load_diagonal(scratch, t, first, rows);
    team.team_barrier();
    T right[2], inverse[2];  // of the rows of a lane, early, as all wait for who has them
    for (int h = 0; h < 2; ++h) {
      int const i = t % lanes + h * lanes;
      bool const is_there = i < rows && right_side.bits == nullptr;
      right[h] = is_there ? alpha * x[first + turn_of(i, rows) + col * ldx] : T(0);
      inverse[h] = 1 / scratch.diagonal[i * (order + 2)];
    }
    T const reciprocal = 1 / scratch.diagonal[t % order * (order + 2)];
    if (!may_multiply(scratch, t, reciprocal)) scratch.overflows = true;
    team.team_barrier();
    bool const divided = !scratch.overflows;
    if (divided) multiply(scratch, t, reciprocal);
    if (right_side.bits != nullptr && t < lanes) wait_for_right_side(t, first, rows, col, right);
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
  /// The numbers of a lane's rows, of which a block of L^-1 may come last.
  KOKKOS_FUNCTION void wait_for_right_side(int lane, std::int64_t first, int rows, int col,
                                           T (&right)[2]) const {
    Published<T> const b{right_side.bits + col * n};
    for (int h = 0; h < 2; ++h) {
      int const i = lane + h * lanes;
      T number[1] = {};
      if (i < rows) b.read(first + turn_of(i, rows), 1, n, number);
      right[h] = alpha * number[0];
    }
  }

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

  /// sums = the blocks left of the diagonal one, times what is solved. Thread (row, group) has
  /// `batch` columns of each.
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

  /// sums = the blocks below the diagonal one, transposed, times what is solved. A warp has
  /// `columns` columns, a lane two rows of each block.
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

  /// Whether row t % 64 can be divided by its diagonal beforehand, which a step of the substitution
  /// would wait for.
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

  /// The diagonal block, by one warp; a lane has rows lane and lane + 32, `divided` by their
  /// diagonals or not.
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
      if (is_last) x_rows[turn_of(i, rows)] = solution[h];
    }
  }
};

/// Teams are numbered as they start.
template <class T, class Member>
KOKKOS_FUNCTION Scratch<T>& take_turn(Member const& team, unsigned* started) {
  auto& scratch = *static_cast<Scratch<T>*>(team.team_scratch(0).get_shmem(sizeof(Scratch<T>)));
  if (team.team_rank() == 0) {
    scratch.turn = static_cast<int>(Kokkos::atomic_fetch_add(started, 1u) + 1);
    scratch.overflows = false;
  }
  team.team_barrier();
  return scratch;
}

/// The kernel of one substitution.
template <class T, bool forward>
struct Substitute {
  Substitution<T, forward> part;
  unsigned* started;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch<T>& scratch = take_turn<T>(team, started);
    part.run(team, scratch, scratch.turn);
  }
};

/// The kernel of both: those with L^T have their diagonal blocks ready when those with L are done.
template <class T>
struct SubstituteBoth {
  Substitution<T, true> down;
  Substitution<T, false> up;
  unsigned* started;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch<T>& scratch = take_turn<T>(team, started);
    int const turn = scratch.turn, first_up = down.blocks * down.cols;
    if (turn < first_up)
      down.run(team, scratch, turn);
    else
      up.run(team, scratch, turn - first_up);
  }
};

/// `of_processor`: teams that a multiprocessor must hold, which bounds a thread's registers.
template <class T, int of_processor, class Exec, class Kernel>
void launch(Exec const& exec, int teams, Kernel const& kernel) {
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<threads, of_processor>>;
  Policy policy(exec, teams, threads);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(sizeof(Scratch<T>))));
  Kokkos::parallel_for("strata::core::thin_triangular", policy, kernel);
}

/// Whether the kernels take L and X. If so, calls `work(bits, system)` with memory for `solutions`
/// times the numbers of X and the counter of teams, all unset.
template <class Exec, class L, class X, class Work>
bool with_room(Exec const& exec, detail::Workspace<Exec>& workspace, Diag diag, double alpha,
               L const& l, X const& x, int solutions, Work const& work) {
  constexpr std::int64_t most_rows = 8192;  // beyond, a team takes longer than those before it
  bool const takes = x.cols <= 4 && x.rows <= most_rows && is_arithmetic(x.precision) &&
                     l.precision == x.precision && !l.scale && !x.scale;
  if (!takes || x.rows == 0 || x.cols == 0) return false;
  using Frame = typename detail::Workspace<Exec>::Frame;
  std::int64_t const numbers = solutions * x.rows * x.cols + 1;
  std::optional<Frame> room;
  try {
    room.emplace(workspace, detail::Workspace<Exec>::bytes(x.precision, numbers, 1));
  } catch (MemoryError const&) {
    return false;
  }
  with_arithmetic_type(x.precision, [&]<class T>(std::type_identity<T>) {
    using Bits = typename Published<T>::Bits;
    auto* const bits = reinterpret_cast<Bits*>(room->take(x.precision, numbers, 1).data);
    strata::unset("strata::core::thin_triangular::unset", exec, bits, numbers);
    System<T> const system{l.template as<T>(),
                           x.rows,
                           l.ld,
                           x.ld,
                           static_cast<int>((x.rows + order - 1) / order),
                           static_cast<int>(x.cols),
                           diag == Diag::Unit,
                           static_cast<T>(alpha),
                           x.template as<T>()};
    work(bits, reinterpret_cast<unsigned*>(bits + numbers - 1), system);
  });
  return true;
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
    if (side != Side::Left || uplo != Uplo::Lower) return false;
    return with_room(exec, workspace, diag, alpha, L, X, 1,
                     [&]<class Bits, class T>(Bits* bits, unsigned* started, System<T> const& of) {
                       int const teams = of.blocks * of.cols;
                       if (op == Op::NoTrans)
                         launch<T, 2>(exec, teams, Substitute<T, true>{{of, {bits}}, started});
                       else
                         launch<T, 2>(exec, teams, Substitute<T, false>{{of, {bits}}, started});
                     });
  }
#endif
  return false;
}

template <class Exec>
bool thin_potrs([[maybe_unused]] Exec const& exec,
                [[maybe_unused]] detail::Workspace<Exec>& workspace,
                [[maybe_unused]] ConstMatrixRef<typename Exec::memory_space> const& L,
                [[maybe_unused]] MatrixRef<typename Exec::memory_space> const& X) {
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) {
    constexpr std::int64_t most = 8192;  // numbers of X: its teams would wait for multiprocessors
    if (X.rows * X.cols > most) return false;
    return with_room(
        exec, workspace, Diag::NonUnit, 1, L, X, 2,
        [&]<class Bits, class T>(Bits* bits, unsigned* started, System<T> const& of) {
          Published<T> const between{bits}, solved{bits + of.n * of.cols};
          launch<T, 1>(exec, 2 * of.blocks * of.cols,
                       SubstituteBoth<T>{
                           {of, between, {nullptr}, false}, {of, solved, between, true}, started});
        });
  }
#endif
  return false;
}

#define STRATA_INSTANTIATE(Space)                                                              \
  template bool thin_triangular(Space const&, detail::Workspace<Space>&, Side, Uplo, Op, Diag, \
                                double, ConstMatrixRef<typename Space::memory_space> const&,   \
                                MatrixRef<typename Space::memory_space> const&);               \
  template bool thin_potrs(Space const&, detail::Workspace<Space>&,                            \
                           ConstMatrixRef<typename Space::memory_space> const&,                \
                           MatrixRef<typename Space::memory_space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::vendor
