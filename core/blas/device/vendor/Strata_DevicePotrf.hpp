// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DEVICE_POTRF_HPP
#define STRATA_DEVICE_POTRF_HPP

#include <core/blas/device/vendor/Strata_DeviceBuffer.hpp>
#include <core/blas/device/vendor/Strata_DeviceHandles.hpp>
#include <core/blas/device/vendor/Strata_DeviceScalars.hpp>
#include <core/instances/Strata_Lent.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <vector>

namespace strata::vendor {

/// POTRF of one instance by the 64-bit interface of cuSOLVER or rocSOLVER; fp64 and fp32.
///
/// Memory   its own workspace, or rocSOLVER's in the handle: it grows to the largest request and is
///          kept. The handle is `Lent`, and with it a workspace of 64 MiB or less.
class DevicePotrf {
 public:
  using Exec = runtime::Exec;
  using Matrix = MatrixRef<Exec::memory_space>;
  using InfoView = Kokkos::View<std::int64_t, Exec::memory_space>;

  explicit DevicePotrf(Exec const& exec);
  ~DevicePotrf();
  DevicePotrf(DevicePotrf const&) = delete;
  DevicePotrf& operator=(DevicePotrf const&) = delete;

  /// As `Blas::potrf`; info also becomes negative if cuSOLVER refuses an argument (its number,
  /// negated).
  bool potrf(Uplo uplo, Matrix const& A, std::int64_t offset, InfoView const& info);

 private:
  template <class T>
  void factor(Uplo uplo, Matrix const& A);

  /// The library's state on a device, for one instance on it at a time.
  struct Library {
    explicit Library(Exec const& exec);
#ifdef KOKKOS_ENABLE_CUDA
    SolverHandle handle;
    Handle<cusolverDnParams_t, cusolverDnCreateParams, cusolverDnDestroyParams> params;
    DeviceBuffer<Exec>::Memory workspace;
#else
    BlasHandle handle;
#endif
  };

  Exec exec_;
  Lent<Library> library_;
  PotrfStatus<STRATA_CUDA_OR_HIP(int, std::int64_t), Exec> status_;
#ifdef KOKKOS_ENABLE_CUDA
  DeviceBuffer<Exec> device_workspace_;
  std::vector<char> host_workspace_;
#endif
};

}  // namespace strata::vendor

#endif
