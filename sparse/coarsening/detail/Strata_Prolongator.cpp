// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/coarsening/detail/Strata_Prolongator.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/formats/detail/Strata_RowLanes.hpp>
#include <sparse/products/detail/Strata_SummedRows.hpp>

namespace strata::sparse::detail {
namespace {

template <class Space>
using Numbers = Vector<std::int32_t, Space>;

/// P0, one term a row.
template <class Space>
struct TentativeTerms {
  Numbers<Space> aggregate;

  KOKKOS_FUNCTION std::int64_t most(std::int64_t) const { return 1; }
  template <class Lanes, class Take>
  KOKKOS_FUNCTION void operator()(std::int64_t i, Lanes const& lanes, Take const& take) const {
    std::int32_t const column = aggregate(i);
    if (column >= 0) lanes.each(1, [&](std::int64_t) { take(column, 1.0); });
  }
};

/// P, a term for each strong entry and one for the diagonal.
template <class Space>
struct SmoothedTerms {
  CsrRef<Space> A;
  Vector<std::int64_t, Space> begin;  // of strong entries
  Numbers<Space> strong, component, aggregate;

  KOKKOS_FUNCTION std::int64_t most(std::int64_t i) const { return begin(i + 1) - begin(i) + 1; }

  template <class Lanes, class Take>
  KOKKOS_FUNCTION void operator()(std::int64_t i, Lanes const& lanes, Take const& take) const {
    constexpr double damping = 4.0 / 3;
    if (aggregate(i) < 0) return;
    double diagonal = 0, given = 0, sum = 0;
    for_each(i, [&](std::int64_t j, double a, bool is_strong) {
      given += j == i ? a : 0;
      sum += is_strong ? Kokkos::abs(a) : 0;
      diagonal += !is_strong && same(i, j) ? a : 0;
    });
    double const weight = damping / (sum + Kokkos::abs(diagonal));
    bool const is_usable = weight - weight == 0 && diagonal * given > 0;
    double const factor = diagonal < 0 ? weight : -weight;
    lanes.each(1,
               [&](std::int64_t) { take(aggregate(i), is_usable ? 1 + factor * diagonal : 1.0); });
    // The columns are those of the pattern, whatever the values: new values are filled into it.
    for_each(i, [&](std::int64_t j, double a, bool is_strong) {
      std::int32_t const column = aggregate(j);
      if (is_strong && column >= 0)
        lanes.each(1, [&](std::int64_t) { take(column, is_usable ? factor * a : 0.0); });
    });
  }

 private:
  KOKKOS_FUNCTION bool same(std::int64_t i, std::int64_t j) const {
    return component.extent(0) == 0 || component(i) == component(j);
  }
  // step(j, a_ij, whether it is strong): strong entries are in A's order.
  template <class Step>
  KOKKOS_FUNCTION void for_each(std::int64_t i, Step const& step) const {
    std::int64_t next = begin(i);
    std::int64_t const end = begin(i + 1);
    A(i, [&](std::int64_t j, double a) {
      bool const is_strong = next < end && strong(next) == j;
      next += is_strong ? 1 : 0;
      step(j, a, is_strong);
    });
  }
};

/// An entry for each aggregate that a row's smoothed P reaches.
template <class Space>
struct ReachedTerms {
  Vector<std::int64_t, Space> begin;
  Numbers<Space> strong, aggregate;

  KOKKOS_FUNCTION std::int64_t most(std::int64_t i) const { return begin(i + 1) - begin(i) + 1; }
  template <class Lanes, class Take>
  KOKKOS_FUNCTION void operator()(std::int64_t i, Lanes const& lanes, Take const& take) const {
    if (aggregate(i) < 0) return;
    lanes.each(1, [&](std::int64_t) { take(aggregate(i), 0.0); });
    for (std::int64_t k = begin(i); k < begin(i + 1); ++k)
      if (aggregate(strong(k)) >= 0)
        lanes.each(1, [&](std::int64_t) { take(aggregate(strong(k)), 0.0); });
  }
};

/// The blocks of P, each lane adding to numbers of its own.
template <class Space>
struct FillSmoothed {
  BlockRows<Space> A;
  Vector<std::int64_t, Space> begin;  // of strong blocks
  Numbers<Space> strong, aggregate;
  Vector<double, Space> B, Q, R;  // modes, P0, coarse modes: B = Q R
  Vector<std::int64_t, Space> begin_of_P;
  Numbers<Space> column_of_P;
  Vector<double, Space> P;
  int width;
  double damping;
  bool by_diagonal;

