// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DEVICE_MESSAGES_HPP
#define STRATA_DEVICE_MESSAGES_HPP

#include <comm/Strata_Communicator.hpp>
#include <comm/Strata_HaloPattern.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace strata {

/// Messages between the ranks of a communicator that go when a device's queue gets there.
///
/// Calls enqueue on `exec` and return; they may be replayed. Ranks that have something for each
/// other make the same calls in the same order, `sum` all of them. Throws VendorError.
template <class Exec>
class DeviceMessages {
 public:
  virtual ~DeviceMessages() = default;

  /// `send` holds what goes to `pattern.to`, rank by rank; `halo` gets what comes from
  /// `pattern.from`.
  virtual void exchange(Exec const& exec, HaloPattern const& pattern, float const* send,
                        float* halo) const = 0;
  /// The same in fp64.
  virtual void exchange(Exec const& exec, HaloPattern const& pattern, double const* send,
                        double* halo) const = 0;
  /// In place, over the ranks; the same bits on each.
  virtual void sum(Exec const& exec, double* values, int count) const = 0;
};

/// The host, and the slot on its bus.
using DeviceIdentity = std::array<std::int64_t, 2>;
/// Which ranks share a device, in words; empty if each has its own.
std::string shared_device(std::vector<DeviceIdentity> const& of_ranks);

/// Messages, or why there can be none; one rank needs none and gets neither.
template <class Exec>
struct DeviceMessagesOffer {
  std::shared_ptr<DeviceMessages<Exec> const> messages;  ///< nullptr: none
  std::string obstacle;                                  ///< why; empty: messages, or one rank
};
/// By NCCL or RCCL, whose communicator is made once for these ranks and devices, and ends with
/// `comm`, of which the result holds a copy. Collective; the same offer on all ranks. Throws
/// VendorError, on a rank that can't join the others alone: they wait for it until it ends.
template <class Exec>
DeviceMessagesOffer<Exec> device_messages(Exec const& exec, Communicator const& comm);

}  // namespace strata

#endif
