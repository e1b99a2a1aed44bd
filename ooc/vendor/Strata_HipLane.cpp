// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <hip/hip_runtime_api.h>

#include <Kokkos_Core.hpp>
#include <array>
#include <atomic>
#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_StampClock.hpp>
#include <ooc/vendor/Strata_DeviceLane.hpp>
#include <ooc/vendor/Strata_Numa.hpp>
#include <optional>
#include <unordered_map>

namespace strata::ooc::vendor {

namespace {

using Exec = Kokkos::HIP;

void check(hipError_t status, char const* call) {
  STRATA_REQUIRE(VendorError, status == hipSuccess, call, ": ", hipGetErrorName(status), " (",
                 hipGetErrorString(status), ")");
}

void use(int device) { check(hipSetDevice(device), "hipSetDevice"); }

class Event {
 public:
  explicit Event(unsigned flags) {
    check(hipEventCreateWithFlags(&event_, flags), "hipEventCreateWithFlags");
  }
  ~Event() { (void)hipEventDestroy(event_); }
  Event(Event const&) = delete;
  Event& operator=(Event const&) = delete;
  operator hipEvent_t() const { return event_; }

 private:
  hipEvent_t event_ = nullptr;
};

// A stream that dies after its instance.
struct Stream {
  explicit Stream(int device, bool urgent) {
    int least = 0, greatest = 0;
    use(device);
    check(hipDeviceGetStreamPriorityRange(&least, &greatest), "hipDeviceGetStreamPriorityRange");
    check(hipStreamCreateWithPriority(&handle, hipStreamNonBlocking, urgent ? greatest : least),
          "hipStreamCreateWithPriority");
  }
  ~Stream() { (void)hipStreamDestroy(handle); }
  Stream(Stream const&) = delete;
  Stream& operator=(Stream const&) = delete;
  hipStream_t handle = nullptr;
};

}  // namespace

template <>
struct DeviceLane<Exec>::Impl {
  Impl(int which, bool urgent)
      : device(which), owned(std::make_unique<Stream>(which, urgent)), exec(owned->handle) {
    prepare();
  }
  explicit Impl(Exec const& instance) : device(instance.hip_device()), exec(instance) { prepare(); }
  ~Impl() { exec.fence("strata::ooc::lane::release"); }

  // Marks are many and their events are used in turn. The host waits before it takes one again, so
  // that a mark whose event is another's by now has been reached.
  void prepare() {
    use(device);
    for (auto& event : ring) event = std::make_unique<Event>(hipEventDisableTiming);
  }

  bool is_reached(std::uint64_t number) const {
    return count.load(std::memory_order_acquire) > number + ring.size();
  }
  hipEvent_t event(std::uint64_t number) const { return *ring[number % ring.size()]; }

  int device;
  std::unique_ptr<Stream> owned;
  Exec exec;
  std::array<std::unique_ptr<Event>, 512> ring;
  std::atomic<std::uint64_t> count{0};
  // Another lane's marks come in its order: one that was waited for answers for all before it. Lanes
  // are known by numbers of their own, as addresses are used again.
  std::uint64_t const serial = lanes++;
  std::unordered_map<std::uint64_t, std::uint64_t> waited;  // by serial: marks before this number
  static inline std::atomic<std::uint64_t> lanes{0};
  std::optional<strata::vendor::EventClock<Exec>> clock;  // from the first stamp on
};

template <>
DeviceLane<Exec>::DeviceLane(int device, bool urgent)
    : impl_(std::make_unique<Impl>(device, urgent)) {}
template <>
DeviceLane<Exec>::DeviceLane(Exec const& exec) : impl_(std::make_unique<Impl>(exec)) {}
template <>
DeviceLane<Exec>::~DeviceLane() = default;

template <>
Exec const& DeviceLane<Exec>::exec() const {
  return impl_->exec;
}

template <>
void DeviceLane<Exec>::copy(void* to, void const* from, std::size_t bytes) {
  use(impl_->device);
  check(hipMemcpyAsync(to, from, bytes, hipMemcpyDefault, impl_->exec.hip_stream()),
        "hipMemcpyAsync");
}

template <>
auto DeviceLane<Exec>::record() -> Mark {
  std::uint64_t const number = impl_->count.load(std::memory_order_relaxed);
  hipEvent_t const event = *impl_->ring[number % impl_->ring.size()];
  use(impl_->device);
  if (number >= impl_->ring.size()) check(hipEventSynchronize(event), "hipEventSynchronize");
  check(hipEventRecord(event, impl_->exec.hip_stream()), "hipEventRecord");
  impl_->count.store(number + 1, std::memory_order_release);
  return {this, number};
}

template <>
void DeviceLane<Exec>::wait(Mark const& mark) {
  if (!mark.lane || mark.lane == this) return;
  Impl const& other = *mark.lane->impl_;
  if (other.is_reached(mark.number)) return;
  std::uint64_t& waited = impl_->waited[other.serial];
  if (mark.number < waited) return;
  use(impl_->device);
  check(hipStreamWaitEvent(impl_->exec.hip_stream(), other.event(mark.number), 0),
        "hipStreamWaitEvent");
  waited = mark.number + 1;
}

template <>
void DeviceLane<Exec>::sync(Mark const& mark) {
  if (!mark.lane || mark.lane->impl_->is_reached(mark.number)) return;
  check(hipEventSynchronize(mark.lane->impl_->event(mark.number)), "hipEventSynchronize");
}

template <>
void DeviceLane<Exec>::fence() {
  impl_->exec.fence("strata::ooc::lane::fence");
}

template <>
auto DeviceLane<Exec>::stamp() -> Stamp {
  auto& clock = impl_->clock;
  if (!clock) clock.emplace(impl_->exec);
  return clock->stamp(impl_->exec);
}

template <>
Trace::Clock::time_point DeviceLane<Exec>::time_of(Stamp stamp) const {
  return impl_->clock->time_of(stamp);
}

template <>
std::size_t DeviceLane<Exec>::free_bytes(int device) {
  std::size_t free = 0, total = 0;
  use(device);
  check(hipMemGetInfo(&free, &total), "hipMemGetInfo");
  return free;
}

template <>
bool DeviceLane<Exec>::link(int device, int other) {
  if (device == other) return true;
  int can = 0;
  check(hipDeviceCanAccessPeer(&can, device, other), "hipDeviceCanAccessPeer");
  if (can == 0) return false;
  use(device);
  hipError_t const status = hipDeviceEnablePeerAccess(other, 0);
  if (status == hipErrorPeerAccessAlreadyEnabled)
    (void)hipGetLastError();  // no error of ours
  else
    check(status, "hipDeviceEnablePeerAccess");
  return true;
}

template <>
int DeviceLane<Exec>::device_of(Exec const& exec) {
  return exec.hip_device();
}

template <>
int DeviceLane<Exec>::node_of(int device) {
  char bus[32] = {};
  check(hipDeviceGetPCIBusId(bus, sizeof bus, device), "hipDeviceGetPCIBusId");
  return numa_node_of_pci(bus);
}

template <>
void DeviceLane<Exec>::enter(int device) {
  use(device);
}

template class DeviceLane<Exec>;

}  // namespace strata::ooc::vendor
