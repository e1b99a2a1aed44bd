// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_HOST_ROWS_HPP
#define STRATA_SPARSE_HOST_ROWS_HPP

#include <sparse/matrix/Strata_DistributedMatrix.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace strata {
struct CoordinateMatrix;
struct ReadOptions;
}  // namespace strata

namespace strata::sparse {

/// Consecutive rows of a matrix in ordinary memory, with global columns: what files give and set-up
/// works on.
struct HostRows {
  std::vector<std::int64_t> begin{0};  ///< begin of each row's entries, and the end
  std::vector<std::int64_t> column;    ///< column of each entry, in the whole matrix
  std::vector<double> value;           ///< value of each entry

  /// The number of rows.
  std::int64_t rows() const { return static_cast<std::int64_t>(begin.size()) - 1; }
  /// Entries of all rows.
  std::int64_t entries() const { return static_cast<std::int64_t>(column.size()); }
  /// Append a_ij = a to the row that is being made.
  void add(std::int64_t j, double a) {
    column.push_back(j);
    value.push_back(a);
  }
  /// The next `add` begins a new row.
  void end_row() { begin.push_back(entries()); }
};

/// All rows of a matrix that a file listed, both triangles of a symmetric one; in each row the
/// file's order.
HostRows host_rows(CoordinateMatrix const& A);

/// Number of consecutive unknowns of a node, the largest of 2 to 6 that divides n and gives blocks.
/// At most a fifth of the blocks is empty then, and blocks that begin a row later are worse. Else
/// it is 1. `rows` are this rank's, the columns ascending. Collective.
int likely_block_size(Communicator const& comm, std::int64_t n, HostRows const& rows);

/// The first row of each rank, and the end, where `rows` rows are spread in consecutive blocks that
/// differ by one row at most; ranks may be empty. Throws ShapeError for rows < 0, ranks < 1.
std::vector<std::int64_t> even_partition(std::int64_t rows, int ranks);

/// Each rank's block of rows that rank 0 has; `whole` is not looked at elsewhere. Collective.
///
/// Throws   ShapeError for rows that are not whole, ValueError for other numbers than
///          `first_row`'s; on all ranks.
HostRows scattered(Communicator const& comm, std::vector<std::int64_t> const& first_row,
                   HostRows const& whole);

/// Read a square matrix from a Matrix Market coordinate file by all ranks. Each rank parses a part
/// of a plain file's bytes and sends each entry to the rank that has its row, so that none holds
/// the whole. Rank 0 alone reads a compressed file. Collective.
///
/// first_row   the first row of each rank, and the end
/// Result      the rows of this rank, with the bits of `host_rows(read_matrix_market(path))`;
///             `options.on_remark` of rank 0 hears what that one would hear
/// Memory      120 bytes for each entry of a rank's part and of its rows at most
/// Throws      as `read_matrix_market`, with its message, on all ranks
HostRows read_rows(Communicator const& comm, std::string const& path,
                   std::vector<std::int64_t> const& first_row, ReadOptions const& options);

/// The rows of a HostRows in device memory (row source, global columns).
template <class Exec>
struct DeviceRows {
  using Space = typename Exec::memory_space;  ///< memory of the rows
  /// begin of each row, and the end; column of each entry
  Vector<std::int64_t, Space> begin, column;
  Vector<double, Space> value;  ///< value of each entry

  DeviceRows() = default;
  /// Copies; fences `exec`. Throws ShapeError where `begin` does not fit the entries; MemoryError.
  DeviceRows(Exec const& exec, HostRows const& rows);
  /// The same; on a host nothing is copied, and `rows` must outlive the result.
  static DeviceRows beside(Exec const& exec, HostRows const& rows);

  /// Calls emit(column, value) for each entry.
  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t row, Emit const& emit) const {
    for (std::int64_t k = begin(row); k < begin(row + 1); ++k) emit(column(k), value(k));
  }
};

/// The matrix with these rows on this rank. Collective; fences `exec`.
///
/// Throws   what DistributedMatrix throws, on all ranks.
template <class Exec>
DistributedMatrix<Exec> make_matrix(Exec const& exec, Communicator const& comm,
                                    HostRows const& rows, MatrixOptions const& options = {}) {
  auto const device = comm.agree([&] { return DeviceRows<Exec>::beside(exec, rows); });
  return DistributedMatrix<Exec>(exec, comm, rows.rows(), device, options);
}
/// The same beside an older matrix, which shares its pattern with new values in the same places.
/// Throws   ValueError if that is empty, too.
template <class Exec>
DistributedMatrix<Exec> make_matrix(Exec const& exec, DistributedMatrix<Exec> const& like,
                                    HostRows const& rows, MatrixOptions const& options = {}) {
  auto const device = like.comm().agree([&] { return DeviceRows<Exec>::beside(exec, rows); });
  return DistributedMatrix<Exec>(exec, like, rows.rows(), device, options);
}

/// The rows of this rank in the caller's order, columns ascending. Collective; fences `exec`.
template <class Exec>
HostRows rows_of(Exec const& exec, DistributedMatrix<Exec> const& A);

/// The first row of each rank, and the end. Collective.
template <class Exec>
std::vector<std::int64_t> first_rows(DistributedMatrix<Exec> const& A) {
  std::vector<std::int64_t> first{0};
  for (auto const rows : A.comm().gather(A.rows())) first.push_back(first.back() + rows);
  return first;
}

}  // namespace strata::sparse

#endif
