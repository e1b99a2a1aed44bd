// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_LOADED_OBJECTS_HPP
#define STRATA_C_LOADED_OBJECTS_HPP

#include <string>

namespace strata::c::detail {

/// The program, or a library of the process, that is linked to a library whose name begins so. It
/// is not this library, nor a library to which this one is linked, directly or not. Nor is it
/// Strata's C interface or its package for Python, which start Kokkos at their first need as this
/// library does. Empty if there is none.
std::string other_object_that_needs(std::string const& library);

}  // namespace strata::c::detail

#endif
