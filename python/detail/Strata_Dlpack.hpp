// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PYTHON_DLPACK_HPP
#define STRATA_PYTHON_DLPACK_HPP

#include <nanobind/nanobind.h>

#include <utility>

namespace strata::python::detail {

namespace nb = nanobind;

/// A capsule of DLPack as before version 1, which is what nanobind 2 takes, and whether its numbers
/// must not be written, which only capsules since then can say. What was given is used up.
///
/// Throws   BufferError for a version whose layout is not known.
/// Source   DLPack 1.1, dlpack.h and "Python Specification for DLPack".
std::pair<nb::object, bool> unversioned(nb::object const& capsule);

}  // namespace strata::python::detail

#endif
