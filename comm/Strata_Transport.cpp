// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <comm/Strata_Transport.hpp>

#include <comm/Strata_Carrier.hpp>
#include <comm/Strata_Communicator.hpp>
#include <comm/Strata_DeviceMessages.hpp>
#include <comm/vendor/Strata_DeviceAwareMpi.hpp>
#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

namespace strata {

namespace {

// The choice, with what `offer`, which is collective, says that the device's queue can do.
template <class Exec, class Choice, class Offer>
Choice choose(Communicator const& comm, Transport asked, Offer const& offer) {
  auto const refuse = [&](std::string const& why) {  // the same on all ranks
    comm.agree([&] { throw ValueError(detail::message("transport enqueued: ", why)); });
  };
  if constexpr (strata::runs_on_host<Exec>) {
    if (asked == Transport::Enqueued)
      refuse(detail::message(Exec::name(), " runs on the host, which has no queue"));
    return {};
  } else {
    if (asked == Transport::Automatic || asked == Transport::Enqueued) {
      auto const [way, obstacle] = offer();
      if (asked == Transport::Enqueued && !obstacle.empty()) refuse(obstacle);
      if (way) return {Transport::Enqueued, way};
    }
    if (comm.size() == 1) return {};
    if (asked != Transport::Automatic) return {asked, nullptr};
    return {is_device_aware<Exec>() ? Transport::Direct : Transport::Staged, nullptr};
  }
}

}  // namespace

template <class Exec>
Link<Exec> make_link(Exec const& exec, Communicator const& comm, Transport asked) {
  return choose<Exec, Link<Exec>>(comm, asked, [&] { return device_messages(exec, comm); });
}

template <class Exec>
MailboxLink make_mailbox_link(int device, Communicator const& comm,
                              std::vector<Route> const& routes, Transport asked) {
  auto link = choose<Exec, MailboxLink>(comm, asked,
                                        [&] { return device_carrier<Exec>(device, comm, routes); });
  if (asked == Transport::Staged && comm.size() > 1)
    link.transport = asked;  // on a host, too, which then copies
  return link;
}

#define STRATA_INSTANTIATE(Exec)                                              \
  template Link<Exec> make_link(Exec const&, Communicator const&, Transport); \
  template MailboxLink make_mailbox_link<Exec>(int, Communicator const&,      \
                                               std::vector<Route> const&, Transport);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata
