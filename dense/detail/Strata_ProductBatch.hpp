// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_PRODUCT_BATCH_HPP
#define STRATA_DETAIL_PRODUCT_BATCH_HPP

#include <core/Strata_MatrixRef.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace strata::dense::detail {

/// One product of many, C += alpha op(A) op(B).
template <class MemorySpace>
struct Product {
  ConstMatrixRef<MemorySpace> A, B;
  MatrixRef<MemorySpace> C;
};

/// Elements from the start of one matrix to that of another of its precision.
template <class Matrix>
std::int64_t elements_between(Matrix const& from, Matrix const& to) {
  auto const bytes = static_cast<char const*>(to.data) - static_cast<char const*>(from.data);
  return bytes / static_cast<std::int64_t>(traits(from.precision).bytes);
}

/// Numbers from the scale of one matrix to that of another.
template <class Matrix>
std::int64_t scales_between(Matrix const& from, Matrix const& to) {
  return from.scale && to.scale ? to.scale - from.scale : 0;
}

/// Products of one shape follow each other, otherwise in their order.
template <class MemorySpace>
void sort_by_shape(std::vector<Product<MemorySpace>>& products) {
  std::stable_sort(products.begin(), products.end(), [](auto const& p, auto const& q) {
    return p.C.rows != q.C.rows ? p.C.rows < q.C.rows : p.C.cols < q.C.cols;
  });
}

/// The products of [first, last), all of one shape and equally far apart.
template <class Iterator>
Batch batch_of(Iterator first, Iterator last) {
  if (last - first == 1) return {};
  auto const second = first + 1;
  return {last - first, elements_between(first->A, second->A),
          elements_between(first->B, second->B), elements_between(first->C, second->C)};
}

/// As many products as make a batch, from the first on; large ones are better alone.
template <class Iterator>
Iterator end_of_batch(Iterator first, Iterator last) {
  constexpr std::int64_t largest = 2048;
  auto end = first + 1;
  if (first->C.rows > largest || first->C.cols > largest) return end;
  auto const alike = [&](auto const& p) {
    return p.C.rows == first->C.rows && p.C.cols == first->C.cols && p.C.ld == first->C.ld &&
           p.C.precision == first->C.precision &&
           (p.A.data == p.B.data) == (first->A.data == first->B.data);
  };
  auto const distance = [&](auto const& p, auto const& q) {
    return std::array{elements_between(p.A, q.A), elements_between(p.B, q.B),
                      elements_between(p.C, q.C), scales_between(p.A, q.A),
                      scales_between(p.B, q.B)};
  };
  while (end != last && alike(*end) && distance(*(end - 1), *end) == distance(*first, *(first + 1)))
    ++end;
  return end;
}

/// Call `run(first, last)` for each batch of the products.
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
