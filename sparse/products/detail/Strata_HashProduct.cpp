// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/products/detail/Strata_HashProduct.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/formats/detail/Strata_RowLanes.hpp>
#include <sparse/products/detail/Strata_SummedRows.hpp>

namespace strata::sparse::detail {
namespace {

// a_ik b_kj for each k of row i of A, in A's order.
template <class RowsOfA, class Space>
struct ProductTerms {
  RowsOfA A;
  CsrRef<Space> B;

  KOKKOS_FUNCTION std::int64_t most(std::int64_t row) const {
    std::int64_t sum = 0;
    A(row, [&](std::int64_t k, double) { sum += B.begin(k + 1) - B.begin(k); });
    return sum;
  }
  template <class Take>
  KOKKOS_FUNCTION void operator()(std::int64_t row, OneLane const& lane, Take const& take) const {
    A(row, [&](std::int64_t k, double a) {
      std::int64_t const first = B.begin(k);
      lane.each(B.begin(k + 1) - first,
                [&](std::int64_t at) { take(B.column(first + at), a * B.value(first + at)); });
    });
  }
  // On a device the next entries of A, and then their rows of B, are asked for before the first is
  // added.
  template <class Member, class Take>
  KOKKOS_FUNCTION void operator()(std::int64_t row, VectorLanes<Member> const& lanes,
                                  Take const& take) const {
    constexpr int ahead = 4;
    std::int64_t const end = A.begin(row + 1);
    for (std::int64_t k = A.begin(row); k < end; k += ahead) {
      double a[ahead];
      std::int64_t first[ahead], count[ahead];
#pragma unroll
      for (int s = 0; s < ahead; ++s) {
        Entry const entry = A.entry(k + s < end ? k + s : end - 1);
        a[s] = entry.value;
        first[s] = B.begin(entry.column);
        count[s] = k + s < end ? B.begin(entry.column + 1) - first[s] : 0;
      }
      lanes.each_of(
          count,
          [&](int s, std::int64_t at) {
            return Entry{B.column(first[s] + at), a[s] * B.value(first[s] + at)};
          },
          [&](Entry const& term) { take(term.column, term.value); });
    }
  }
};

// Those of a device that work on a row of B: the power of two above the mean length.
template <class Exec>
int lanes_for(LocalCsr<Exec> const& B) {
  int lanes = 4;
  while (lanes < 32 && lanes * B.rows < B.entries()) lanes *= 2;
  return lanes;
}

// Ascending, gaps by Ciura.
template <class Numbers>
KOKKOS_FUNCTION void sort_range(Numbers const& x, std::int64_t begin, std::int64_t end) {
  for (int const gap : {701, 301, 132, 57, 23, 10, 4, 1})
    for (std::int64_t i = begin + gap; i < end; ++i) {
      auto const moved = x(i);
      std::int64_t k = i;
      for (; k >= begin + gap && x(k - gap) > moved; k -= gap) x(k) = x(k - gap);
      x(k) = moved;
    }
}

template <class Exec>
void count_columns(Exec const& exec,
                   Vector<std::int32_t, typename Exec::memory_space> const& column,
                   Vector<std::int64_t, typename Exec::memory_space> const& length) {
  Kokkos::parallel_for(
      "strata::sparse::transposed_index::count",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(column.extent(0))),
      KOKKOS_LAMBDA(std::int64_t k) { Kokkos::atomic_inc(&length(column(k))); });
}

template <class Exec, class Space>
void place_entries(Exec const& exec, std::int64_t rows, CsrRef<Space> const& A,
                   Vector<std::int64_t, Space> const& next,
                   Vector<std::uint64_t, Space> const& place) {
  Kokkos::parallel_for(
      "strata::sparse::transposed_index::place", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        std::int64_t const first = A.begin(i), end = A.begin(i + 1);
        for (std::int64_t k = first; k < end; ++k) {
          std::int64_t const at = Kokkos::atomic_fetch_add(&next(A.column(k)), std::int64_t(1));
          place(at) = (static_cast<std::uint64_t>(i) << 32) | static_cast<std::uint64_t>(k - first);
        }
      });
}

/// Places of each row, ascending: a place goes to where as many smaller ones are before it. One
/// lane sorts a long row.
template <class Space>
struct SortPlaces {
  Vector<std::int64_t, Space> begin;
  Vector<std::uint64_t, Space> place, sorted;
  std::int64_t few;  // a longer row is sorted by one lane

  template <class Lanes>
  KOKKOS_FUNCTION void operator()(std::int64_t row, Lanes const& lanes) const {
    std::int64_t const first = begin(row), count = begin(row + 1) - first;
    if (count > few) lanes.each(1, [&](std::int64_t) { sort_range(place, first, first + count); });
    lanes.each(count, [&](std::int64_t k) {
      std::uint64_t const mine = place(first + k);
      std::int64_t rank = count > few ? k : 0;
      if (count <= few)
        for (std::int64_t l = 0; l < count; ++l) rank += place(first + l) < mine ? 1 : 0;
      sorted(first + rank) = mine;
    });
  }
};

