// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_LOCAL_CSR_HPP
#define STRATA_SPARSE_DETAIL_LOCAL_CSR_HPP

#include <core/Strata_Errors.hpp>
#include <core/memory/Strata_Buffer.hpp>
#include <sparse/formats/Strata_EllMatrix.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>
#include <string>

namespace strata::sparse::detail {

/// A Vector without values whose memory is of a device's pool. Kernels take it as the
/// Vector of its base.
template <class T, class Exec>
struct PooledVector : Vector<T, typename Exec::memory_space> {
  using View = Vector<T, typename Exec::memory_space>;
  Buffer<Exec> memory;

  PooledVector() = default;
  /// Throws   MemoryError with the label and the bytes.
  PooledVector(Exec const& exec, std::string const& label, std::int64_t n)
      : PooledVector(Buffer<Exec>(exec, label, static_cast<std::size_t>(n) * sizeof(T)), n) {}
  View const& view() const { return *this; }
  std::int64_t size() const { return static_cast<std::int64_t>(this->extent(0)); }

 private:
  PooledVector(Buffer<Exec> const& bytes, std::int64_t n)
      : View(reinterpret_cast<T*>(bytes.data()), static_cast<std::size_t>(n)), memory(bytes) {}
};

struct Entry {
  std::int32_t column;
  double value;
};

/// The rows of a LocalCsr as kernels see them (row source).
template <class Space>
struct CsrRef {
  Vector<std::int64_t, Space> begin;   ///< begin of each row, and the end
  Vector<std::int32_t, Space> column;  ///< column of each entry
  Vector<double, Space> value;         ///< value of each entry

  KOKKOS_FUNCTION Entry entry(std::int64_t k) const { return {column(k), value(k)}; }
  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t row, Emit const& emit) const {
    for (std::int64_t k = begin(row); k < begin(row + 1); ++k)
      emit(std::int64_t(column(k)), value(k));
  }
  /// The place of column j among the ascending columns of [begin, end), first looked for at `at`;
  /// `end` where there is none, or a second one beside it.
  KOKKOS_FUNCTION std::int64_t place_of(std::int64_t first, std::int64_t end, std::int64_t at,
                                        std::int64_t j) const {
    if (at < end && column(at) == j) return at;
    std::int64_t low = first, high = end;
    while (low < high) {
      std::int64_t const middle = (low + high) / 2;
      bool const is_before = column(middle) < j;
      low = is_before ? middle + 1 : low;
      high = is_before ? high : middle;
    }
    bool const is_there = low < end && column(low) == j;
    return is_there && !(low + 1 < end && column(low + 1) == j) ? low : end;
  }
};

/// A matrix of one rank in compressed rows, which set-up works on. A copy is a reference to the
/// same matrix.
template <class Exec>
struct LocalCsr {
  std::int64_t rows = 0, cols = 0;
  PooledVector<std::int64_t, Exec> begin;
  PooledVector<std::int32_t, Exec> column;
  PooledVector<double, Exec> value;

  std::int64_t entries() const { return column.size(); }
  CsrRef<typename Exec::memory_space> ref() const { return {begin, column, value}; }
};

/// Lengths become begins: begin(i) of n rows, and the end, which is returned. Fences.
template <class Exec>
std::int64_t scan_lengths(Exec const& exec,
                          Vector<std::int64_t, typename Exec::memory_space> const& begin) {
  auto const ends = static_cast<std::int64_t>(begin.extent(0));
  std::int64_t total = 0;
  Kokkos::parallel_scan(
      "strata::sparse::LocalCsr::scan", RowPolicy<Exec>(exec, 0, ends),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t& sum, bool final) {
        std::int64_t const length = i + 1 < ends ? begin(i) : 0;
        if (final) begin(i) = sum;
        sum += length;
      },
      total);
  exec.fence("strata::sparse::LocalCsr::scanned");
  return total;
}

template <class Source, class Space>
struct CountRowEntries {
  Source source;
  Vector<std::int64_t, Space> length;

  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    std::int64_t count = 0;
    source(row, [&](std::int64_t, double) { ++count; });
    length(row) = count;
  }
};

/// Counts the entries outside, which have column 0 then.
template <class Source, class Space>
struct FillRowEntries {
  Source source;
  std::int64_t cols;
  CsrRef<Space> rows;

  KOKKOS_FUNCTION void operator()(std::int64_t row, std::int64_t& outside) const {
    std::int64_t at = rows.begin(row), wrong = 0;
    source(row, [&](std::int64_t column, double value) {
      bool const fits = column >= 0 && column < cols;
      wrong += fits ? 0 : 1;
      rows.column(at) = fits ? static_cast<std::int32_t>(column) : 0;
      rows.value(at++) = value;
    });
    outside += wrong;
  }
};

/// The matrix whose rows `source` generates, in the order of its entries; how many are outside.
/// Fences.
///
/// Throws   ShapeError for 2^31 columns and more; MemoryError with the bytes.
template <class Exec, class Source>
std::int64_t make_local_csr(Exec const& exec, std::int64_t rows, std::int64_t cols,
                            Source const& source, LocalCsr<Exec>& A) {
  using Space = typename Exec::memory_space;
  STRATA_REQUIRE(ShapeError, cols <= std::numeric_limits<std::int32_t>::max(),
                 "a rank's matrix of ", cols, " columns: they are counted in 32 bits");
  A.rows = rows, A.cols = cols;
  A.begin = {exec, "strata::sparse::LocalCsr::begin", rows + 1};
  Kokkos::parallel_for("strata::sparse::LocalCsr::count", RowPolicy<Exec>(exec, 0, rows),
                       CountRowEntries<Source, Space>{source, A.begin});
  std::int64_t const entries = scan_lengths(exec, A.begin.view());
  A.column = {exec, "strata::sparse::LocalCsr::column", entries};
  A.value = {exec, "strata::sparse::LocalCsr::value", entries};
  std::int64_t outside = 0;
  Kokkos::parallel_reduce("strata::sparse::LocalCsr::fill", RowPolicy<Exec>(exec, 0, rows),
                          FillRowEntries<Source, Space>{source, cols, A.ref()}, outside);
  exec.fence("strata::sparse::LocalCsr::filled");
  return outside;
}

}  // namespace strata::sparse::detail

#endif
