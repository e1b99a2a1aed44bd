// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <comm/vendor/Strata_Nccl.hpp>

#ifdef STRATA_HAS_NCCL

#include <comm/Strata_Mpi.hpp>
#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <fstream>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace strata::vendor {

namespace {

using detail::check_mpi;

struct End {
  void operator()(
      ncclComm_t comm) const {  // which waits for the other ranks, unless this one failed
    (void)(std::uncaught_exceptions() > 0 ? ncclCommAbort(comm) : ncclCommDestroy(comm));
  }
};
using NcclHandle = std::unique_ptr<std::remove_pointer_t<ncclComm_t>, End>;

// What is kept with an MPI communicator, and ends with it, in the order in which it was made: the
// same on all ranks.
struct Attached {
  struct Made {
    NcclGroup group;
    NcclHandle handle;
  };
  Attached() = default;
  ~Attached() {
    while (!made.empty()) made.pop_front();
  }
  Attached(Attached const&) = delete;
  Attached& operator=(Attached const&) = delete;
  std::list<Made> made;
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

// The first rank of the group tells the others by what they find one another, or, by a number of
// their own, that it can't.
ncclUniqueId shared_id(Communicator const& comm, std::vector<int> const& ranks) {
  constexpr int tag = 21;
  struct Told {
    ncclUniqueId id{};
    ncclResult_t status = ncclSuccess;
  } told;
  if (comm.rank() == ranks.front()) {
    told.status = ncclGetUniqueId(&told.id);
    for (int const other : ranks)
      if (other != comm.rank())
        check_mpi(MPI_Send(&told, sizeof told, MPI_BYTE, other, tag, comm.mpi()), "MPI_Send");
  } else {
    check_mpi(
        MPI_Recv(&told, sizeof told, MPI_BYTE, ranks.front(), tag, comm.mpi(), MPI_STATUS_IGNORE),
        "MPI_Recv");
  }
  check(told.status, "ncclGetUniqueId");
  return told.id;
}

NcclHandle join(int device, Communicator const& comm, NcclGroup const& group) {
  runtime::Selected const selected(device);
  ncclUniqueId const id = shared_id(comm, group.ranks);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  if (group.most_blocks > 0) config.maxCTAs = group.most_blocks;
  auto const own = std::ranges::find(group.ranks, comm.rank()) - group.ranks.begin();
  // A rank that fails says so alone: the others wait for it within their own call.
  ncclComm_t joined = nullptr;
  ncclResult_t const status = ncclCommInitRankConfig(&joined, static_cast<int>(group.ranks.size()),
                                                     id, static_cast<int>(own), &config);
  STRATA_REQUIRE(VendorError, status == ncclSuccess,
                 "ncclCommInitRankConfig: ", ncclGetErrorString(status),
                 "; NCCL_DEBUG=INFO in the environment tells more, and the transports direct and "
                 "staged do without");
  return NcclHandle(joined);
}

// Two ranks connect at their first transfer, which takes some 40 ms: not while a tile waits.
void connect(int device, ncclComm_t handle, bool is_first) {
  using Byte = Kokkos::View<std::byte*, Kokkos::SharedHostPinnedSpace>;
  auto const byte = allocate_on_host<Byte>("strata::comm::nccl::connect", 1);
  runtime::Selected const selected(device);
  runtime::Stream const stream(device, true);
  check(is_first ? ncclSend(byte.data(), 1, ncclChar, 1, handle, stream)
                 : ncclRecv(byte.data(), 1, ncclChar, 0, handle, stream),
        is_first ? "ncclSend" : "ncclRecv");
  STRATA_RUNTIME_CALL(StreamSynchronize, stream);
}

}  // namespace

void check(ncclResult_t status, char const* call) {
  STRATA_REQUIRE(VendorError, status == ncclSuccess, call, ": ", ncclGetErrorString(status));
}

std::vector<DeviceIdentity> devices_of(int device, Communicator const& comm) {
  DeviceIdentity const own = comm.agree([&] {
    auto const properties = runtime::properties_of(device);
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

ncclComm_t handle_of(int device, Communicator const& comm, NcclGroup const& group) {
  auto& all = attached_to(comm).made;
  auto const known = std::ranges::find(all, group, &Attached::Made::group);
  if (known != all.end()) return known->handle.get();
  NcclHandle handle = join(device, comm, group);
  if (group.ranks.size() == 2) connect(device, handle.get(), group.ranks.front() == comm.rank());
  return all.emplace_back(Attached::Made{group, std::move(handle)}).handle.get();
}

}  // namespace strata::vendor

#endif
