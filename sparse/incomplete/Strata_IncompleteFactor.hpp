// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_INCOMPLETE_FACTOR_HPP
#define STRATA_SPARSE_INCOMPLETE_FACTOR_HPP

#include <core/Strata_Pimpl.hpp>
#include <core/Strata_Precision.hpp>
#include <sparse/formats/Strata_EllMatrix.hpp>
#include <sparse/incomplete/Strata_IncompleteReport.hpp>

#include <cstdint>
#include <memory>

namespace strata::sparse {

template <class Exec>
class DistributedMatrix;
namespace detail {
struct HostCsr;
}  // namespace detail

/// Which incomplete factor.
enum class IncompleteKind {
  Cholesky,  ///< L D L', for symmetric matrices with a positive diagonal
  Lu,        ///< L D U, for any matrix
};

/// Incomplete factors of a matrix as a preconditioner, M = (I + L) D (I + U), vectors in Scalar.
/// The pattern has A's entries and those that elimination makes up to a level of fill. On several
/// ranks each factors the block of its own rows and columns.
///
/// Rows are eliminated in the caller's order, on the host, in fp64; the factors are stored in fp64
/// or fp32. Solves with them run where vectors are: row after row on one thread of a host, level
/// after level elsewhere. M is symmetric and positive definite for Cholesky. A copy refers to the
/// same factors and work vector: one `apply` at a time.
template <class Exec, class Scalar>
class IncompleteFactor {
 public:
  using MemorySpace = typename Exec::memory_space;  ///< memory of the vectors

  /// Collective; fences.
  ///
  /// `fill`   0: A's pattern; each level more adds what entries of the level before make. 0 to 20.
  /// Throws   ValueError for another `fill` or `precision`, and for Cholesky of a matrix with a
  ///          diagonal that is not positive; MemoryError; on all ranks.
  /// Source   as detail::incomplete_cholesky and detail::incomplete_lu.
  IncompleteFactor(Exec const& exec, DistributedMatrix<Exec> const& A, IncompleteKind kind,
                   int fill = 0, Precision precision = Precision::fp32);
  /// The same of this rank's own block of A, which is at hand.
  IncompleteFactor(Exec const& exec, DistributedMatrix<Exec> const& A, detail::HostCsr const& block,
                   IncompleteKind kind, int fill, Precision precision);
  /// The same factors for vectors in Scalar, Abreast too. Throws MemoryError.
  IncompleteFactor(Exec const& exec, IncompleteFactor<Exec, fp64> const& other);

  /// What the factorisation did.
  IncompleteReport const& report() const;
  /// Bytes of this rank's factors and vectors; vectors alone if the factors are another object's.
  std::int64_t bytes() const;
  /// Whether `apply` waits for nothing: it does not.
  bool is_enqueued() const { return true; }
  /// z = M^-1 r. Sync: enqueued on `exec`.
  void apply(Exec const& exec, Vector<Scalar, MemorySpace> const& r,
             Vector<Scalar, MemorySpace> const& z) const;

 private:
  template <class, class>
  friend class IncompleteFactor;
  IncompleteFactor(Exec const& exec, DistributedMatrix<Exec> const& A, detail::HostCsr const* block,
                   IncompleteKind kind, int fill, Precision precision);
  struct Impl;
  Pimpl<Impl const, std::shared_ptr<Impl const>> impl_;
};

}  // namespace strata::sparse

#endif
