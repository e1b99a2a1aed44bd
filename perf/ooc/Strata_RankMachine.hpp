// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PERF_OOC_RANK_MACHINE_HPP
#define STRATA_PERF_OOC_RANK_MACHINE_HPP

#include <ooc/schedule/Strata_RankOrder.hpp>

#include <perf/ooc/Strata_SimulateRanks.hpp>
#include <perf/ooc/Strata_TileCosts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <queue>
#include <tuple>
#include <vector>

namespace strata::study {

using ooc::Message, ooc::Visit;

/// The machine that a simulation of ranks plays on: what happens goes through one queue, by time.
class RankMachine {
 public:
  /// Keeps references to all of them.
  RankMachine(RankOrder const& order, TilePlan const& plan, Rates const& rates, bool is_resident);

  /// Times, bytes and seconds of work.
  RankSimulation run();

 private:
  static constexpr double not_there = -1;

  // What happens at a time; the rank or lane that it happens to, and the tile.
  struct Event {
    enum class Kind : std::uint8_t { Step, Final, Arrival, Sent };
    double time;
    Kind kind;
    std::int32_t who;
    std::int32_t row, col;
    bool operator>(Event const& other) const {
      return std::tie(time, kind, who, row, col) >
             std::tie(other.time, other.kind, other.who, other.row, other.col);
    }
  };
  struct Tile {
    double there = not_there;        // on the device of its row, with the updates so far
    double home = 0;                 // on the host, with the updates so far
    double final_there = not_there;  // the same, final
    std::int32_t updates = 0;
    bool is_home = false;  // final, on the host of its rank
  };
  struct Device {
    double in = 0, out = 0, work = 0, busy = 0;     // when each engine is free again
    std::vector<std::unique_ptr<double[]>> copies;  // by step: when a tile is there
  };
  struct Lane {
    int rank = 0, device = 0, stream = 0;
    std::vector<Visit> visits;  // of its step, or all
    std::size_t next = 0;
    std::int64_t step = -1;
    bool is_open = false, is_done = false;  // its visit
    std::int64_t update = 0;
    double time = 0;        // its own work's end
    std::int64_t row = -1;  // of the tile that it waits for; < 0: it does not
    std::int64_t col = -1;
  };
  struct Column {
    std::size_t step, first;  // of its tiles: the step, and where they begin among those of it
    int part;                 // of its owners' numbers
  };
  enum class State : std::uint8_t { Unknown, Posted, There };
  struct Rank {
    std::vector<std::unique_ptr<State[]>> state;  // of others' tiles, by step
    std::vector<std::int64_t> visits, relays;     // that are to come, by step; < 0: not counted yet
    std::vector<std::int64_t> held;               // tiles of others, by step
    std::vector<double> held_bytes;
    std::vector<Message> receives;  // of the step that is posted
    std::size_t position = 0;
    std::int64_t step = -1;
    std::int64_t room = 0, used = 0;
    double used_bytes = 0;
    double network_in = 0;         // when it is free again
    std::deque<Message> outgoing;  // the first is on its way
  };

  void deal_lanes();
  Tile& tile(std::int64_t i, std::int64_t j) {
    return tiles_[ooc::tile_number(i, j, order_.tiles)];
  }
  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  Device& device(int rank, int d) {
    return devices_[static_cast<std::size_t>(d * order_.grid.ranks() + rank)];
  }
  // `RankOrder::step_of_tile`, the number of a tile among those of its step, and how many these can
  // be.
  std::size_t step_of(std::int64_t i, std::int64_t k) const {
    return order_.super_panel > 0 ? columns_[index(k)].step : index(i);
  }
  std::size_t number_in_step(std::int64_t i, std::int64_t k) const {
    return order_.super_panel > 0 ? columns_[index(k)].first + index(i) : index(k);
  }
  std::size_t count_in_step(std::int64_t step) const {
    return static_cast<std::size_t>(order_.super_panel > 0 ? order_.super_panel * order_.tiles
                                                           : step + 1);
  }
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  void happen(Event const& event);

  // --- lanes ---
  void wake(std::size_t lane, double time);
  void wake_waiting(int rank, int d, std::int64_t i, std::int64_t j, double time);
  static bool wait(Lane& lane, std::int64_t i, std::int64_t j) {
    lane.row = i;
    lane.col = j;
    return false;
  }
  bool has(std::size_t number, std::int64_t i, std::int64_t k, double now);
  double operand(Lane const& lane, std::int64_t i, std::int64_t k);
  void step(std::size_t number, double now);
  void work(Lane& lane, double seconds, double now);
  bool open(std::size_t number, double now);
  void bring(Lane const& lane, Visit const& visit, double now);
  void close(Lane& lane, double now);

  // --- messages ---
  std::int64_t& visits_to_come(int rank, std::int64_t step);
  void end_part(int rank, std::int64_t step, double now);
  void post(int rank, double now);
  State state(int rank, std::int64_t i, std::int64_t k) {
    auto const& states = at(rank).state[step_of(i, k)];
    return states ? states[number_in_step(i, k)] : State::Unknown;
  }
  // Whether the rank has the final tile on its host.
  bool is_at(int rank, std::int64_t i, std::int64_t k) {
    return order_.owner(i, k) == rank ? tile(i, k).is_home : state(rank, i, k) == State::There;
  }
  void pass_on(int rank, std::int64_t i, std::int64_t k, double now);
  void send(Message const& m, double now);
  void begin_to_send(int rank, double now);
  void leave(int rank, double now);
  void come_home(int rank, std::int64_t i, std::int64_t k, double now);
  void arrive(int rank, std::int64_t i, std::int64_t k, double now);
  void spread(int rank, std::int64_t i, std::int64_t k, double now);

  RankOrder const& order_;
  Rates const& rates_;
  TileCosts costs_;
  bool is_resident_;
  std::int64_t batch_;           // products of a lane between two events, at most
  std::vector<int> rows_;        // the other part of the owners' numbers
  std::vector<Column> columns_;  // what divisions would tell
  std::vector<Tile> tiles_;
  std::vector<Device> devices_;  // by their number, then the rank's
  std::vector<Rank> ranks_;
  std::vector<Lane> lanes_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
  std::vector<int> targets_;
  std::size_t finals_ = 0;
  RankSimulation result_;
};

}  // namespace strata::study

#endif
