// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DEVICE_POTRF_HPP
#define STRATA_DEVICE_POTRF_HPP

#include <core/blas/vendor/Strata_DeviceBuffer.hpp>
#include <core/blas/vendor/Strata_DeviceHandles.hpp>
#include <core/blas/vendor/Strata_DeviceScalars.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <vector>

namespace strata::vendor {

/// POTRF of one instance by the 64-bit interface of cuSOLVER or rocSOLVER; fp64 and fp32.
///
/// Memory   its own workspace, or rocSOLVER's in the handle: it grows to the largest request and is kept.
class DevicePotrf {
 public:
  using Exec = runtime::Exec;
  using Matrix = MatrixRef<Exec::memory_space>;
  using InfoView = Kokkos::View<std::int64_t, Exec::memory_space>;

  explicit DevicePotrf(Exec const& exec);

  /// As `Blas::potrf`; info also becomes negative if cuSOLVER refuses an argument (its number,
  /// negated).
  bool potrf(Uplo uplo, Matrix const& A, std::int64_t offset, InfoView const& info);

 private:
  template <class T>
  void factor(Uplo uplo, Matrix const& A);

  Exec exec_;
  PotrfStatus<STRATA_CUDA_OR_HIP(int, std::int64_t), Exec> status_;
#ifdef KOKKOS_ENABLE_CUDA
  DeviceBuffer<Exec> device_workspace_;
  std::vector<char> host_workspace_;
  Handle<cusolverDnHandle_t, cusolverDnCreate, cusolverDnDestroy> handle_;
  Handle<cusolverDnParams_t, cusolverDnCreateParams, cusolverDnDestroyParams> params_;
#else
  BlasHandle handle_;
#endif
};

}  // namespace strata::vendor

#endif
