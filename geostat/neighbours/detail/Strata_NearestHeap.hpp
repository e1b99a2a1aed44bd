// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_NEAREST_HEAP_HPP
#define STRATA_NEAREST_HEAP_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::geostat::detail {

/// The nearest of the candidates that were offered, at most so many: a heap, the farthest on top.
/// Entries are `stride` apart, which is 1 where `dense`.
template <bool dense>
class NearestHeap {
 public:
  KOKKOS_FUNCTION NearestHeap(double* distances, std::int32_t* ranks, std::int64_t stride, int most)
      : distances_(distances), ranks_(ranks), stride_(stride), most_(most) {}

  /// What is farther is none of them.
  KOKKOS_FUNCTION double reach() const { return reach_; }
  /// Rank of entry k.
  KOKKOS_FUNCTION std::int32_t rank(int k) const { return ranks_[at(k)]; }

  /// A candidate at this squared distance, at most `reach`. Of two as far the one of less rank is
  /// nearer.
  KOKKOS_FUNCTION void offer(double distance, std::int32_t rank) {
    Entry const entry{distance, rank};
    if (size_ < most_) {
      put(size_++, entry);
      if (size_ < most_) return;
      make();
    } else if (is_before(entry, get(0))) {
      sink(0, most_, entry);
    }
    reach_ = distances_[at(0)];
  }

  /// The nearest first.
  KOKKOS_FUNCTION void sort() {
    if (size_ < most_) make();
    for (int end = size_ - 1; end > 0; --end) {
      Entry const entry = get(end);
      put(end, get(0));
      sink(0, end, entry);
    }
  }

 private:
  struct Entry {
    double distance;
    std::int32_t rank;
  };

  KOKKOS_FUNCTION std::int64_t at(int k) const { return dense ? k : k * stride_; }
  KOKKOS_FUNCTION Entry get(int k) const { return {distances_[at(k)], ranks_[at(k)]}; }
  KOKKOS_FUNCTION void put(int k, Entry const& entry) {
    distances_[at(k)] = entry.distance;
    ranks_[at(k)] = entry.rank;
  }
  KOKKOS_FUNCTION static bool is_before(Entry const& a, Entry const& b) {
    // without branches, which nobody can predict
    return (a.distance < b.distance) | ((a.distance == b.distance) & (a.rank < b.rank));
  }
  KOKKOS_FUNCTION void make() {
    for (int k = size_ / 2 - 1; k >= 0; --k) sink(k, size_, get(k));
  }
  // From k on down to where a heap of n entries has it.
  KOKKOS_FUNCTION void sink(int k, int n, Entry const& entry) {
    for (int child = 2 * k + 1; child < n; child = 2 * k + 1) {
      if (child + 1 < n) child += is_before(get(child), get(child + 1)) ? 1 : 0;
      if (!is_before(entry, get(child))) break;
      put(k, get(child));
      k = child;
    }
    put(k, entry);
  }

  double* distances_;
  std::int32_t* ranks_;
  std::int64_t stride_;
  int most_, size_ = 0;
  double reach_ = Kokkos::Experimental::finite_max_v<double>;
};

}  // namespace strata::geostat::detail

#endif
