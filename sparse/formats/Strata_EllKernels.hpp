// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_ELL_KERNELS_HPP
#define STRATA_SPARSE_ELL_KERNELS_HPP

#include <core/Strata_Precision.hpp>
#include <sparse/formats/Strata_EllMatrix.hpp>
#include <sparse/formats/Strata_SlicedEllMatrix.hpp>

#include <cstdint>
#include <type_traits>

namespace strata::sparse {

/// Rows [begin, end) of a matrix.
struct RowRange {
  std::int64_t begin = 0, end = 0;  ///< the first row, and the one behind the last
  /// How many rows.
  KOKKOS_FUNCTION std::int64_t size() const { return end - begin; }
};

/// What x holds before a Gauss-Seidel sweep.
enum class Guess {
  Given,  ///< the vector to improve
  Zero,   ///< nothing: rows not yet swept count as zero, so that x needs no initial values
  /// zeros in rows not yet swept and in the halo: as Zero, without a choice for each entry
  Cleared,
};

// The kernels below are enqueued on `exec` and work in Scalar (fp32, fp64), whatever type the
// values are stored in. `multiply` and `residual` also work in Abreast of these, for a
// SlicedEllMatrix in fp32 or fp64, and throw ValueError for other values. Matrix is an EllMatrix
// with 32-bit columns or a SlicedEllMatrix. Bytes are per entry (e) and per row (n), of the stored
// value V and column I. They throw ShapeError for a vector that is shorter than what they read or
// write there.

/// y = A x on the rows of `range`.
///
/// Shape    x has at least A.cols() entries, y at least range.end.
/// Error    |y - A x| <= (width + 2) u |A| |x|, u of Scalar (tested). e (V + I) + 2 n
///          sizeof(Scalar) bytes.
template <class Exec, class Matrix, class Scalar>
void multiply(Exec const& exec, Matrix const& A,
              std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& x,
              Vector<Scalar, typename Exec::memory_space> const& y, RowRange range);

/// r = b - A x on the rows of `range`; r may be b.
template <class Exec, class Matrix, class Scalar>
void residual(Exec const& exec, Matrix const& A,
              std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& b,
              std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& x,
              Vector<Scalar, typename Exec::memory_space> const& r, RowRange range);

/// Which rows of a fine matrix are rows of a coarse one.
template <class MemorySpace>
struct Injection {
  Vector<std::int32_t, MemorySpace> fine_row;  ///< fine row of each coarse row
  /// The coarse rows, in the order in which they are made; empty: as they are numbered.
  Vector<std::int32_t, MemorySpace> order;
  std::int64_t free_rows = 0;  ///< leading ones of `order` whose fine rows need no halo

  /// Rows of the coarse matrix.
  KOKKOS_FUNCTION std::int64_t rows() const {
    return static_cast<std::int64_t>(fine_row.extent(0));
  }
  /// The row that is made at a position of the order.
  KOKKOS_FUNCTION std::int64_t coarse_row(std::int64_t position) const {
    return order.extent(0) > 0 ? order(position) : position;
  }
};

/// coarse(c) = b(i) - (A x)(i) with i = injection.fine_row(c), for the coarse rows c that have the
/// positions of `range` in the injection's order: the residual at the injected points alone.
template <class Exec, class Matrix, class Scalar>
void restrict_residual(
    Exec const& exec, Matrix const& A, Injection<typename Exec::memory_space> const& injection,
    std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& b,
    std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& x,
    Vector<Scalar, typename Exec::memory_space> const& coarse, RowRange range);

/// Relax the rows of `range`, no two of which may be adjacent: x_i = (r_i - sum_{j != i} a_ij x_j)
/// / a_ii.
///
/// With Guess::Zero only columns below range.begin count, which then must be the rows swept so far,
/// and of a SlicedEllMatrix about the entries up to the diagonal are read. The diagonal is read on
/// the way: one pass over the matrix and no second vector.
///
/// Shape    x has an entry for each column of A, also from zero.
template <class Exec, class Matrix, class Scalar>
void relax(Exec const& exec, Matrix const& A,
           std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& r,
           Vector<Scalar, typename Exec::memory_space> const& x, RowRange range, Guess guess);

/// Consecutive blocks of a sweep, few enough for a kernel's arguments.
struct FewBlocks {
  static constexpr std::size_t most = 32;  ///< blocks of a sweep
  std::int32_t begin[most + 1] = {};       ///< begin of each block, and the end of the last one
  int count = 0;                           ///< number of blocks that are there
  /// The rows of a block.
  KOKKOS_FUNCTION RowRange operator[](int block) const { return {begin[block], begin[block + 1]}; }
};
/// `relax` on one block after the other, forward, backward, or so and back; with Guess::Zero as if
/// the rows of x were 0 at first. One kernel, of one team, on a device.
template <class Exec, class Matrix, class Scalar>
void relax_in_order(Exec const& exec, Matrix const& A,
                    std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& r,
                    Vector<Scalar, typename Exec::memory_space> const& x, FewBlocks const& blocks,
                    bool forward, bool backward, Guess guess);

/// Whether each value of A is a number of `precision` without rounding, so that storing it there
/// loses nothing. NaN and infinity are not.
///
/// Sync     fences `exec`.
template <class Exec, class Matrix>
bool is_exact_in(Exec const& exec, Matrix const& A, Precision precision);

}  // namespace strata::sparse

#endif
