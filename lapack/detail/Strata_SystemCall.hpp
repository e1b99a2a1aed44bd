// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LAPACK_SYSTEM_CALL_HPP
#define STRATA_LAPACK_SYSTEM_CALL_HPP

#include <lapack/detail/Strata_Problem.hpp>
#include <lapack/detail/Strata_System.hpp>

namespace strata::lapack::detail {

/// Solves the problem by the system's routine of that integer width. If it has no routine of 64
/// bits, the routine of 32 bits is used if the sizes fit. False if there is none.
template <class T>
bool by_system(SystemLapack& system, Routine routine, Width width, Problem<T>& problem);

}  // namespace strata::lapack::detail

#endif
