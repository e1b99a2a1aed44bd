// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MPI_HPP
#define STRATA_MPI_HPP

#include <core/Strata_Config.hpp>

#include <string>

namespace strata {

/// The MPI that is linked in, library and version as it says itself; "none" of a build without one.
/// Before MPI_Init too.
std::string mpi_library();

}  // namespace strata

#ifdef STRATA_ENABLE_MPI
namespace strata::detail {

/// Throw VendorError with MPI's text and the call unless `status` is success.
void check_mpi(int status, char const* call);

}  // namespace strata::detail
#endif

#endif
