// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_FP8UNITS_HPP
#define STRATATEST_FP8UNITS_HPP

#include <core/Strata_Backends.hpp>
#include <core/Strata_Precision.hpp>

#include <Kokkos_Core.hpp>

#include <string_view>

namespace strata::test {

/// Whether the device multiplies such operands and the build has the library for it. cublasLt has
/// FP8 from compute capability 8.9. hipBLASLt has it on gfx942, gfx950 and gfx12, OCP's kinds as
/// well as FNUZ.
template <class Space>
bool multiplies(Space const&, Precision) {
  return false;
}
#ifdef KOKKOS_ENABLE_CUDA
inline bool multiplies(Kokkos::Cuda const& exec, Precision p) {
  bool const ocp = p == Precision::fp8_e4m3 || p == Precision::fp8_e5m2;
  return ocp && 10 * exec.cuda_device_prop().major + exec.cuda_device_prop().minor >= 89;
}
#endif
#if defined(KOKKOS_ENABLE_HIP) && defined(STRATA_ENABLE_TPL_HIPBLASLT)
inline bool multiplies(Kokkos::HIP const& exec, Precision p) {
  bool const ocp = p == Precision::fp8_e4m3 || p == Precision::fp8_e5m2;
  std::string_view const name = exec.hip_device_prop().gcnArchName;
  return name.starts_with("gfx942") ||
         (ocp && (name.starts_with("gfx950") || name.starts_with("gfx12")));
}
#endif

}  // namespace strata::test

#endif
