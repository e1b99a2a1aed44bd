// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_GATHER_SPANS_HPP
#define STRATA_GATHER_SPANS_HPP

#include <comm/Strata_Communicator.hpp>
#include <core/io/files/Strata_Trace.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>

#include <vector>

namespace strata {

/// What the ranks' recorders recorded, on rank 0: "rank 0", "rank 1", ..., by one clock, to the
/// time of a message; nothing on the others.
///
/// Collective. Sync: waits for what was recorded. Throws what `Recorder::spans` throws, on all
/// ranks.
std::vector<TracedProcess> gather_spans(Communicator const& comm, Recorder const& recorder);

}  // namespace strata

#endif
