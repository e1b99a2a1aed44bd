// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_THIN_KERNEL_HPP
#define STRATA_DETAIL_THIN_KERNEL_HPP

#include <core/blas/basics/Strata_Pack.hpp>
#include <core/kokkos_ext/Strata_Published.hpp>
#include <dense/recursion/detail/Strata_ThinTasks.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace strata::dense::detail::thin {

/// A team's work: all tasks, in their order.
///
/// Stored   what all strips are stored as, or void where that is looked up for each. Code for one
///          type alone keeps what is under way in registers.
template <class S, class Stored>
struct Kernel {
  FactorStrip const* strips;
  ThinLeaf const* leaves;
  ThinTask const* tasks;
  std::int64_t n;
  S* b;
  Published<S> row_products, between, column_products, solved;  ///< products: n a part
  unsigned* started;                                            ///< teams, from ~0 on

  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(Member const& team) const {
    auto& scratch = *static_cast<Scratch<S>*>(
        team.team_scratch(0).get_shmem_aligned(sizeof(Scratch<S>), alignof(Scratch<S>)));
    if (team.team_rank() == 0)
      scratch.turn = static_cast<int>(Kokkos::atomic_fetch_add(started, 1u) + 1);
    team.team_barrier();
    ThinTask const task = tasks[scratch.turn];
    ThinLeaf const& leaf = leaves[task.leaf];
    switch (task.kind) {
      case ThinTask::Kind::RowProducts:
        return multiply<true>(team, scratch, leaf.before, leaf, task);
      case ThinTask::Kind::Down:
        return solve_down(team, scratch, leaf, task.first);
      case ThinTask::Kind::ColumnProducts:
        return multiply<false>(team, scratch, leaf.after, leaf, task);
      case ThinTask::Kind::Up:
        return solve_up(team, scratch, leaf, task.first);
    }
  }

 private:
  /// The task's chunks of all strips, times what is solved. They are dealt to the parts one by one.
  template <bool of_rows, class Member>
  KOKKOS_FORCEINLINE_FUNCTION void multiply(Member const& team, Scratch<S>& scratch,
                                            ThinSide const& side, ThinLeaf const& leaf,
                                            ThinTask const& task) const {
    int const t = team.team_rank();
    S total = 0;
    int next = task.part;  // chunk of the strip
    for (int s = side.first; s < side.first + side.count; ++s) {
      FactorStrip const strip = strips[s];
      S const scale = strip.scale ? static_cast<S>(*strip.scale) : S(1);
      auto const add = [&]<class T>(T) {
        int const chunks = static_cast<int>((strip.count + chunk_width<T> - 1) / chunk_width<T>);
        S sum;
        if constexpr (of_rows)
          sum = multiply_rows<T>(team, scratch, strip, task.first, leaf.size, next, chunks,
                                 side.parts);
        else
          sum = multiply_columns<T>(team, scratch, strip, task.first, leaf.size, next, chunks,
                                    side.parts);
        total += scale * sum;
      };
      if constexpr (std::is_void_v<Stored>)
        with_device_type<S>(strip.precision, add);
      else
        add(Stored());
    }
    if (t < outputs && task.first + t < leaf.size)
      (of_rows ? row_products : column_products)
          .write(task.part * n + leaf.begin + task.first + t, total);
  }

