// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_PLAIN_TILES_HPP
#define STRATATEST_PLAIN_TILES_HPP

#include "ooc/StrataTest_Tiles.hpp"
#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/tree/Strata_Quantise.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

// The oracle: a tile factorisation that has everything in memory and does one thing after another.
namespace strata::test {

/// A tile in some precision, with its scale.
class PlainTile {
 public:
  using Matrix = MatrixRef<Kokkos::HostSpace>;

  PlainTile() = default;
  PlainTile(Precision precision, std::int64_t rows, std::int64_t cols)
      : scale_(std::make_unique<double>(1.0)),
        numbers_(static_cast<std::size_t>(rows * cols) * traits(precision).bytes),
        matrix_{numbers_.data(),
                rows,
                cols,
                rows,
                precision,
                is_arithmetic(precision) ? nullptr : scale_.get()} {}

  Matrix const& matrix() const { return matrix_; }
  /// How to read the matrix as the tile: 8-bit numbers are stored transposed, as the library has
  /// them, since the BLAS may add a product's terms in another order then.
  Op op() const { return op_; }

  /// This tile, rounded to another precision with the scale that its largest magnitude asks for.
  template <class Blas>
  PlainTile in(Precision precision, double largest, Blas& blas) const {
    Op const op = traits(precision).bytes == 1 ? Op::Trans : Op::NoTrans;
    bool const turns = op != op_;
    PlainTile result(precision, turns ? matrix_.cols : matrix_.rows,
                     turns ? matrix_.rows : matrix_.cols);
    result.op_ = op;
    *result.scale_ = dense::block_scale(precision, largest);
    blas.convert(turns ? Op::Trans : Op::NoTrans, matrix_, result.matrix_);
    return result;
  }
  double largest() const {
    double most = 0;
    with_arithmetic_type(matrix_.precision, [&]<class T>(std::type_identity<T>) {
      for (std::int64_t k = 0; k < matrix_.rows * matrix_.cols; ++k)
        most = std::max(most, std::abs(static_cast<double>(matrix_.as<T>()[k])));
    });
    return most;
  }

 private:
  std::unique_ptr<double> scale_;
  std::vector<char> numbers_;
  Matrix matrix_;
  Op op_ = Op::NoTrans;
};

/// The factor's lower triangle in fp64, or the order of the minor that is not positive in `info`.
template <class TileMatrix>
HostMatrix plain_cholesky(TileMatrix const& A, std::int64_t& info) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  LeafBlas<Host> blas{Host()};
  std::int64_t const tiles = A.tiles(), nb = A.tile_size();
  std::vector<PlainTile> L(ooc::tile_count(tiles));
  std::vector<double> largest(L.size());
  auto const number = [&](std::int64_t i, std::int64_t j) { return ooc::tile_number(i, j, tiles); };
  HostMatrix const result("strata::test::plain", static_cast<std::size_t>(A.order()),
                          static_cast<std::size_t>(A.order()));
  Kokkos::View<std::int64_t, Kokkos::HostSpace> const order("strata::test::order");
  // L_ik as a product of precision p takes it
  auto const operand = [&](std::int64_t i, std::int64_t k, Precision p) {
    return L[number(i, k)].in(p, largest[number(i, k)], blas);
  };
  auto const lower = [](Precision a, Precision b) {
    if (traits(a).bytes == traits(b).bytes) return is_product_format(a) ? a : b;
    return traits(a).bytes < traits(b).bytes ? a : b;
  };
  for (std::int64_t j = 0; j < tiles; ++j) {
    for (std::int64_t i = j; i < tiles; ++i) {
      Precision const stored = A.map().at(i, j);
      Precision const working = stored == Precision::fp64 ? Precision::fp64 : Precision::fp32;
      PlainTile C(working, A.rows(i), A.rows(j));
      blas.convert(A.op(i, j), A.tile(i, j), C.matrix());
      for (std::int64_t k = 0; k < j; ++k) {
        Precision const sums = storage(stored) == working ? stored : working;
        Precision const p = lower(lower(A.map().at(i, k), A.map().at(j, k)), sums);
        auto const Lik = operand(i, k, p), Ljk = operand(j, k, p);
        if (i == j)
          blas.syrk(Uplo::Lower, Lik.op(), -1, Lik.matrix(), 1, C.matrix());
        else
          blas.gemm(Lik.op(), transposed(Ljk.op()), -1, Lik.matrix(), Ljk.matrix(), 1, C.matrix());
      }
      if (i == j) {
        blas.potrf(Uplo::Lower, C.matrix(), j * nb, order);
        info = order();
        if (info != 0) return result;
      } else {
        auto const Ljj = operand(j, j, working);
        blas.trsm(Side::Right, Uplo::Lower, Op::Trans, Diag::NonUnit, 1, Ljj.matrix(), C.matrix());
      }
      largest[number(i, j)] = C.largest();
      L[number(i, j)] = C.in(stored, largest[number(i, j)], blas);
      blas.convert(L[number(i, j)].op(), L[number(i, j)].matrix(),
                   matrix_ref(result).block(i * nb, j * nb, A.rows(i), A.rows(j)));
    }
  }
  info = 0;
  return result;
}

/// The first position where two lower triangles differ in a bit.
inline testing::AssertionResult same_bits(HostMatrix const& A, HostMatrix const& B) {
  if (A.extent(0) != B.extent(0)) return testing::AssertionFailure() << "extents differ";
  for (std::size_t j = 0; j < A.extent(1); ++j)
    for (std::size_t i = j; i < A.extent(0); ++i)
      if (std::memcmp(&A(i, j), &B(i, j), sizeof(double)) != 0)
        return testing::AssertionFailure()
               << "element (" << i << ", " << j << "): " << A(i, j) << " and " << B(i, j);
  return testing::AssertionSuccess();
}

}  // namespace strata::test

#endif
