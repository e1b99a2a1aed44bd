// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_ROW_SELECTION_HPP
#define STRATA_SPARSE_DETAIL_ROW_SELECTION_HPP

#include <sparse/formats/detail/Strata_LocalCsr.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::sparse::detail {

/// States of a row while rounds select rows: out; undecided, which is its priority; chosen, above
/// all priorities.
constexpr std::uint64_t is_out = 0, is_chosen = ~std::uint64_t{0};
KOKKOS_INLINE_FUNCTION bool is_undecided(std::uint64_t state) {
  return state != is_out && state != is_chosen;
}
/// Whether a row is undecided.
template <class Space>
struct IsUndecided {
  Vector<std::uint64_t, Space> state;
  KOKKOS_FUNCTION bool operator()(std::int64_t i) const { return is_undecided(state(i)); }
};

/// The list 0, 1, ... of all rows. Enqueued. Throws MemoryError.
template <class Exec>
PooledVector<std::int32_t, Exec> listed_rows(Exec const& exec, std::int64_t rows) {
  using Space = typename Exec::memory_space;
  PooledVector<std::int32_t, Exec> const result(exec, "strata::sparse::listed_rows", rows);
  Vector<std::int32_t, Space> const list = result;
  Kokkos::parallel_for(
      "strata::sparse::listed_rows", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { list(i) = static_cast<std::int32_t>(i); });
  return result;
}

/// The rows i of a list for which keep(i) holds, in its order; how many. `keep` is called once or
/// twice for each. Fences.
template <class Exec, class Keep>
std::int64_t select_rows(Exec const& exec,
                         Vector<std::int32_t, typename Exec::memory_space> const& list,
                         std::int64_t count, Keep const& keep,
                         Vector<std::int32_t, typename Exec::memory_space> const& result) {
  std::int64_t left = 0;
  Kokkos::parallel_scan(
      "strata::sparse::select_rows", RowPolicy<Exec>(exec, 0, count),
      KOKKOS_LAMBDA(std::int64_t k, std::int64_t& at, bool final) {
        bool const is_kept = keep(list(k));
        if (final && is_kept) result(at) = list(k);
        at += is_kept ? 1 : 0;
      },
      left);
  exec.fence("strata::sparse::select_rows");
  return left;
}

/// Numbers the rows for which is_one(i) holds, ascending; number(i) = -1 of the others. Returns how
/// many hold. Fences.
template <class Exec, class IsOne>
std::int64_t number_rows(Exec const& exec, IsOne const& is_one,
                         Vector<std::int32_t, typename Exec::memory_space> const& number) {
  std::int64_t count = 0;
  Kokkos::parallel_scan(
      "strata::sparse::number_rows",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(number.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t& before, bool final) {
        bool const is_counted = is_one(i);
        if (final) number(i) = is_counted ? static_cast<std::int32_t>(before) : -1;
        before += is_counted ? 1 : 0;
      },
      count);
  exec.fence("strata::sparse::number_rows");
  return count;
}

}  // namespace strata::sparse::detail

#endif
