// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/comm/Strata_Transport.hpp>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <sparse/comm/Strata_Communicator.hpp>
#include <sparse/comm/vendor/Strata_DeviceAwareMpi.hpp>
#include <sparse/comm/vendor/Strata_DeviceMessages.hpp>

namespace strata::sparse {

template <class Exec>
Link<Exec> make_link(Exec const& exec, Communicator const& comm, Transport asked) {
  auto const refuse_unless = [&](bool possible, auto const&... why) {  // the same on all ranks
    if (possible || asked != Transport::Enqueued) return;
    comm.agree([&] { throw ValueError(strata::detail::message("transport enqueued: ", why...)); });
  };
  if constexpr (strata::runs_on_host<Exec>) {
    refuse_unless(false, exec.name(), " runs on the host, which has no queue");
    return {};
  } else {
    if (asked == Transport::Automatic || asked == Transport::Enqueued) {
      auto const offer = vendor::device_messages(exec, comm);
      refuse_unless(offer.obstacle.empty(), offer.obstacle);
      if (offer.messages) return {Transport::Enqueued, offer.messages};
    }
    if (comm.size() == 1) return {};
    if (asked != Transport::Automatic) return {asked, nullptr};
    return {vendor::is_device_aware<Exec>() ? Transport::Direct : Transport::Staged, nullptr};
  }
}

#define STRATA_INSTANTIATE_LINK(Space) \
  template Link<Space> make_link(Space const&, Communicator const&, Transport);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_LINK)

}  // namespace strata::sparse
