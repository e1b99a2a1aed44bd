// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DISTRIBUTED_MATRIX_HPP
#define STRATA_SPARSE_DISTRIBUTED_MATRIX_HPP

#include <core/Strata_Errors.hpp>
#include <core/Strata_Precision.hpp>
#include <sparse/comm/Strata_Communicator.hpp>
#include <sparse/formats/Strata_MatrixOptions.hpp>
#include <sparse/formats/Strata_SlicedEllAssembly.hpp>
#include <sparse/formats/detail/Strata_LocalRows.hpp>
#include <sparse/matrix/Strata_Halo.hpp>
#include <sparse/matrix/Strata_SweepOrder.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

namespace strata::sparse {

/// A square matrix whose rows are spread over the ranks, as they are given or in the order of a
/// Gauss-Seidel sweep.
///
/// Each rank holds consecutive rows, any number of them, and orders them by itself, see RowOrder.
/// Vectors in the matrix' order are made by `allocate`; `gather` and `scatter` change between that
/// and the caller's, the natural order, in which a vector has rows() entries. A copy refers to the
/// same matrix; matrices that differ in precision alone share everything but their values. Members
/// that take vectors are collective, enqueued on `exec`, and wait on the host for messages if there
/// are other ranks and the transport is not Enqueued. They throw ShapeError, on the rank where it
/// is so, for vectors that are too short.
template <class Exec>
class DistributedMatrix {
 public:
  using MemorySpace = typename Exec::memory_space;  ///< memory of the matrix
  /// This rank's rows with values of a type.
  template <class Value>
  using Stored = SlicedEllMatrix<Value, MemorySpace>;
  /// The same with the type chosen at run time.
  using AnyStored =
      std::variant<Stored<fp64>, Stored<fp32>, Stored<bf16>, Stored<fp16>, Stored<fp8_e4m3>>;

  DistributedMatrix() = default;
  /// The matrix of which `source` generates this rank's `rows` rows with global columns, in fp64.
  ///
  /// Rows are numbered rank by rank. If `source` has a member neighbourly_position(row), a
  /// permutation of this rank's rows, the rows of a colour are ordered by it on a device.
  /// Collective; fences `exec`. Throws what `make_ell_matrix`, `make_sweep_order`, `discover_halo`
  /// and `make_link` throw, on all ranks.
  template <class Source>
  DistributedMatrix(Exec const& exec, Communicator const& comm, std::int64_t rows,
                    Source const& source, MatrixOptions const& options = {})
      : DistributedMatrix(
            options.order == RowOrder::Natural && comm.size() == 1
                ? DistributedMatrix(
                      exec, comm,
                      comm.agree([&] { return detail::whole_rows(exec, rows, source); }), options)
                : DistributedMatrix(exec, comm, detail::localise(exec, comm, rows, source),
                                    detail::neighbourly_positions(exec, comm, rows, source),
                                    options)) {}
  /// The same beside an older matrix of the same ranks. One of a single rank, in natural order and
  /// fp64, shares order and columns if `options` has that order, too. For that each entry has a
  /// place in it, and their number is the same. A long row that lists its columns in another order
  /// may be taken for one that does not fit.
  ///
  /// Throws   ValueError for an empty `like`, too.
  template <class Source>
  DistributedMatrix(Exec const& exec, DistributedMatrix const& like, std::int64_t rows,
                    Source const& source, MatrixOptions const& options = {})
      : DistributedMatrix(like.refilled(exec, rows, source, options)) {
    if (!shared_) *this = DistributedMatrix(exec, like.comm(), rows, source, options);
  }
  /// The matrix of one rank with these rows, in natural order. Throws MemoryError.
  DistributedMatrix(Exec const& exec, Communicator const& comm, detail::LocalCsr<Exec> const& A,
                    MatrixOptions const& options = {});

