// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/executor/Strata_Simulate.hpp>

#include <core/Strata_Errors.hpp>
#include <core/blas/Strata_FlopCount.hpp>
#include <ooc/executor/detail/Strata_TileCache.hpp>
#include <ooc/executor/detail/Strata_UseTable.hpp>
#include <ooc/executor/detail/Strata_VariantRules.hpp>
#include <ooc/schedule/Strata_TilePlan.hpp>
#include <ooc/schedule/detail/Strata_NeededTiles.hpp>
#include <ooc/schedule/detail/Strata_SchedulePlayer.hpp>

#include <algorithm>
#include <queue>
#include <span>

namespace strata::ooc {

void Rates::check() const {
  auto const require = [](char const* what, double rate) {
    STRATA_REQUIRE(ValueError, rate > 0, "simulate: the rate of ", what, " is ", rate,
                   ", must be positive");
  };
  for (double const rate : product_flop_per_s) require("products", rate);
  require("solves", solve_flop_per_s);
  require("copies in", in_bytes_per_s);
  require("copies out", out_bytes_per_s);
  STRATA_REQUIRE(ValueError, peer_bytes_per_s >= 0, "simulate: the rate of peer copies is ",
                 peer_bytes_per_s, ", must not be negative");
  STRATA_REQUIRE(ValueError, factor_flop_per_s >= 0 && message_seconds >= 0,
                 "simulate: a rate of POTRF of ", factor_flop_per_s, " and ", message_seconds,
                 " s for a message, must not be negative");
  require("messages", network_bytes_per_s);
}

namespace {

using detail::Eviction;
using detail::TileCache;
using detail::UseTable;

class Machine {
 public:
  Machine(Schedule const& schedule, std::int64_t n, std::int64_t tile_size, PrecisionMap const& map,
          SimulationOptions const& options)
      : schedule_(schedule),
        visits_(detail::visits_of(schedule)),
        options_(options),
        rules_(detail::rules_of(options.variant)),
        plan_(n, tile_size, map),
        n_(n),
        maker_(tile_count(map.tiles()), -1),
        final_(tile_count(map.tiles()), -1.0),
        waiting_(tile_count(map.tiles())),
        streams_(schedule.tasks.size()) {
    for (std::size_t lane = 0; lane < schedule.tasks.size(); ++lane)
      for (Task const& task : schedule.tasks[lane])
        maker_[number(task.row, task.col)] = schedule.device_of(lane);
    for (std::int64_t j = 0; j < schedule.first_column; ++j)
      for (std::int64_t i = j; i < schedule.tiles; ++i) final_[number(i, j)] = 0;
    for (int d = 0; d < schedule.devices; ++d) add_device(d);
  }

  Simulation run() {
    for (std::size_t lane = 0; lane < streams_.size(); ++lane) queue_.push({0, lane});
    while (!queue_.empty()) {
      auto const [time, lane] = queue_.top();
      queue_.pop();
      step(lane);
    }
    for (Device const& device : devices_) {
      result_.seconds = std::max({result_.seconds, device.work, device.out});
      result_.busy_seconds.push_back(device.busy);
    }
    if (result_.seconds > 0)
      result_.flop_per_s = static_cast<double>(potrf_flops(n_)) / result_.seconds;
    return result_;
  }

 private:
  struct Device {
    TileCache cache;
    UseTable uses;
    std::vector<double> ready;                   // by first unit
    std::vector<std::int64_t> diagonal_uses;     // by column
    double in = 0, out = 0, work = 0, busy = 0;  // when each engine is free again
  };
  struct Stream {
    std::size_t task = 0;
    std::int64_t update = 0;
    bool is_open = false;
    double time = 0;  // its own work's end
    std::int64_t stored = -1, sums = -1;
  };

  std::size_t number(std::int64_t i, std::int64_t j) const {
    return tile_number(i, j, schedule_.tiles);
  }
  double bytes_of(std::int64_t i, std::int64_t j) const {
    return static_cast<double>(tile_copy_bytes(plan_.map().at(i, j), plan_.rows(i), plan_.rows(j)));
  }

  std::span<std::vector<Visit> const> lanes_of(int d) const {
    auto const streams = static_cast<std::size_t>(schedule_.streams);
    return std::span(visits_).subspan(static_cast<std::size_t>(d) * streams, streams);
  }

