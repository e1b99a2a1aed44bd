// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_ALLOCATE_HPP
#define STRATA_ALLOCATE_HPP

#include <core/Strata_Errors.hpp>

#include <Kokkos_Core.hpp>

#include <sys/mman.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <type_traits>

namespace strata {

/// Asks a host's system for large pages, where it has such, and returns the same View. Nobody may
/// have written its elements yet. The first touch of a page takes microseconds on some machines,
/// and prefetchers stop at the end of each page.
template <class View>
View prefer_large_pages(View view) {
#ifdef MADV_HUGEPAGE
  if constexpr (std::is_same_v<typename View::memory_space, Kokkos::HostSpace>) {
    constexpr std::size_t page = std::size_t{1} << 21;
    std::size_t space = view.span() * sizeof(typename View::value_type);
    void* begin = const_cast<std::remove_const_t<typename View::value_type>*>(view.data());
    if (std::align(page, page, begin, space) != nullptr)
      (void)madvise(begin, space / page * page, MADV_HUGEPAGE);
  }
#endif
  return view;
}

namespace detail {

// What Kokkos throws where there is no memory is a std::runtime_error, which says less than a type.
template <class View, class Properties, class... Extent>
View allocate_with(Properties const& properties, std::string const& label, Extent... extents) {
  try {
    return View(properties, static_cast<std::size_t>(extents)...);
  } catch (std::exception const& failure) {
    throw MemoryError(message(label, ": can't allocate ",
                              View::required_allocation_size(static_cast<std::size_t>(extents)...),
                              " bytes: ", failure.what()));
  }
}

}  // namespace detail

/// A View without values, in the memory of an instance; on a host in large pages, if it has such.
///
/// Sync     enqueued on `exec`.
/// Throws   MemoryError with the label and the bytes.
template <class View, class ExecutionSpace, class... Extent>
View allocate(ExecutionSpace const& exec, std::string const& label, Extent... extents) {
  return prefer_large_pages(detail::allocate_with<View>(
      Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label), label, extents...));
}

/// The same with zeros, which `exec` writes.
template <class View, class ExecutionSpace, class... Extent>
View allocate_zeros(ExecutionSpace const& exec, std::string const& label, Extent... extents) {
  return detail::allocate_with<View>(Kokkos::view_alloc(exec, label), label, extents...);
}

/// A View without values in host memory, pinned, or in large pages; no instance has to have it
/// ready.
///
/// Throws   MemoryError with the label and the bytes.
template <class HostView, class... Extent>
HostView allocate_on_host(std::string const& label, Extent... extents) {
  return prefer_large_pages(detail::allocate_with<HostView>(
      Kokkos::view_alloc(Kokkos::WithoutInitializing, label), label, extents...));
}

/// What `work` returns; a std::bad_alloc of a container becomes a MemoryError that says whose.
template <class Work>
auto name_bad_alloc(char const* whose, Work const& work) -> decltype(work()) {
  try {
    return work();
  } catch (std::bad_alloc const&) {
    throw MemoryError(detail::message(whose, ": the host has no memory left"));
  }
}

}  // namespace strata

#endif
