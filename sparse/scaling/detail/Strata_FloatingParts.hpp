// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_FLOATING_PARTS_HPP
#define STRATA_SPARSE_DETAIL_FLOATING_PARTS_HPP

#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/scaling/detail/Strata_NullVectors.hpp>

namespace strata::sparse::detail {

/// The connected parts of a matrix' graph in which every row's entries add up to 0 within rounding,
/// as for a body which nothing holds. A maps a vector that is constant on such a part and 0
/// elsewhere to 0.
template <class Exec>
class FloatingParts {
 public:
  using Wide = Vector<double, typename Exec::memory_space>;

  FloatingParts() = default;
  /// Those of A; of two entries a_ij and a_ji one joins i and j. None where such an entry is
  /// between two ranks and no other path leads back, which a symmetric pattern has not.
  ///
  /// Sync     collective; fences. Throws MemoryError on all ranks.
  FloatingParts(Exec const& exec, DistributedMatrix<Exec> const& A);

  std::int64_t count() const { return count_; }  ///< number on all ranks
  std::int64_t rows() const { return rows_; }    ///< rows in floating parts, over all ranks
  /// Also of the combinations of `modes`, in A's order, of one rank, what A maps to 0. Fences.
  /// Throws MemoryError.
  void add_null_vectors(Exec const& exec, DistributedMatrix<Exec> const& A,
                        std::vector<Wide> const& modes, double norm);
  int null_vectors() const { return null_.count(); }  ///< vectors beside the constants
  bool any() const { return count_ > 0 || null_.count() > 0; }

  /// x_i less the mean of x over i's part, without the null vectors' part; x in A's order.
  /// Collective; fences.
  template <class Scalar>
  void remove_means(Exec const& exec, Vector<Scalar, typename Exec::memory_space> const& x) const;

 private:
  using Integers = Vector<std::int64_t, typename Exec::memory_space>;

  std::int64_t count_ = 0, rows_ = 0;
  Communicator comm_;
  Integers begin_, row_;    // this rank's rows of each part, and the end
  NullVectors<Exec> null_;  // orthogonal to constants on parts
  Wide share_, mean_;       // 1 / the rows of each part; room for its mean
};

}  // namespace strata::sparse::detail

#endif
