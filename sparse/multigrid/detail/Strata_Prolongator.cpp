// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/multigrid/detail/Strata_Prolongator.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/matrix/detail/Strata_SummedRows.hpp>

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
    if (!is_usable) return;
    for_each(i, [&](std::int64_t j, double a, bool is_strong) {
      std::int32_t const column = aggregate(j);
      if (is_strong && column >= 0) lanes.each(1, [&](std::int64_t) { take(column, factor * a); });
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

}  // namespace

template <class Exec>
LocalCsr<Exec> tentative_prolongator(Exec const& exec, LocalCsr<Exec> const& A,
                                     RowAggregates<Exec> const& aggregates) {
  using Space = typename Exec::memory_space;
  return summed_rows(exec, A.rows, aggregates.count, TentativeTerms<Space>{aggregates.of}, 1);
}

template <class Exec>
LocalCsr<Exec> smoothed_prolongator(Exec const& exec, LocalCsr<Exec> const& A,
                                    StrongGraph<Exec> const& F, Components<Exec> const& component,
                                    RowAggregates<Exec> const& aggregates) {
  using Space = typename Exec::memory_space;
  Region const region(exec, "strata::sparse::smoothed_prolongator");
  SmoothedTerms<Space> const terms{A.ref(), F.begin, F.column, component, aggregates.of};
  return summed_rows(exec, A.rows, aggregates.count, terms, 1);
}

#define STRATA_INSTANTIATE_PROLONGATOR(Space)                                                    \
  template LocalCsr<Space> tentative_prolongator(Space const&, LocalCsr<Space> const&,           \
                                                 RowAggregates<Space> const&);                   \
  template LocalCsr<Space> smoothed_prolongator(                                                 \
      Space const&, LocalCsr<Space> const&, StrongGraph<Space> const&, Components<Space> const&, \
      RowAggregates<Space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_PROLONGATOR)

}  // namespace strata::sparse::detail
