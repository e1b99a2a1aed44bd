// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <comm/Strata_DeviceMessages.hpp>

#include <comm/vendor/Strata_Nccl.hpp>
#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <numeric>

namespace strata {

std::string shared_device(std::vector<DeviceIdentity> const& of_ranks) {
  for (auto other = of_ranks.begin(); other != of_ranks.end(); ++other) {
    auto const one = std::find(of_ranks.begin(), other, *other);
    if (one != other)
      return detail::message("ranks ", one - of_ranks.begin(), " and ", other - of_ranks.begin(),
                             " share a device");
  }
  return {};
}

#ifdef STRATA_HAS_NCCL

namespace {

using Device = runtime::Exec;
using runtime::stream_of;
using vendor::check;

class Messages final : public DeviceMessages<Device> {
 public:
  Messages(Communicator const& comm, ncclComm_t handle) : comm_(comm), handle_(handle) {}

  void exchange(Device const& exec, HaloPattern const& pattern, float const* send,
                float* halo) const override {
    send_and_receive(exec, pattern, send, halo, ncclFloat);
  }
  void exchange(Device const& exec, HaloPattern const& pattern, double const* send,
                double* halo) const override {
    send_and_receive(exec, pattern, send, halo, ncclDouble);
  }
  void sum(Device const& exec, double* values, int count) const override {
    check(ncclAllReduce(values, values, static_cast<std::size_t>(count), ncclDouble, ncclSum,
                        handle_, stream_of(exec)),
          "ncclAllReduce");
  }

 private:
  template <class Scalar>
  void send_and_receive(Device const& exec, HaloPattern const& pattern, Scalar const* send,
                        Scalar* halo, ncclDataType_t type) const {
    auto const count = [](HaloPattern::Neighbour const& other) {
      return static_cast<std::size_t>(other.end - other.begin);
    };
    ncclResult_t received = ncclSuccess, sent = ncclSuccess;
    check(ncclGroupStart(), "ncclGroupStart");
    for (auto const& other : pattern.from)
      if (received == ncclSuccess)
        received =
            ncclRecv(halo + other.begin, count(other), type, other.rank, handle_, stream_of(exec));
    for (auto const& other : pattern.to)
      if (sent == ncclSuccess)
        sent =
            ncclSend(send + other.begin, count(other), type, other.rank, handle_, stream_of(exec));
    ncclResult_t const ended = ncclGroupEnd();  // of a group that broke off too
    check(received, "ncclRecv");
    check(sent, "ncclSend");
    check(ended, "ncclGroupEnd");
  }

  Communicator comm_;  // ends the handle
  ncclComm_t handle_;
};

}  // namespace

template <>
DeviceMessagesOffer<Device> device_messages(Device const& exec, Communicator const& comm) {
  if (comm.size() == 1) return {};
  int const device = runtime::device_of(exec);
  vendor::NcclGroup all{vendor::devices_of(device, comm), {}};
  if (auto const shared = shared_device(all.devices); !shared.empty()) return {nullptr, shared};
  all.ranks.resize(static_cast<std::size_t>(comm.size()));
  std::iota(all.ranks.begin(), all.ranks.end(), 0);
  return {std::make_shared<Messages>(comm, vendor::handle_of(device, comm, all)), {}};
}

#else

template <class Exec>
DeviceMessagesOffer<Exec> device_messages(Exec const& /*exec*/, Communicator const& /*comm*/) {
  return {nullptr, "this build has neither NCCL nor RCCL"};
}

#define STRATA_INSTANTIATE_DEVICE_MESSAGES(Space) \
  template DeviceMessagesOffer<Space> device_messages(Space const&, Communicator const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_DEVICE_MESSAGES)

#endif

}  // namespace strata
