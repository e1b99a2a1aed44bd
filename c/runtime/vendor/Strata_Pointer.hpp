// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_POINTER_HPP
#define STRATA_C_POINTER_HPP

#include <Kokkos_Macros.hpp>

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

}  // namespace strata::c::vendor

#endif
