// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_HIP_POTRF_HPP
#define STRATA_HIP_POTRF_HPP

#include <Kokkos_Core.hpp>
#include <core/blas/vendor/Strata_DeviceScalars.hpp>
#include <core/blas/vendor/Strata_HipHandles.hpp>
#include <cstdint>

namespace strata::vendor {

/// POTRF of one instance by rocSOLVER's 64-bit interface; fp64 and fp32.
///
/// Memory   the handle's workspace, which grows to the largest request and is kept.
class HipPotrf {
 public:
  using Matrix = MatrixRef<Kokkos::HIPSpace>;
  using InfoView = Kokkos::View<std::int64_t, Kokkos::HIPSpace>;

  explicit HipPotrf(Kokkos::HIP const& exec) : exec_(exec), status_(exec), handle_(exec) {}

  /// As `Blas::potrf`.
  bool potrf(Uplo uplo, Matrix const& A, std::int64_t offset, InfoView const& info);

 private:
  Kokkos::HIP exec_;
  PotrfStatus<std::int64_t, Kokkos::HIP> status_;
  RocblasHandle handle_;
};

}  // namespace strata::vendor

#endif