// Atomics leave each row in an order of their own.
template <class Exec>
PooledVector<std::uint64_t, Exec> sorted_places(Exec const& exec,
                                                PooledVector<std::int64_t, Exec> const& begin,
                                                PooledVector<std::uint64_t, Exec> const& place) {
  PooledVector<std::uint64_t, Exec> const sorted(exec, "strata::sparse::transposed_index::place",
                                                 place.size());
  constexpr int lanes = 32;
  constexpr std::int64_t few = runs_on_host<Exec> ? 32 : 512;
  for_each_row(exec, "strata::sparse::transposed_index::sort", begin.size() - 1, lanes,
               SortPlaces<typename Exec::memory_space>{begin, place, sorted, few});
  return sorted;
}

}  // namespace

template <class Exec>
TransposedIndex<Exec> transposed_index(Exec const& exec, LocalCsr<Exec> const& A) {
  Region const region(exec, "strata::sparse::transposed_index");
  TransposedIndex<Exec> result;
  result.rows = A.cols;
  result.begin = {exec, "strata::sparse::transposed_index::begin", A.cols + 1};
  Kokkos::deep_copy(exec, result.begin.view(), 0);
  count_columns(exec, A.column.view(), result.begin.view());
  (void)scan_lengths(exec, result.begin.view());
  PooledVector<std::int64_t, Exec> const next(exec, "strata::sparse::transposed_index::next",
                                              A.cols + 1);
  Kokkos::deep_copy(exec, next.view(), result.begin.view());
  PooledVector<std::uint64_t, Exec> const place(exec, "strata::sparse::transposed_index::places",
                                                A.entries());
  place_entries(exec, A.rows, A.ref(), next.view(), place.view());
  result.place = sorted_places(exec, result.begin, place);
  exec.fence("strata::sparse::transposed_index");  // `next` and `place` end here
  return result;
}

template <class Exec>
LocalCsr<Exec> product(Exec const& exec, LocalCsr<Exec> const& A, LocalCsr<Exec> const& B) {
  using Space = typename Exec::memory_space;
  Region const region(exec, "strata::sparse::product");
  STRATA_REQUIRE(ShapeError, A.cols == B.rows, "product: ", A.rows, " x ", A.cols, " by ", B.rows,
                 " x ", B.cols);
  return summed_rows(exec, A.rows, B.cols, ProductTerms<CsrRef<Space>, Space>{A.ref(), B.ref()},
                     lanes_for(B));
}

template <class Exec>
LocalCsr<Exec> product(Exec const& exec, TransposedIndex<Exec> const& index,
                       LocalCsr<Exec> const& A, LocalCsr<Exec> const& B) {
  using Space = typename Exec::memory_space;
  using Rows = TransposedRows<Space>;
  Region const region(exec, "strata::sparse::product, transposed");
  STRATA_REQUIRE(ShapeError, A.rows == B.rows && index.rows == A.cols, "product: ", index.rows,
                 " rows of the transpose of ", A.rows, " x ", A.cols, " by ", B.rows, " x ",
                 B.cols);
  Rows const rows{index.begin, index.place, A.ref()};
  return summed_rows(exec, index.rows, B.cols, ProductTerms<Rows, Space>{rows, B.ref()},
                     lanes_for(B));
}

template <class Exec>
void refill_product(Exec const& exec, LocalCsr<Exec> const& A, LocalCsr<Exec> const& B,
                    LocalCsr<Exec> const& C) {
  using Space = typename Exec::memory_space;
  Region const region(exec, "strata::sparse::refill_product");
  refill_rows(exec, ProductTerms<CsrRef<Space>, Space>{A.ref(), B.ref()}, lanes_for(B), C);
}

template <class Exec>
void refill_product(Exec const& exec, TransposedIndex<Exec> const& index, LocalCsr<Exec> const& A,
                    LocalCsr<Exec> const& B, LocalCsr<Exec> const& C) {
  using Space = typename Exec::memory_space;
  using Rows = TransposedRows<Space>;
  Region const region(exec, "strata::sparse::refill_product, transposed");
  Rows const rows{index.begin, index.place, A.ref()};
  refill_rows(exec, ProductTerms<Rows, Space>{rows, B.ref()}, lanes_for(B), C);
}

#define STRATA_INSTANTIATE_HASH_PRODUCT(Space)                                                    \
  template TransposedIndex<Space> transposed_index(Space const&, LocalCsr<Space> const&);         \
  template LocalCsr<Space> product(Space const&, LocalCsr<Space> const&, LocalCsr<Space> const&); \
  template LocalCsr<Space> product(Space const&, TransposedIndex<Space> const&,                   \
                                   LocalCsr<Space> const&, LocalCsr<Space> const&);               \
  template void refill_product(Space const&, LocalCsr<Space> const&, LocalCsr<Space> const&,      \
                               LocalCsr<Space> const&);                                           \
  template void refill_product(Space const&, TransposedIndex<Space> const&,                       \
                               LocalCsr<Space> const&, LocalCsr<Space> const&,                    \
                               LocalCsr<Space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_HASH_PRODUCT)

}  // namespace strata::sparse::detail
