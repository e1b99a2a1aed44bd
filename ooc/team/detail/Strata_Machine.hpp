// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_TEAM_DETAIL_MACHINE_HPP
#define STRATA_OOC_TEAM_DETAIL_MACHINE_HPP

#include <core/blas/Strata_LeafBlas.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_FewThreads.hpp>
#include <ooc/team/Strata_DeviceTeam.hpp>
#include <ooc/team/detail/Strata_JobThread.hpp>
#include <ooc/team/detail/Strata_Lane.hpp>
#include <ooc/team/detail/Strata_TileKernels.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

// What a `DeviceTeam` owns.
namespace strata::ooc::detail {

/// Host memory that a device copies to and from without a stop.
template <class ExecutionSpace>
using CopySpace = std::conditional_t<strata::runs_on_host<ExecutionSpace>, Kokkos::HostSpace,
                                     Kokkos::SharedHostPinnedSpace>;

/// Memory that is kept from call to call, and what is in it is not.
template <class View>
class Kept {
 public:
  /// Returns at least so many elements. If these are more than before, nobody may use the old ones
  /// any more.
  template <class ExecutionSpace>
  View const& need(ExecutionSpace const& exec, char const* label, std::size_t size) {
    if (view_.extent(0) >= size) return view_;
    view_ = {};
    if constexpr (std::is_same_v<typename View::memory_space,
                                 typename ExecutionSpace::memory_space>) {
      view_ = allocate<View>(exec, label, size);
      exec.fence("strata::ooc::machine::allocate");  // for all lanes
    } else {
      view_ = allocate_on_host<View>(label, size);
    }
    return view_;
  }
  View const& view() const { return view_; }
  std::size_t bytes() const { return view_.size() * sizeof(typename View::value_type); }
  /// Give it back if it is larger.
  void trim(std::size_t most) {
    if (bytes() > most) view_ = {};
  }

 private:
  View view_;
};

/// Whether of a host's threads each works on tiles of its own: larger ones are shared by all
/// threads of Kokkos and of the BLAS.
template <class ExecutionSpace>
bool has_own_tiles(ExecutionSpace const& exec, std::int64_t tile_size) {
  constexpr std::int64_t most = 512;  // of the automatic size on a host with several threads
  return has_threads(exec) && tile_size <= most;
}

/// One thread's share of a device: its lanes, its libraries and its memory.
template <class ExecutionSpace>
struct Worker {
  using Space = typename ExecutionSpace::memory_space;
  using HostSpace = CopySpace<ExecutionSpace>;

  explicit Worker(int device)
      : id(device),
        node(Lane<ExecutionSpace>::node_of(device)),
        in(device),
        work(device),
        out(device),
        all_(work.exec()) {}

  /// What its kernels and products run on.
  ExecutionSpace const& exec() const { return is_one_ ? one_->exec : all_.exec; }
  /// How many threads of a host a product takes.
  int threads() const { return is_one_ ? 1 : exec().concurrency(); }
  /// Makes the worker one thread of a host's several, or all of them as at first. None of its work
  /// may run meanwhile.
  void be_one_thread(bool is_one) {
    if (is_one && !one_) one_ = std::make_unique<Hands>(for_work(work.exec(), true));
    is_one_ = is_one;
  }
  LeafBlas<ExecutionSpace>& blas() {
    auto& blas = hands().blas;
    if (!blas) blas = std::make_unique<LeafBlas<ExecutionSpace>>(exec());
    return *blas;
  }
  /// The positions that a factorisation's kernels write to.
  void make_results() {
    if (!measure.data())
      measure = allocate<decltype(measure)>(exec(), "strata::ooc::stream::measure");
    if (!info.data()) info = allocate<decltype(info)>(exec(), "strata::ooc::stream::info");
    if (!host_info.data())
      host_info = allocate_on_host<decltype(host_info)>("strata::ooc::stream::HostInfo");
    if (!outgrown.data())
      outgrown = allocate_on_host<decltype(outgrown)>("strata::ooc::stream::Outgrown");
  }
  /// The meter for tiles of at most so many columns.
  TileMeter<ExecutionSpace>& meter(std::int64_t columns) {
    auto& [exec, blas, meter, most] = hands();
    if (!meter || columns > most) {
      meter.reset();
      meter = std::make_unique<TileMeter<ExecutionSpace>>(exec, columns);
      most = columns;
    }
    return *meter;
  }
  /// A lane for tiles on their way to a solve, beside the vectors that come in.
  Lane<ExecutionSpace>& feed() {
    if (!feed_) feed_ = std::make_unique<Lane<ExecutionSpace>>(id);
    return *feed_;
  }
  /// Nothing of this worker runs any more.
  void fence() {
    in.fence();
    if (feed_) feed_->fence();
    work.fence();
    out.fence();
  }
  std::size_t bytes() const {
    return slots.bytes() + rows.bytes() + stage.bytes() + tile.bytes() + values.bytes() +
           sums.bytes() + terms.bytes() + scaling.bytes();
  }
  void trim(std::size_t most) {
    for (auto* kept : {&rows, &stage, &tile, &values, &sums, &terms, &scaling}) kept->trim(most);
    slots.trim(most);
    scratch.trim(most);
  }

