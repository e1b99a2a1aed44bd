// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_HOST_COPY_HPP
#define STRATA_SPARSE_DETAIL_HOST_COPY_HPP

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <sparse/formats/Strata_EllMatrix.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace strata::sparse::detail {

/// A copy of the numbers in the memory of `exec`. Fences. Throws MemoryError with the bytes.
template <class T, class Exec>
Vector<T, typename Exec::memory_space> to_device(Exec const& exec, std::string const& label,
                                                 std::vector<T> const& numbers) {
  auto const device = allocate<Vector<T, typename Exec::memory_space>>(
      exec, label, static_cast<std::int64_t>(numbers.size()));
  using Host = Kokkos::View<T const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
  Kokkos::deep_copy(exec, device, Host(numbers.data(), numbers.size()));
  exec.fence("strata::sparse::to_device");
  return device;
}

/// The numbers of a View, in ordinary memory. Fences.
template <class Exec, class View>
std::vector<typename View::non_const_value_type> to_host(Exec const& exec, View const& device) {
  using T = typename View::non_const_value_type;
  std::vector<T> numbers(device.extent(0));
  Kokkos::deep_copy(
      exec,
      Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(numbers.data(), numbers.size()),
      device);
  exec.fence("strata::sparse::to_host");
  return numbers;
}

}  // namespace strata::sparse::detail

#endif
