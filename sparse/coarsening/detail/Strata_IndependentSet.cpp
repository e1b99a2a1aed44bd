// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/coarsening/detail/Strata_IndependentSet.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/coarsening/detail/Strata_RowSelection.hpp>

#include <type_traits>
#include <utility>

namespace strata::sparse::detail {
namespace {

// A chosen row is a root.
template <class Space>
struct Rounds {
  Vector<std::int64_t, Space> begin;
  Vector<std::int32_t, Space> column;
  Vector<std::uint64_t, Space> state, largest;
};

template <class Exec, class Space>
void begin_rounds(Exec const& exec, std::int64_t rows, Rounds<Space> const& g) {
  Kokkos::parallel_for(
      "strata::sparse::independent_set::begin", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        g.state(i) = g.begin(i) == g.begin(i + 1) ? is_out : 1;
        g.largest(i) = is_out;
      });
}

template <class Exec, class Space>
void draw(Exec const& exec, Vector<std::int32_t, Space> const& list, std::int64_t count, int bits,
          std::int64_t first, int round, Rounds<Space> const& g) {
  Kokkos::parallel_for(
      "strata::sparse::independent_set::draw", RowPolicy<Exec>(exec, 0, count),
      KOKKOS_LAMBDA(std::int64_t k) {
        auto const i = list(k);
        auto const number = static_cast<std::uint32_t>(first + i);  // in the whole matrix
        g.state(i) = std::uint64_t{1} + mixed(number, bits, round);
      });
}

// The largest state within one coupling of each row of the list.
template <class Exec, class Space>
void look_around(Exec const& exec, Vector<std::int32_t, Space> const& list, std::int64_t count,
                 Rounds<Space> const& g) {
  Kokkos::parallel_for(
      "strata::sparse::independent_set::largest", RowPolicy<Exec>(exec, 0, count),
      KOKKOS_LAMBDA(std::int64_t k) {
        auto const i = list(k);
        std::uint64_t most = g.state(i);
        for (std::int64_t at = g.begin(i); at < g.begin(i + 1); ++at) {
          std::uint64_t const other = g.state(g.column(at));
          most = other > most ? other : most;
        }
        g.largest(i) = most;
      });
}

// The largest within two: its own row is a root, those around a root are out.
template <class Exec, class Space>
void decide(Exec const& exec, Vector<std::int32_t, Space> const& list, std::int64_t count,
            Rounds<Space> const& g) {
  Kokkos::parallel_for(
      "strata::sparse::independent_set::decide", RowPolicy<Exec>(exec, 0, count),
      KOKKOS_LAMBDA(std::int64_t k) {
        auto const i = list(k);
        std::uint64_t most = g.largest(i);
        for (std::int64_t at = g.begin(i); at < g.begin(i + 1); ++at) {
          std::uint64_t const other = g.largest(g.column(at));
          most = other > most ? other : most;
        }
        if (most == is_chosen)
          g.state(i) = is_out;
        else if (most == g.state(i))
          g.state(i) = is_chosen;
      });
}

/// Whether undecided rows may meet on a row's couplings. What the others have around them is final,
/// and is set.
template <class Space>
struct IsOnPath {
  Rounds<Space> g;
  KOKKOS_FUNCTION bool operator()(std::int64_t i) const {
    bool keep = is_undecided(g.state(i)), has_root = g.state(i) == is_chosen;
    for (std::int64_t e = g.begin(i); e < g.begin(i + 1) && !keep; ++e) {
      std::uint64_t const other = g.state(g.column(e));
      keep = is_undecided(other);
      has_root = has_root || other == is_chosen;
    }
    if (!keep) g.largest(i) = has_root ? is_chosen : is_out;
    return keep;
  }
};

template <class Exec, class Space>
void mark_roots(Exec const& exec, std::int64_t rows, Rounds<Space> const& g,
                Vector<std::int32_t, Space> const& mark) {
  Kokkos::parallel_for(
      "strata::sparse::independent_set::roots", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { mark(i) = g.state(i) == is_chosen ? 1 : 0; });
}

}  // namespace

template <class Exec>
PooledVector<std::int32_t, Exec> independent_set(Exec const& exec, StrongGraph<Exec> const& F,
                                                 Border<Exec> const& border) {
  Region const region(exec, "strata::sparse::independent_set");
  using Space = typename Exec::memory_space;
  std::int64_t const rows = F.begin.size() - 1, all = border.all(rows);
  auto const of_all = [&]<class T>(std::type_identity<T>) {
    return border.agree(
        [&] { return PooledVector<T, Exec>(exec, "strata::sparse::independent_set", all); });
  };
  auto const state = of_all(std::type_identity<std::uint64_t>()),
             largest = of_all(std::type_identity<std::uint64_t>());
  auto const marks = of_all(std::type_identity<std::int32_t>());
  auto const list = [&] { return border.agree([&] { return listed_rows(exec, rows); }); };
  auto paths = list(), undecided = list(), spare = list();
  Rounds<Space> const g{F.begin, F.column, state, largest};
  IsUndecided<Space> const is_left{state};
  IsOnPath<Space> const is_on_path{g};
  int const bits = bits_for(border.everyones(rows));
  begin_rounds(exec, rows, g);
  border.fill(exec, state.view());
  std::int64_t on_paths = rows;
  std::int64_t left = select_rows(exec, paths.view(), rows, is_left, undecided.view());
  for (int round = 0; border.any(left > 0); ++round) {
    draw(exec, undecided.view(), left, bits, border.first(), round, g);
    border.fill(exec, state.view());
    look_around(exec, paths.view(), on_paths, g);
    border.fill(exec, largest.view());
    decide(exec, undecided.view(), left, g);
    border.fill(exec, state.view());
    left = select_rows(exec, undecided.view(), left, is_left, spare.view());
    std::swap(undecided, spare);
    on_paths = select_rows(exec, paths.view(), on_paths, is_on_path, spare.view());
    std::swap(paths, spare);
  }
  mark_roots(exec, all, g, marks.view());
  exec.fence("strata::sparse::independent_set");  // the lists end here
  return marks;
}

#define STRATA_INSTANTIATE_SET(Space)                         \
  template PooledVector<std::int32_t, Space> independent_set( \
      Space const&, StrongGraph<Space> const&, Border<Space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_SET)

}  // namespace strata::sparse::detail
