// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_SPARSE_FACTOR_HPP
#define STRATA_SPARSE_SPARSE_FACTOR_HPP

#include <core/Strata_Pimpl.hpp>
#include <sparse/formats/Strata_EllMatrix.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace strata::sparse {

template <class Exec>
class DistributedMatrix;

/// The factors of a matrix of one rank, made and used on the host in fp64. A = P' L D L' P where A
/// is symmetric positive definite, else A = P' L D U Q' with partial pivoting. Rows are in an order
/// of minimum degree. As a preconditioner it leaves refinement to do.
///
/// A copy refers to the same factors.
/// Source   as detail::minimum_degree, detail::factor_symmetric and detail::factor_general.
template <class Exec>
class SparseFactor {
 public:
  using MemorySpace = typename Exec::memory_space;  ///< memory of the vectors

  /// What a factorisation may take.
  struct Options {
    /// Bytes of the factors, at most; 0: half of the memory that is available.
    double most_bytes = 0;
    double most_flops = 1e12;  ///< flops for a symmetric matrix, at most
    /// Old row of each new one, for a symmetric matrix; empty: by minimum degree.
    std::vector<std::int32_t> order = {};
  };
  /// What it did.
  struct Report {
    bool symmetric = false;     ///< L D L'
    std::int64_t entries = 0;   ///< entries of the factors, diagonal included
    std::int64_t replaced = 0;  ///< pivots that were too small: A is singular, or nearly so
  };

  /// `is_symmetric`: A is; L D L' is tried first. Fences.
  ///
  /// Throws   ValueError on several ranks; MemoryError beyond the options' limits, or without
  ///          memory.
  SparseFactor(Exec const& exec, DistributedMatrix<Exec> const& A, bool is_symmetric,
               Options const& options);
  /// The same with default options.
  SparseFactor(Exec const& exec, DistributedMatrix<Exec> const& A, bool is_symmetric)
      : SparseFactor(exec, A, is_symmetric, Options()) {}

  /// What the factorisation did.
  Report const& report() const;
  /// Bytes of the factors.
  std::int64_t bytes() const;
  /// z = A^-1 r but for rounding. Sync: fences.
  void apply(Exec const& exec, Vector<double, MemorySpace> const& r,
             Vector<double, MemorySpace> const& z) const;

 private:
  struct Impl;
  Pimpl<Impl const, std::shared_ptr<Impl const>> impl_;
};

}  // namespace strata::sparse

#endif
