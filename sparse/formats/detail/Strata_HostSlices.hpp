// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_HOST_SLICES_HPP
#define STRATA_SPARSE_DETAIL_HOST_SLICES_HPP

#include <core/kokkos_ext/Strata_HostVectors.hpp>
#include <sparse/formats/Strata_EllMatrix.hpp>

#include <algorithm>
#include <cstdint>

// Rows on a host: a slice of 32 is an item, in wide vectors, and some rows are taken at once, whose
// sums do not wait for each other.
//
// A kernel has rows from `range.begin` to `range.end`, of `range.size()`, and
//   template <int Rows> void take(std::int64_t row) const    // rows of one slice
//   void ask_for_next(std::int64_t row, std::int64_t count) const
namespace strata::sparse::detail {

template <class Kernel>
STRATA_INLINE void take_rows(Kernel const& kernel, std::int64_t begin, std::int64_t end) {
  constexpr int at_once = 4;
  std::int64_t row = begin;
  for (; row < end && row % at_once != 0; ++row) kernel.template take<1>(row);
  for (; row + at_once <= end; row += at_once) {
    kernel.ask_for_next(row, at_once);
    kernel.template take<at_once>(row);
  }
  for (; row < end; ++row) kernel.template take<1>(row);
}
template <class Kernel>
void take_16(Kernel const& kernel, std::int64_t begin, std::int64_t end) {
  take_rows(kernel, begin, end);
}
template <class Kernel>
STRATA_VECTORS_OF_32 void take_32(Kernel const& kernel, std::int64_t begin, std::int64_t end) {
  take_rows(kernel, begin, end);
}

/// The slices of a range on a host.
template <class Kernel>
struct SlicesOfHost {
  static constexpr std::int64_t slice_rows = 32;
  Kernel kernel;
  void (*take)(Kernel const&, std::int64_t, std::int64_t);

  void operator()(std::int64_t item) const {
    std::int64_t const begin = kernel.range.begin / slice_rows * slice_rows + item * slice_rows;
    take(kernel, std::max(begin, kernel.range.begin),
         std::min(begin + slice_rows, kernel.range.end));
  }
};

/// Enqueued on `exec`.
template <class Exec, class Kernel>
void launch_slices(char const* label, Exec const& exec, Kernel const& kernel) {
  constexpr std::int64_t slice_rows = SlicesOfHost<Kernel>::slice_rows;
  auto* const take = host_vector_bytes() >= 32 ? &take_32<Kernel> : &take_16<Kernel>;
  auto const& range = kernel.range;
  std::int64_t const first = range.begin / slice_rows,
                     end = (range.end + slice_rows - 1) / slice_rows;
  Kokkos::parallel_for(label, RowPolicy<Exec>(exec, 0, range.size() > 0 ? end - first : 0),
                       SlicesOfHost<Kernel>{kernel, take});
}

}  // namespace strata::sparse::detail

#endif
