// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/coarsening/detail/Strata_Aggregates.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/coarsening/detail/Strata_IndependentSet.hpp>
#include <sparse/coarsening/detail/Strata_RowSelection.hpp>

namespace strata::sparse::detail {
namespace {

constexpr std::int32_t no_aggregate = -1;

template <class Space>
struct IsRoot {
  Vector<std::int32_t, Space> root;
  KOKKOS_FUNCTION bool operator()(std::int64_t i) const { return root(i) > 0; }
};

template <class Exec, class Space>
void join_roots(Exec const& exec, Vector<std::int64_t, Space> const& begin,
                Vector<std::int32_t, Space> const& column, Vector<std::int32_t, Space> const& root,
                Vector<std::int32_t, Space> const& of) {
  Kokkos::parallel_for(
      "strata::sparse::aggregates_of::join_roots",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(of.extent(0))),
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
void join_largest(Exec const& exec, CsrRef<Space> const& A, StrongGraph<Exec> const& F,
                  Vector<std::int32_t, Space> const& before,
                  Vector<std::int32_t, Space> const& of) {
  auto const& begin = F.begin.view();
  auto const& column = F.column.view();
  Kokkos::parallel_for(
      "strata::sparse::aggregates_of::join_largest",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(of.extent(0))),
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
void take_components(Exec const& exec, Vector<std::int32_t, Space> const& root,
                     Vector<std::int32_t, Space> const& of,
                     Vector<std::int32_t, Space> const& component,
                     Vector<std::int32_t, Space> const& coarse) {
  Kokkos::parallel_for(
      "strata::sparse::aggregates_of::components",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(of.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) {
        if (root(i) > 0) coarse(of(i)) = component(i);
      });
}

}  // namespace

template <class Exec>
RowAggregates<Exec> aggregates_of(Exec const& exec, LocalCsr<Exec> const& A,
                                  StrongGraph<Exec> const& F, Components<Exec> const& component) {
  Region const region(exec, "strata::sparse::aggregates_of");
  auto const root = independent_set(exec, F);
  RowAggregates<Exec> result;
  result.of = {exec, "strata::sparse::aggregates_of::of", A.rows};
  PooledVector<std::int32_t, Exec> const before(exec, "strata::sparse::aggregates_of::before",
                                                A.rows);
  result.count = number_rows(exec, IsRoot<typename Exec::memory_space>{root}, result.of.view());
  join_roots(exec, F.begin.view(), F.column.view(), root.view(), result.of.view());
  join_largest(exec, A.ref(), F, result.of.view(), before.view());
  join_largest(exec, A.ref(), F, before.view(), result.of.view());
  if (component.size() > 0) {
    result.component = {exec, "strata::sparse::aggregates_of::component", result.count};
    take_components(exec, root.view(), result.of.view(), component.view(), result.component.view());
  }
  exec.fence("strata::sparse::aggregates_of");  // `root` and `before` end here
  return result;
}

#define STRATA_INSTANTIATE_AGGREGATES(Space)   \
  template RowAggregates<Space> aggregates_of( \
      Space const&, LocalCsr<Space> const&, StrongGraph<Space> const&, Components<Space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_AGGREGATES)

}  // namespace strata::sparse::detail
