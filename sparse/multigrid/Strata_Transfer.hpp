// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_TRANSFER_HPP
#define STRATA_SPARSE_TRANSFER_HPP

#include <sparse/matrix/Strata_HostRows.hpp>

#include <cstdint>
#include <variant>

namespace strata::sparse {

namespace detail {
template <class Exec>
struct BlockCsr;
template <class Exec>
struct TransposedIndex;
}  // namespace detail

/// A rectangular matrix between two levels: its rows are spread and ordered like the rows of one
/// DistributedMatrix, its columns like the columns of another.
///
/// Vectors that it multiplies have room for its own halo: columns() + halo() entries; shorter ones
/// throw ShapeError. A copy refers to the same matrix.
template <class Exec>
class Transfer {
 public:
  using MemorySpace = typename Exec::memory_space;  ///< memory of the matrix
  /// This rank's rows with values of a type.
  template <class Value>
  using Stored = EllMatrix<Value, std::int32_t, MemorySpace>;
  /// The same with the type chosen at run time.
  using AnyStored = std::variant<Stored<fp64>, Stored<fp32>, Stored<bf16>, Stored<fp16>>;

  Transfer() = default;
  /// From this rank's rows in the caller's order of `to`, with global columns of `from`.
  /// Collective, fences.
  ///
  /// Throws   ShapeError if there are not as many rows as `to` has here, ValueError for a column
  ///          outside `from`, MemoryError; on all ranks.
  Transfer(Exec const& exec, DistributedMatrix<Exec> const& to, DistributedMatrix<Exec> const& from,
           HostRows const& rows);

  /// The matrix P between two of one rank, in the callers' orders. Fences. Throws MemoryError.
  ///
  /// `like`: where the same entries are stored already, in the same orders; with no rows: nowhere.
  Transfer(Exec const& exec, DistributedMatrix<Exec> const& to, DistributedMatrix<Exec> const& from,
           detail::BlockCsr<Exec> const& P, Stored<fp64> const& like = {});
  /// Its transpose, by the index of its nodes.
  Transfer(Exec const& exec, DistributedMatrix<Exec> const& to, DistributedMatrix<Exec> const& from,
           detail::TransposedIndex<Exec> const& index, detail::BlockCsr<Exec> const& P,
           Stored<fp64> const& like = {});

  /// Rows of this rank.
  std::int64_t rows() const { return rows_; }
  /// Columns of this rank's vectors, without the halo.
  std::int64_t columns() const { return columns_; }
  /// Entries of other ranks that this rank's rows need.
  std::int64_t halo() const { return halo_rows_; }
  /// Entries of this rank.
  std::int64_t entries() const { return entries_; }
  /// Bytes of values and columns on this rank.
  std::int64_t bytes() const;
  /// The local rows; columns from columns() on are the halo's.
  AnyStored const& stored() const { return stored_; }

  /// The same with values e_i p_ij / d_j rounded to `precision`. Collective.
  ///
  /// `e` and `d` in the order of rows and columns, d with room for the halo, which is filled.
  /// Throws ValueError if the values are not fp64 or for a precision below 16 bits; MemoryError; on
  /// all ranks.
  Transfer scaled(Exec const& exec, Vector<double, MemorySpace> const& e,
                  Vector<double, MemorySpace> const& d, Precision precision) const;

  /// y = P x; the halo of x is filled meanwhile. Collective; enqueued on `exec`, waits for
  /// messages unless `from` has them enqueued.
  template <class Scalar>
  void multiply(Exec const& exec, Vector<Scalar, MemorySpace> const& x,
                Vector<Scalar, MemorySpace> const& y) const;
  /// y += P x; the same.
  template <class Scalar>
  void add_product(Exec const& exec, Vector<Scalar, MemorySpace> const& x,
                   Vector<Scalar, MemorySpace> const& y) const;

 private:
  template <class Source>
  void store(Exec const& exec, DistributedMatrix<Exec> const& to,
             DistributedMatrix<Exec> const& from, Source const& source, Stored<fp64> const& like);
  template <class Scalar>
  void require_vectors(Vector<Scalar, MemorySpace> const& x,
                       Vector<Scalar, MemorySpace> const& y) const;

  Communicator comm_;
  AnyStored stored_;
  Halo<Exec> exchange_;
  std::int64_t rows_ = 0, columns_ = 0, halo_rows_ = 0, entries_ = 0;
};

}  // namespace strata::sparse

#endif
