// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SOLVE_VECTORS_HPP
#define STRATA_APPS_SOLVE_VECTORS_HPP

#include <core/io/Strata_HostMatrix.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <vector>

namespace strata::apps {

/// A matrix where the program computes.
using DeviceMatrix =
    Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::DefaultExecutionSpace::memory_space>;

/// The same View where `exec` can read it, else a copy there. Fences `exec`.
DeviceMatrix on_device(Kokkos::DefaultExecutionSpace const& exec, HostMatrix const& host);
/// A copy. Fences `exec`.
HostMatrix on_host(Kokkos::DefaultExecutionSpace const& exec, DeviceMatrix const& device);

/// max_j ||x_j - known_j||_inf / ||known_j||_inf; NaN if a number of X is.
double forward_error(HostMatrix const& X, HostMatrix const& known);

/// Rows of X as in the user's files, of which row k is order[k]; empty: X.
HostMatrix in_users_order(HostMatrix const& X, std::vector<std::int64_t> const& order);

}  // namespace strata::apps

#endif
