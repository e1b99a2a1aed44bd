// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_KERNELS_MATRIX_HPP
#define STRATA_SPARSE_KERNELS_MATRIX_HPP

#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace strata::sparse {

/// A KokkosSparse::CrsMatrix of any value, ordinal and offset type, managed or not.
template <class T>
concept KernelsMatrix = requires(T const& A) {
  typename T::ordinal_type;
  typename T::size_type;
  A.graph.row_map;
  A.graph.entries;
  A.values;
  A.numRows();
  A.numCols();
};

namespace detail {

/// A's rows on this rank. Collective. Throws ShapeError unless A has all ranks' rows as columns.
template <class Exec, KernelsMatrix Crs>
std::int64_t require_square(Communicator const& comm, Crs const& A) {
  static_assert(Kokkos::SpaceAccessibility<Exec, typename Crs::memory_space>::accessible,
                "the execution space cannot access the matrix' memory");
  auto const rows = static_cast<std::int64_t>(A.numRows()),
             cols = static_cast<std::int64_t>(A.numCols());
  std::int64_t all = 0;
  for (auto const count : comm.gather(rows)) all += count;
  comm.agree([&] {
    STRATA_REQUIRE(ShapeError, cols == all, "CrsMatrix of ", rows, " x ", cols, ": the ranks have ",
                   all, " rows together, and columns are global");
  });
  return rows;
}

}  // namespace detail

/// The matrix with the rows of a CrsMatrix on this rank, its columns global.
///
/// Shape    A: this rank's rows x all ranks' rows. Any number type that converts to fp64, any
///          ordinals and offsets; the Views are read in place, wherever they are from.
/// Sync     collective; fences `exec`, on which A must be finished.
/// Throws   ShapeError if A has not as many columns as the ranks have rows; also what
///          DistributedMatrix throws; on all ranks.
template <class Exec, KernelsMatrix Crs>
DistributedMatrix<Exec> make_matrix(Exec const& exec, Communicator const& comm, Crs const& A,
                                    MatrixOptions const& options = {}) {
  auto const rows = detail::require_square<Exec>(comm, A);
  return DistributedMatrix<Exec>(exec, comm, rows, CrsRows<Crs>{A}, options);
}
/// The same beside an older matrix, which shares its pattern with new values in the same places.
/// Throws   ValueError if that is empty, too.
template <class Exec, KernelsMatrix Crs>
DistributedMatrix<Exec> make_matrix(Exec const& exec, DistributedMatrix<Exec> const& like,
                                    Crs const& A, MatrixOptions const& options = {}) {
  auto const rows = detail::require_square<Exec>(like.comm(), A);
  return DistributedMatrix<Exec>(exec, like, rows, CrsRows<Crs>{A}, options);
}

namespace detail {

/// The numbers in a View of another type; each fits.
template <class To, class Exec, class From>
To converted_view(Exec const& exec, std::string const& label, std::vector<From> const& numbers) {
  using Number = typename To::non_const_value_type;
  std::vector<Number> narrow(numbers.size());
  for (std::size_t k = 0; k < numbers.size(); ++k) narrow[k] = static_cast<Number>(numbers[k]);
  auto const view =
      allocate<typename To::non_const_type>(exec, label, static_cast<std::int64_t>(narrow.size()));
  using Host = Kokkos::View<Number const*, typename To::array_layout, Kokkos::HostSpace,
                            Kokkos::MemoryUnmanaged>;
  Kokkos::deep_copy(exec, view, Host(narrow.data(), narrow.size()));
  exec.fence("strata::sparse::to_kernels::copied");
  return view;
}

}  // namespace detail

/// The rows of this rank as a CrsMatrix with global columns, ascending, in the caller's order.
///
/// Result   values rounded once to Crs' type; zeros that A does not tell from padding are left out.
/// Sync     collective; fences `exec`. The matrix goes through the host.
/// Throws   ShapeError on all ranks if the ordinals can't count the columns or the offsets the
///          entries, with both numbers; MemoryError.
template <KernelsMatrix Crs, class Exec>
Crs to_kernels(Exec const& exec, DistributedMatrix<Exec> const& A) {
  static_assert(Kokkos::SpaceAccessibility<Exec, typename Crs::memory_space>::accessible,
                "the execution space cannot access the matrix' memory");
  static_assert(!Crs::values_type::memory_traits::is_unmanaged,
                "to_kernels allocates: take a managed CrsMatrix");
  using Ordinal = typename Crs::ordinal_type;
  using Offset = typename Crs::size_type;
  auto const rows = rows_of(exec, A);
  return A.comm().agree([&] {
    auto const counts = [](auto most, std::int64_t number) {
      return static_cast<std::uint64_t>(number) <= static_cast<std::uint64_t>(most);
    };
    STRATA_REQUIRE(ShapeError, counts(std::numeric_limits<Ordinal>::max(), A.global_rows()),
                   "CrsMatrix: ", A.global_rows(), " columns, the ordinal type counts to ",
                   std::to_string(std::numeric_limits<Ordinal>::max()));
    STRATA_REQUIRE(ShapeError, counts(std::numeric_limits<Offset>::max(), rows.entries()),
                   "CrsMatrix: ", rows.entries(), " entries, the offset type counts to ",
                   std::to_string(std::numeric_limits<Offset>::max()));
    auto const begin = detail::converted_view<typename Crs::row_map_type>(
        exec, "strata::sparse::to_kernels::row_map", rows.begin);
    auto const column = detail::converted_view<typename Crs::index_type>(
        exec, "strata::sparse::to_kernels::entries", rows.column);
    auto const value = detail::converted_view<typename Crs::values_type>(
        exec, "strata::sparse::to_kernels::values", rows.value);
    return Crs("strata::sparse::to_kernels", static_cast<Ordinal>(rows.rows()),
               static_cast<Ordinal>(A.global_rows()), static_cast<Offset>(rows.entries()), value,
               begin, column);
  });
}

}  // namespace strata::sparse

#endif