  int id, node;  // of the device, and of the NUMA node next to it
  Lane<ExecutionSpace> in, work, out;
  JobThread thread;
  // of a factorisation
  Kokkos::View<TileMeasure, Space> measure;
  Kokkos::View<std::int64_t, Space> info;
  Kokkos::View<std::int64_t, HostSpace> host_info, outgrown;  // which kernels may write to
  Kept<Kokkos::View<double*, Space>> rows;  // units of integers, the diagonal, sums of squares
  Kept<Kokkos::View<std::byte*, HostSpace>> scratch;  // sums that leave the device for a while
  std::int64_t warm_edge = 0;                         // of tiles that each operation has run with
  unsigned warm_forms = 0;                            // in these precisions, a bit each
  // of a solve
  Kept<Kokkos::View<std::byte*, Space>> slots;  // tiles that pass
  Kept<Kokkos::View<double*, Space>> stage, tile, values, sums, terms, scaling;

 private:
  // What works, and what it has made for itself.
  struct Hands {
    explicit Hands(ExecutionSpace const& with) : exec(with) {}
    ExecutionSpace exec;
    std::unique_ptr<LeafBlas<ExecutionSpace>> blas = nullptr;
    std::unique_ptr<TileMeter<ExecutionSpace>> meter = nullptr;
    std::int64_t meter_columns = 0;
  };
  Hands& hands() { return is_one_ ? *one_ : all_; }

  Hands all_;                   // threads
  std::unique_ptr<Hands> one_;  // thread of several, if it was asked for
  bool is_one_ = false;
  std::unique_ptr<Lane<ExecutionSpace>> feed_;
};

/// The workers of some devices, the memory of each, and what they exchange; all made when it is
/// asked for.
template <class ExecutionSpace>
class Machine {
 public:
  using Space = typename ExecutionSpace::memory_space;
  using Pool = Kept<Kokkos::View<std::byte*, Space>>;

  explicit Machine(Devices devices) : devices_(std::move(devices)) { clear(); }
  /// As `release` and a call that uses it, it leaves the thread's own device as it was.
  ~Machine();
  Machine(Machine const&) = delete;
  Machine& operator=(Machine const&) = delete;

  Devices const& devices() const { return devices_; }
  std::size_t size() const { return devices_.size(); }

  /// The worker of a stream, on the device at this position, counted from 0.
  Worker<ExecutionSpace>& worker(std::size_t position, int stream = 0);
  /// One on the device that an instance works on, of the team's or not.
  Worker<ExecutionSpace>& near(ExecutionSpace const& exec);
  /// The memory for tiles of the device at this position.
  Pool& pool(std::size_t position) { return pools_[position]; }
  void give_back_pools() {
    for (Pool& pool : pools_) pool.trim(0);
  }
  /// Whether one device reads the other's memory; from now on it does if it can.
  bool link(std::size_t position, std::size_t other);
  Kept<Kokkos::View<double*, CopySpace<ExecutionSpace>>> exchange;

  int threads() const;
  std::size_t bytes() const;
  void release();

  /// The thread begins or ends to use it; calls inside another's are counted.
  void enter();
  void leave();

 private:
  using Workers = std::vector<std::unique_ptr<Worker<ExecutionSpace>>>;

  void clear();
  template <class Function>
  void for_each_worker(Function const& f) const;

  Devices devices_;
  std::vector<Pool> pools_;              // of each device
  std::vector<Workers> workers_;         // of each device, by stream
  std::map<int, Workers> others_;        // of devices that are not the team's, by number
  std::vector<std::vector<int>> links_;  // [device][other]: 1 or 0, -1 not asked yet
  mutable std::mutex mutex_;
  int depth_ = 0;  // of calls that use it
  std::thread::id user_;
};

/// A team's machine while one call uses it, which leaves the thread's own device as it was.
template <class ExecutionSpace>
class Loan {
 public:
  /// Throws   ValueError if another thread uses it.
  explicit Loan(DeviceTeam<ExecutionSpace> const& team) : machine_(team.machine_) {
    machine_->enter();
  }
  ~Loan() { machine_->leave(); }
  Loan(Loan const&) = delete;
  Loan& operator=(Loan const&) = delete;
  Machine<ExecutionSpace>& machine() const { return *machine_; }

 private:
  typename Lane<ExecutionSpace>::Visit visit_;
  typename DeviceTeam<ExecutionSpace>::Shared machine_;
};

}  // namespace strata::ooc::detail

#endif
