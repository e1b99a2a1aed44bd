// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_CARRIER_HPP
#define STRATA_CARRIER_HPP

#include <comm/Strata_Communicator.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace strata {

/// What takes a mailbox's messages (`comm/Strata_Mailbox.hpp`) from memory to memory, once both
/// ends are ready.
///
/// The transfers from one rank to another begin in the same order at both ends.
/// Throws   VendorError, on this rank alone: the other end then waits until the program ends it
///          (`is_agreed`).
class Carrier {
 public:
  virtual ~Carrier() = default;
  /// Begin to send so many bytes, at least 1. The other end is ready, and begins to receive them
  /// without waiting for other work. Result: the number by which `has_ended` knows the transfer.
  virtual std::size_t send(void const* data, std::size_t bytes, int to) = 0;
  /// The other half of `send`.
  virtual std::size_t receive(void* data, std::size_t bytes, int from) = 0;
  /// Whether the transfer has ended. Then it is forgotten, and its number may be another's.
  virtual bool has_ended(std::size_t transfer) = 0;
};

/// The two ranks between which messages go, in one direction.
struct Route {
  int from = 0, to = 0;  ///< ranks
  /// Orders routes by the numbers of their ranks.
  auto operator<=>(Route const&) const = default;
};

/// A carrier, or why there can be none; one rank needs none and gets neither.
struct CarrierOffer {
  std::shared_ptr<Carrier> carrier;  ///< nullptr: none
  std::string obstacle;              ///< why; empty: a carrier, or one rank
};
/// Offers a carrier by NCCL or RCCL, with a stream for each route. The kernels copy from and to
/// memory that the device with this number reads: its own, or pinned memory of the host.
///
/// `routes`: those that begin or end at this rank, no more than the device has queues for. A
/// communicator of NCCL is made once for each, and for these devices, and ends with `comm`, of
/// which the result holds a copy. Collective; the same offer on all ranks.
/// Throws   VendorError, on a rank that can't join another one alone: that one waits for it until
///          it ends.
template <class ExecutionSpace>
CarrierOffer device_carrier(int device, Communicator const& comm, std::vector<Route> routes);

}  // namespace strata

#endif
