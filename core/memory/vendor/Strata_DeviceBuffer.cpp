// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/instances/Strata_AtKokkosEnd.hpp>
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>
#include <core/memory/Strata_Buffer.hpp>
#include <core/memory/Strata_PoolReserve.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace strata::vendor {

namespace {

/// A pool of one device. It hands out and takes back in the order of its own stream, on which
/// nothing else happens. It takes back only when the device has nothing to do any more. So all
/// streams may use what it lends, and may end before it.
class Pool {
 public:
  /// A pool of the current device.
  explicit Pool(int device) : device_(device), stream_(device, false) {
    STRATA_CUDA_OR_HIP(cudaMemPoolProps, hipMemPoolProps) properties{};
    properties.allocType = STRATA_RUNTIME(MemAllocationTypePinned);
    properties.location.type = STRATA_RUNTIME(MemLocationTypeDevice);
    properties.location.id = device;
    STRATA_RUNTIME_CALL(MemPoolCreate, &pool_, &properties);
    std::size_t free = 0, total = 0;
    STRATA_RUNTIME_CALL(MemGetInfo, &free, &total);
    constexpr std::size_t parts = 16;  // of which one is kept, though nobody uses it
    kept_ = total / parts;
    runtime::check(tell_kept(), STRATA_RUNTIME_TEXT(MemPoolSetAttribute));
  }
  ~Pool() {
    (void)STRATA_RUNTIME(MemPoolDestroy)(pool_);  // what is lent comes back first
  }
  Pool(Pool const&) = delete;
  Pool& operator=(Pool const&) = delete;

  /// Null if there is no memory.
  std::byte* take(std::size_t bytes) {
    runtime::Selected const selected(device_);
    void* data = nullptr;
    auto const allocate = [&] {
      return STRATA_RUNTIME(MallocFromPoolAsync)(&data, bytes, pool_, stream_);
    };
    auto status = allocate();
    if (status == STRATA_CUDA_OR_HIP(cudaErrorMemoryAllocation, hipErrorOutOfMemory)) {
      (void)STRATA_RUNTIME(GetLastError)();
      trim();
      status = allocate();
    }
    if (status == STRATA_CUDA_OR_HIP(cudaErrorMemoryAllocation, hipErrorOutOfMemory)) {
      (void)STRATA_RUNTIME(GetLastError)();
      return nullptr;
    }
    runtime::check(status, STRATA_RUNTIME_TEXT(MallocFromPoolAsync));
    STRATA_RUNTIME_CALL(StreamSynchronize, stream_);
    return static_cast<std::byte*>(data);
  }
  /// Memory stays lent for good where the device can't be waited for, as while somebody captures
  /// its work: kernels may use it.
  void take_back(std::byte* data) noexcept {
    on_device([&] {
      return STRATA_RUNTIME(DeviceSynchronize)() == STRATA_RUNTIME(Success) &&
             STRATA_RUNTIME(FreeAsync)(data, stream_) == STRATA_RUNTIME(Success);
    });
  }
  void trim(std::size_t kept = 0) noexcept {
    on_device([&] {
      return STRATA_RUNTIME(StreamSynchronize)(stream_) == STRATA_RUNTIME(Success) &&
             STRATA_RUNTIME(MemPoolTrimTo)(pool_, kept) == STRATA_RUNTIME(Success);
    });
  }
  std::size_t bytes() {
    std::uint64_t held = 0;
    STRATA_RUNTIME_CALL(MemPoolGetAttribute, pool_, STRATA_RUNTIME(MemPoolAttrReservedMemCurrent),
                        &held);
    return held;
  }
  void keep_more(std::size_t bytes) noexcept {
    std::lock_guard const lock(keeping_);
    kept_ += bytes;
    on_device([&] { return tell_kept() == STRATA_RUNTIME(Success); });
  }
  void keep_less(std::size_t bytes) noexcept {
    std::lock_guard const lock(keeping_);
    kept_ -= bytes;
    on_device([&] { return tell_kept() == STRATA_RUNTIME(Success); });
    trim(kept_);
  }

