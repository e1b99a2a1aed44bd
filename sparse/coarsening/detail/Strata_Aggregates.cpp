// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/coarsening/detail/Strata_Aggregates.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/coarsening/detail/Strata_IndependentSet.hpp>
#include <sparse/coarsening/detail/Strata_RowSelection.hpp>
#include <sparse/formats/detail/Strata_HostCopy.hpp>
#include <sparse/matrix/detail/Strata_RowExchange.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace strata::sparse::detail {
namespace {

constexpr std::int32_t no_aggregate = -1;

template <class Space>
struct IsRoot {
  Vector<std::int32_t, Space> root;
  KOKKOS_FUNCTION bool operator()(std::int64_t i) const { return root(i) > 0; }
};

template <class Exec, class Space>
void join_roots(Exec const& exec, std::int64_t rows, Vector<std::int64_t, Space> const& begin,
                Vector<std::int32_t, Space> const& column, Vector<std::int32_t, Space> const& root,
                Vector<std::int32_t, Space> const& of) {
  Kokkos::parallel_for(
      "strata::sparse::aggregates_of::join_roots", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        if (root(i) > 0) return;
        std::int32_t found = no_aggregate;
        for (std::int64_t k = begin(i); k < begin(i + 1) && found == no_aggregate; ++k)
          if (root(column(k)) > 0) found = of(column(k));
        if (found != no_aggregate) of(i) = found;
      });
}

// Rows without an aggregate take what most of their strong couplings lead to.
template <class Exec, class Space>
void join_largest(Exec const& exec, std::int64_t rows, CsrRef<Space> const& A,
                  StrongGraph<Exec> const& F, Vector<std::int32_t, Space> const& before,
                  Vector<std::int32_t, Space> const& of) {
  auto const& begin = F.begin.view();
  auto const& column = F.column.view();
  Kokkos::parallel_for(
      "strata::sparse::aggregates_of::join_largest", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        std::int32_t chosen = before(i);
        if (chosen == no_aggregate) {
          double most = 0;
          std::int64_t next = begin(i);
          std::int64_t const end = begin(i + 1);
          A(i, [&](std::int64_t j, double a) {
            if (next == end || column(next) != j) return;
            ++next;
            std::int32_t const other = before(j);
            double const size = rounded_size(a);
            if (other == no_aggregate || size < most || (size == most && other > chosen)) return;
            most = size;
            chosen = other;
          });
        }
        of(i) = chosen;
      });
}

template <class Exec, class Space>
void take_components(Exec const& exec, std::int64_t rows, std::int64_t first,
                     Vector<std::int32_t, Space> const& root, Vector<std::int32_t, Space> const& of,
                     Vector<std::int32_t, Space> const& component,
                     Vector<std::int32_t, Space> const& coarse) {
  Kokkos::parallel_for(
      "strata::sparse::aggregates_of::components", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        if (root(i) > 0) coarse(of(i) - first) = component(i);
      });
}

template <class Exec, class Space>
void add_first(Exec const& exec, std::int64_t rows, std::int32_t first,
               Vector<std::int32_t, Space> const& of) {
  Kokkos::parallel_for(
      "strata::sparse::aggregates_of::number", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { of(i) += of(i) == no_aggregate ? 0 : first; });
}

}  // namespace

template <class Exec>
void number_everywhere(Exec const& exec, Border<Exec> const& border, std::int64_t rows,
                       RowAggregates<Exec> const& result) {
  if (border.is_whole()) return;
  auto const first = partition_of(border.comm(), result.count);
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  border.agree([&] {
    STRATA_REQUIRE(ShapeError, first.back() <= most, "AMG: ", first.back(), " aggregates, ", most,
                   " are counted");
  });
  auto const mine = first[static_cast<std::size_t>(border.comm().rank())];
  add_first(exec, rows, static_cast<std::int32_t>(mine), result.of.view());
  border.fill(exec, result.of.view());
}

template <class Exec>
void number_locally(Exec const& exec, Border<Exec> const& border, RowAggregates<Exec>& result) {
  result.numbers = result.count;
  if (border.is_whole()) return;
  std::int64_t const first =
      partition_of(border.comm(), result.count)[static_cast<std::size_t>(border.comm().rank())];
  border.agree([&] {
    auto of = to_host(exec, result.of.view());
    std::vector<std::int64_t> whole(static_cast<std::size_t>(result.count));
    std::iota(whole.begin(), whole.end(), first);
    for (auto const number : of)
      if (number >= 0 && (number < first || number >= first + result.count))
        whole.push_back(number);
    std::sort(whole.begin(), whole.end());
    whole.erase(std::unique(whole.begin(), whole.end()), whole.end());
    auto const place = [&](std::int64_t number) {
      return std::lower_bound(whole.begin(), whole.end(), number) - whole.begin();
    };
    for (auto& number : of)
      if (number >= 0) number = static_cast<std::int32_t>(place(number));
    Kokkos::View<std::int32_t const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const host(
        of.data(), of.size());
    Kokkos::deep_copy(exec, result.of.view(), host);
    exec.fence("strata::sparse::aggregates_of::number_locally");  // `of` ends here
    result.first = place(first);
    result.numbers = static_cast<std::int64_t>(whole.size());
    result.whole = std::move(whole);
  });
}

template <class Exec>
RowAggregates<Exec> aggregates_of(Exec const& exec, LocalCsr<Exec> const& A,
                                  StrongGraph<Exec> const& F, Components<Exec> const& component,
                                  Border<Exec> const& border) {
  using Space = typename Exec::memory_space;
  using Numbers = Vector<std::int32_t, Space>;
  Region const region(exec, "strata::sparse::aggregates_of");
  auto const root = independent_set(exec, F, border);
  std::int64_t const rows = A.rows, all = border.all(rows);
  RowAggregates<Exec> result;
  PooledVector<std::int32_t, Exec> before;
  border.agree([&] {
    result.of = {exec, "strata::sparse::aggregates_of::of", all};
    before = {exec, "strata::sparse::aggregates_of::before", all};
  });
  Numbers const own(result.of.data(), static_cast<std::size_t>(rows));
  result.count = number_rows(exec, IsRoot<Space>{root}, own);
  number_everywhere(exec, border, rows, result);
  join_roots(exec, rows, F.begin.view(), F.column.view(), root.view(), result.of.view());
  border.fill(exec, result.of.view());
  join_largest(exec, rows, A.ref(), F, result.of.view(), before.view());
  border.fill(exec, before.view());
  join_largest(exec, rows, A.ref(), F, before.view(), result.of.view());
  border.fill(exec, result.of.view());
  number_locally(exec, border, result);
  if (border.any(component.size() > 0)) {
    border.agree([&] {
      result.component = {exec, "strata::sparse::aggregates_of::component", result.count};
    });
    take_components(exec, rows, result.first, root.view(), result.of.view(), component.view(),
                    result.component.view());
  }
  exec.fence("strata::sparse::aggregates_of");  // `root` and `before` end here
  return result;
}

#define STRATA_INSTANTIATE_AGGREGATES(Space)                                                       \
  template void number_everywhere(Space const&, Border<Space> const&, std::int64_t,                \
                                  RowAggregates<Space> const&);                                    \
  template void number_locally(Space const&, Border<Space> const&, RowAggregates<Space>&);         \
  template RowAggregates<Space> aggregates_of(Space const&, LocalCsr<Space> const&,                \
                                              StrongGraph<Space> const&, Components<Space> const&, \
                                              Border<Space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_AGGREGATES)

}  // namespace strata::sparse::detail
