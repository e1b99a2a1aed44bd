// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#if defined(STRATA_ENABLE_TPL_NCCL)
#include <nccl.h>
#elif defined(STRATA_ENABLE_TPL_RCCL)
#include <rccl/rccl.h>
#endif

#include <comm/Strata_Mpi.hpp>
#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <sparse/comm/vendor/Strata_DeviceMessages.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <exception>
#include <fstream>
#include <functional>
#include <type_traits>

namespace strata::sparse::vendor {

std::string shared_device(std::vector<DeviceIdentity> const& of_ranks) {
  for (auto other = of_ranks.begin(); other != of_ranks.end(); ++other) {
    auto const one = std::find(of_ranks.begin(), other, *other);
    if (one != other)
      return strata::detail::message("ranks ", one - of_ranks.begin(), " and ",
                                     other - of_ranks.begin(), " share a device");
  }
  return {};
}

#if defined(STRATA_ENABLE_TPL_NCCL) || defined(STRATA_ENABLE_TPL_RCCL)

namespace {

using Device = runtime::Exec;
using runtime::stream_of;
using strata::detail::check_mpi;

void check(ncclResult_t status, char const* call) {
  STRATA_REQUIRE(VendorError, status == ncclSuccess, call, ": ", ncclGetErrorString(status));
}

struct End {
  void operator()(
      ncclComm_t comm) const {  // which waits for the other ranks, unless this one failed
    (void)(std::uncaught_exceptions() > 0 ? ncclCommAbort(comm) : ncclCommDestroy(comm));
  }
};
using Handle = std::unique_ptr<std::remove_pointer_t<ncclComm_t>, End>;

/// What is kept with an MPI communicator, and ends with it.
struct Attached {
  struct Group {
    std::vector<DeviceIdentity> devices;  // of the ranks
    Handle handle;
  };
  std::vector<Group> groups;
};

int forget(MPI_Comm, int, void* attached, void*) {
  delete static_cast<Attached*>(attached);
  return MPI_SUCCESS;
}

Attached& attached_to(Communicator const& comm) {
  static int const key = [] {
    int made = MPI_KEYVAL_INVALID;
    check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &made, nullptr),
              "MPI_Comm_create_keyval");
    return made;
  }();
  Attached* attached = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(comm.mpi(), key, static_cast<void*>(&attached), &found),
            "MPI_Comm_get_attr");
  if (found) return *attached;
  auto fresh = std::make_unique<Attached>();
  check_mpi(MPI_Comm_set_attr(comm.mpi(), key, fresh.get()), "MPI_Comm_set_attr");
  return *fresh.release();
}

// The same for all containers of a host, and for no other host's.
std::string host_name() {
  std::string name;
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  if (std::getline(boot, name) && !name.empty()) return name;
  std::array<char, MPI_MAX_PROCESSOR_NAME> text{};
  int length = 0;
  check_mpi(MPI_Get_processor_name(text.data(), &length), "MPI_Get_processor_name");
  return {text.data(), static_cast<std::size_t>(length)};
}

// The device of each rank, by what NCCL knows it by; parts of one are one.
std::vector<DeviceIdentity> devices_of(Device const& exec, Communicator const& comm) {
  DeviceIdentity const own = comm.agree([&] {
    auto const properties = runtime::properties_of(runtime::device_of(exec));
    std::int64_t const bus = std::int64_t{properties.pciDomainID} << 32 | properties.pciBusID << 8 |
                             properties.pciDeviceID;
    return DeviceIdentity{static_cast<std::int64_t>(std::hash<std::string>{}(host_name())), bus};
  });
  auto const first = comm.gather(own[0]), second = comm.gather(own[1]);
  std::vector<DeviceIdentity> devices;
  for (std::size_t rank = 0; rank < first.size(); ++rank)
    devices.push_back({first[rank], second[rank]});
  return devices;
}

Handle made(Device const& exec, Communicator const& comm) {
  ncclUniqueId id{};
  comm.agree([&] {
    runtime::select(exec);
    if (comm.rank() == 0) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  });
  check_mpi(MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, comm.mpi()), "MPI_Bcast");
  // A rank that fails says so alone: the others wait for it within their own call.
  ncclComm_t joined = nullptr;
  ncclResult_t const status = ncclCommInitRank(&joined, comm.size(), id, comm.rank());
  STRATA_REQUIRE(VendorError, status == ncclSuccess,
                 "ncclCommInitRank: ", ncclGetErrorString(status),
                 "; NCCL_DEBUG=INFO in the environment tells more, and the transports direct and "
                 "staged do without");
  return Handle(joined);
}

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
  auto devices = devices_of(exec, comm);
  if (auto const shared = shared_device(devices); !shared.empty()) return {nullptr, shared};
  auto& groups = attached_to(comm).groups;
  auto group = std::find_if(groups.begin(), groups.end(),
                            [&](auto const& other) { return other.devices == devices; });
  if (group == groups.end()) {
    auto handle = made(exec, comm);
    group = groups.insert(group, {std::move(devices), std::move(handle)});
  }
  return {std::make_shared<Messages>(comm, group->handle.get()), {}};
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

}  // namespace strata::sparse::vendor
