// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_KERNELS_VENDOR_HPP
#define STRATA_KERNELS_VENDOR_HPP

#include <KokkosKernels_config.h>

namespace strata::vendor {

/// Whether Kokkos Kernels itself calls a device vendor's BLAS.
#if defined(KOKKOSKERNELS_ENABLE_TPL_CUBLAS) || defined(KOKKOSKERNELS_ENABLE_TPL_ROCBLAS)
inline constexpr bool kernels_call_device_blas = true;
#else
inline constexpr bool kernels_call_device_blas = false;
#endif

}  // namespace strata::vendor

#endif
