// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/coarsening/detail/Strata_Splitting.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/coarsening/detail/Strata_IndependentSet.hpp>
#include <sparse/coarsening/detail/Strata_RowSelection.hpp>
#include <sparse/products/detail/Strata_HashProduct.hpp>

#include <utility>

namespace strata::sparse::detail {
namespace {

// bound(i): what -s a_ij must reach, infinite where none is strong.
template <class Exec, class Space>
void find_bounds(Exec const& exec, std::int64_t rows, CsrRef<Space> const& A, double strength,
                 Vector<double, Space> const& bound) {
  constexpr double dominated = 0.2, tie = 1 - 0x1p-16;
  double const factor = strength * tie;
  Kokkos::parallel_for(
      "strata::sparse::dependence_graph::bounds", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        double diagonal = 0, sum = 0, least = 0, most = 0;
        A(i, [&](std::int64_t j, double a) {
          diagonal += j == i ? a : 0;
          if (j == i) return;
          sum += Kokkos::abs(a);
          least = a < least ? a : least;
          most = a > most ? a : most;
        });
        double const largest = diagonal < 0 ? most : -least;
        bool const has_any = largest > 0 && sum >= dominated * Kokkos::abs(diagonal);
        bound(i) = has_any ? (diagonal < 0 ? -1 : 1) * factor * largest : 0;
      });
}

/// Whether row i depends strongly on j; the bound has the sign of the diagonal.
template <class Space>
struct DependsOn {
  Vector<double, Space> bound;
  KOKKOS_FUNCTION bool operator()(std::int64_t i, std::int64_t j, double a) const {
    double const least = bound(i);
    if (i == j || least == 0) return false;
    return least > 0 ? a < 0 && -a >= least : a > 0 && a >= -least;
  }
};

// A chosen row is coarse, and one that is out is fine.
template <class Space>
struct Splitting {
  Vector<std::int64_t, Space> begin;
  Vector<std::int32_t, Space> column;
  TransposedRows<Space> dependent;  // rows that depend on a row
  Vector<std::uint64_t, Space> state;
  Vector<std::int32_t, Space> is_new;  // coarse by this round
};

template <class Exec, class Space>
void set_priorities(Exec const& exec, std::int64_t rows, int bits, std::int64_t first,
                    Splitting<Space> const& g) {
  Kokkos::parallel_for(
      "strata::sparse::splitting::priorities", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        auto const measure =
            static_cast<std::uint64_t>(g.dependent.begin(i + 1) - g.dependent.begin(i));
        auto const number = static_cast<std::uint32_t>(first + i);  // in the whole matrix
        g.state(i) = measure == 0 ? is_out : (measure << 32) | mixed(number, bits, 0);
        g.is_new(i) = 0;
      });
}

// Rows above all undecided ones around them.
template <class Exec, class Space>
void choose_coarse(Exec const& exec, Vector<std::int32_t, Space> const& list, std::int64_t count,
                   Splitting<Space> const& g) {
  Kokkos::parallel_for(
      "strata::sparse::splitting::choose", RowPolicy<Exec>(exec, 0, count),
      KOKKOS_LAMBDA(std::int64_t k) {
        auto const i = list(k);
        std::uint64_t const own = g.state(i);
        bool is_highest = true;
        for (std::int64_t at = g.begin(i); at < g.begin(i + 1) && is_highest; ++at)
          is_highest = !(is_undecided(g.state(g.column(at))) && g.state(g.column(at)) > own);
        for (std::int64_t at = g.dependent.begin(i); at < g.dependent.begin(i + 1) && is_highest;
             ++at) {
          auto const j = static_cast<std::int64_t>(g.dependent.place(at) >> 32);
          is_highest = !(is_undecided(g.state(j)) && g.state(j) > own);
        }
        g.is_new(i) = is_highest ? 1 : 0;
      });
}

// They become coarse, and what depends on them fine.
template <class Exec, class Space>
void settle(Exec const& exec, Vector<std::int32_t, Space> const& list, std::int64_t count,
            Splitting<Space> const& g) {
  Kokkos::parallel_for(
      "strata::sparse::splitting::settle", RowPolicy<Exec>(exec, 0, count),
      KOKKOS_LAMBDA(std::int64_t k) {
        auto const i = list(k);
        bool depends = false;
        for (std::int64_t at = g.begin(i); at < g.begin(i + 1) && !depends; ++at)
          depends = g.is_new(g.column(at)) > 0;
        if (g.is_new(i) > 0)
          g.state(i) = is_chosen;
        else if (depends)
          g.state(i) = is_out;
      });
}

template <class Space>
struct IsCoarse {
  Vector<std::uint64_t, Space> state;
  KOKKOS_FUNCTION bool operator()(std::int64_t i) const { return state(i) == is_chosen; }
};

}  // namespace

template <class Exec>
StrongGraph<Exec> dependence_graph(Exec const& exec, LocalCsr<Exec> const& A, double strength) {
  Region const region(exec, "strata::sparse::dependence_graph");
  PooledVector<double, Exec> const bound(exec, "strata::sparse::dependence_graph::bound", A.rows);
  find_bounds(exec, A.rows, A.ref(), strength, bound.view());
  return graph_of(exec, A, DependsOn<typename Exec::memory_space>{bound});
}

template <class Exec>
RowAggregates<Exec> splitting(Exec const& exec, StrongGraph<Exec> const& S,
                              Border<Exec> const& border) {
  using Space = typename Exec::memory_space;
  Region const region(exec, "strata::sparse::splitting");
  std::int64_t const all = S.begin.size() - 1, rows = border.own(all);
  LocalCsr<Exec> const graph{all, all, S.begin, S.column, {}};
  TransposedIndex<Exec> transposed;
  PooledVector<std::uint64_t, Exec> state;
  PooledVector<std::int32_t, Exec> is_new, undecided, spare;
  RowAggregates<Exec> result;
  border.agree([&] {
    transposed = transposed_index(exec, graph);
    state = {exec, "strata::sparse::splitting::state", all};
    is_new = {exec, "strata::sparse::splitting::new", all};
    undecided = listed_rows(exec, rows);
    spare = listed_rows(exec, rows);
    result.of = {exec, "strata::sparse::splitting::of", all};
  });
  Splitting<Space> const g{
      S.begin, S.column, {transposed.begin, transposed.place, graph.ref()}, state, is_new};
  set_priorities(exec, rows, bits_for(border.everyones(rows)), border.first(), g);
  border.fill(exec, state.view());
  border.fill(exec, is_new.view());
  IsUndecided<Space> const is_left{state};
  std::int64_t left = select_rows(exec, undecided.view(), rows, is_left, spare.view());
  while (border.any(left > 0)) {
    std::swap(undecided, spare);
    choose_coarse(exec, undecided.view(), left, g);
    border.fill(exec, is_new.view());
    settle(exec, undecided.view(), left, g);
    border.fill(exec, state.view());
    left = select_rows(exec, undecided.view(), left, is_left, spare.view());
  }
  Vector<std::int32_t, Space> const own(result.of.data(), static_cast<std::size_t>(rows));
  result.count = number_rows(exec, IsCoarse<Space>{state}, own);
  number_everywhere(exec, border, rows, result);
  number_locally(exec, border, result);
  return result;
}

#define STRATA_INSTANTIATE_SPLITTING(Space)                                                   \
  template StrongGraph<Space> dependence_graph(Space const&, LocalCsr<Space> const&, double); \
  template RowAggregates<Space> splitting(Space const&, StrongGraph<Space> const&,            \
                                          Border<Space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_SPLITTING)

}  // namespace strata::sparse::detail