  /// Rows [first, first + outputs) of chunks `next`, next + parts, ... times their x; thread r <
  /// outputs has row r.
  template <class T, class Member>
  KOKKOS_FORCEINLINE_FUNCTION S multiply_rows(Member const& team, Scratch<S>& scratch,
                                              FactorStrip const& strip, int first, int rows,
                                              int& next, int chunks, int parts) const {
    constexpr int size = Pack<T>::size, packs = outputs / size, columns = threads / packs;
    int const t = team.team_rank(), row = t % packs * size, column = t / packs;
    bool const has_row = first + row < rows;
    T const* const a = static_cast<T const*>(strip.data) + first + row + column * strip.ld;
    auto const load = [&](std::int64_t begin, Words(&pack)[batch]) {
#pragma unroll
      for (int k = 0; k < batch; ++k) {
        std::int64_t const j = begin + std::int64_t{k} * columns;
        pack[k] = {};
        if (has_row && j + column < strip.count) pack[k].load(a + j * strip.ld);
      }
    };
    S sum[size] = {};
    stream<T, true>(team, scratch, between, strip, next, chunks, parts, load,
                    [&](Words const(&pack)[batch], S const* x) {
#pragma unroll
                      for (int k = 0; k < batch; ++k) {
                        Pack<T> const l = pack[k].template as<T>();
                        S const factor = x[column + k * columns];
#pragma unroll
                        for (int i = 0; i < size; ++i) sum[i] += static_cast<S>(l.x[i]) * factor;
                      }
                    });
    next -= chunks;
#pragma unroll
    for (int i = 0; i < size; ++i) scratch.sums[column * outputs + row + i] = sum[i];
    return add_up<outputs, columns>(team, scratch,
                                    [](int out, int k) { return k * outputs + out; });
  }

  /// Columns [first, first + outputs) of such chunks, from the strip's last one on, times their x.
  template <class T, class Member>
  KOKKOS_FORCEINLINE_FUNCTION S multiply_columns(Member const& team, Scratch<S>& scratch,
                                                 FactorStrip const& strip, int first, int columns,
                                                 int& next, int chunks, int parts) const {
    constexpr int size = Pack<T>::size;
    static_assert(lanes * outputs == threads * batch);
    int const t = team.team_rank(), row = t % lanes * size, column = first + t / lanes * batch;
    T const* const a = static_cast<T const*>(strip.data) + row + column * strip.ld;
    auto const load = [&](std::int64_t begin, Words(&pack)[batch]) {
      std::int64_t const end = strip.count - begin;
#pragma unroll
      for (int k = 0; k < batch; ++k) {
        pack[k] = {};
        if (row < end && column + k < columns) pack[k].load(a + begin + k * strip.ld);
      }
      if (row < end && row + size > end)
#pragma unroll
        for (int k = 0; k < batch; ++k) pack[k].template clear_from<T>(static_cast<int>(end) - row);
    };
    S sum[batch] = {};
    stream<T, false>(team, scratch, solved, strip, next, chunks, parts, load,
                     [&](Words const(&pack)[batch], S const* x) {
                       S factor[size];
#pragma unroll
                       for (int i = 0; i < size; ++i) factor[i] = x[row + i];
#pragma unroll
                       for (int k = 0; k < batch; ++k) {
                         Pack<T> const l = pack[k].template as<T>();
#pragma unroll
                         for (int i = 0; i < size; ++i)
                           sum[k] += static_cast<S>(l.x[i]) * factor[i];
                       }
                     });
    next -= chunks;
#pragma unroll
    for (int k = 0; k < batch; ++k)
      scratch.sums[(column - first + k) * (lanes + 1) + t % lanes] = sum[k];
    return add_up<outputs, lanes>(team, scratch,
                                  [](int out, int k) { return out * (lanes + 1) + k; });
  }

  /// use(packs, x) for the strip's chunks next, next + parts, ... and their numbers of `from`,
  /// counted from the strip's begin or from its end. Of the chunk after it the numbers, if they are
  /// there, and then the packs are under way: a load waits for those before it.
  template <class T, bool from_begin, class Member, class Load, class Use>
  KOKKOS_FORCEINLINE_FUNCTION static void stream(Member const& team, Scratch<S>& scratch,
                                                 Published<S> const& from, FactorStrip const& strip,
                                                 int& next, int chunks, int parts,
                                                 Load const& load_packs, Use const& use) {
    constexpr int width = chunk_width<T>, each = (width + threads - 1) / threads;
    constexpr bool ahead = 2 * sizeof(T) >= sizeof(S);  // else sums take the registers
    struct Chunk {
      Words pack[batch];
      typename Published<S>::Bits x[each];
    } even, odd;
    int const t = team.team_rank();
    int turn = 0;
    auto const begin_of = [&](int chunk) {
      return std::int64_t{from_begin ? chunk : chunks - 1 - chunk} * width;
    };
    auto const load = [&](int chunk, Chunk& coming) {
      std::int64_t const begin = begin_of(chunk);
#pragma unroll
      for (int k = 0; k < each; ++k) {
        int const i = t + k * threads;
        bool const is_there = i < width && begin + i < strip.count;
        coming.x[k] = is_there ? from.look(strip.begin + begin + i) : 0;
      }
      load_packs(begin, coming.pack);
    };
    auto const step = [&](Chunk const& now, Chunk& coming) {
      if (ahead && next + parts < chunks) load(next + parts, coming);
      S* const x = scratch.x[turn++ % 2];
      std::int64_t const begin = strip.begin + begin_of(next);
#pragma unroll
      for (int k = 0; k < each; ++k)
        if (int const i = t + k * threads; i < width) x[i] = from.wait(begin + i, now.x[k]);
      team.team_barrier();
      use(now.pack, x);
      next += parts;
      return next < chunks;
    };
    if constexpr (ahead) {
      if (next < chunks) load(next, even);
      for (bool goes_on = next < chunks; goes_on;) goes_on = step(even, odd) && step(odd, even);
    } else {
      while (next < chunks) load(next, even), step(even, odd);
    }
  }