  void add_device(int d) {
    auto const needed = detail::needed_tiles(schedule_.tiles, lanes_of(d));
    std::int64_t const useful =
        plan_.useful_blocks(std::ranges::count(needed, true), schedule_.streams);
    std::size_t const sums =
        static_cast<std::size_t>(schedule_.streams) * plan_.integer_sum_bytes();
    std::int64_t const blocks =
        options_.budget_bytes == 0
            ? useful
            : std::min(useful, static_cast<std::int64_t>((options_.budget_bytes - sums) /
                                                         plan_.block_bytes()));
    bool const looks_ahead = rules_.eviction == Eviction::FurthestUse;
    devices_.push_back({TileCache(blocks, plan_.units_per_block(), plan_.keys()),
                        looks_ahead ? UseTable(plan_, lanes_of(d)) : UseTable(),
                        {},
                        std::vector<std::int64_t>(static_cast<std::size_t>(schedule_.tiles), 0)});
    devices_.back().ready.resize(devices_.back().cache.size());
    for (std::size_t lane = 0; lane < schedule_.tasks.size(); ++lane)
      for (Task const& task : schedule_.tasks[lane])
        if (schedule_.device_of(lane) == d && task.row != task.col)
          ++devices_.back().diagonal_uses[static_cast<std::size_t>(task.col)];
  }

  auto worth(Device& device) const {
    return [this, &device](TileCache::Slot const& slot) {
      return rules_.eviction == Eviction::FurthestUse ? -device.uses.next(slot.key, device.cache)
                                                      : static_cast<double>(slot.last_use);
    };
  }

  // A pinned slot; whether the tile must be brought.
  std::pair<std::int64_t, bool> acquire(Device& device, std::int64_t key, int units,
                                        bool planned = true) {
    if (planned) device.uses.consume(key);
    if (std::int64_t const begin = device.cache.find(key); begin >= 0) {
      ++device.cache.slot(begin).pins;
      device.cache.touch(begin);
      return {begin, false};
    }
    auto const begin = device.cache.choose(units, worth(device));
    STRATA_REQUIRE(MemoryError, begin, "simulate: a device is full of pinned tiles");
    device.cache.put(*begin, key, units);
    return {*begin, true};
  }

  void release(Device& device, std::int64_t begin, bool forget = false) {
    auto& slot = device.cache.slot(begin);
    --slot.pins;
    bool const drop = forget || (rules_.eviction == Eviction::AtOnce && !slot.keep);
    if (slot.pins == 0 && drop) device.cache.drop(begin);
  }

  // Copy the stored tile (i, k) to its slot.
  void load(int d, std::int64_t begin, std::int64_t i, std::int64_t k, double now) {
    Device& device = devices_[static_cast<std::size_t>(d)];
    double const bytes = bytes_of(i, k), final = final_[number(i, k)];
    int const maker = maker_[number(i, k)];
    bool const linked =
        final >= 0 && maker >= 0 && maker != d && options_.rates.peer_bytes_per_s > 0 &&
        devices_[static_cast<std::size_t>(maker)].cache.find(plan_.key(i, k, plan_.stored(i, k))) >=
            0;
    double const rate = linked ? options_.rates.peer_bytes_per_s : options_.rates.in_bytes_per_s;
    device.in = std::max({device.in, now, final}) + bytes / rate;
    device.ready[static_cast<std::size_t>(begin)] = device.in;
    (linked ? result_.bytes_peer : result_.bytes_in) += static_cast<std::uint64_t>(bytes);
  }

  std::int64_t fetch(int d, std::int64_t i, std::int64_t k, double now, bool planned) {
    Precision const precision = plan_.stored(i, k);
    auto const [begin, fresh] =
        acquire(devices_[static_cast<std::size_t>(d)], plan_.key(i, k, precision),
                plan_.units(precision), planned);
    if (fresh) load(d, begin, i, k, now);
    return begin;
  }

  // An operand: its slot, and when it is there.
  std::int64_t operand(int d, std::int64_t i, std::int64_t k, Precision form, double now) {
    if (plan_.is_stored(i, k, form)) return fetch(d, i, k, now, true);
    Device& device = devices_[static_cast<std::size_t>(d)];
    auto const [begin, fresh] = acquire(device, plan_.key(i, k, form), plan_.units(form));
    if (fresh) {
      std::int64_t const source = fetch(d, i, k, now, false);
      device.ready[static_cast<std::size_t>(begin)] =
          device.ready[static_cast<std::size_t>(source)];
      release(device, source);
    }
    return begin;
  }