  /// The ranks that have it. Throws ValueError for an empty matrix.
  Communicator const& comm() const {
    STRATA_REQUIRE(ValueError, shared_, "distributed matrix: an empty one, which no rank has");
    return shared_->comm;
  }
  /// Rows of this rank.
  std::int64_t rows() const { return shared_->order.rows(); }
  /// Entries of other ranks that this rank's rows need.
  std::int64_t halo() const { return shared_->halo_rows; }
  /// Entries of a vector that `allocate` makes: the rows, the halo, and one that nothing reads. By
  /// this one its length differs from a vector in natural order, on one rank, too.
  std::int64_t room() const { return rows() + halo() + 1; }
  /// The first row of this rank, in the whole matrix.
  std::int64_t first_row() const { return shared_->first_row; }
  /// Rows of the whole matrix.
  std::int64_t global_rows() const { return shared_->global_rows; }
  /// Entries of the whole matrix.
  std::int64_t global_entries() const { return shared_->global_entries; }
  /// Entries of this rank.
  std::int64_t entries() const;
  /// Bytes of values and columns on this rank. Matrices of other precision share the columns.
  std::int64_t bytes() const;
  /// Bytes of the columns alone.
  std::int64_t column_bytes() const;
  /// The order in which rows are stored and swept.
  SweepOrder<MemorySpace> const& order() const { return shared_->order; }
  /// Fills the halo of a vector.
  Halo<Exec> const& exchange() const { return shared_->exchange; }
  /// How messages travel, the same on all ranks; one rank, which sends none, has Direct.
  Link<Exec> const& link() const { return shared_->link; }
  /// The transport of messages.
  Transport transport() const { return link().transport; }
  /// Whether members that take vectors wait on the host for nothing.
  bool is_enqueued() const { return comm().size() == 1 || transport() == Transport::Enqueued; }
  /// The precision of the values.
  Precision precision() const;

  /// Whether each value of all ranks is exact in `precision`. Collective; fences.
  bool is_exact_in(Exec const& exec, Precision precision) const;
  /// The same with values rounded to fp64, fp32, bf16 or fp16, or, where that loses nothing, in
  /// fp8_e4m3.
  ///
  /// Throws   ValueError for another precision, or for fp8_e4m3 if a value is not exact in it;
  ///          MemoryError; on all ranks.
  DistributedMatrix stored_in(Exec const& exec, Precision precision) const;

  /// The same with values d_i a_ij d_j, and e_i added to the diagonal; from fp64 to fp64.
  ///
  /// `d` and `e` in the matrix' order, d with its halo filled; a row without a diagonal entry gets
  /// no e_i.
  /// Throws   ValueError if the values are not fp64; MemoryError on all ranks.
  DistributedMatrix modified(Exec const& exec, Vector<double, MemorySpace> const& d,
                             Vector<double, MemorySpace> const& e) const {
    return scaled(exec, d, d, e);
  }
  /// The same with values left_i a_ij right_j; no e: nothing is added to the diagonal.
  DistributedMatrix scaled(Exec const& exec, Vector<double, MemorySpace> const& left,
                           Vector<double, MemorySpace> const& right,
                           Vector<double, MemorySpace> const& e = {}) const;

  /// The same in the order of a sweep, which takes a colouring, with its zeros left out; itself if
  /// it has that order.
  ///
  /// Collective; fences. Throws   ValueError if the values are not fp64; MemoryError; on all ranks.
  DistributedMatrix coloured(Exec const& exec, MatrixOptions options = {}) const;

  /// This rank's rows, columns from rows() on being the halo's.
  AnyStored const& stored() const { return stored_; }

  /// A vector of zeros in the matrix' order, with room() entries.
  template <class Scalar>
  Vector<Scalar, MemorySpace> allocate(Exec const& exec, std::string const& label) const;
  /// Throws   ShapeError unless a vector called `name`, of that many entries, is in the matrix'
  ///          order by its length. Solvers check their vectors so.
  void require_in_order(char const* name, std::size_t entries) const;
  /// The same for natural order.
  void require_natural(char const* name, std::size_t entries) const;

