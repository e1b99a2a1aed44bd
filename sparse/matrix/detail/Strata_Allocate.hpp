// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_ALLOCATE_HPP
#define STRATA_SPARSE_DETAIL_ALLOCATE_HPP

#include <core/Strata_Errors.hpp>

#include <Kokkos_Core.hpp>

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <type_traits>

namespace strata::sparse::detail {

/// Asks, where the system has such, for large pages of memory that is not written yet: a host's prefetchers stop
/// at the end of each page, of which a matrix that streams by has many.
inline void prefer_large_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t page = std::uintptr_t{1} << 21;
  auto const address = reinterpret_cast<std::uintptr_t>(data);
  std::uintptr_t const begin = (address + page - 1) / page * page,
                       end = (address + bytes) / page * page;
  if (begin < end) (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

/// A View of `n` elements without values.
///
/// Throws   MemoryError with the label and the bytes.
template <class View, class Exec>
View allocate(Exec const& exec, std::string const& label, std::int64_t n) {
  try {
    View const view(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label), n);
    if constexpr (std::is_same_v<typename View::memory_space, Kokkos::HostSpace>)
      prefer_large_pages(view.data(), view.size() * sizeof(typename View::value_type));
    return view;
  } catch (std::exception const& failure) {
    throw MemoryError(
        strata::detail::message(label, ": can't allocate ",
                                n * static_cast<std::int64_t>(sizeof(typename View::value_type)),
                                " bytes: ", failure.what()));
  }
}

}  // namespace strata::sparse::detail

#endif
