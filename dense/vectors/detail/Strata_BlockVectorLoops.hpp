// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_BLOCK_VECTOR_LOOPS_HPP
#define STRATA_DETAIL_BLOCK_VECTOR_LOOPS_HPP

#include <dense/vectors/detail/Strata_BlockVectors.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

// The loops that the kernels of `BlockVectors` are made of.
namespace strata::dense::detail {

/// For a column c what does body(i, c) or body(i, c, moments) for its rows i.
template <class Body>
struct SameForEachColumn {
  Body body;

  struct Rows {
    Body const& body;
    std::int64_t column;

    template <class... Result>
    KOKKOS_FORCEINLINE_FUNCTION void operator()(std::int64_t i, Result&... moments) const {
      body(i, column, moments...);
    }
  };
  KOKKOS_FORCEINLINE_FUNCTION Rows operator()(std::int64_t c) const { return {body, c}; }
};

template <class Exec>
template <class Columns>
void BlockVectors<Exec>::for_each_column(char const* label, std::int64_t cols,
                                         Columns const& columns) {
  auto const rows = rows_, chunks = chunks_;
  Kokkos::parallel_for(
      label, Policy(exec_, static_cast<int>(chunks * cols), Kokkos::AUTO),
      KOKKOS_LAMBDA(Team const& team) {
        Chunk const chunk(team.league_rank(), chunks, rows);
        auto const row = columns(chunk.column);
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, chunk.first, chunk.last),
                             [&](std::int64_t i) { row(i); });
      });
}

template <class Exec>
template <class Body>
void BlockVectors<Exec>::for_each(char const* label, std::int64_t cols, Body const& body) {
  for_each_column(label, cols, SameForEachColumn<Body>{body});
}

template <class Exec>
template <class Result, class Columns>
void BlockVectors<Exec>::enqueue_columns(char const* label, std::int64_t cols, Slot slot,
                                         Columns const& columns) {
  static_assert(sizeof(Result) <= sizeof(MomentsOfBoth));
  is_under_way_[slot] = true;
  auto const rows = rows_, chunks = chunks_;
  auto* const partial = slot_data<Result>(slot);
  auto* const kept = slot != OfOthers && !has_one_memory ? kept_data<Result>(slot) : nullptr;
  Kokkos::parallel_for(
      label, Policy(exec_, static_cast<int>(chunks * cols), Kokkos::AUTO),
      KOKKOS_LAMBDA(Team const& team) {
        Chunk const chunk(team.league_rank(), chunks, rows);
        auto const row = columns(chunk.column);
        Result total;
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(team, chunk.first, chunk.last),
            [&](std::int64_t i, Result& moments) { row(i, moments); }, Kokkos::Sum<Result>(total));
        Kokkos::single(Kokkos::PerTeam(team), [&] {
          partial[chunk.number + chunks * chunk.column] = total;
          if (kept != nullptr) kept[chunk.number + chunks * chunk.column] = total;
        });
      });
}

template <class Exec>
template <class Result, class Body>
void BlockVectors<Exec>::enqueue(char const* label, std::int64_t cols, Slot slot,
                                 Body const& body) {
  enqueue_columns<Result>(label, cols, slot, SameForEachColumn<Body>{body});
}

template <class Exec>
template <class Result>
std::vector<Result> BlockVectors<Exec>::collect(std::int64_t cols, Slot slot) {
  if (is_under_way_[slot]) {
    exec_.fence("strata::dense::refine::moments");
    std::ranges::fill(is_under_way_, false);
    used_ = 0;
  }
  auto const* const found = slot_data<Result>(slot);
  std::vector<Result> result(cols);
  for (std::int64_t c = 0; c < cols; ++c)
    for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) result[c] += found[chunk + chunks_ * c];
  return result;
}

template <class Exec>
template <class Result, class Body>
std::vector<Result> BlockVectors<Exec>::reduce(char const* label, std::int64_t cols,
                                               Body const& body) {
  enqueue<Result>(label, cols, OfOthers, body);
  return collect<Result>(cols, OfOthers);
}

}  // namespace strata::dense::detail

#endif
