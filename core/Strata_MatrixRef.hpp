// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MATRIX_REF_HPP
#define STRATA_MATRIX_REF_HPP

#include <core/Strata_Errors.hpp>
#include <core/Strata_Precision.hpp>

#include <cstdint>
#include <type_traits>

namespace strata {

/// The side of a product or a solve on which the triangular matrix stands.
enum class Side {
  Left,   ///< the matrix stands before the other factor
  Right,  ///< the matrix stands behind the other factor
};
/// The triangle that is read.
enum class Uplo {
  Lower,  ///< the diagonal and what is below it
  Upper,  ///< the diagonal and what is above it
};
/// Whether a matrix is taken as it is or transposed.
enum class Op {
  NoTrans,  ///< the matrix as it is
  Trans,    ///< the transposed matrix
};
/// What the diagonal of a triangular matrix is: stored, or ones.
enum class Diag {
  NonUnit,  ///< the diagonal as stored
  Unit,     ///< ones, whatever is stored
};

/// The other one.
constexpr Op transposed(Op op) { return op == Op::NoTrans ? Op::Trans : Op::NoTrans; }
/// The triangle that this one is in the transposed matrix.
constexpr Uplo transposed(Uplo uplo) { return uplo == Uplo::Lower ? Uplo::Upper : Uplo::Lower; }
/// The side on which the matrix stands in the transposed product.
constexpr Side transposed(Side side) { return side == Side::Left ? Side::Right : Side::Left; }

/// T, const where `Like` is.
template <class T, class Like>
using ConstLike = std::conditional_t<std::is_const_v<Like>, T const, T>;

/// A column-major matrix of run-time precision in `MemorySpace`: what the leaf operations take.
///
/// It owns nothing. The matrix is `*scale` times the stored numbers. The factor is a power of two
/// in the same memory space (nullptr means 1). So a block can be scaled without a host round trip.
/// Element (i, j) is stored at data[i + j * ld]. `Data` is void, or void const for a matrix that is
/// only read. Each `MatrixRef` converts to a `ConstMatrixRef`.
template <class MemorySpace, class Data = void>
struct MatrixRef {
  Data* data = nullptr;                   ///< the first element
  std::int64_t rows = 0, cols = 0;        ///< rows and columns of the matrix
  std::int64_t ld = 1;                    ///< leading dimension, >= max(1, rows)
  Precision precision = Precision::fp64;  ///< format of the stored numbers
  double const* scale = nullptr;          ///< factor of all elements, in device memory; nullptr: 1

  /// Whether the extents are >= 0, ld is large enough, and there are data where there are elements.
  bool is_valid() const {
    return rows >= 0 && cols >= 0 && ld >= (rows > 1 ? rows : 1) &&
           (data != nullptr || rows == 0 || cols == 0);
  }

  /// The same, to be read. A template, as nvcc warns of a conversion of a class to itself.
  template <class Other>
    requires(std::is_same_v<Other, void const> && !std::is_const_v<Data>)
  operator MatrixRef<MemorySpace, Other>() const {
    return {data, rows, cols, ld, precision, scale};
  }

  /// The m x n block whose top left element is (i, j); it shares the scale.
  MatrixRef block(std::int64_t i, std::int64_t j, std::int64_t m, std::int64_t n) const {
    return {after(i + j * ld), m, n, ld, precision, scale};
  }
  /// A matrix of the same shape whose first element is stored `elements` after this one's.
  MatrixRef shifted(std::int64_t elements) const {
    return {after(elements), rows, cols, ld, precision, scale};
  }
  /// The same numbers as products in another format take them, or as they are stored.
  ///
  /// Throws   ValueError if they are not stored so.
  MatrixRef in_format(Precision format) const {
    STRATA_REQUIRE(ValueError, storage(format) == storage(precision), "a matrix of ",
                   traits(precision).name, " was asked for as ", traits(format).name);
    return {data, rows, cols, ld, format, scale};
  }
  /// The same numbers in the format that they are stored in.
  MatrixRef as_stored() const { return in_format(storage(precision)); }
  /// The stored numbers themselves.
  MatrixRef without_scale() const { return {data, rows, cols, ld, precision}; }
  /// The stored numbers, typed.
  template <class T>
  ConstLike<T, Data>* as() const {
    STRATA_REQUIRE(ValueError, storage(precision) == precision_of<T>, "a matrix of ",
                   traits(precision).name, " was asked for as ", traits(precision_of<T>).name);
    return static_cast<ConstLike<T, Data>*>(data);
  }

 private:
  Data* after(std::int64_t elements) const {
    auto const bytes = elements * static_cast<std::int64_t>(traits(precision).bytes);
    return static_cast<ConstLike<char, Data>*>(data) + bytes;
  }
};

/// A matrix that is read: no output takes it.
template <class MemorySpace>
using ConstMatrixRef = MatrixRef<MemorySpace, void const>;

/// Operands of `count` products of one shape: each operand's matrix number i starts i times its
/// stride, in elements, after the first.
struct Batch {
  /// Elements from one matrix of an operand to the next.
  std::int64_t count = 1, stride_a = 0, stride_b = 0, stride_c = 0;
};

/// Views a rank-2 Kokkos View as a column-major matrix, whose columns must be contiguous in memory.
/// A View of const numbers gives a `ConstMatrixRef`.
///
/// Throws   ShapeError if the first stride is not 1 (LayoutRight: transpose the problem instead).
template <class ViewType>
auto matrix_ref(ViewType const& A) {
  static_assert(ViewType::rank() == 2, "a matrix is a View of rank 2");
  using Scalar = typename ViewType::value_type;
  auto const rows = static_cast<std::int64_t>(A.extent(0)),
             cols = static_cast<std::int64_t>(A.extent(1));
  STRATA_REQUIRE(ShapeError, A.stride(0) == 1 || rows <= 1, "matrix_ref: the view's row stride is ",
                 A.stride(0), ", must be 1");
  auto const ld = cols > 1 ? static_cast<std::int64_t>(A.stride(1)) : (rows > 1 ? rows : 1);
  return MatrixRef<typename ViewType::memory_space, ConstLike<void, Scalar>>{
      A.data(), rows, cols, ld, precision_of<Scalar>};
}

}  // namespace strata

#endif
