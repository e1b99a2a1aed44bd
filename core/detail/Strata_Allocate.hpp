// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_CORE_DETAIL_ALLOCATE_HPP
#define STRATA_CORE_DETAIL_ALLOCATE_HPP

#include <Kokkos_Core.hpp>
#include <core/Strata_Errors.hpp>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace strata::detail {

/// `make()`, a View of these extents.
///
/// Throws   MemoryError with the label and the bytes where Kokkos has no memory.
template <class Make, class... Extent>
auto allocated(std::string const& label, Make const& make, Extent... extents) {
  try {
    return make();
  } catch (std::runtime_error const& failure) {
    std::size_t bytes = sizeof(typename decltype(make())::value_type);
    ((bytes *= static_cast<std::size_t>(extents)), ...);
    throw MemoryError(message(label, ": can't allocate ", bytes, " bytes: ", failure.what()));
  }
}

/// A View of these extents without values, for work enqueued on `exec`.
///
/// Throws   MemoryError with the label and the bytes.
template <class View, class ExecutionSpace, class... Extent>
View allocate(ExecutionSpace const& exec, std::string const& label, Extent... extents) {
  auto const properties = Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label);
  return allocated(label, [&] { return View(properties, extents...); }, extents...);
}

/// The same, all zero.
template <class View, class ExecutionSpace, class... Extent>
View allocate_zeros(ExecutionSpace const& exec, std::string const& label, Extent... extents) {
  auto const properties = Kokkos::view_alloc(exec, label);
  return allocated(label, [&] { return View(properties, extents...); }, extents...);
}

/// Without values, in memory that only the host writes.
template <class HostView, class... Extent>
HostView allocate_on_host(std::string const& label, Extent... extents) {
  auto const properties = Kokkos::view_alloc(Kokkos::WithoutInitializing, label);
  return allocated(label, [&] { return HostView(properties, extents...); }, extents...);
}

}  // namespace strata::detail

#endif
