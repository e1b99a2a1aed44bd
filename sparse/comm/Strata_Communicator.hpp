// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_COMMUNICATOR_HPP
#define STRATA_SPARSE_COMMUNICATOR_HPP

#include <comm/Strata_Communicator.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>

namespace strata::sparse {

using strata::AgreedError;
using strata::Communicator;
using strata::is_agreed;

/// The name of the spans, on the track "waits", in which a rank waits for what others send or for
/// sums over all. They have the device's time where the device waits.
inline constexpr char const* waiting_span = "strata::sparse::wait";

/// Call `work`, in which the host waits for other ranks, and tell the thread's recorder, if it has
/// one.
template <class Work>
void wait_for_ranks(Communicator const& comm, Work const& work) {
  Recorder::Stamp const start{Recorder::Clock::now(), {}};
  work();
  if (auto* const recorder = Recorder::current(); recorder && comm.size() > 1)
    recorder->add("waits", waiting_span, start, {Recorder::Clock::now(), {}});
}

}  // namespace strata::sparse

#endif
