// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_TREE_SYRK_HPP
#define STRATA_DETAIL_TREE_SYRK_HPP

#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/recursion/detail/Strata_ProductBatch.hpp>
#include <dense/tree/Strata_Layers.hpp>
#include <dense/tree/detail/Strata_BandedCopy.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace strata::dense::detail {

/// Paper A's algorithm 3 on an ordinary matrix: the triangle of C += alpha op(A) op(A)^T by layers.
///
/// Deviation: by depths instead of depth first, so that A is brought into each precision once and
/// the many small products near the diagonal are batches. Those that have scales, which a batch
/// can't, and the leaves, of which a triangle is wanted, go through scratch.
template <class ExecutionSpace>
class TreeSyrk {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using Matrix = MatrixRef<memory_space>;
  using ConstMatrix = ConstMatrixRef<memory_space>;

  /// Takes the first two of the scratch slots of `blas`.
  TreeSyrk(LeafBlas<ExecutionSpace>& blas, LayerList const& layers, std::int64_t leaf_size,
           Uplo uplo, Op op)
      : blas_(blas), layers_(layers), leaf_size_(leaf_size), uplo_(uplo), op_(op) {}

  /// C += alpha op(A) op(A)^T.
  void operator()(double alpha, ConstMatrix const& A, Matrix const& C);

 private:
  using Copy = BandedCopy<ExecutionSpace>;
  using Products = std::vector<Product<memory_space>>;
  using Iterator = typename Products::const_iterator;

  /// A diagonal block of C; `path` is its number among the parts of as many halvings as its depth.
  struct Block {
    std::int64_t begin, size, path;
    int depth;
  };
  enum Slot { copy_slot, result_slot };

  void prepare(ConstMatrix const& A, Precision precision, int levels);
  ConstMatrix operand(ConstMatrix const& A, std::int64_t begin, std::int64_t size,
                      std::int64_t part) const;
  void add_product(ConstMatrix const& first, ConstMatrix const& second, std::int64_t begin,
                   std::int64_t first_size, std::int64_t second_size, Matrix const& C,
                   Products& products) const;
  void leaves(double alpha, ConstMatrix const& A, Matrix const& C,
              std::vector<Block> const& blocks);
  void cut(ConstMatrix const& A, std::int64_t begin, Matrix const& C, Products& off_diagonal,
           Products& diagonal) const;
  void run(double alpha, Products& products, bool is_diagonal);
  void through_scratch(double alpha, Iterator first, Iterator last, bool is_diagonal);
  ConstMatrix part_of(ConstMatrix const& A, std::int64_t begin, std::int64_t size) const;

  LeafBlas<ExecutionSpace>& blas_;
  LayerList const& layers_;
  std::int64_t leaf_size_;
  Uplo uplo_;
  Op op_;
  std::optional<Copy> copy_;
  Precision format_ = Precision::fp64;  // of the products' operands
};

}  // namespace strata::dense::detail

#endif
