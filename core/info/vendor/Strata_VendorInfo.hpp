// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_VENDOR_INFO_HPP
#define STRATA_VENDOR_INFO_HPP

#include <Kokkos_Macros.hpp>
#include <core/info/Strata_Version.hpp>
#include <vector>

namespace strata::vendor {

/// The libraries in use with their versions at run time, BLAS first.
std::vector<Library> libraries();

/// The GPUs that the enabled backend can see.
std::vector<Accelerator> accelerators();

#ifdef KOKKOS_ENABLE_CUDA
std::vector<Library> cuda_libraries();
std::vector<Accelerator> cuda_devices();
#endif
#ifdef KOKKOS_ENABLE_HIP
std::vector<Library> hip_libraries();
std::vector<Accelerator> hip_devices();
#endif

}  // namespace strata::vendor

#endif
