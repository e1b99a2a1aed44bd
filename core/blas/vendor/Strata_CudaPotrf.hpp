// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_CUDA_POTRF_HPP
#define STRATA_CUDA_POTRF_HPP

#include <Kokkos_Core.hpp>
#include <core/blas/vendor/Strata_CudaHandles.hpp>
#include <core/blas/vendor/Strata_DeviceBuffer.hpp>
#include <core/blas/vendor/Strata_DeviceScalars.hpp>
#include <cstdint>
#include <vector>

namespace strata::vendor {

/// POTRF of one instance by cuSOLVER's 64-bit interface, with its own workspace; fp64 and fp32.
class CudaPotrf {
 public:
  using Matrix = MatrixRef<Kokkos::CudaSpace>;
  using InfoView = Kokkos::View<std::int64_t, Kokkos::CudaSpace>;

  explicit CudaPotrf(Kokkos::Cuda const& exec);

  /// As `Blas::potrf`; info also becomes negative if cuSOLVER refuses an argument (its number,
  /// negated).
  bool potrf(Uplo uplo, Matrix const& A, std::int64_t offset, InfoView const& info);

 private:
  Kokkos::Cuda exec_;
  DeviceBuffer<Kokkos::Cuda> device_workspace_;
  std::vector<char> host_workspace_;
  PotrfStatus<int, Kokkos::Cuda> status_;
  CudaHandle<cusolverDnHandle_t, cusolverDnCreate, cusolverDnDestroy> handle_;
  CudaHandle<cusolverDnParams_t, cusolverDnCreateParams, cusolverDnDestroyParams> params_;
};

}  // namespace strata::vendor

#endif
