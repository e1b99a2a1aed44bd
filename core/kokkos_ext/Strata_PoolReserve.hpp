// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_POOL_RESERVE_HPP
#define STRATA_POOL_RESERVE_HPP

#include <core/kokkos_ext/Strata_Team.hpp>

#include <cstddef>
#include <memory>

namespace strata {

namespace vendor {

/// A device's pool keeps so many bytes more while the result is there; null if the device has no pools. Defined in `vendor/`.
template <class Exec>
std::shared_ptr<void> kept_in_pool(Exec const& exec, std::size_t bytes);

/// Bytes of the device's memory that its pool has, lent or not. Defined in `vendor/`; there is none in a build without GPUs.
std::size_t pooled_bytes(int device);

}  // namespace vendor

/// While it is there, the pool of the device (core/kokkos_ext/Strata_Buffer.hpp) keeps so many bytes more of what nobody uses: for who will
/// ask for them again. Hosts have no pool, and keep nothing.
///
/// It takes no memory, and holds none against anybody of whom the pool hears that there is none left. What the pool has lent to others counts
/// as kept, too.
///
/// Sync     its end waits for the pool's own stream.
template <class ExecutionSpace>
class PoolReserve {
 public:
  /// Keep no more than the pool does anyway.
  PoolReserve() = default;
  /// Until the last copy ends. On a device without pools nothing is kept.
  PoolReserve(ExecutionSpace const& exec, std::size_t bytes) : bytes_(bytes) {
    if constexpr (!runs_on_host<ExecutionSpace>) kept_ = vendor::kept_in_pool(exec, bytes);
  }
  /// That are kept, on a device.
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
  std::shared_ptr<void> kept_;
};

}  // namespace strata

#endif
