// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DEVICE_BUFFER_HPP
#define STRATA_DEVICE_BUFFER_HPP

#include <core/Strata_Errors.hpp>
#include <core/instances/Strata_FenceAtEnd.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

namespace strata::vendor {

/// Round `value` up to a multiple of `unit`.
constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Grow-only memory of one instance, its address aligned as vendor libraries want their workspace.
template <class ExecutionSpace>
class DeviceBuffer {
 public:
  static constexpr std::size_t alignment = 256;

  using Memory = Kokkos::View<char*, typename ExecutionSpace::memory_space>;

  /// With `memory` to begin with, of the same device and idle.
  explicit DeviceBuffer(ExecutionSpace const& exec, Memory memory = {})
      : exec_(exec), memory_(std::move(memory)) {
    if (memory_.size() > alignment) bytes_ = memory_.size() - alignment;
  }
  ~DeviceBuffer() {
    if (bytes_ > 0) strata::detail::fence_at_end(exec_, "strata::vendor::DeviceBuffer::release");
  }
  DeviceBuffer(DeviceBuffer const&) = delete;
  DeviceBuffer& operator=(DeviceBuffer const&) = delete;

  /// Returns at least `bytes` bytes. What they held before is lost when the buffer grows.
  ///
  /// Sync     fences the instance when the buffer grows, for the old one may be in use.
  /// Throws   MemoryError with the bytes asked for.
  void* reserve(std::size_t bytes) {
    if (bytes > bytes_) grow(bytes);
    auto const address = reinterpret_cast<std::uintptr_t>(memory_.data());
    return reinterpret_cast<void*>((address + alignment - 1) / alignment * alignment);
  }
  /// The whole buffer.
  Memory const& memory() const { return memory_; }

 private:
  void grow(std::size_t bytes) {
    if (bytes_ > 0) exec_.fence("strata::vendor::DeviceBuffer::grow");
    bytes_ = 0;
    memory_ = {};
    try {
      memory_ =
          Memory(Kokkos::view_alloc(exec_, Kokkos::WithoutInitializing, "strata::vendor::buffer"),
                 bytes + alignment);
    } catch (std::exception const& failure) {
      throw MemoryError(strata::detail::message("vendor workspace: can't allocate ", bytes,
                                                " bytes: ", failure.what()));
    }
    bytes_ = bytes;
  }

  ExecutionSpace exec_;
  Memory memory_;
  std::size_t bytes_ = 0;
};

}  // namespace strata::vendor

#endif
