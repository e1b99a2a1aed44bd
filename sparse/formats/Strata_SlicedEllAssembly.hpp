// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_SLICED_ELL_ASSEMBLY_HPP
#define STRATA_SPARSE_SLICED_ELL_ASSEMBLY_HPP

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/formats/Strata_EllAssembly.hpp>
#include <sparse/formats/Strata_SlicedEllMatrix.hpp>

#include <Kokkos_Core.hpp>

namespace strata::sparse {
namespace detail {

/// source(i, emit) with the entries up to the diagonal before the others, each part as it is given.
template <class Source, class Emit>
KOKKOS_FUNCTION void lower_first(Source const& source, std::int64_t i, Emit const& emit) {
  for (bool const upper : {false, true})
    source(i, [&](std::int64_t column, double value) {
      if ((column > i) == upper) emit(column, value);
    });
}

/// The distances from the diagonal that the rows of a slice have, each once. Distances up to 0 come
/// first. Either part has the order of the longest row, so that sums keep the order in which its
/// entries were given.
struct Distances {
  static constexpr int room = 64;
  std::int32_t distance[room];
  int lower = 0;  ///< how many are up to 0
  int count = 0;  ///< more than `most`: there are more than that

  /// `longest` is the first of the longest rows.
  template <class Source>
  KOKKOS_FUNCTION Distances(Source const& source, std::int64_t begin, std::int64_t end,
                            std::int64_t longest, std::int64_t most)
      : limit_(most < room ? static_cast<int>(most) : room) {
    if (begin >= end || holds_all(source, begin, end, longest)) return;
    count = lower = 0;
    for (bool const upper : {false, true}) {
      insert_row(source, longest, upper);
      for (std::int64_t i = begin; i < end && count <= limit_; ++i)
        if (i != longest) insert_row(source, i, upper);
      if (!upper) lower = count;
    }
  }

  /// The position of `distance` among `count` of them, found at once for the one after position
  /// `last`; `count` if it is not there.
  KOKKOS_FUNCTION static int find(std::int32_t const* all, int count, int last,
                                  std::int32_t distance) {
    for (int k = last + 1; k < count; ++k)
      if (all[k] == distance) return k;
    for (int k = 0; k <= last; ++k)
      if (all[k] == distance) return k;
    return count;
  }

 private:
  int limit_;

  // Whether the longest row ascends and has all distances, of which it is the list then: one pass,
  // without a search.
  template <class Source>
  KOKKOS_FUNCTION bool holds_all(Source const& source, std::int64_t begin, std::int64_t end,
                                 std::int64_t longest) {
    bool all = true;
    source(longest, [&](std::int64_t column, double) {
      auto const next = static_cast<std::int32_t>(column - longest);
      all = all && count < limit_ && (count == 0 || distance[count - 1] < next);
      if (!all) return;
      distance[count++] = next;
      lower += next <= 0;
    });
    for (std::int64_t i = begin; i < end && all; ++i) {
      int k = 0;
      source(i, [&](std::int64_t column, double) {
        auto const wanted = static_cast<std::int32_t>(column - i);
        while (k < count && distance[k] < wanted) ++k;
        all = all && k < count && distance[k] == wanted;
      });
    }
    return all;
  }
  template <class Source>
  KOKKOS_FUNCTION void insert_row(Source const& source, std::int64_t i, bool upper) {
    int last = -1;
    source(i, [&](std::int64_t column, double) {
      if (count > limit_ || (column > i) != upper) return;
      auto const wanted = static_cast<std::int32_t>(column - i);
      last = find(distance, count, last, wanted);
      if (last < count) return;
      if (count < room) distance[count] = wanted;
      ++count;
    });
  }
};

/// How many entries row i has.
template <class Source>
KOKKOS_FUNCTION std::int64_t length_of(Source const& source, std::int64_t i) {
  std::int64_t length = 0;
  source(i, [&](std::int64_t, double) { ++length; });
  return length;
}

/// Chooses the kind of every slice, its width and its base.
template <class Source, class MemorySpace>
struct ClassifySlices {
  static constexpr int slice_rows = SlicedEllMatrix<double, MemorySpace>::slice_rows;
  Source source;
  std::int64_t rows, cols;
  Columns least;
  Kokkos::View<EllSlice*, MemorySpace> slices;