  void look_ahead(int d, Task const& task, std::int64_t k, Task const* next, double now) {
    if (!rules_.fetches_ahead) return;
    std::int64_t const last = k + options_.lookahead;
    for (std::int64_t ahead = k + 1; ahead <= last && ahead < task.col; ++ahead) {
      Precision const form = plan_.product(task.row, task.col, ahead);
      for (std::int64_t const row : {task.row, task.col})
        if (final_[number(row, ahead)] >= 0 &&
            (moduli_of(form) > 0 || plan_.is_stored(row, ahead, form)))
          prefetch(d, row, ahead, form, now);
    }
    if (last >= task.col && next)
      prefetch(d, next->row, next->col, plan_.stored(next->row, next->col), now);
  }

  void prefetch(int d, std::int64_t i, std::int64_t k, Precision form, double now) {
    Device& device = devices_[static_cast<std::size_t>(d)];
    Precision const precision = plan_.stored(i, k);
    std::int64_t const key = plan_.key(i, k, precision);
    if (device.cache.find(key) >= 0 || device.cache.find(plan_.key(i, k, form)) >= 0) return;
    int const units = plan_.units(precision);
    auto const begin =
        device.cache.choose(units, worth(device), -device.uses.next(key, device.cache) - 1);
    if (!begin) return;
    device.cache.put(*begin, key, units);
    load(d, *begin, i, k, now);
    release(device, *begin);
  }

  // The stream goes on once the tile is final.
  bool has(std::size_t lane, std::int64_t i, std::int64_t j) {
    double const final = final_[number(i, j)];
    if (final < 0) {
      waiting_[number(i, j)].push_back(lane);
      return false;
    }
    streams_[lane].time = std::max(streams_[lane].time, final);
    return true;
  }

  void work(Device& device, Stream& stream, double ready, double seconds) {
    double const start = std::max({device.work, stream.time, ready});
    device.work = stream.time = start + seconds;
    device.busy += seconds;
  }

  // One update, or the end of a task.
  void step(std::size_t lane) {
    Stream& stream = streams_[lane];
    auto const& tasks = schedule_.tasks[lane];
    if (stream.task == tasks.size()) return;
    int const d = schedule_.device_of(lane);
    Device& device = devices_[static_cast<std::size_t>(d)];
    Task const& task = tasks[stream.task];
    if (!stream.is_open) open(d, stream, task);
    if (stream.update < task.col) {
      std::int64_t const k = stream.update;
      if (!has(lane, task.row, k) || !has(lane, task.col, k)) return;
      Task const* const next = stream.task + 1 < tasks.size() ? &task + 1 : nullptr;
      look_ahead(d, task, k, next, stream.time);
      update(d, device, stream, task, k);
      ++stream.update;
    } else {
      if (task.row != task.col && !has(lane, task.col, task.col)) return;
      finish(d, device, stream, task);
    }
    queue_.push({stream.time, lane});
  }

  void open(int d, Stream& stream, Task const& task) {
    Device& device = devices_[static_cast<std::size_t>(d)];
    stream.stored = fetch(d, task.row, task.col, stream.time, true);
    stream.sums = -1;
    if (!plan_.in_place(task.row, task.col))
      stream.sums = acquire(device, plan_.sums_key(task.row, task.col),
                            plan_.units(plan_.working(task.row, task.col)), false)
                        .first;
    stream.is_open = true;
  }

  void update(int d, Device& device, Stream& stream, Task const& task, std::int64_t k) {
    auto const [i, j] = task;
    Precision const form = plan_.product(i, j, k);
    double const rate =
        options_.rates.product_flop_per_s[static_cast<std::size_t>(precision_rank(form))];
    std::int64_t const A = operand(d, i, k, form, stream.time);
    std::int64_t const B = i == j ? -1 : operand(d, j, k, form, stream.time);
    double ready = std::max(device.ready[static_cast<std::size_t>(A)],
                            device.ready[static_cast<std::size_t>(stream.stored)]);
    if (B >= 0) ready = std::max(ready, device.ready[static_cast<std::size_t>(B)]);
    std::int64_t const m = plan_.rows(i), n = plan_.rows(j), depth = plan_.rows(k);
    work(device, stream, ready,
         static_cast<double>(i == j ? syrk_flops(m, depth) : gemm_flops(m, n, depth)) / rate);
    if (B >= 0) release(device, B);
    release(device, A);
    if (!rules_.keeps_sums) bounce(device, stream, i, j);
  }

