// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_POINTER_HPP
#define STRATA_C_POINTER_HPP

#include <Kokkos_Macros.hpp>

#include <cstdint>

namespace strata::c::vendor {

/// Whether `pointer` is to memory that the GPU of the enabled backend uses without a copy: the
/// device's own, or managed. Without such a backend there is none.
///
/// Throws   VendorError from the GPU's runtime.
#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)
bool is_device_pointer(void const* pointer);
#else
inline bool is_device_pointer(void const*) { return false; }
#endif

/// The stream of an instance as a number, as other libraries pass it; 0 where the space has none.
template <class ExecutionSpace>
std::uintptr_t stream_of(ExecutionSpace const& exec) {
  if constexpr (requires { exec.cuda_stream(); })
    return reinterpret_cast<std::uintptr_t>(exec.cuda_stream());
  else if constexpr (requires { exec.hip_stream(); })
    return reinterpret_cast<std::uintptr_t>(exec.hip_stream());
  else
    return 0;
}

/// A device in DLPack's numbers.
struct DlpackDevice {
  int type = 1, id = 0;  ///< the host
};
template <class ExecutionSpace>
DlpackDevice device_of(ExecutionSpace const& exec) {
  if constexpr (requires { exec.cuda_device(); })
    return {2, exec.cuda_device()};
  else if constexpr (requires { exec.hip_device(); })
    return {10, exec.hip_device()};
  else
    return {};
}

}  // namespace strata::c::vendor

#endif