 private:
  template <class Work>
  void on_device(Work const& work) noexcept {
    int before = 0;
    (void)STRATA_RUNTIME(GetDevice)(&before);
    (void)STRATA_RUNTIME(SetDevice)(device_);
    // an error that is left would be taken for an error of the next kernel
    if (!work()) (void)STRATA_RUNTIME(GetLastError)();
    (void)STRATA_RUNTIME(SetDevice)(before);
  }

  runtime::Status tell_kept() noexcept {
    return STRATA_RUNTIME(MemPoolSetAttribute)(pool_, STRATA_RUNTIME(MemPoolAttrReleaseThreshold),
                                               &kept_);
  }

  int device_;
  runtime::Stream stream_;
  STRATA_RUNTIME(MemPool_t) pool_ = nullptr;
  std::mutex keeping_;
  std::uint64_t kept_ = 0;  // bytes, though nobody uses them
};

/// The pools of all devices, each made when it is first asked for.
class Pools {
 public:
  static Pools& the() {
    static Pools& one = *new Pools;  // static destructors may need it
    return one;
  }
  /// Null where the device has none.
  std::shared_ptr<Pool> of(int device) {
    std::lock_guard const lock(changing_);
    auto const number = static_cast<std::size_t>(device);
    if (number >= pools_.size() || has_none_[number]) return nullptr;
    if (!pools_[number]) {
      int has_pools = 0;
      STRATA_RUNTIME_CALL(DeviceGetAttribute, &has_pools,
                          STRATA_CUDA_OR_HIP(cudaDevAttrMemoryPoolsSupported,
                                             hipDeviceAttributeMemoryPoolsSupported),
                          device);
      has_none_[number] = has_pools == 0;
      if (has_pools == 0) return nullptr;
      runtime::Selected const selected(device);
      pools_[number] = std::make_shared<Pool>(device);
    }
    return pools_[number];
  }
  void trim(int device) noexcept {
    std::unique_lock const lock(changing_, std::try_to_lock);
    auto const number = static_cast<std::size_t>(device);
    if (lock.owns_lock() && number < pools_.size() && pools_[number]) pools_[number]->trim();
  }

 private:
  void end() {
    std::lock_guard const lock(changing_);
    for (auto& pool : pools_) pool.reset();
  }

  std::mutex changing_;
  std::array<std::shared_ptr<Pool>, 64> pools_;
  std::array<bool, 64> has_none_{};
  AtKokkosEnd at_end_{[this] { end(); }};
};

}  // namespace

template <>
std::shared_ptr<std::byte> pooled_memory(runtime::Exec const& exec, std::string const& label,
                                         std::size_t bytes) {
  auto const pool = Pools::the().of(runtime::device_of(exec));
  if (!pool) return nullptr;
  std::byte* const data = pool->take(bytes);
  STRATA_REQUIRE(MemoryError, data != nullptr, label, ": can't allocate ", bytes,
                 " bytes: the device has no memory left");
  std::shared_ptr<std::byte> const memory(data, [pool](std::byte* lent) { pool->take_back(lent); });
  namespace tools = Kokkos::Tools;
  static std::string const name = std::string(runtime::Exec::memory_space::name()) + "Pool";
  auto const space = tools::make_space_handle(name.c_str());
  try {
    tools::allocateData(space, label, data, bytes);
  } catch (std::exception const& failure) {  // of a tool
    throw MemoryError(
        strata::detail::message(label, ": can't allocate ", bytes, " bytes: ", failure.what()));
  }
  return {data, [memory, label, bytes, space](std::byte* lent) {
            tools::deallocateData(space, label, lent, bytes);
          }};
}

template <>
std::shared_ptr<void> kept_in_pool(runtime::Exec const& exec, std::size_t bytes) {
  auto const pool = Pools::the().of(runtime::device_of(exec));
  if (!pool) return nullptr;
  pool->keep_more(bytes);
  return {pool.get(), [pool, bytes](void*) { pool->keep_less(bytes); }};
}

std::size_t pooled_bytes(int device) {
  auto const pool = Pools::the().of(device);
  return pool ? pool->bytes() : 0;
}

void release_pooled_memory(int device) noexcept { Pools::the().trim(device); }

}  // namespace strata::vendor
