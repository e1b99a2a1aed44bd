// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/tree/detail/Strata_LeafInverses.hpp>

#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace strata::dense::detail {

namespace {

constexpr std::int64_t smallest = 64;  // order of the blocks that are inverted column by column

// A leaf and the next ones of its shape, equally far apart.
template <class MemorySpace>
struct Alike {
  LeafInverse<MemorySpace> first;
  std::int64_t count = 1, next_L = 0, next_inverse = 0;
};

template <class Matrix>
std::int64_t numbers_between(Matrix const& from, Matrix const& to) {
  return (static_cast<char const*>(to.data) - static_cast<char const*>(from.data)) /
         static_cast<std::int64_t>(traits(from.precision).bytes);
}

template <class Leaf>
bool are_alike(Leaf const& a, Leaf const& b) {
  return a.L.rows == b.L.rows && a.L.ld == b.L.ld && a.inverse.ld == b.inverse.ld;
}

template <class MemorySpace>
std::vector<Alike<MemorySpace>> group(std::vector<LeafInverse<MemorySpace>> const& leaves) {
  std::vector<Alike<MemorySpace>> groups;
  for (auto const& leaf : leaves) {
    if (!groups.empty() && are_alike(groups.back().first, leaf)) {
      auto& [first, count, next_L, next_inverse] = groups.back();
      std::int64_t const L = numbers_between(first.L, leaf.L),
                         inverse = numbers_between(first.inverse, leaf.inverse);
      if (count == 1) next_L = L, next_inverse = inverse;
      if (next_L > 0 && next_inverse > 0 && L == count * next_L &&
          inverse == count * next_inverse) {
        ++count;
        continue;
      }
    }
    groups.push_back({leaf});
  }
  return groups;
}

// The diagonal blocks of L^-T, by rows, which are the columns of L^-1.
template <class T, class ExecutionSpace, class Leaves>
void invert_blocks(ExecutionSpace const& exec, Leaves const& all) {
  auto const* const L = all.first.L.template as<T>();
  auto* const W = all.first.inverse.template as<T>();
  std::int64_t const ldl = all.first.L.ld, ldw = all.first.inverse.ld, n = all.first.L.rows,
                     next_L = all.next_L, next_W = all.next_inverse,
                     blocks = (n + smallest - 1) / smallest;
  strata::for_each_element(
      "strata::dense::invert_leaves::blocks", exec, smallest, blocks * all.count,
      KOKKOS_LAMBDA(std::int64_t j, std::int64_t block) {
        std::int64_t const begin = block % blocks * smallest, leaf = block / blocks,
                           size = n - begin < smallest ? n - begin : smallest;
        if (j >= size) return;
        T const* const l = L + leaf * next_L + begin * (ldl + 1);
        T* const w = W + leaf * next_W + begin * (ldw + 1) + j;  // a row
        for (std::int64_t i = 0; i < size; ++i) {
          T sum = i == j ? T(1) : T(0);
          for (std::int64_t m = j; m < i; ++m) sum -= l[i + m * ldl] * w[m * ldw];
          w[i * ldw] = i < j ? T(0) : sum / l[i + i * ldl];
        }
      });
}

template <class T, class ExecutionSpace, class Leaves>
void clear_below(ExecutionSpace const& exec, Leaves const& all) {
  auto* const W = all.first.inverse.template as<T>();
  std::int64_t const ldw = all.first.inverse.ld, n = all.first.L.rows, next_W = all.next_inverse;
  strata::for_each_element(
      "strata::dense::invert_leaves::clear", exec, n, n * all.count,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t c) {
        if (i > c % n) W[c / n * next_W + i + c % n * ldw] = T(0);
      });
}

// [W1 W12; 0 W2] of [L1 0; L21 L2]: W12 = -W1 T^T with T = W2^T L21, which lies below W12.
template <class ExecutionSpace>
void join(LeafBlas<ExecutionSpace>& blas, Alike<typename ExecutionSpace::memory_space> const& all,
          std::int64_t begin, std::int64_t first, std::int64_t second) {
  auto const& [L, W] = all.first;
  auto const L21 = L.block(begin + first, begin, second, first);
  auto const W1 = W.block(begin, begin, first, first),
             W2 = W.block(begin + first, begin + first, second, second),
             W12 = W.block(begin, begin + first, first, second),
             T = W.block(begin + first, begin, second, first);
  Batch batch{all.count, all.next_inverse, all.next_L, all.next_inverse};
  blas.gemm(Op::Trans, Op::NoTrans, 1, W2, L21, 0, T, batch);
  batch.stride_b = all.next_inverse;
  blas.gemm(Op::NoTrans, Op::Trans, -1, W1, T, 0, W12, batch);
}

}  // namespace

template <class ExecutionSpace>
void invert_leaves(LeafBlas<ExecutionSpace>& blas,
                   std::vector<LeafInverse<typename ExecutionSpace::memory_space>> const& leaves) {
  for (auto const& all : group(leaves)) {
    std::int64_t const n = all.first.L.rows;
    with_arithmetic_type(all.first.inverse.precision, [&]<class T>(std::type_identity<T>) {
      invert_blocks<T>(blas.exec(), all);
    });
    for (std::int64_t size = smallest; size < n; size *= 2) {
      for (std::int64_t begin = 0; begin + size < n; begin += 2 * size)
        join(blas, all, begin, size, std::min(size, n - begin - size));
      with_arithmetic_type(all.first.inverse.precision, [&]<class T>(std::type_identity<T>) {
        clear_below<T>(blas.exec(), all);
      });
    }
  }
}

#define STRATA_INSTANTIATE(Exec) \
  template void invert_leaves(LeafBlas<Exec>&, std::vector<LeafInverse<Exec::memory_space>> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
