// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PYTHON_BIND_SOLVE_EACH_HPP
#define STRATA_PYTHON_BIND_SOLVE_EACH_HPP

#include <python/detail/Strata_Bind.hpp>

namespace strata::python {

/// Many systems of different orders in one call.
void bind_solve_each(nb::module_& m);

}  // namespace strata::python

#endif
