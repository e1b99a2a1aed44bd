// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/coarsening/detail/Strata_Modes.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/matrix/detail/Strata_RowLanes.hpp>

#include <cstddef>

namespace strata::sparse::detail {
namespace {

// 0 where the diagonal dominates, else modes / scale.
template <class Exec, class Space>
void fit_modes(Exec const& exec, BlockRows<Space> const& A, Vector<double, Space> const& scale,
               int width, Vector<double, Space> const& modes) {
  constexpr double dominated = 0.2;
  Kokkos::parallel_for(
      "strata::sparse::modes_of::fit",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(modes.extent(0)) / width),
      KOKKOS_LAMBDA(std::int64_t i) {
        double diagonal = 0, sum = 0;
        A(i, [&](std::int64_t j, double a) {
          diagonal += j == i ? a : 0;
          sum += j == i ? 0 : Kokkos::abs(a);
        });
        bool const stays = sum >= dominated * Kokkos::abs(diagonal);
        double const factor = scale.extent(0) > 0 ? 1 / scale(i) : 1;
        for (int c = 0; c < width; ++c)
          modes(i * width + c) = stays ? factor * modes(i * width + c) : 0;
      });
}

template <class Exec, class Space>
void set_constants(Exec const& exec, int size, Vector<double, Space> const& modes) {
  Kokkos::parallel_for(
      "strata::sparse::modes_of::constants",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(modes.extent(0))),
      KOKKOS_LAMBDA(std::int64_t k) { modes(k) = (k / size) % size == k % size ? 1 : 0; });
}

template <class Exec>
void copy_given(Exec const& exec, NearNullSpace const& given,
                PooledVector<double, Exec> const& to) {
  Kokkos::View<double const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const host(
      given.values.data(), given.values.size());
  Kokkos::deep_copy(exec, to.view(), host);
}

/// Gram-Schmidt's method on the rows of one aggregate.
template <class Space>
struct Orthonormalise {
  Vector<std::int64_t, Space> begin;    // of each aggregate's nodes
  Vector<std::uint64_t, Space> member;  // whose upper halves they are
  int block_size, width;
  Vector<double, Space> Q, R, is_dead;

  template <class Lanes>
  KOKKOS_FUNCTION void operator()(std::int64_t aggregate, Lanes const& lanes) const {
    constexpr double least = 1e-8;
    std::int64_t const first = begin(aggregate), rows = (begin(aggregate + 1) - first) * block_size;
    auto const at = [&](std::int64_t r) {
      std::int64_t const node = r / block_size;
      auto const of = static_cast<std::int64_t>(member(first + node) >> 32);
      return (of * block_size + (r - node * block_size)) * width;
    };
    auto const dot = [&](int c, int d) {
      return lanes.sum(rows, [&](std::int64_t r) { return Q(at(r) + c) * Q(at(r) + d); });
    };
    double* const mine = R.data() + aggregate * width * width;
    lanes.each(width * width, [&](std::int64_t k) { mine[k] = 0; });
    for (int c = 0; c < width; ++c) {
      double const before = Kokkos::sqrt(dot(c, c));
      for (int pass = 0; pass < 2; ++pass)
        for (int d = 0; d < c; ++d) {
          double const share = dot(c, d);
          lanes.each(rows, [&](std::int64_t r) { Q(at(r) + c) -= share * Q(at(r) + d); });
          lanes.each(1, [&](std::int64_t) { mine[d * width + c] += share; });
        }
      double const length = Kokkos::sqrt(dot(c, c));
      bool const dead = !(length > least * before);
      lanes.each(rows, [&](std::int64_t r) { Q(at(r) + c) = dead ? 0 : Q(at(r) + c) / length; });
      lanes.each(1, [&](std::int64_t) {
        mine[c * width + c] = dead ? 0 : length;
        is_dead(aggregate * width + c) = dead ? 1 : 0;
      });
    }
  }
};

/// P0 of the nodes' aggregates, one term a row.
template <class Space>
struct AggregateOfNode {
  Vector<std::int32_t, Space> aggregate;
  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t node, Emit const& emit) const {
    if (aggregate(node) >= 0) emit(std::int64_t(aggregate(node)), 1.0);
  }
};

}  // namespace

template <class Exec>
Modes<Exec> modes_of(Exec const& exec, BlockCsr<Exec> const& A, NearNullSpace const* given,
                     Vector<double, typename Exec::memory_space> const& scale) {
  using Space = typename Exec::memory_space;
  Modes<Exec> result{given ? given->width : A.height, {}};
  result.value = {exec, "strata::sparse::modes_of::value", A.rows() * result.width};
  if (given)
    copy_given(exec, *given, result.value);
  else
    set_constants(exec, A.height, result.value.view());
  fit_modes(exec, BlockRows<Space>::of(A), scale, result.width, result.value.view());
  exec.fence("strata::sparse::modes_of");  // the given ones are the host's
  return result;
}

template <class Exec>
Tentative<Exec> tentative_of(Exec const& exec, int block_size,
                             RowAggregates<Exec> const& aggregates, Modes<Exec> const& modes) {
  using Space = typename Exec::memory_space;
  Region const region(exec, "strata::sparse::tentative_of");
  int const width = modes.width;
  LocalCsr<Exec> nodes;
  (void)make_local_csr(exec, aggregates.of.size(), aggregates.count,
                       AggregateOfNode<Space>{aggregates.of}, nodes);
  auto const members = transposed_index(exec, nodes);
  Tentative<Exec> result{{width, {}}, {width, {}}, {}};
  result.P0.value = {exec, "strata::sparse::tentative_of::P0", modes.value.size()};
  result.coarse.value = {exec, "strata::sparse::tentative_of::coarse",
                         aggregates.count * width * width};
  result.is_dead = {exec, "strata::sparse::tentative_of::is_dead", aggregates.count * width};
  Kokkos::deep_copy(exec, result.P0.value.view(), modes.value.view());
  std::int64_t const mean =
      aggregates.count > 0 ? aggregates.of.size() * block_size / aggregates.count : 1;
  for_each_row(exec, "strata::sparse::tentative_of::orthonormalise", aggregates.count,
               lanes_for_items(mean),
               Orthonormalise<Space>{members.begin, members.place, block_size, width,
                                     result.P0.value, result.coarse.value, result.is_dead});
  exec.fence("strata::sparse::tentative_of");  // `members` end here
  return result;
}

#define STRATA_INSTANTIATE_MODES(Space)                                                      \
  template Modes<Space> modes_of(Space const&, BlockCsr<Space> const&, NearNullSpace const*, \
                                 Vector<double, Space::memory_space> const&);                \
  template Tentative<Space> tentative_of(Space const&, int, RowAggregates<Space> const&,     \
                                         Modes<Space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_MODES)

}  // namespace strata::sparse::detail
