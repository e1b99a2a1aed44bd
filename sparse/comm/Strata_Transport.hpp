// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_TRANSPORT_HPP
#define STRATA_SPARSE_TRANSPORT_HPP

#include <core/Strata_EnumNames.hpp>

#include <memory>

namespace strata {
class Communicator;
}

namespace strata::sparse {

using strata::Communicator;

/// How values travel between ranks.
enum class Transport {
  Automatic,  ///< Enqueued where it can be; else Direct on a host or if MPI says that it is GPU-aware; else Staged
  Direct,     ///< MPI reads and writes the memory that vectors are in
  Staged,     ///< MPI does so with pinned host memory, which kernels fill and read
  Enqueued,   ///< kernels of NCCL or RCCL send and receive; the host waits for nothing
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(Transport) {
  return enum_names<Transport>("transport", {{Transport::Automatic, "automatic"},
                                             {Transport::Direct, "direct"},
                                             {Transport::Staged, "staged"},
                                             {Transport::Enqueued, "enqueued"}});
}
using strata::name_of;

namespace vendor {
template <class Exec>
class DeviceMessages;
}

/// How messages travel between the ranks of a communicator: the same on each.
template <class Exec>
struct Link {
  Transport transport = Transport::Direct;                       ///< what was chosen, not Automatic
  std::shared_ptr<vendor::DeviceMessages<Exec> const> messages;  ///< of Enqueued
};

/// Choose how messages travel. Collective.
///
/// Enqueued needs a device, a build with NCCL or RCCL, and a device of its own for each rank. On a host, and where
/// there is one rank, which sends nothing, the choice is Direct.
/// Throws   ValueError with the reason if `asked` is Enqueued and can't be; VendorError; on all ranks.
template <class Exec>
Link<Exec> make_link(Exec const& exec, Communicator const& comm, Transport asked);

}  // namespace strata::sparse

#endif
