// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SECOND_INSTANCE_HPP
#define STRATA_SECOND_INSTANCE_HPP

#include <core/kokkos_ext/Strata_Team.hpp>

#include <Kokkos_Core.hpp>

#include <memory>

// A second instance of a device, and the order of work between two: what Kokkos has no words for.
namespace strata::vendor {

// As in strata; defined in `vendor/`, for the GPU that Kokkos has.
template <class Exec>
std::shared_ptr<Exec const> urgent_instance(Exec const& exec);
template <class Exec>
std::shared_ptr<Exec const> own_instance(Exec const& exec);
template <class Exec>
void enqueue_wait(Exec const& waiting, Exec const& awaited);

}  // namespace strata::vendor

namespace strata {

/// An instance on the same device whose kernels go first where both have some to run. On a host,
/// where two instances would share the cores, it is the same one.
///
/// Sync     its end waits for the work enqueued on it.
template <class Exec>
std::shared_ptr<Exec const> urgent_instance(Exec const& exec) {
  if constexpr (runs_on_host<Exec>)
    return std::make_shared<Exec const>(exec);
  else
    return vendor::urgent_instance(exec);
}

/// An instance on the same device that is nobody else's. On a device it is `Lent`, since it costs
/// more to make than many a call.
///
/// Sync     its end waits for the work enqueued on it.
template <class Exec>
std::shared_ptr<Exec const> own_instance(Exec const& exec) {
  if constexpr (runs_on_host<Exec>)
    return std::make_shared<Exec const>(Kokkos::Experimental::partition_space(exec, 1)[0]);
  else
    return vendor::own_instance(exec);
}

/// What is enqueued on `waiting` from now on starts after what is on `awaited` so far has ended.
///
/// Sync     the caller does not wait, except on a host.
template <class Exec>
void enqueue_wait(Exec const& waiting, Exec const& awaited) {
  if (waiting == awaited) return;
  if constexpr (runs_on_host<Exec>)
    awaited.fence("strata::core::enqueue_wait");
  else
    vendor::enqueue_wait(waiting, awaited);
}

}  // namespace strata

#endif
