// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_NULL_VECTORS_HPP
#define STRATA_SPARSE_DETAIL_NULL_VECTORS_HPP

#include <sparse/matrix/Strata_DistributedMatrix.hpp>

#include <vector>

namespace strata::sparse::detail {

/// Orthonormal vectors, in the order of a matrix of one rank that maps them to 0.
template <class Exec>
class NullVectors {
 public:
  using Wide = Vector<double, typename Exec::memory_space>;

  NullVectors() = default;
  /// What A maps to 0 of the combinations of `candidates`, within 1e-12 `norm`, A's infinity norm.
  /// The candidates, in A's order, are overwritten. Fences. Throws MemoryError.
  NullVectors(Exec const& exec, DistributedMatrix<Exec> const& A, std::vector<Wide> candidates,
              double norm);

  int count() const { return static_cast<int>(vectors_.size()); }
  /// x without its part in their span. Enqueued.
  template <class Scalar>
  void remove(Exec const& exec, Vector<Scalar, typename Exec::memory_space> const& x) const;

 private:
  std::vector<Wide> vectors_;
  Wide share_;  // of x in one of them
  std::int64_t rows_ = 0;
};

}  // namespace strata::sparse::detail

#endif
