// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_NCCL_HPP
#define STRATA_NCCL_HPP

// NCCL, or RCCL, which has its names. Without either there is nothing here.
#if defined(STRATA_ENABLE_TPL_NCCL)
#include <nccl.h>
#define STRATA_HAS_NCCL
#elif defined(STRATA_ENABLE_TPL_RCCL)
#include <rccl/rccl.h>
#define STRATA_HAS_NCCL
#endif

#ifdef STRATA_HAS_NCCL

#if NCCL_VERSION_CODE < 21700
#error \
    "Strata needs NCCL 2.17, or the RCCL that has its interface (ROCm 6): Strata_ENABLE_TPL_NCCL=OFF does without"
#endif

#include <comm/Strata_Communicator.hpp>
#include <comm/Strata_DeviceMessages.hpp>

#include <vector>

namespace strata::vendor {

/// Throw VendorError with the call and the meaning of the status unless it is success.
void check(ncclResult_t status, char const* call);

/// The device of each rank, by what NCCL knows it by; parts of one are one. Collective.
std::vector<DeviceIdentity> devices_of(int device, Communicator const& comm);

/// A communicator of NCCL, of some of the ranks of `comm`, this one among them.
struct NcclGroup {
  std::vector<DeviceIdentity> devices;  ///< devices of all ranks of `comm`
  std::vector<int> ranks;               ///< ranks of `comm` that are in the group
  /// most blocks of threads that a kernel may take; 0: NCCL chooses
  int most_blocks = 0;
  /// The same ranks and devices, with the same number of blocks.
  bool operator==(NcclGroup const&) const = default;
};
/// The group's handle, which is made once, kept with `comm` and ends with `comm`. Collective in the
/// group. Ranks in several groups make the handles in the same order. Throws VendorError, on a rank
/// that can't join the others alone.
ncclComm_t handle_of(int device, Communicator const& comm, NcclGroup const& group);

}  // namespace strata::vendor

#endif

#endif
