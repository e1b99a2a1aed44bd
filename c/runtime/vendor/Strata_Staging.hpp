// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_STAGING_HPP
#define STRATA_C_STAGING_HPP

#include <c/runtime/Strata_HostMatrices.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>

namespace strata::c::vendor {

enum class Way { ToDevice, ToHost };

/// Copy between matrices in a host's ordinary memory and their copy without padding on the device,
/// on an instance.
///
/// A driver alone copies ordinary memory at a fifth of the bus's rate and less. Here up to eight
/// threads take pieces in turns. Each copies them to or from its own pinned memory while the bus is
/// at work on others.
///
/// Sync     returns when the copy is there.
/// Memory   4 MiB of pinned memory for each thread; the memory of up to four callers at once is
///          kept until Kokkos ends. A copy of no part takes the memory of one thread, so that a
///          copy back finds it.
/// Throws   MemoryError, VendorError.
#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)
void copy(Kokkos::DefaultExecutionSpace const& exec, Way way, HostMatrices const& host,
          std::byte* device);
#else
inline void copy(Kokkos::DefaultExecutionSpace const&, Way, HostMatrices const&, std::byte*) {}
#endif

}  // namespace strata::c::vendor

#endif