  /// To the matrix' order, and back. Throws ShapeError unless `natural` has rows() entries and x
  /// that many or more.
  template <class Scalar>
  void gather(Exec const& exec, Vector<Scalar, MemorySpace> const& natural,
              Vector<Scalar, MemorySpace> const& x) const;
  /// Back to the caller's order.
  template <class Scalar>
  void scatter(Exec const& exec, Vector<Scalar, MemorySpace> const& x,
               Vector<Scalar, MemorySpace> const& natural) const;

  /// y = A x; the halo of x is filled meanwhile.
  template <class Scalar>
  void multiply(Exec const& exec, Vector<Scalar, MemorySpace> const& x,
                Vector<Scalar, MemorySpace> const& y) const;
  /// r = b - A x; r may be b.
  template <class Scalar>
  void residual(Exec const& exec, Vector<Scalar, MemorySpace> const& b,
                Vector<Scalar, MemorySpace> const& x, Vector<Scalar, MemorySpace> const& r) const;
  /// coarse(c) = (b - A x)(injection.fine_row(c)); its free rows are made beside the exchange.
  template <class Scalar>
  void restrict_residual(Exec const& exec, Injection<MemorySpace> const& injection,
                         Vector<Scalar, MemorySpace> const& b, Vector<Scalar, MemorySpace> const& x,
                         Vector<Scalar, MemorySpace> const& coarse) const;
  /// Gauss-Seidel for A x = r, other ranks' values as they were before the sweep (for Guess::Zero:
  /// 0, and nothing is sent). A Backward sweep waits for the halo first; Forward has the free rows
  /// swept meanwhile.
  ///
  /// Throws   ValueError for a matrix in natural order, whose `coloured` twin has sweeps.
  template <class Scalar>
  void gauss_seidel(Exec const& exec, Vector<Scalar, MemorySpace> const& r,
                    Vector<Scalar, MemorySpace> const& x, Sweep direction = Sweep::Forward,
                    Guess guess = Guess::Given) const;
  /// Fill the halo of x.
  template <class Scalar>
  void fill_halo(Exec const& exec, Vector<Scalar, MemorySpace> const& x) const {
    exchange().fill(exec, x);
  }
  /// Gauss-Seidel with the halo of x as it is. Sync: enqueued on `exec`.
  template <class Scalar>
  void sweep(Exec const& exec, Vector<Scalar, MemorySpace> const& r,
             Vector<Scalar, MemorySpace> const& x, Sweep direction, Guess guess) const;

 private:
  struct Shared {
    Communicator comm;
    SweepOrder<MemorySpace> order;
    Link<Exec> link;
    Halo<Exec> exchange;
    std::int64_t halo_rows = 0, first_row = 0, global_rows = 0, global_entries = 0;
  };

  DistributedMatrix(Exec const& exec, Communicator const& comm,
                    detail::LocalMatrix<Exec> const& local,
                    Vector<std::int32_t, MemorySpace> const& positions,
                    MatrixOptions const& options);

  // With other values in the same places; empty where the rows have other places.
  template <class Source>
  DistributedMatrix refilled(Exec const& exec, std::int64_t rows, Source const& source,
                             MatrixOptions const& options) const {
    DistributedMatrix result;
    auto const* const A = std::get_if<Stored<fp64>>(&stored_);
    bool const is_natural = comm().size() == 1 && order().is_natural;
    if (!A || !is_natural || options.order != RowOrder::Natural || rows != this->rows())
      return result;
    comm().agree([&] {
      auto const found = detail::refilled_slices(exec, *A, source);
      if (!found) return;
      result = *this;
      result.stored_ = *found;
    });
    return result;
  }
  void require_sweeps() const;
  // Enqueue work(range) on rows [0, count), of which the first `free` do not need the halo of x.
  template <class Scalar, class Work>
  void beside_exchange(Exec const& exec, Vector<Scalar, MemorySpace> const& x, std::int64_t free,
                       std::int64_t count, Work const& work) const;
  template <class Scalar>
  void sweep_beside_exchange(Exec const& exec, Vector<Scalar, MemorySpace> const& r,
                             Vector<Scalar, MemorySpace> const& x) const;

  AnyStored stored_;
  std::shared_ptr<Shared const> shared_;
};

}  // namespace strata::sparse

#endif