  /// The sums over `count` lanes: of output t in thread t.
  template <int outs, int count, class Member, class Index>
  KOKKOS_FORCEINLINE_FUNCTION S add_up(Member const& team, Scratch<S>& scratch,
                                       Index const& index) const {
    constexpr int each = count / slices;
    int const t = team.team_rank(), out = t % outs, slice = t / outs;
    team.team_barrier();
    if (slice < slices) {
      S sum = 0;
#pragma unroll
      for (int k = 0; k < each; ++k) sum += scratch.sums[index(out, slice * each + k)];
      scratch.parts[slice][out] = sum;
    }
    team.team_barrier();
    S sum = 0;
    if (t < outs)
#pragma unroll
      for (int k = 0; k < slices; ++k) sum += scratch.parts[k][t];
    return sum;
  }

  static constexpr int rows = 1024 / threads;  ///< rows of a leaf that a thread has at a time

  /// z = numbers [begin, end) of the leaf's right side less its products, for all threads.
  template <class Member, class RightSide>
  KOKKOS_FORCEINLINE_FUNCTION void subtract(Member const& team, Scratch<S>& scratch,
                                            ThinLeaf const& leaf, int begin, int end,
                                            Published<S> const& products, int parts,
                                            RightSide const& right_side) const {
    for (int first = begin + team.team_rank(); first < end; first += rows * threads) {
      S z[rows], part[rows * most_parts];
      right_side(first, z);
      products.gather(
          [&](int k) {
            int const i = first + k / most_parts * threads, p = k % most_parts;
            return i < end && p < parts ? p * n + leaf.begin + i : std::int64_t{-1};
          },
          part);
#pragma unroll
      for (int k = 0; k < rows * most_parts; ++k) z[k / most_parts] -= part[k];
#pragma unroll
      for (int r = 0; r < rows; ++r)
        if (first + r * threads < end) scratch.z()[first + r * threads] = z[r];
    }
    team.team_barrier();
  }