  template <class Lanes>
  KOKKOS_FUNCTION void operator()(std::int64_t node, Lanes const& lanes) const {
    int const height = A.height, size = height * width;
    std::int32_t const own = aggregate(node);
    std::int64_t const first = begin_of_P(node), end = begin_of_P(node + 1);
    if (own < 0) return;
    lanes.each((end - first) * size, [&](std::int64_t k) { P(first * size + k) = 0; });
    std::int64_t const to_own = position(first, end, own);
    lanes.each(size, [&](std::int64_t k) { P(to_own * size + k) = Q(node * size + k); });
    double weight[most_block_size];
    set_weights(node, weight);
    bool has_weak = false;
    for_each_block(node, [&](std::int64_t at, std::int64_t j, bool is_strong) {
      has_weak = has_weak || !is_strong;
      if (!is_strong) return;
      std::int64_t const to = position(first, end, aggregate(j));
      lanes.each_block(
          1, height, width, [&](std::int64_t) { return to * size; },
          [&](std::int64_t place, std::int64_t, int r, int c) {
            double sum = 0;
            for (int m = 0; m < height; ++m)
              sum += A.value((at * height + r) * height + m) * Q((j * height + m) * width + c);
            P(place + r * width + c) -= weight[r] * sum;
          });
    });
    if (has_weak)
      lanes.each(height, [&](std::int64_t r) { add_weak(node, r, weight[r], to_own * size); });
  }

 private:
  KOKKOS_FUNCTION std::int64_t position(std::int64_t at, std::int64_t end, std::int32_t j) const {
    while (at + 1 < end && column_of_P(at) != j) ++at;
    return at;
  }
  // step(block, its column, whether it is on the diagonal, or strong and its node in an aggregate).
  template <class Step>
  KOKKOS_FUNCTION void for_each_block(std::int64_t node, Step const& step) const {
    std::int64_t next = begin(node);
    for (std::int64_t at = A.begin(node); at < A.begin(node + 1); ++at) {
      std::int64_t const j = A.column(at);
      bool const is_strong = next < begin(node + 1) && strong(next) == j;  // in A's order
      next += is_strong ? 1 : 0;
      step(at, j, j == node || (is_strong && aggregate(j) >= 0));
    }
  }
  // Of weak blocks x R = sum a_ij B_j, as if their nodes were of this one's aggregate: constants,
  // and all other modes, are kept.
  KOKKOS_FUNCTION void add_weak(std::int64_t node, std::int64_t r, double weight,
                                std::int64_t to) const {
    int const height = A.height;
    double x[most_block_size];
    for (int c = 0; c < width; ++c) x[c] = 0;
    for_each_block(node, [&](std::int64_t at, std::int64_t j, bool is_strong) {
      if (is_strong) return;
      for (int m = 0; m < height; ++m) {
        double const a = A.value((at * height + r) * height + m);
        for (int c = 0; c < width; ++c) x[c] += a * B((j * height + m) * width + c);
      }
    });
    std::int64_t const own = std::int64_t(aggregate(node)) * width * width;
    for (int c = 0; c < width; ++c) {
      for (int d = 0; d < c; ++d) x[c] -= x[d] * R(own + d * width + c);
      double const pivot = R(own + c * width + c);
      x[c] = pivot > 0 ? x[c] / pivot : 0;
      P(to + r * width + c) -= weight * x[c];
    }
  }
  // w / d_i of each row of the node; 0 where there is no such number.
  KOKKOS_FUNCTION void set_weights(std::int64_t node, double* weight) const {
    int const height = A.height;
    for (int r = 0; r < height; ++r) weight[r] = 0;
    for (std::int64_t at = A.begin(node); at < A.begin(node + 1); ++at) {
      if (by_diagonal && A.column(at) != node) continue;
      for (int r = 0; r < height; ++r)
        for (int c = 0; c < height; ++c) {
          double const a = A.value((at * height + r) * height + c);
          weight[r] += by_diagonal ? (c == r ? a : 0) : Kokkos::abs(a);
        }
    }
    for (int r = 0; r < height; ++r) {
      weight[r] = damping / weight[r];
      if (!(weight[r] - weight[r] == 0)) weight[r] = 0;
    }
  }
};

template <class Exec, class Space>
void copy_own(Exec const& exec, int size, Vector<std::int64_t, Space> const& begin,
              Vector<double, Space> const& P0, Vector<double, Space> const& P) {
  Kokkos::parallel_for(
      "strata::sparse::tentative_prolongator::fill",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(begin.extent(0)) - 1),
      KOKKOS_LAMBDA(std::int64_t node) {
        if (begin(node) == begin(node + 1)) return;
        for (int k = 0; k < size; ++k) P(begin(node) * size + k) = P0(node * size + k);
      });
}

template <class Exec>
BlockCsr<Exec> in_blocks(Exec const& exec, LocalCsr<Exec> const& nodes, int height, int width) {
  return {height, width, nodes,
          PooledVector<double, Exec>(exec, "strata::sparse::smoothed_prolongator::value",
                                     nodes.entries() * height * width)};
}

}  // namespace

template <class Exec>
LocalCsr<Exec> tentative_prolongator(Exec const& exec, LocalCsr<Exec> const& A,
                                     RowAggregates<Exec> const& aggregates) {
  using Space = typename Exec::memory_space;
  return summed_rows(exec, A.rows, aggregates.numbers, TentativeTerms<Space>{aggregates.of}, 1);
}

