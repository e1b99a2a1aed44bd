// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_COPY_BACK_HPP
#define STRATA_COPY_BACK_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace strata::geostat::detail {

/// Appends the first `count` values of a View to the host's. Fences `exec`.
template <class Exec, class Value, class Space>
void append_back(Exec const& exec, Kokkos::View<Value*, Space> const& from, std::size_t count,
                 std::vector<Value>& to) {
  std::size_t const before = to.size();
  to.resize(before + count);
  Kokkos::View<Value*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const host(
      to.data() + before, count);
  Kokkos::deep_copy(exec, host, Kokkos::subview(from, std::pair(std::size_t{0}, count)));
  exec.fence("strata::geostat::vecchia::copied_back");
}

/// Appends all of them. Fences `exec`.
template <class Exec, class Value, class Space>
void append_back(Exec const& exec, Kokkos::View<Value*, Space> const& from,
                 std::vector<Value>& to) {
  append_back(exec, from, from.extent(0), to);
}

/// Overwrites the host's values by as many. Fences `exec`.
template <class Exec, class Value, class Space>
void copy_back(Exec const& exec, Kokkos::View<Value*, Space> const& from, std::vector<Value>& to) {
  std::size_t const count = to.size();
  to.clear();
  append_back(exec, from, count, to);
}

}  // namespace strata::geostat::detail

#endif
