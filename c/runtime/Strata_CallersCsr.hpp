// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_CALLERS_CSR_HPP
#define STRATA_C_CALLERS_CSR_HPP

#include <c/runtime/Strata_Operand.hpp>
#include <comm/Strata_Communicator.hpp>
#include <core/Strata_Errors.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace strata::c {

/// The numbers of a caller where the device works: themselves, or a copy.
template <class T>
class DeviceNumbers {
 public:
  DeviceNumbers() = default;
  /// Throws   MemoryError; VendorError.
  DeviceNumbers(Exec const& exec, T const* data, std::int64_t count, bool copies = false)
      : data_(data) {
    if (count == 0 || (!copies && in_reach(data))) return;
    auto const bytes = static_cast<std::size_t>(count) * sizeof(T);
    copy_ = Buffer<Exec>(exec, "strata::c::csr", bytes);
    data_ = reinterpret_cast<T const*>(copy_.data());
    if (in_reach(data)) {
      using Numbers = Kokkos::View<T*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
      using Given = Kokkos::View<T const*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
      auto const extent = static_cast<std::size_t>(count);
      Kokkos::deep_copy(exec, Numbers(reinterpret_cast<T*>(copy_.data()), extent),
                        Given(data, extent));
      return;
    }
    auto* const first = reinterpret_cast<std::byte*>(const_cast<T*>(data));
    vendor::copy(exec, vendor::Way::ToDevice, {first, sizeof(T), {count, 1, count}, Part::All},
                 copy_.data());
  }
  T const* data() const { return data_; }

 private:
  T const* data_ = nullptr;
  Buffer<Exec> copy_;
};

/// Rows in compressed form as kernels see them (row source). A column may be listed twice in a row:
/// its values are added.
template <class Index>
struct CsrSource {
  Index const *begin, *column;
  double const* value;

  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t row, Emit const& emit) const {
    for (Index k = begin[row]; k < begin[row + 1]; ++k)
      emit(static_cast<std::int64_t>(column[k]), value[k]);
  }
};

/// What is wrong with rows, as the first row of each kind; `none` where there is none.
struct CsrFaults {
  static constexpr std::int64_t none = INT64_MAX;
  std::int64_t begins =
      none;  ///< row whose begin is not between 0 and its end, or whose end is too large
  std::int64_t columns = none;   ///< first row with a column outside
  std::int64_t infinite = none;  ///< first row with a value that is not finite
};

template <class Index>
struct FindBegins {
  Index const* begin;
  std::int64_t entries;
  KOKKOS_FUNCTION void operator()(std::int64_t row, std::int64_t& first) const {
    bool const fits = begin[row] >= 0 && begin[row] <= begin[row + 1] &&
                      static_cast<std::int64_t>(begin[row + 1]) <= entries;
    if (!fits && row < first) first = row;
  }
};

template <class Index>
struct FindColumns {
  CsrSource<Index> rows;
  std::int64_t cols;
  KOKKOS_FUNCTION void operator()(std::int64_t row, std::int64_t& outside,
                                  std::int64_t& infinite) const {
    rows(row, [&](std::int64_t column, double value) {
      if ((column < 0 || column >= cols) && row < outside) outside = row;
      if (!(value - value == 0) && row < infinite) infinite = row;
    });
  }
};

/// Looks at `rows` rows whose columns are below `cols` and which have `entries` entries. Fences.
template <class Index>
CsrFaults faults_of(Exec const& exec, CsrSource<Index> const& source, std::int64_t rows,
                    std::int64_t cols, std::int64_t entries) {
  CsrFaults found;
  using Range = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_reduce("strata::c::csr::begins", Range(exec, 0, rows),
                          FindBegins<Index>{source.begin, entries},
                          Kokkos::Min<std::int64_t>(found.begins));
  exec.fence("strata::c::csr::begins");
  if (rows == 0 || found.begins != CsrFaults::none) return rows == 0 ? CsrFaults{} : found;
  Kokkos::parallel_reduce(
      "strata::c::csr::columns", Range(exec, 0, rows), FindColumns<Index>{source, cols},
      Kokkos::Min<std::int64_t>(found.columns), Kokkos::Min<std::int64_t>(found.infinite));
  exec.fence("strata::c::csr::columns");
  return found;
}

