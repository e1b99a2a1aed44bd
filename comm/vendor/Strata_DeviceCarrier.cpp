// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <comm/Strata_Carrier.hpp>
#include <comm/vendor/Strata_Nccl.hpp>
#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

namespace strata {

#ifdef STRATA_HAS_NCCL

namespace {

// The most routes for which a device has queues. Streams that share a queue wait for each other. So
// two transfers between two ranks, one in each direction, might wait for ever. Transfers that wait
// for their other end hold four blocks of threads each. More would take half of a GPU.
int most_routes() {
  char const* const queues =
      std::getenv(STRATA_CUDA_OR_HIP("CUDA_DEVICE_MAX_CONNECTIONS", "GPU_MAX_HW_QUEUES"));
  return std::min(queues ? std::atoi(queues) : STRATA_CUDA_OR_HIP(8, 4), 16);
}
constexpr int blocks = 4;

// Both ends of a transfer are enqueued within the time of a message, so that no kernel waits for
// another rank's work.
class DeviceCarrier final : public Carrier {
 public:
  DeviceCarrier(int device, Communicator const& comm) : device_(device), comm_(comm) {}

  void add(Route const& route, ncclComm_t handle) {
    channels_.emplace(route, Channel{handle, std::make_unique<runtime::Stream>(device_, true)});
  }

  std::size_t send(void const* data, std::size_t bytes, int to) override {
    return begin({comm_.rank(), to}, [&](Channel const& channel) {
      check(ncclSend(data, bytes, ncclChar, 1, channel.handle, *channel.stream), "ncclSend");
    });
  }
  std::size_t receive(void* data, std::size_t bytes, int from) override {
    return begin({from, comm_.rank()}, [&](Channel const& channel) {
      check(ncclRecv(data, bytes, ncclChar, 0, channel.handle, *channel.stream), "ncclRecv");
    });
  }
  bool has_ended(std::size_t transfer) override {
    auto& [end, channel] = transfers_[transfer];
    runtime::Status const status = STRATA_RUNTIME(EventQuery)(*end);
    if (status == STRATA_RUNTIME(ErrorNotReady)) {
      (void)STRATA_RUNTIME(GetLastError)();  // no error of ours
      ncclResult_t failure = ncclSuccess;
      vendor::check(ncclCommGetAsyncError(channel->handle, &failure), "ncclCommGetAsyncError");
      vendor::check(failure, "a transfer by NCCL");
      return false;
    }
    runtime::check(status, STRATA_RUNTIME_TEXT(EventQuery));
    free_.push_back(transfer);
    return true;
  }

 private:
  struct Channel {
    ncclComm_t handle;  // the rank that the route begins at is 0 there
    std::unique_ptr<runtime::Stream> stream;
  };
  struct Transfer {
    std::unique_ptr<runtime::Event> end;
    Channel const* channel;
  };

  static void check(ncclResult_t status, char const* call) { vendor::check(status, call); }

  template <class Enqueue>
  std::size_t begin(Route const& route, Enqueue const& enqueue) {
    runtime::Selected const selected(device_);
    Channel const& channel = channels_.at(route);
    if (free_.empty()) {
      free_.push_back(transfers_.size());
      transfers_.push_back(
          {std::make_unique<runtime::Event>(STRATA_RUNTIME(EventDisableTiming)), nullptr});
    }
    std::size_t const transfer = free_.back();
    free_.pop_back();
    transfers_[transfer].channel = &channel;
    enqueue(channel);
    STRATA_RUNTIME_CALL(EventRecord, *transfers_[transfer].end, *channel.stream);
    return transfer;
  }

  int device_;
  Communicator comm_;  // ends the handles
  std::map<Route, Channel> channels_;
  std::vector<Transfer> transfers_;
  std::vector<std::size_t> free_;
};

}  // namespace

template <>
CarrierOffer device_carrier<runtime::Exec>(int device, Communicator const& comm,
                                           std::vector<Route> routes) {
  if (comm.size() == 1) return {};
  auto const devices = vendor::devices_of(device, comm);
  if (auto const shared = shared_device(devices); !shared.empty()) return {nullptr, shared};
  int const most = static_cast<int>(comm.max(static_cast<double>(routes.size())));
  int const allowed = -static_cast<int>(comm.max(-most_routes()));
  if (most > allowed)
    return {nullptr, detail::message("a rank has ", most, " routes of messages, and a device ",
                                     allowed, " queues for them")};
  std::ranges::sort(routes);  // of any two ranks the one that is first here makes its handle first
  auto carrier = std::make_shared<DeviceCarrier>(device, comm);
  for (Route const& route : routes)
    carrier->add(route, vendor::handle_of(device, comm, {devices, {route.from, route.to}, blocks}));
  return {std::move(carrier), {}};
}

#else

template <class Exec>
CarrierOffer device_carrier(int /*device*/, Communicator const& /*comm*/,
                            std::vector<Route> /*routes*/) {
  return {nullptr, "this build has neither NCCL nor RCCL"};
}

#define STRATA_INSTANTIATE(Exec) \
  template CarrierOffer device_carrier<Exec>(int, Communicator const&, std::vector<Route>);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

#endif

}  // namespace strata
