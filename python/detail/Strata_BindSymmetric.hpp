// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PYTHON_BIND_SYMMETRIC_HPP
#define STRATA_PYTHON_BIND_SYMMETRIC_HPP

#include <python/detail/Strata_Bind.hpp>

namespace strata::python {

/// Factors of symmetric matrices that need not be definite.
void bind_symmetric(nb::module_& m);

}  // namespace strata::python

#endif