template <class Exec>
LocalCsr<Exec> smoothed_prolongator(Exec const& exec, LocalCsr<Exec> const& A,
                                    StrongGraph<Exec> const& F, Components<Exec> const& component,
                                    RowAggregates<Exec> const& aggregates) {
  using Space = typename Exec::memory_space;
  Region const region(exec, "strata::sparse::smoothed_prolongator");
  SmoothedTerms<Space> const terms{A.ref(), F.begin, F.column, component, aggregates.of};
  return summed_rows(exec, A.rows, aggregates.numbers, terms, 1);
}

template <class Exec>
void refill_smoothed(Exec const& exec, LocalCsr<Exec> const& A, StrongGraph<Exec> const& F,
                     Components<Exec> const& component, RowAggregates<Exec> const& aggregates,
                     LocalCsr<Exec> const& P) {
  using Space = typename Exec::memory_space;
  SmoothedTerms<Space> const terms{A.ref(), F.begin, F.column, component, aggregates.of};
  refill_rows(exec, terms, 1, P);
}

template <class Exec>
BlockCsr<Exec> tentative_prolongator(Exec const& exec, BlockCsr<Exec> const& A,
                                     RowAggregates<Exec> const& aggregates, Modes<Exec> const& P0) {
  auto const P =
      in_blocks(exec, tentative_prolongator(exec, A.nodes, aggregates), A.height, P0.width);
  fill_tentative(exec, P, P0);
  exec.fence("strata::sparse::tentative_prolongator");
  return P;
}

template <class Exec>
void fill_tentative(Exec const& exec, BlockCsr<Exec> const& P, Modes<Exec> const& P0) {
  copy_own(exec, P.height * P.width, P.nodes.begin.view(), P0.value.view(), P.value.view());
}

template <class Exec>
BlockCsr<Exec> smoothed_prolongator(Exec const& exec, BlockCsr<Exec> const& A,
                                    StrongGraph<Exec> const& F,
                                    RowAggregates<Exec> const& aggregates, Modes<Exec> const& modes,
                                    Tentative<Exec> const& tentative, double largest) {
  using Space = typename Exec::memory_space;
  ReachedTerms<Space> const terms{F.begin, F.column, aggregates.of};
  auto const P = in_blocks(exec, summed_rows(exec, A.nodes.rows, aggregates.numbers, terms, 1),
                           A.height, modes.width);
  fill_smoothed(exec, A, F, aggregates, modes, tentative, largest, P);
  exec.fence("strata::sparse::smoothed_prolongator");
  return P;
}

template <class Exec>
void fill_smoothed(Exec const& exec, BlockCsr<Exec> const& A, StrongGraph<Exec> const& F,
                   RowAggregates<Exec> const& aggregates, Modes<Exec> const& modes,
                   Tentative<Exec> const& tentative, double largest, BlockCsr<Exec> const& P) {
  using Space = typename Exec::memory_space;
  constexpr double damping = 4.0 / 3;
  bool const by_diagonal = largest > 0;
  FillSmoothed<Space> const kernel{BlockRows<Space>::of(A),
                                   F.begin,
                                   F.column,
                                   aggregates.of,
                                   modes.value,
                                   tentative.P0.value,
                                   tentative.reached.value,
                                   P.nodes.begin,
                                   P.nodes.column,
                                   P.value,
                                   modes.width,
                                   by_diagonal ? damping / largest : damping,
                                   by_diagonal};
  for_each_row(exec, "strata::sparse::smoothed_prolongator::fill", A.nodes.rows,
               lanes_for_items(A.height * modes.width), kernel);
}

#define STRATA_INSTANTIATE_PROLONGATOR(Space)                                                    \
  template LocalCsr<Space> tentative_prolongator(Space const&, LocalCsr<Space> const&,           \
                                                 RowAggregates<Space> const&);                   \
  template BlockCsr<Space> tentative_prolongator(                                                \
      Space const&, BlockCsr<Space> const&, RowAggregates<Space> const&, Modes<Space> const&);   \
  template LocalCsr<Space> smoothed_prolongator(                                                 \
      Space const&, LocalCsr<Space> const&, StrongGraph<Space> const&, Components<Space> const&, \
      RowAggregates<Space> const&);                                                              \
  template BlockCsr<Space> smoothed_prolongator(                                                 \
      Space const&, BlockCsr<Space> const&, StrongGraph<Space> const&,                           \
      RowAggregates<Space> const&, Modes<Space> const&, Tentative<Space> const&, double);        \
  template void refill_smoothed(Space const&, LocalCsr<Space> const&, StrongGraph<Space> const&, \
                                Components<Space> const&, RowAggregates<Space> const&,           \
                                LocalCsr<Space> const&);                                         \
  template void fill_tentative(Space const&, BlockCsr<Space> const&, Modes<Space> const&);       \
  template void fill_smoothed(Space const&, BlockCsr<Space> const&, StrongGraph<Space> const&,   \
                              RowAggregates<Space> const&, Modes<Space> const&,                  \
                              Tentative<Space> const&, double, BlockCsr<Space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_PROLONGATOR)

}  // namespace strata::sparse::detail
