// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_PRODUCT_BATCH_HPP
#define STRATA_DETAIL_PRODUCT_BATCH_HPP

#include <core/Strata_MatrixRef.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace strata::dense::detail {

/// One product of many, C += alpha op(A) op(B).
template <class MemorySpace>
struct Product {
  ConstMatrixRef<MemorySpace> A, B;
  MatrixRef<MemorySpace> C;
};

/// Distance in elements from the start of one matrix to the start of another of its precision.
template <class Matrix>
std::int64_t elements_between(Matrix const& from, Matrix const& to) {
  auto const bytes = static_cast<char const*>(to.data) - static_cast<char const*>(from.data);
  return bytes / static_cast<std::int64_t>(traits(from.precision).bytes);
}

/// Distance in numbers from the scale of one matrix to the scale of another.
template <class Matrix>
std::int64_t scales_between(Matrix const& from, Matrix const& to) {
  return from.scale && to.scale ? to.scale - from.scale : 0;
}

/// Products of one shape whose operands are equally far apart follow each other, otherwise in their
/// order. Examples are products of a tree's leaves, or of the blocks of one level.
template <class MemorySpace>
void sort_by_shape(std::vector<Product<MemorySpace>>& products) {
  auto const key = [](auto const& p) {
    return std::tuple(p.C.rows, p.C.cols, elements_between(p.B, p.A));
  };
  std::stable_sort(products.begin(), products.end(),
                   [&](auto const& p, auto const& q) { return key(p) < key(q); });
}

/// The products of [first, last), all of one shape and equally far apart.
template <class Iterator>
Batch batch_of(Iterator first, Iterator last) {
  if (last - first == 1) return {};
  auto const second = first + 1;
  return {last - first, elements_between(first->A, second->A),
          elements_between(first->B, second->B), elements_between(first->C, second->C)};
}

/// Whether matrices differ in nothing but where they and their scales lie.
template <class Matrix>
bool are_alike(Matrix const& p, Matrix const& q) {
  return p.rows == q.rows && p.cols == q.cols && p.ld == q.ld && p.precision == q.precision &&
         (p.scale == nullptr) == (q.scale == nullptr);
}

/// As many products as make a batch, from the first on: alike, squares (A = B) or not, and equally
/// far apart. Operands may be the same and results follow each other, since vendors take no
/// negative stride. Large ones are better alone.
template <class Iterator>
Iterator end_of_batch(Iterator first, Iterator last) {
  constexpr std::int64_t largest = 2048;
  auto end = first + 1;
  if (first->C.rows > largest || first->C.cols > largest) return end;
  auto const alike = [&](auto const& p) {
    return are_alike(p.A, first->A) && are_alike(p.B, first->B) && are_alike(p.C, first->C) &&
           (p.A.data == p.B.data) == (first->A.data == first->B.data);
  };
  auto const distance = [&](auto const& p, auto const& q) {
    return std::array{elements_between(p.A, q.A), elements_between(p.B, q.B),
                      elements_between(p.C, q.C), scales_between(p.A, q.A),
                      scales_between(p.B, q.B)};
  };
  if (end == last) return end;
  auto const step = distance(*first, *end);
  if (step[0] < 0 || step[1] < 0 || step[2] <= 0) return end;
  while (end != last && alike(*end) && distance(*(end - 1), *end) == step) ++end;
  return end;
}

/// Call `run(first, last)` for each batch of the products, whose results overlap neither each other
/// nor an operand.
template <class MemorySpace, class Run>
void for_each_batch(std::vector<Product<MemorySpace>>& products, Run const& run) {
  sort_by_shape(products);
  for (auto first = products.begin(); first != products.end();) {
    auto const last = end_of_batch(first, products.end());
    run(first, last);
    first = last;
  }
}

}  // namespace strata::dense::detail

#endif
