// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_BATCHED_LANES_HPP
#define STRATA_BATCHED_LANES_HPP

#include <core/blas/batched/detail/Strata_BatchedSystems.hpp>

#include <cstddef>
#include <cstdint>

namespace strata::detail {

/// A batch on a host. Each lane of the processor's vectors holds one system, so that small orders
/// fill the vectors as large ones do. The widest vectors that the processor has are chosen when the
/// program runs.
///
/// Source   compact batched BLAS: Kim et al., Designing vector-friendly compact BLAS and LAPACK
///          kernels, SC17, 10.1145/3126908.3126941; deviation: the lanes are filled and emptied
///          here, row by row of L.
template <class T>
class BatchedLanes {
 public:
  /// Systems `turn`, `turn + turns`, ... of those that fill the lanes at a time.
  using Kernel = void (*)(BatchedSystems<T> const& systems, std::int64_t turn, std::int64_t turns,
                          T* room);

  /// Uses vectors with at most `most_bytes` bytes: 16, 32 or 64.
  explicit BatchedLanes(int most_bytes = 64);

  /// Systems that are solved at a time.
  std::int64_t lanes() const { return lanes_; }
  /// Bytes of workspace for each thread, aligned to 64.
  std::size_t room_bytes(std::int64_t n) const;
  Kernel kernel() const { return kernel_; }

 private:
  std::int64_t lanes_;
  Kernel kernel_;
};

}  // namespace strata::detail

#endif
