// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_LOADED_OBJECTS_HPP
#define STRATA_C_LOADED_OBJECTS_HPP

#include <string>

namespace strata::c::detail {

/// The program, or a library of the process, that is linked to a library whose name begins so and is neither this
/// library nor one that this is linked to, directly or not; nor another one of Strata's that starts Kokkos at its first
/// need as this one does, the C interface or the package for Python. Empty if there is none.
std::string other_object_that_needs(std::string const& library);

}  // namespace strata::c::detail

#endif