  KOKKOS_FUNCTION void operator()(std::int64_t number, RowStatistics& total) const {
    std::int64_t const begin = number * slice_rows,
                       end = begin + slice_rows < rows ? begin + slice_rows : rows;
    std::int64_t first = cols, last = -1, widest = 0, most_lower = 0, entries = 0, outside = 0;
    std::int64_t longest = begin;
    std::int64_t last_free = -1;  // row without an entry of the halo
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t length = 0, lower = 0;
      bool is_free = true;
      source(i, [&](std::int64_t column, double) {
        ++length;
        lower += column <= i;
        is_free = is_free && column < rows;
        outside += column < 0 || column >= cols;
        first = column < first ? column : first;
        last = column > last ? column : last;
      });
      longest = length > widest ? i : longest;
      widest = length > widest ? length : widest;
      most_lower = lower > most_lower ? lower : most_lower;
      last_free = is_free ? i : last_free;
      entries += length;
    }
    total += {entries, widest, outside};
    std::int64_t const most = least == Columns::Shared ? 5 * widest / 4 : 0;
    Distances const distances(source, begin, most > 0 ? end : begin, longest, most);
    bool const shared =
        most > 0 && distances.count <= most && are_shared(distances, begin, end, last_free);
    bool const narrow = least != Columns::Wide && last - first < 65536;
    EllSlice slice;
    slice.kind = static_cast<std::uint32_t>(shared   ? Columns::Shared
                                            : narrow ? Columns::Narrow
                                                     : Columns::Wide);
    slice.width = static_cast<std::uint32_t>(shared ? distances.count : widest);
    slice.lower = static_cast<std::int32_t>(shared ? distances.lower : most_lower);
    slice.base = static_cast<std::int32_t>(first < cols ? first : 0);
    slices(number) = slice;
  }

 private:
  // Few enough distances never take more bytes than 16-bit columns would, whatever the values'
  // type. From every row they must lead to columns of the matrix, and to the halo's columns only
  // from rows that read the halo.
  KOKKOS_FUNCTION bool are_shared(Distances const& distances, std::int64_t begin, std::int64_t end,
                                  std::int64_t last_free) const {
    if (distances.count > Distances::room) return false;
    for (int k = 0; k < distances.count; ++k)
      if (begin + distances.distance[k] < 0 || end - 1 + distances.distance[k] >= cols ||
          (last_free >= 0 && last_free + distances.distance[k] >= rows))
        return false;
    return true;
  }
};

/// What slices take in each of the arrays.
struct SliceOffsets {
  std::int64_t values = 0, numbers = 0, narrow = 0;
};

/// The positions of the slices one after the other; the last, which is empty, keeps the ends.
template <class MemorySpace>
struct OffsetsOfSlices {
  using value_type = SliceOffsets;
  static constexpr int slice_rows = SlicedEllMatrix<double, MemorySpace>::slice_rows;
  Kokkos::View<EllSlice*, MemorySpace> slices;
  Kokkos::View<SliceOffsets, MemorySpace> ends;

  KOKKOS_FUNCTION static void init(value_type& sum) { sum = {}; }
  KOKKOS_FUNCTION static void join(value_type& sum, value_type const& other) {
    sum.values += other.values;
    sum.numbers += other.numbers;
    sum.narrow += other.narrow;
  }
  KOKKOS_FUNCTION void operator()(std::int64_t number, value_type& sum, bool final) const {
    EllSlice& slice = slices(number);
    auto const kind = static_cast<Columns>(slice.kind);
    std::int64_t const positions = std::int64_t(slice.width) * slice_rows;
    if (final) {
      slice.values = sum.values;
      slice.columns = kind == Columns::Narrow ? sum.narrow : sum.numbers;
    }
    sum.values += positions;
    if (kind == Columns::Shared) sum.numbers += slice.width;
    if (kind == Columns::Wide) sum.numbers += positions;
    if (kind == Columns::Narrow) sum.narrow += positions;
    if (final && number + 1 == static_cast<std::int64_t>(slices.extent(0))) ends() = sum;
  }
};

/// Writes the distances of a slice that shares them.
template <class Source, class MemorySpace>
struct FillDistances {
  static constexpr int slice_rows = SlicedEllMatrix<double, MemorySpace>::slice_rows;
  Source source;
  std::int64_t rows;
  typename SlicedEllMatrix<double, MemorySpace>::Arrays arrays;

