// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DEVICE_AWARE_MPI_HPP
#define STRATA_DEVICE_AWARE_MPI_HPP

#include <comm/Strata_Communicator.hpp>

#include <Kokkos_Core.hpp>

#include <type_traits>

#if defined(STRATA_ENABLE_MPI) && defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

namespace strata {

/// Whether MPI says that it takes pointers to this space's memory; false where it cannot say.
template <class ExecutionSpace>
bool is_device_aware() {
#if defined(MPIX_CUDA_AWARE_SUPPORT) && defined(KOKKOS_ENABLE_CUDA)
  if (std::is_same_v<ExecutionSpace, Kokkos::Cuda>) return MPIX_Query_cuda_support() == 1;
#endif
#if defined(MPIX_ROCM_AWARE_SUPPORT) && defined(KOKKOS_ENABLE_HIP)
  if (std::is_same_v<ExecutionSpace, Kokkos::HIP>) return MPIX_Query_rocm_support() == 1;
#endif
  return false;
}

}  // namespace strata

#endif
