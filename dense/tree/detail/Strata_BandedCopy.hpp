// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_BANDED_COPY_HPP
#define STRATA_DETAIL_BANDED_COPY_HPP

#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/tree/Strata_Quantise.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace strata::dense::detail {

/// A copy of a matrix in a low precision, whose bands of rows or columns share scales as products
/// ask for them.
///
/// A product wants its operand under one scale; the next, of other bands, under another. So each
/// band's largest magnitude is found once. A band is rounded when its first scale is known, and
/// again only if a later scale differs, which the device decides. A matrix whose bands have one
/// magnitude is read twice.
///
/// Sync     enqueued on the instance of `blas`; nothing is fenced or allocated.
template <class ExecutionSpace>
class BandedCopy {
 public:
  using Matrix = MatrixRef<typename ExecutionSpace::memory_space>;
  using ConstMatrix = ConstMatrixRef<typename ExecutionSpace::memory_space>;
  enum class Along { Rows, Columns };

  static std::size_t bytes_needed(ConstMatrix const& A, Precision precision, Along along,
                                  std::int64_t band);

  /// Copies the unscaled A to `bytes_needed` bytes at `memory`.
  BandedCopy(LeafBlas<ExecutionSpace>& blas, std::byte* memory, ConstMatrix const& A,
             Precision precision, Along along, std::int64_t band, BlockScaling scaling);

  Precision precision() const { return copy_.precision; }

  /// Find the largest magnitudes of bands [first, first + count), which are final in A from now on.
  void measure(std::int64_t first, std::int64_t count);

  /// Bring bands [first, first + count) under common scales: the range is cut into halves `levels`
  /// times, the first half the larger one. Each part that results gets its own scale.
  ///
  /// Ranges of one band are cut no more, and count as the first half.
  void unite(std::int64_t first, std::int64_t count, int levels);

  /// Elements [begin, begin + size) of the rows or columns, which start and end at bands; `part`
  /// is the range's number among the parts of the last `unite`.
  ConstMatrix operator()(std::int64_t begin, std::int64_t size, std::int64_t part = 0) const;

 private:
  LeafBlas<ExecutionSpace>& blas_;
  ConstMatrix A_;
  Matrix copy_;
  Along along_;
  std::int64_t band_;
  BlockScaling scaling_;
  double *largest_, *held_, *wanted_;  // of each band: magnitude, scale in the copy, scale to be
  double* part_scale_;
};

}  // namespace strata::dense::detail

#endif
