// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TRANSPORT_HPP
#define STRATA_TRANSPORT_HPP

#include <core/Strata_EnumNames.hpp>

#include <memory>
#include <vector>

namespace strata {

class Carrier;
class Communicator;
struct Route;
template <class ExecutionSpace>
class DeviceMessages;

/// How values travel between ranks.
enum class Transport {
  /// Enqueued where it can be; else Direct on a host or if MPI says that it is GPU-aware; else
  /// Staged
  Automatic,
  Direct,    ///< MPI reads and writes the memory that vectors or tiles are in
  Staged,    ///< MPI does so with pinned host memory, to and from which they are copied
  Enqueued,  ///< kernels of NCCL or RCCL send and receive, from a device's queue
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(Transport) {
  return enum_names<Transport>("transport", {{Transport::Automatic, "automatic"},
                                             {Transport::Direct, "direct"},
                                             {Transport::Staged, "staged"},
                                             {Transport::Enqueued, "enqueued"}});
}

/// How messages travel between the ranks of a communicator: the same on each.
template <class ExecutionSpace>
struct Link {
  Transport transport = Transport::Direct;  ///< what was chosen, not Automatic
  /// messages on the queue, for Enqueued alone
  std::shared_ptr<DeviceMessages<ExecutionSpace> const> messages;
};

/// Choose how messages travel. Collective.
///
/// Enqueued needs a device, a build with NCCL or RCCL, and a device of its own for each rank. On a
/// host, and where there is one rank, which sends nothing, the choice is Direct.
/// Throws   ValueError with the reason if `asked` is Enqueued and can't be; VendorError; on all
///          ranks.
template <class ExecutionSpace>
Link<ExecutionSpace> make_link(ExecutionSpace const& exec, Communicator const& comm,
                               Transport asked);

/// How the messages of mailboxes travel: the same on each rank.
struct MailboxLink {
  Transport transport = Transport::Direct;  ///< what was chosen, not Automatic
  std::shared_ptr<Carrier> carrier;         ///< carrier of the messages, for Enqueued alone
};

/// The same choice for messages of mailboxes, to and from memory that the device with this number
/// reads. Collective.
///
/// `routes`   those that begin or end at this rank, see `device_carrier`.
/// Throws   as `make_link`; VendorError on one rank alone as `device_carrier`.
template <class ExecutionSpace>
MailboxLink make_mailbox_link(int device, Communicator const& comm,
                              std::vector<Route> const& routes, Transport asked);

}  // namespace strata

#endif
