// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_BUFFER_HPP
#define STRATA_BUFFER_HPP

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace strata {

namespace vendor {

/// Bytes of the device's memory that its pool lends; null if the device has no pools. Defined in
/// `vendor/`.
///
/// Throws   MemoryError.
template <class Exec>
std::shared_ptr<std::byte> pooled_memory(Exec const& exec, std::string const& label,
                                         std::size_t bytes);

/// What nobody uses of the device's pool goes back to the device. Defined in `vendor/`; there is
/// none in a build without GPUs.
void release_pooled_memory(int device) noexcept;

}  // namespace vendor

/// Bytes without values in an instance's memory, shared by its copies as a View is.
///
/// On a device they come from Strata's own pool. The driver takes a tenth of a millisecond and more
/// to hand out a large piece, and as much to take it back. A system of some thousand unknowns needs
/// a dozen pieces. Unused memory stays in the pool, up to a sixteenth of the device's memory and
/// what a `PoolReserve` adds. It goes back when Kokkos ends, when the pool itself finds no other
/// memory, or when a matrix in tiles asks how much is free. Tools see the pool as a memory space of
/// its own, as "CudaPool".
///
/// It is not for messages between processes, nor for other devices: neither reaches a pool.
///
/// Sync     may be used by any instance of the device at once. The end of the last copy waits for
///          the device, as Kokkos' does.
template <class ExecutionSpace>
class Buffer {
 public:
  /// No bytes.
  Buffer() = default;
  /// Throws   MemoryError with the label and the bytes.
  Buffer(ExecutionSpace const& exec, std::string const& label, std::size_t bytes) {
    if (bytes == 0) return;
    size_ = bytes;
    if constexpr (!runs_on_host<ExecutionSpace>) {
      memory_ = vendor::pooled_memory(exec, label, bytes);
      if (memory_) return;
    }
    auto const view = allocate<View>(exec, label, bytes);
    memory_ = {view.data(), [view](std::byte*) {}};
  }

  /// The first byte, aligned to at least 64 bytes.
  std::byte* data() const { return memory_.get(); }
  /// Bytes.
  std::size_t size() const { return memory_ ? size_ : 0; }
  /// What keeps them, for who knows where they are and how many.
  std::shared_ptr<std::byte> const& owner() const { return memory_; }

 private:
  using View = Kokkos::View<std::byte*, typename ExecutionSpace::memory_space>;
  std::shared_ptr<std::byte> memory_;
  std::size_t size_ = 0;
};

}  // namespace strata

#endif
