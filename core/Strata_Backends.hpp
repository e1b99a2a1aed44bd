// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_BACKENDS_HPP
#define STRATA_BACKENDS_HPP

#include <core/Strata_Config.hpp>

#include <Kokkos_Core.hpp>

#include <string_view>

// What a build has: Kokkos' backends and the vendors' libraries. Only here, in `vendor/` and in the
// Strata_DeviceRuntime.hpp of those may #ifdefs name a vendor (`ctest -R strata.meta.rules`).

/// f(Kokkos::Serial) if the backend is enabled, else nothing.
#ifdef KOKKOS_ENABLE_SERIAL
#define STRATA_FOR_SERIAL(f) f(Kokkos::Serial)
#else
#define STRATA_FOR_SERIAL(f)
#endif
/// f(Kokkos::OpenMP) if the backend is enabled, else nothing.
#ifdef KOKKOS_ENABLE_OPENMP
#define STRATA_FOR_OPENMP(f) f(Kokkos::OpenMP)
#else
#define STRATA_FOR_OPENMP(f)
#endif
/// f(Kokkos::Cuda) if the backend is enabled, else nothing.
#ifdef KOKKOS_ENABLE_CUDA
#define STRATA_FOR_CUDA(f) f(Kokkos::Cuda)
#else
#define STRATA_FOR_CUDA(f)
#endif
/// f(Kokkos::HIP) if the backend is enabled, else nothing.
#ifdef KOKKOS_ENABLE_HIP
#define STRATA_FOR_HIP(f) f(Kokkos::HIP)
#else
#define STRATA_FOR_HIP(f)
#endif

namespace strata {

#ifdef KOKKOS_HAS_SHARED_HOST_PINNED_SPACE
/// Host memory that the kernels of every backend may read and write.
using PinnedSpace = Kokkos::SharedHostPinnedSpace;
#else
/// Ordinary host memory, in a build without such a space.
using PinnedSpace = Kokkos::HostSpace;
#endif

/// The vendor's libraries that a build has for one execution space.
struct VendorLibraries {
  bool products = false;           ///< BLAS of level 3
  bool factorisation = false;      ///< POTRF
  std::string_view cholesky = {};  ///< POTRF and the solve with its factor, if there are both
  bool tf32 = false;               ///< products in tf32
};

/// What there is for hosts; each GPU's space has its own.
template <class ExecutionSpace>
inline constexpr VendorLibraries vendor_libraries = {
#ifdef STRATA_ENABLE_TPL_LAPACK
    true, true, "LAPACK dpotrf + dpotrs"
#endif
};
#ifdef KOKKOS_ENABLE_CUDA
template <>
inline constexpr VendorLibraries vendor_libraries<Kokkos::Cuda> = {
#if defined(STRATA_ENABLE_TPL_CUBLAS) && defined(STRATA_ENABLE_TPL_CUSOLVER)
    true, true, "cuSOLVER Xpotrf (fp64) + cuBLAS dtrsm", true
#elif defined(STRATA_ENABLE_TPL_CUBLAS)
    .products = true, .tf32 = true
#elif defined(STRATA_ENABLE_TPL_CUSOLVER)
    .factorisation = true
#endif
};
#endif
#ifdef KOKKOS_ENABLE_HIP
template <>
inline constexpr VendorLibraries vendor_libraries<Kokkos::HIP> = {
#if defined(STRATA_ENABLE_TPL_ROCBLAS) && defined(STRATA_ENABLE_TPL_ROCSOLVER)
    true, true, "rocSOLVER dpotrf + rocBLAS dtrsm"
#elif defined(STRATA_ENABLE_TPL_ROCBLAS)
    .products = true
#elif defined(STRATA_ENABLE_TPL_ROCSOLVER)
    .factorisation = true
#endif
};
#endif

/// Whether products of 16-bit types go to oneDNN on hosts with matrix units.
#ifdef STRATA_ENABLE_TPL_ONEDNN
inline constexpr bool has_onednn = true;
#else
inline constexpr bool has_onednn = false;
#endif

}  // namespace strata

/// STRATA_UNROLL_HOST(N) before a loop of a host: N steps at a time. nvcc does not know the pragma.
#ifdef __CUDACC__
#define STRATA_UNROLL_HOST(N)
#else
/// A pragma whose text a macro makes.
#define STRATA_DETAIL_PRAGMA(TEXT) _Pragma(#TEXT)
/// N steps of the loop that follows at a time.
#define STRATA_UNROLL_HOST(N) STRATA_DETAIL_PRAGMA(GCC unroll N)
#endif

#endif
