// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_VENDOR_INFO_HPP
#define STRATA_VENDOR_INFO_HPP

#include <core/info/Strata_Version.hpp>

#include <Kokkos_Macros.hpp>

#include <vector>

namespace strata::vendor {

/// The libraries in use with their versions at run time, BLAS first.
std::vector<Library> libraries();

/// Those of the enabled GPU backend among them, and the GPUs that it can see. Throws VendorError.
#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)
std::vector<Library> device_libraries();
std::vector<Accelerator> accelerators();
#else
inline std::vector<Library> device_libraries() { return {}; }
inline std::vector<Accelerator> accelerators() { return {}; }
#endif

}  // namespace strata::vendor

#endif