  KOKKOS_FUNCTION void operator()(std::int64_t number) const {
    EllSlice const slice = arrays.slices(number);
    if (static_cast<Columns>(slice.kind) != Columns::Shared) return;
    std::int64_t const begin = number * slice_rows,
                       end = begin + slice_rows < rows ? begin + slice_rows : rows;
    std::int64_t longest = begin, widest = 0;
    for (std::int64_t i = begin; i < end && widest < slice.width; ++i) {
      std::int64_t const length = length_of(source, i);
      longest = length > widest ? i : longest;
      widest = length > widest ? length : widest;
    }
    Distances const distances(source, begin, end, longest, slice.width);
    for (int k = 0; k < distances.count; ++k)
      arrays.numbers(slice.columns + k) = distances.distance[k];
  }
};

template <class Source, class MemorySpace>
struct FillSlices {
  static constexpr int slice_rows = SlicedEllMatrix<double, MemorySpace>::slice_rows;
  Source source;
  std::int64_t rows, cols;
  typename SlicedEllMatrix<double, MemorySpace>::Arrays arrays;
  double* values;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    EllSlice const slice = arrays.slices(i / slice_rows);
    std::int64_t const lane = i % slice_rows, first = slice.values + lane;
    auto const kind = static_cast<Columns>(slice.kind);
    auto const width = static_cast<int>(slice.width);
    int length = 0;
    if (kind == Columns::Shared) {
      for (int k = 0; k < width; ++k) values[first + std::int64_t{k} * slice_rows] = 0;
      if (i < rows) add_at_distances(slice, i);
      return;
    }
    if (i < rows) {
      bool has_upper = false, is_in_order = true;
      source(i, [&](std::int64_t column, double value) {
        is_in_order = is_in_order && (column > i || !has_upper);
        has_upper = has_upper || column > i;
        values[first + std::int64_t{length} * slice_rows] = value;
        put(slice, length++, lane, column);
      });
      if (!is_in_order) {
        length = 0;
        lower_first(source, i, [&](std::int64_t column, double value) {
          values[first + std::int64_t{length} * slice_rows] = value;
          put(slice, length++, lane, column);
        });
      }
    }
    std::int64_t const own = i < cols ? i : cols - 1;
    bool const in_reach = kind == Columns::Wide || (own >= slice.base && own - slice.base < 65536);
    for (; length < width; ++length) {
      values[first + std::int64_t{length} * slice_rows] = 0;
      put(slice, length, lane, in_reach ? own : slice.base);
    }
  }

 private:
  KOKKOS_FUNCTION void add_at_distances(EllSlice const& slice, std::int64_t i) const {
    std::int32_t const* const distances = arrays.numbers.data() + slice.columns;
    std::int64_t const first = slice.values + i % slice_rows;
    int last = -1;
    source(i, [&](std::int64_t column, double value) {
      last = Distances::find(distances, static_cast<int>(slice.width), last,
                             static_cast<std::int32_t>(column - i));
      values[first + std::int64_t{last} * slice_rows] += value;
    });
  }
  KOKKOS_FUNCTION void put(EllSlice const& slice, int k, std::int64_t lane,
                           std::int64_t column) const {
    std::int64_t const at = slice.columns + std::int64_t{k} * slice_rows + lane;
    if (static_cast<Columns>(slice.kind) == Columns::Wide)
      arrays.numbers(at) = static_cast<std::int32_t>(column);
    if (static_cast<Columns>(slice.kind) == Columns::Narrow)
      arrays.narrow(at) = static_cast<std::uint16_t>(column - slice.base);
  }
};

}  // namespace detail

