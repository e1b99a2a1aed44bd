// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_POOL_RESERVE_HPP
#define STRATA_POOL_RESERVE_HPP

#include <core/kokkos_ext/Strata_Team.hpp>

#include <cstddef>
#include <memory>

namespace strata {

namespace vendor {

/// A device's pool keeps so many more bytes while the result lives; null if the device has no
/// pools. Defined in `vendor/`.
template <class Exec>
std::shared_ptr<void> kept_in_pool(Exec const& exec, std::size_t bytes);

/// Bytes of device memory that the device's pool has, lent or not. Defined in `vendor/`, for builds
/// with GPUs alone.
std::size_t pooled_bytes(int device);

}  // namespace vendor

/// While it lives, the device's pool (core/memory/Strata_Buffer.hpp) keeps so many more unused
/// bytes, for the next one who asks. Hosts have no pool, and keep nothing. It allocates nothing.
/// When an allocation on the device fails, the pool gives up the reserved bytes as well. What the
/// pool has lent to others counts as kept, too.
///
/// Sync     its end waits for the pool's own stream.
template <class ExecutionSpace>
class PoolReserve {
 public:
  /// Keep no more than the pool does anyway.
  PoolReserve() = default;
  /// Reserves bytes until the last copy of this object ends. On a device without pools nothing is
  /// kept.
  PoolReserve(ExecutionSpace const& exec, std::size_t bytes) : bytes_(bytes) {
    if constexpr (!runs_on_host<ExecutionSpace>) kept_ = vendor::kept_in_pool(exec, bytes);
  }
  /// Bytes that are kept, on a device.
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
  std::shared_ptr<void> kept_;
};

}  // namespace strata

#endif