  /// One thread looks for number i: those who have long to wait keep the memory free for others.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void wait(Member const& team, Published<S> const& from,
                                        std::int64_t i) const {
    if (team.team_rank() == 0 && i >= 0 && i < n) from.wait(i);
    team.team_barrier();
  }

  /// x = inverse^T z for columns [first, first + solved_at_once) of the upper triangular inverse,
  /// which is 0 below its diagonal.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void solve_down(Member const& team, Scratch<S>& scratch,
                                              ThinLeaf const& leaf, int first) const {
    constexpr int size = Pack<S>::size, outs = solved_at_once<S>;
    constexpr int columns = outs * 32 > threads ? outs * 32 / threads : 1;  // of a thread
    constexpr int across = threads * columns / outs, packs = packs_of_inverse / columns;
    int const t = team.team_rank(), lane = t % across, column = first + t / across * columns;
    std::int64_t const ld = leaf.ld;
    S const* const a = static_cast<S const*>(leaf.inverse) + column * ld;
    Words pack[columns][packs];
    auto const load = [&](int begin) {
#pragma unroll
      for (int c = 0; c < columns; ++c)
#pragma unroll
        for (int k = 0; k < packs; ++k) {
          int const row = begin + (lane + k * across) * size;
          bool const is_read = column + c < leaf.size && row <= column + c;
          pack[c][k] = {};
          if (!is_read) continue;
          pack[c][k].load(a + row + c * ld);
          if (row + size > leaf.size) pack[c][k].template clear_from<S>(leaf.size - row);
        }
    };
    load(0);
    wait(team, between, leaf.begin - 1);
    int const end = first + outs < leaf.size ? first + outs : leaf.size;
    int const padded = (end + size - 1) / size * size;
    if (t < padded - end) scratch.z()[end + t] = 0;
    subtract(team, scratch, leaf, 0, end, row_products, leaf.before.parts,
             [&](int i, S(&right)[rows]) {
#pragma unroll
               for (int r = 0; r < rows; ++r) {
                 int const row = i + r * threads;
                 right[r] = row < end ? b[leaf.begin + row] : S(0);
               }
             });
    S sum[columns] = {};
    for (int begin = 0;;) {
#pragma unroll
      for (int k = 0; k < packs; ++k) {
        int const row = begin + (lane + k * across) * size;
        if (row >= padded) continue;
        Pack<S> const z = load_pack(scratch.z() + row);
#pragma unroll
        for (int c = 0; c < columns; ++c)
#pragma unroll
          for (int i = 0; i < size; ++i) sum[c] += pack[c][k].template as<S>().x[i] * z.x[i];
      }
      begin += packs * across * size;
      if (begin >= end) break;
      load(begin);
    }
#pragma unroll
    for (int c = 0; c < columns; ++c)
      scratch.sums[(t / across * columns + c) * (across + 1) + lane] = sum[c];
    S const x =
        add_up<outs, across>(team, scratch, [](int out, int k) { return out * (across + 1) + k; });
    if (t < outs && first + t < leaf.size) between.write(leaf.begin + first + t, x);
  }

  /// x = inverse z for rows [first, first + solved_at_once).
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void solve_up(Member const& team, Scratch<S>& scratch,
                                            ThinLeaf const& leaf, int first) const {
    constexpr int size = Pack<S>::size, outs = solved_at_once<S>, across = outs / size;
    constexpr int columns = threads / across, packs = packs_of_inverse;
    int const t = team.team_rank(), row = t % across * size, lane = t / across;
    std::int64_t const ld = leaf.ld;
    S const* const a = static_cast<S const*>(leaf.inverse) + first + row;
    bool const has_row = first + row < leaf.size;
    Words pack[packs];
    auto const load = [&](int begin) {
#pragma unroll
      for (int k = 0; k < packs; ++k) {
        int const column = begin + lane + k * columns;
        if (has_row && column < leaf.size) pack[k].load(a + column * ld);
      }
    };
    load(first);
    wait(team, solved, leaf.begin + leaf.size);
    subtract(team, scratch, leaf, first, leaf.size, column_products, leaf.after.parts,
             [&](int i, S(&right)[rows]) {
               between.read(leaf.begin + i, threads, leaf.begin + leaf.size, right);
             });
    S sum[size] = {};
    for (int begin = first;;) {
#pragma unroll
      for (int k = 0; k < packs; ++k) {
        int const column = begin + lane + k * columns;
        if (column >= leaf.size) continue;
        S const z = scratch.z()[column];
#pragma unroll
        for (int i = 0; i < size; ++i) sum[i] += pack[k].template as<S>().x[i] * z;
      }
      begin += packs * columns;
      if (begin >= leaf.size) break;
      load(begin);
    }
#pragma unroll
    for (int i = 0; i < size; ++i) scratch.sums[lane * outs + row + i] = sum[i];
    S const x = add_up<outs, columns>(team, scratch, [](int out, int k) { return k * outs + out; });
    if (t >= outs || first + t >= leaf.size) return;
    solved.write(leaf.begin + first + t, x);
    b[leaf.begin + first + t] = x;
  }
};

}  // namespace strata::dense::detail::thin

#endif