/// The places of a matrix' entries.
template <class Index>
struct CsrPattern {
  /// `n` rows. What is on the device is used where it is, unless `copies`, which outlive it.
  ///
  /// Throws   ShapeError where begin[n] is negative; ValueError; MemoryError.
  CsrPattern(Exec const& exec, std::int64_t n, Index const* first, Index const* columns,
             bool copies)
      : rows(n), begin(exec, first, n + 1, copies), entries(last(exec)), column() {
    STRATA_REQUIRE(ShapeError, entries >= 0, "begin[", n, "] is ", entries, ", must be >= 0");
    STRATA_REQUIRE(ValueError, entries == 0 || columns != nullptr, "column is a null pointer");
    column = DeviceNumbers<Index>(exec, columns, entries, copies);
  }
  /// begin[0], begin[n]. Fence.
  std::int64_t first(Exec const& exec) const { return begin_of(exec, 0); }
  std::int64_t last(Exec const& exec) const { return begin_of(exec, rows); }
  std::int64_t begin_of(Exec const& exec, std::int64_t row) const {
    Kokkos::View<Index, Kokkos::HostSpace> const found("strata::c::csr::entries");
    Kokkos::deep_copy(exec, found,
                      Kokkos::View<Index const, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
                          begin.data() + row));
    exec.fence("strata::c::csr::entries");
    return static_cast<std::int64_t>(found());
  }

  std::int64_t rows;
  DeviceNumbers<Index> begin;
  std::int64_t entries;
  DeviceNumbers<Index> column;
};

/// Throws   ShapeError, NotFinite naming the first row that is wrong.
inline void require_sound(CsrFaults const& faults, std::int64_t columns, std::int64_t entries) {
  auto const none = CsrFaults::none;
  STRATA_REQUIRE(ShapeError, faults.begins == none, "row ", faults.begins,
                 " begins or ends outside the ", entries, " entries, or ends before it begins");
  STRATA_REQUIRE(ShapeError, faults.columns == none, "row ", faults.columns,
                 " has a column outside [0, ", columns, ")");
  if (faults.infinite != none)
    throw NotFinite(
        strata::detail::message("row ", faults.infinite, " has a value that is not finite"));
}

/// The matrix with these values, one for each place. Collective. `old`: an older one, whose pattern
/// is taken where it is the same.
///
/// Throws   ValueError; ShapeError, NotFinite naming the first row that is wrong; MemoryError.
template <class Index>
sparse::DistributedMatrix<Exec> matrix_of(Exec const& exec, Communicator const& comm,
                                          CsrPattern<Index> const& pattern, double const* value,
                                          sparse::DistributedMatrix<Exec> const* old = nullptr) {
  STRATA_REQUIRE(ValueError, pattern.entries == 0 || value != nullptr, "value is a null pointer");
  DeviceNumbers<double> const numbers(exec, value, pattern.entries);
  CsrSource<Index> const source{pattern.begin.data(), pattern.column.data(), numbers.data()};
  std::int64_t columns = 0;
  for (auto const rows : comm.gather(pattern.rows)) columns += rows;
  comm.agree([&] {
    require_sound(faults_of(exec, source, pattern.rows, columns, pattern.entries), columns,
                  pattern.entries);
    return true;
  });
  if (old) return sparse::DistributedMatrix<Exec>(exec, *old, pattern.rows, source);
  return sparse::DistributedMatrix<Exec>(exec, comm, pattern.rows, source);
}

}  // namespace strata::c

#endif
