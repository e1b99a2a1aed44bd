// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SOLVE_VECTORS_HPP
#define STRATA_APPS_SOLVE_VECTORS_HPP

#include <apps/solve/Strata_SolveResult.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <vector>

namespace strata::apps {

/// A matrix where the program computes.
using DeviceMatrix =
    Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::DefaultExecutionSpace::memory_space>;

/// The same View where `exec` can read it, else a copy there. Fences `exec`.
DeviceMatrix on_device(Kokkos::DefaultExecutionSpace const& exec, HostMatrix const& host);
/// Copy X to the host, and to `result` in the order of the user's files, with its error where the solution is known.
/// Fences `exec`.
void take_solution(Kokkos::DefaultExecutionSpace const& exec, Problem const& problem,
                   DeviceMatrix const& X, DenseResult& result);

/// max_j ||x_j - known_j||_inf / ||known_j||_inf; NaN if a number of X is.
double forward_error(ConstHostMatrix const& X, ConstHostMatrix const& known);

/// Rows of the matrix in the user's files, of which row k is order[k], in the program's order; empty: as they are.
HostMatrix in_order(HostMatrix const& B, std::vector<std::int64_t> const& order);

}  // namespace strata::apps

#endif
