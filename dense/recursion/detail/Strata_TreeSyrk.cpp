// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/recursion/detail/Strata_TreeSyrk.hpp>

#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/tree/Strata_BlockTree.hpp>

#include <algorithm>
#include <cstddef>

namespace strata::dense::detail {

namespace {

constexpr std::size_t most_scratch = std::size_t{1} << 28;

enum class Shape { Full, Lower, Upper };

/// Results of a batch of products: one matrix S after the other, and the scales left out of them.
template <class MemorySpace>
struct Results {
  MatrixRef<MemorySpace> S;
  std::int64_t count;
  double const *scale_a, *scale_b;
  std::int64_t stride_a, stride_b;  // of the scales
};

// C_k += alpha scale S_k, or its triangle.
template <class SumT, class T, class ExecutionSpace, class MemorySpace>
void add_results(ExecutionSpace const& exec, double alpha, Results<MemorySpace> const& results,
                 Shape shape, MatrixRef<MemorySpace> const& C, std::int64_t stride_c) {
  SumT const* const s = results.S.template as<SumT>();
  T* const c = C.template as<T>();
  std::int64_t const rows = C.rows, cols = C.cols, ldc = C.ld, lds = results.S.ld;
  strata::for_each_element(
      "strata::dense::tree_syrk::add", exec, rows, cols * results.count,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t column) {
        std::int64_t const k = column / cols, j = column % cols;
        if ((shape == Shape::Lower && i < j) || (shape == Shape::Upper && i > j)) return;
        double const a = results.scale_a ? results.scale_a[k * results.stride_a] : 1;
        double const b = results.scale_b ? results.scale_b[k * results.stride_b] : 1;
        T* const target = c + k * stride_c + i + j * ldc;
        *target += static_cast<T>(alpha * a * b * static_cast<double>(s[i + column * lds]));
      });
}

}  // namespace

template <class ExecutionSpace>
void TreeSyrk<ExecutionSpace>::operator()(double alpha, ConstMatrix const& A, Matrix const& C) {
  std::vector<Block> blocks{{0, C.rows, 0, 0}}, ends;
  for (int depth = 0; !blocks.empty(); ++depth) {
    std::vector<Block> next;
    Products products;
    bool is_prepared = false;
    for (Block const& block : blocks) {
      if (block.size <= leaf_size_) {
        ends.push_back(block);
        continue;
      }
      if (!is_prepared)
        prepare(A, coarser(layers_.at_depth(static_cast<std::size_t>(depth)), A.precision),
                depth + 1);
      is_prepared = true;
      std::int64_t const n1 = half_of_leaves(block.size, leaf_size_), n2 = block.size - n1;
      add_product(operand(A, block.begin, n1, 2 * block.path),
                  operand(A, block.begin + n1, n2, 2 * block.path + 1), block.begin, n1, n2, C,
                  products);
      next.push_back({block.begin, n1, 2 * block.path, depth + 1});
      next.push_back({block.begin + n1, n2, 2 * block.path + 1, depth + 1});
    }
    run(alpha, products, false);
    blocks = std::move(next);
  }
  leaves(alpha, A, C, ends);
}

// Operands in `precision`, each part of A, halved `levels` times, under its scale.
template <class ExecutionSpace>
void TreeSyrk<ExecutionSpace>::prepare(ConstMatrix const& A, Precision precision, int levels) {
  format_ = precision;
  if (storage(precision) == A.precision) return copy_.reset();
  auto const along = op_ == Op::NoTrans ? Copy::Along::Rows : Copy::Along::Columns;
  std::int64_t const n = op_ == Op::NoTrans ? A.rows : A.cols;
  std::int64_t const bands = (n + leaf_size_ - 1) / leaf_size_;
  if (!copy_ || copy_->precision() != precision) {
    std::size_t const bytes = Copy::bytes_needed(A, precision, along, leaf_size_);
    copy_.emplace(blas_, blas_.scratch(copy_slot, bytes), A, precision, along, leaf_size_,
                  BlockScaling::TwoWay);
    copy_->measure(0, bands);
  }
  copy_->unite(0, bands, levels);
}

template <class ExecutionSpace>
auto TreeSyrk<ExecutionSpace>::part_of(ConstMatrix const& A, std::int64_t begin,
                                       std::int64_t size) const -> ConstMatrix {
  return op_ == Op::NoTrans ? A.block(begin, 0, size, A.cols) : A.block(0, begin, A.rows, size);
}

template <class ExecutionSpace>
auto TreeSyrk<ExecutionSpace>::operand(ConstMatrix const& A, std::int64_t begin, std::int64_t size,
                                       std::int64_t part) const -> ConstMatrix {
  return copy_ ? (*copy_)(begin, size, part) : part_of(A, begin, size).in_format(format_);
}

// C21 = A2 A1^T, or its transpose, of the diagonal block that starts at `begin`.
template <class ExecutionSpace>
void TreeSyrk<ExecutionSpace>::add_product(ConstMatrix const& first, ConstMatrix const& second,
                                           std::int64_t begin, std::int64_t first_size,
                                           std::int64_t second_size, Matrix const& C,
                                           Products& products) const {
  if (uplo_ == Uplo::Lower)
    products.push_back(
        {second, first, C.block(begin + first_size, begin, second_size, first_size)});
  else
    products.push_back(
        {first, second, C.block(begin, begin + first_size, first_size, second_size)});
}