  void bounce(Device& device, Stream& stream, std::int64_t i, std::int64_t j) {
    auto const bytes =
        static_cast<double>(number_bytes(plan_.working(i, j), plan_.rows(i), plan_.rows(j)));
    device.out = std::max(device.out, stream.time) + bytes / options_.rates.out_bytes_per_s;
    device.in = std::max(device.in, device.out) + bytes / options_.rates.in_bytes_per_s;
    stream.time = device.in;
    result_.bytes_out += static_cast<std::uint64_t>(bytes);
    result_.bytes_in += static_cast<std::uint64_t>(bytes);
  }

  void finish(int d, Device& device, Stream& stream, Task const& task) {
    auto const [i, j] = task;
    double ready = device.ready[static_cast<std::size_t>(stream.stored)];
    std::int64_t const m = plan_.rows(i), n = plan_.rows(j);
    double flops = static_cast<double>(potrf_flops(m)), rate = options_.rates.potrf_flop_per_s();
    if (i != j) {
      rate = options_.rates.solve_flop_per_s;
      std::int64_t const L = operand(d, j, j, plan_.working(i, j), stream.time);
      ready = std::max(ready, device.ready[static_cast<std::size_t>(L)]);
      flops = static_cast<double>(trsm_flops(n, m));
      keep_diagonal(device, j);
      release(device, L);
    }
    work(device, stream, ready, flops / rate);
    double const bytes = bytes_of(i, j);
    device.ready[static_cast<std::size_t>(stream.stored)] = stream.time;
    device.out = std::max(device.out, stream.time) + bytes / options_.rates.out_bytes_per_s;
    result_.bytes_out += static_cast<std::uint64_t>(bytes);
    final_[number(i, j)] = device.out;
    if (stream.sums >= 0) release(device, stream.sums, true);
    release(device, stream.stored);
    if (rules_.fences) stream.time = device.out;
    for (std::size_t const lane : waiting_[number(i, j)])
      queue_.push({std::max(streams_[lane].time, device.out), lane});
    waiting_[number(i, j)].clear();
    ++stream.task;
    stream.update = 0;
    stream.is_open = false;
  }

  void keep_diagonal(Device& device, std::int64_t j) {
    bool const last = --device.diagonal_uses[static_cast<std::size_t>(j)] == 0;
    if (!rules_.keeps_diagonal) return;
    for (Precision const form : {Precision::fp64, Precision::fp32})
      if (std::int64_t const begin = device.cache.find(plan_.key(j, j, form)); begin >= 0)
        device.cache.slot(begin).keep = !last;
  }

  using Event = std::pair<double, std::size_t>;

  Schedule const& schedule_;
  std::vector<std::vector<Visit>> visits_;
  SimulationOptions const& options_;
  detail::VariantRules rules_;
  TilePlan plan_;
  std::int64_t n_;
  std::vector<int> maker_;
  std::vector<double> final_;  // when a tile is final; < 0: not yet
  std::vector<std::vector<std::size_t>> waiting_;
  std::vector<Stream> streams_;
  std::vector<Device> devices_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
  Simulation result_;
};

}  // namespace

Simulation simulate(Schedule const& schedule, std::int64_t n, std::int64_t tile_size,
                    PrecisionMap const& map, SimulationOptions const& options) {
  options.rates.check();
  auto const check = check_schedule(schedule);
  STRATA_REQUIRE(ValueError, check.ok(), "simulate: ", check.fault);
  STRATA_REQUIRE(ShapeError, schedule.tiles == map.tiles(), "simulate: a schedule of ",
                 schedule.tiles, " tile rows and a map of ", map.tiles());
  std::size_t const least = smallest_budget_bytes(n, tile_size, map, schedule.streams);
  STRATA_REQUIRE(MemoryError, options.budget_bytes == 0 || options.budget_bytes >= least,
                 "simulate: a budget of ", options.budget_bytes, " bytes, at least ", least,
                 " are needed");
  return Machine(schedule, n, tile_size, map, options).run();
}

}  // namespace strata::ooc
