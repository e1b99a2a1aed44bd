// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LAPACK_DEVICE_DRIVER_HPP
#define STRATA_LAPACK_DEVICE_DRIVER_HPP

namespace strata::lapack::detail {

/// Whether the driver of the GPUs that this build is for is in the process: without it no pointer
/// is to their memory. Loads nothing, and costs little as long as the process loads nothing.
bool has_device_driver();

}  // namespace strata::lapack::detail

#endif