/// The matrix whose rows `source` generates, in fp64; `least` is the most compact form of columns
/// that is tried.
///
/// Shape    rows, cols >= 0; cols <= rows or more. Rows may be empty; entries of one row and column
///          may be kept apart or added up.
/// Sync     fences `exec` twice, to read what was measured.
/// Memory   stored() fp64 values and column_bytes(); no more than sliced ELL with 32-bit columns
///          and 32 bytes for each 32 rows.
/// Throws   ShapeError if a number is negative or there are more than 2^31 - 1 columns; ValueError
///          if the source gives a column outside the matrix; MemoryError with the bytes.
template <class Exec, class Source>
SlicedEllMatrix<double, typename Exec::memory_space> make_sliced_ell_matrix(
    Exec const& exec, std::int64_t rows, std::int64_t cols, Source const& source,
    Columns least = Columns::Shared) {
  using Space = typename Exec::memory_space;
  using Matrix = SlicedEllMatrix<double, Space>;
  Region const region(exec, "strata::sparse::make_sliced_ell_matrix");
  detail::check_ell_shape<std::int32_t>(rows, cols);
  std::int64_t const count = (rows + Matrix::slice_rows - 1) / Matrix::slice_rows;
  typename Matrix::Arrays arrays;
  arrays.slices = strata::allocate<Kokkos::View<EllSlice*, Space>>(
      exec, "strata::sparse::SlicedEllMatrix::slices", count);
  detail::RowStatistics found;
  Kokkos::parallel_reduce(
      "strata::sparse::make_sliced_ell_matrix::classify", detail::RowPolicy<Exec>(exec, 0, count),
      detail::ClassifySlices<Source, Space>{source, rows, cols, least, arrays.slices},
      Kokkos::Sum<detail::RowStatistics>(found));
  exec.fence("strata::sparse::make_sliced_ell_matrix::classified");
  detail::check_ell_columns(found, rows, cols);

  auto const ends = strata::allocate_zeros<Kokkos::View<detail::SliceOffsets, Space>>(
      exec, "strata::sparse::make_sliced_ell_matrix::ends");
  Kokkos::parallel_scan("strata::sparse::make_sliced_ell_matrix::position",
                        detail::RowPolicy<Exec>(exec, 0, count),
                        detail::OffsetsOfSlices<Space>{arrays.slices, ends});
  detail::SliceOffsets positions;
  Kokkos::View<detail::SliceOffsets, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const host(
      &positions);
  Kokkos::deep_copy(exec, host, ends);
  exec.fence("strata::sparse::make_sliced_ell_matrix::placed");
  arrays.numbers = strata::allocate<Kokkos::View<std::int32_t*, Space>>(
      exec, "strata::sparse::SlicedEllMatrix::numbers", positions.numbers);
  arrays.narrow = strata::allocate<Kokkos::View<std::uint16_t*, Space>>(
      exec, "strata::sparse::SlicedEllMatrix::narrow", positions.narrow);
  auto const values = strata::allocate<Kokkos::View<double*, Space>>(
      exec, "strata::sparse::SlicedEllMatrix::values", positions.values);
  Kokkos::parallel_for("strata::sparse::make_sliced_ell_matrix::distances",
                       detail::RowPolicy<Exec>(exec, 0, count),
                       detail::FillDistances<Source, Space>{source, rows, arrays});
  Kokkos::parallel_for(
      "strata::sparse::make_sliced_ell_matrix::fill",
      detail::RowPolicy<Exec>(exec, 0, count * Matrix::slice_rows),
      detail::FillSlices<Source, Space>{source, rows, cols, arrays, values.data()});
  return Matrix(rows, cols, found.entries, arrays, values);
}

}  // namespace strata::sparse

#endif