template <class ExecutionSpace>
void TreeSyrk<ExecutionSpace>::leaves(double alpha, ConstMatrix const& A, Matrix const& C,
                                      std::vector<Block> const& blocks) {
  int levels = 0;
  for (Block const& block : blocks) levels = std::max(levels, block.depth);
  prepare(A, coarser(layers_.leaf(), A.precision), levels);
  Products off_diagonal, diagonal;
  for (Block const& block : blocks) {
    ConstMatrix const rows =
        operand(A, block.begin, block.size, block.path << (levels - block.depth));
    if constexpr (strata::runs_on_host<ExecutionSpace>)
      blas_.syrk(uplo_, op_, alpha, rows, 1,
                 C.block(block.begin, block.begin, block.size, block.size));
    else
      cut(rows, block.begin, C, off_diagonal, diagonal);
  }
  run(alpha, off_diagonal, false);
  run(alpha, diagonal, true);
}

// A leaf in products of a size at which the wasted triangle of a diagonal one costs little.
template <class ExecutionSpace>
void TreeSyrk<ExecutionSpace>::cut(ConstMatrix const& A, std::int64_t begin, Matrix const& C,
                                   Products& off_diagonal, Products& diagonal) const {
  constexpr std::int64_t least = 128;
  std::int64_t const n = op_ == Op::NoTrans ? A.rows : A.cols;
  if (n <= least) return diagonal.push_back({A, A, C.block(begin, begin, n, n)});
  std::int64_t const n1 = half_of_leaves(n, least), n2 = n - n1;
  ConstMatrix const A1 = part_of(A, 0, n1), A2 = part_of(A, n1, n2);
  add_product(A1, A2, begin, n1, n2, C, off_diagonal);
  cut(A1, begin, C, off_diagonal, diagonal);
  cut(A2, begin + n1, C, off_diagonal, diagonal);
}

template <class ExecutionSpace>
void TreeSyrk<ExecutionSpace>::run(double alpha, Products& products, bool is_diagonal) {
  for_each_batch(products, [&](Iterator first, Iterator last) {
    Precision const sum = accumulator(first->A.precision);
    bool const is_one_call = !first->A.scale || last - first == 1;
    if (strata::runs_on_host<ExecutionSpace> ||
        (!is_diagonal && is_one_call && first->C.precision == sum)) {
      for (auto p = first; p != last; p = first->A.scale ? p + 1 : last)
        blas_.gemm(op_, transposed(op_), alpha, p->A, p->B, 1, p->C,
                   first->A.scale ? Batch{} : batch_of(first, last));
    } else {
      through_scratch(alpha, first, last, is_diagonal);
    }
  });
}

// The products without their scales in one batch, as many columns as the scratch holds, and then
// into C.
template <class ExecutionSpace>
void TreeSyrk<ExecutionSpace>::through_scratch(double alpha, Iterator first, Iterator last,
                                               bool is_diagonal) {
  Matrix const& C = first->C;
  ConstMatrix const &A = first->A, &B = first->B;
  Precision const sum = accumulator(A.precision);
  Batch const batch = batch_of(first, last);
  std::int64_t const ld = (C.rows + 15) / 16 * 16;
  auto const column_bytes = static_cast<std::size_t>(ld) * traits(sum).bytes;
  auto const columns =
      static_cast<std::int64_t>(std::max<std::size_t>(1, most_scratch / column_bytes));
  std::int64_t const width = is_diagonal ? C.cols : std::min(C.cols, columns),
                     together = std::max<std::int64_t>(1, std::min(batch.count, columns / width));
  auto* const memory =
      blas_.scratch(result_slot, column_bytes * static_cast<std::size_t>(width * together));
  Shape const triangle = uplo_ == Uplo::Lower ? Shape::Lower : Shape::Upper;
  for (std::int64_t k = 0; k < batch.count; k += together) {
    std::int64_t const count = std::min(together, batch.count - k);
    auto const& product = *(first + k);
    for (std::int64_t j = 0; j < C.cols; j += width) {
      std::int64_t const cols = std::min(width, C.cols - j);
      Matrix const S{memory, C.rows, cols, ld, sum, nullptr};
      blas_.gemm(op_, transposed(op_), 1, product.A.without_scale(),
                 part_of(product.B, j, cols).without_scale(), 0, S,
                 {count, batch.stride_a, batch.stride_b, ld * cols});
      auto const second = first + (batch.count > 1 ? 1 : 0);
      Results<memory_space> const results{S,
                                          count,
                                          product.A.scale,
                                          product.B.scale,
                                          scales_between(A, second->A),
                                          scales_between(B, second->B)};
      Matrix const target = product.C.block(0, j, C.rows, cols);
      with_arithmetic_type(sum, [&]<class SumT>(std::type_identity<SumT>) {
        with_arithmetic_type(C.precision, [&]<class T>(std::type_identity<T>) {
          add_results<SumT, T>(blas_.exec(), alpha, results, is_diagonal ? triangle : Shape::Full,
                               target, batch.stride_c);
        });
      });
    }
  }
}

#define STRATA_INSTANTIATE(Exec) template class TreeSyrk<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
