// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MPI_HPP
#define STRATA_MPI_HPP

#include <core/Strata_Config.hpp>

#ifdef STRATA_ENABLE_MPI
namespace strata::detail {

/// Throw VendorError with MPI's text and the call unless `status` is success.
void check_mpi(int status, char const* call);

}  // namespace strata::detail
#endif

#endif
