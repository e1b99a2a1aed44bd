// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/team/vendor/Strata_DeviceLane.hpp>

#include <core/Strata_Errors.hpp>
#include <core/instances/Strata_FenceAtEnd.hpp>
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>
#include <core/memory/Strata_Buffer.hpp>
#include <ooc/team/vendor/Strata_Numa.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <atomic>
#include <unordered_map>

namespace strata::ooc::vendor {

namespace {

using Exec = runtime::Exec;

}  // namespace

template <>
struct DeviceLane<Exec>::Impl {
  explicit Impl(int which) : device(which), stream(which, false), exec(stream) {}
  ~Impl() { strata::detail::fence_at_end(exec, "strata::ooc::lane::release"); }

  // Marks are many and their events are used in turn, each made at its first use. The host waits
  // before it takes one again, so that a mark whose event is another's by now has been reached.
  runtime::EventHandle take(std::uint64_t number) {
    auto& event = ring[number % ring.size()];
    if (event)
      STRATA_RUNTIME_CALL(EventSynchronize, *event);
    else
      event = std::make_unique<runtime::Event>(STRATA_RUNTIME(EventDisableTiming));
    return *event;
  }

  bool is_reached(std::uint64_t number) const {
    return count.load(std::memory_order_acquire) > number + ring.size();
  }
  runtime::EventHandle event(std::uint64_t number) const { return *ring[number % ring.size()]; }

  int device;
  runtime::Stream stream;
  Exec exec;
  std::array<std::unique_ptr<runtime::Event>, 512> ring;
  std::atomic<std::uint64_t> count{0};
  // Another lane's marks come in its order: one that was waited for answers for all before it.
  // Lanes are known by numbers of their own, as addresses are used again.
  std::uint64_t const serial = lanes++;
  std::unordered_map<std::uint64_t, std::uint64_t> waited;  // by serial: marks before this number
  static inline std::atomic<std::uint64_t> lanes{0};
};

template <>
DeviceLane<Exec>::Visit::Visit() {
  // Destructors visit, too: a device that has failed says so at its next call.
  (void)STRATA_RUNTIME(GetDevice)(&before_);
}
template <>
DeviceLane<Exec>::Visit::~Visit() {
  (void)STRATA_RUNTIME(SetDevice)(before_);
}

template <>
DeviceLane<Exec>::DeviceLane(int device) : impl_(std::make_unique<Impl>(device)) {}
template <>
DeviceLane<Exec>::~DeviceLane() = default;

template <>
Exec const& DeviceLane<Exec>::exec() const {
  return impl_->exec;
}

template <>
void DeviceLane<Exec>::copy(void* to, void const* from, std::size_t bytes) {
  runtime::select(impl_->device);
  STRATA_RUNTIME_CALL(MemcpyAsync, to, from, bytes, STRATA_RUNTIME(MemcpyDefault),
                      runtime::stream_of(impl_->exec));
}

template <>
auto DeviceLane<Exec>::record() -> Mark {
  std::uint64_t const number = impl_->count.load(std::memory_order_relaxed);
  runtime::select(impl_->device);
  runtime::EventHandle const event = impl_->take(number);
  STRATA_RUNTIME_CALL(EventRecord, event, runtime::stream_of(impl_->exec));
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
  runtime::select(impl_->device);
  STRATA_RUNTIME_CALL(StreamWaitEvent, runtime::stream_of(impl_->exec), other.event(mark.number),
                      0);
  waited = mark.number + 1;
}

template <>
void DeviceLane<Exec>::sync(Mark const& mark) {
  if (!mark.lane || mark.lane->impl_->is_reached(mark.number)) return;
  STRATA_RUNTIME_CALL(EventSynchronize, mark.lane->impl_->event(mark.number));
}

template <>
bool DeviceLane<Exec>::is_reached(Mark const& mark) {
  if (!mark.lane || mark.lane->impl_->is_reached(mark.number)) return true;
  runtime::Status const status = STRATA_RUNTIME(EventQuery)(mark.lane->impl_->event(mark.number));
  if (status == STRATA_RUNTIME(ErrorNotReady)) {
    (void)STRATA_RUNTIME(GetLastError)();  // no error of ours
    return false;
  }
  runtime::check(status, STRATA_RUNTIME_TEXT(EventQuery));
  return true;
}

template <>
void DeviceLane<Exec>::fence() {
  impl_->exec.fence("strata::ooc::lane::fence");
}

namespace {

void need_device(int device) {
  int count = 0;
  STRATA_RUNTIME_CALL(GetDeviceCount, &count);
  STRATA_REQUIRE(ValueError, device >= 0 && device < count, "devices: there is no GPU ", device,
                 ", this process has ", count);
}

}  // namespace

template <>
std::size_t DeviceLane<Exec>::free_bytes(int device) {
  need_device(device);
  std::size_t free = 0, total = 0;
  strata::vendor::release_pooled_memory(device);
  runtime::Selected const selected(device);
  STRATA_RUNTIME_CALL(MemGetInfo, &free, &total);
  return free;
}

template <>
bool DeviceLane<Exec>::link(int device, int other) {
  if (device == other) return true;
  int can = 0;
  STRATA_RUNTIME_CALL(DeviceCanAccessPeer, &can, device, other);
  if (can == 0) return false;
  runtime::Selected const selected(device);
  runtime::Status const status = STRATA_RUNTIME(DeviceEnablePeerAccess)(other, 0);
  if (status == STRATA_RUNTIME(ErrorPeerAccessAlreadyEnabled))
    (void)STRATA_RUNTIME(GetLastError)();  // no error of ours
  else
    runtime::check(status, STRATA_RUNTIME_TEXT(DeviceEnablePeerAccess));
  return true;
}

template <>
int DeviceLane<Exec>::device_of(Exec const& exec) {
  return runtime::device_of(exec);
}

template <>
int DeviceLane<Exec>::node_of(int device) {
  need_device(device);
  char bus[32] = {};
  STRATA_RUNTIME_CALL(DeviceGetPCIBusId, bus, sizeof bus, device);
  return numa_node_of_pci(bus);
}

template <>
void DeviceLane<Exec>::enter(int device) {
  need_device(device);
  runtime::select(device);
}

template class DeviceLane<Exec>;

}  // namespace strata::ooc::vendor
