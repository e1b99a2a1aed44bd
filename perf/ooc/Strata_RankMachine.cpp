// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <perf/ooc/Strata_RankMachine.hpp>

#include <core/Strata_Errors.hpp>

#include <utility>

namespace strata::study {

RankMachine::RankMachine(RankOrder const& order, TilePlan const& plan, Rates const& rates,
                         bool is_resident)
    : order_(order),
      rates_(rates),
      costs_(plan, rates),
      is_resident_(is_resident),
      batch_(std::max<std::int64_t>(order.super_panel, 1)),
      tiles_(ooc::tile_count(order.tiles)),
      devices_(static_cast<std::size_t>(order.grid.ranks() * order.devices)),
      ranks_(static_cast<std::size_t>(order.grid.ranks())),
      lanes_(devices_.size() * static_cast<std::size_t>(order.streams)) {
  auto const steps = static_cast<std::size_t>(order.steps());
  for (Device& device : devices_) device.copies.resize(steps);
  for (Rank& rank : ranks_) {
    rank.state.resize(steps);
    rank.visits.assign(steps, -1);
    rank.relays.assign(steps, 0);
    rank.held.assign(steps, 0);
    rank.held_bytes.assign(steps, 0);
    rank.room = room_of(order, static_cast<int>(&rank - ranks_.data()));
  }
  for (std::int64_t i = 0; i < order.tiles; ++i) {
    std::int64_t const width = std::max<std::int64_t>(order.super_panel, 1);
    rows_.push_back(order.owner(i, 0));
    columns_.push_back(
        {index(i / width), index(i % width * order.tiles), order.grid.rank_at(0, i)});
  }
  result_.ranks.resize(ranks_.size());
  deal_lanes();
}

RankSimulation RankMachine::run() {
  for (int rank = 0; rank < order_.grid.ranks(); ++rank) post(rank, 0);
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) wake(lane, 0);
  while (!queue_.empty()) {
    Event const event = queue_.top();
    queue_.pop();
    happen(event);
  }
  STRATA_REQUIRE(ValueError, finals_ == tiles_.size(), "simulate: of ", tiles_.size(),
                 " tiles only ", finals_, " came to be final");
  for (Device const& device : devices_)
    result_.work_seconds = std::max(result_.work_seconds, device.busy);
  return std::move(result_);
}

void RankMachine::deal_lanes() {
  std::vector<std::vector<Visit>> whole;
  if (order_.super_panel == 0) whole = visits_of(order_);
  for (int rank = 0; rank < order_.grid.ranks(); ++rank)
    for (int device = 0; device < order_.devices; ++device)
      for (int stream = 0; stream < order_.streams; ++stream) {
        std::size_t const number = order_.lane(rank, device, stream);
        Lane& lane = lanes_[number];
        lane.rank = rank;
        lane.device = device;
        lane.stream = stream;
        if (order_.super_panel == 0) {
          lane.visits = std::move(whole[number]);
          lane.step = order_.steps();
        }
      }
}

void RankMachine::happen(Event const& event) {
  switch (event.kind) {
    case Event::Kind::Step:
      return step(static_cast<std::size_t>(event.who), event.time);
    case Event::Kind::Final:
      return come_home(event.who, event.row, event.col, event.time);
    case Event::Kind::Arrival:
      return arrive(event.who, event.row, event.col, event.time);
    case Event::Kind::Sent:
      return leave(event.who, event.time);
  }
}

// --- lanes ---

void RankMachine::wake(std::size_t lane, double time) {
  queue_.push({time, Event::Kind::Step, static_cast<std::int32_t>(lane), 0, 0});
}

// The lanes of a device that wait for the tile go on.
void RankMachine::wake_waiting(int rank, int d, std::int64_t i, std::int64_t j, double time) {
  for (int stream = 0; stream < order_.streams; ++stream) {
    std::size_t const number = order_.lane(rank, d, stream);
    Lane& lane = lanes_[number];
    if (lane.row != i || lane.col != j) continue;
    lane.row = lane.col = -1;
    wake(number, std::max(time, lane.time));
  }
}

// The lane goes on once the tile is there, which may be now.
bool RankMachine::has(std::size_t number, std::int64_t i, std::int64_t k, double now) {
  Lane& lane = lanes_[number];
  double const ready = operand(lane, i, k);
  if (ready < 0) return wait(lane, i, k);
  if (ready <= now) return true;
  wake(number, ready);
  return false;
}

// When a final tile is on the lane's device.
double RankMachine::operand(Lane const& lane, std::int64_t i, std::int64_t k) {
  bool const is_own = rows_[index(i)] + columns_[index(k)].part == lane.rank;
  if (is_own && (order_.devices == 1 || order_.device_of(i) == lane.device))
    return tile(i, k).final_there;
  auto const& copies = device(lane.rank, lane.device).copies[step_of(i, k)];
  return copies ? copies[number_in_step(i, k)] : not_there;
}

// What a lane does between two events: the end of a visit, some updates of the next, or POTRF or
// TRSM.
void RankMachine::step(std::size_t number, double now) {
  Lane& lane = lanes_[number];
  if (lane.is_done) close(lane, now);
  if (!lane.is_open && !open(number, now)) return;
  Visit const& visit = lane.visits[lane.next];
  std::int64_t const i = visit.row, j = visit.col;
  std::int64_t const until = std::min<std::int64_t>(visit.last, lane.update + batch_);
  if (lane.update < until) {
    for (; lane.update < until; ++lane.update, now = lane.time) {
      std::int64_t const k = lane.update;
      if (!has(number, i, k, now) || (i != j && !has(number, j, k, now))) return;
      work(lane, costs_.product(i, j, k), now);
    }
    lane.is_done = !visit.is_last && lane.update == visit.last;
    return wake(number, lane.time);
  }
  if (i != j && !has(number, j, j, now)) return;
  work(lane, costs_.finish(i, j), now);
  lane.is_done = true;
  wake(number, lane.time);
}

void RankMachine::work(Lane& lane, double seconds, double now) {
  Device& on = device(lane.rank, lane.device);
  on.work = lane.time = std::max({on.work, lane.time, now}) + seconds;
  on.busy += seconds;
  result_.ranks[index(lane.rank)].busy_seconds += seconds;
}

// The next visit, if its tile has the updates before it and is there.
bool RankMachine::open(std::size_t number, double now) {
  Lane& lane = lanes_[number];
  while (lane.next == lane.visits.size()) {
    if (lane.step + 1 >= order_.steps()) return false;
    lane.visits = visits_of(order_, lane.rank, lane.device, lane.stream, ++lane.step);
    lane.next = 0;
  }
  Visit const& visit = lane.visits[lane.next];
  Tile& own = tile(visit.row, visit.col);
  if (own.updates < visit.first) return wait(lane, visit.row, visit.col);
  bring(lane, visit, now);
  if (own.there > now) {
    wake(number, own.there);
    return false;
  }
  lane.is_open = true;
  lane.update = visit.first;
  if (lane.next + 1 < lane.visits.size()) {
    Visit const& next = lane.visits[lane.next + 1];
    if (tile(next.row, next.col).updates == next.first) bring(lane, next, now);
  }
  return true;
}

// A tile from the host to its device, unless it is there.
void RankMachine::bring(Lane const& lane, Visit const& visit, double now) {
  Tile& own = tile(visit.row, visit.col);
  if (own.there >= 0) return;
  Device& on = device(lane.rank, lane.device);
  double const bytes = visit.first == 0 ? costs_.bytes(visit.row, visit.col)
                                        : costs_.sum_bytes(visit.row, visit.col);
  on.in = std::max({on.in, now, own.home}) + bytes / rates_.in_bytes_per_s;
  own.there = on.in;
  result_.ranks[index(lane.rank)].bytes_in += static_cast<std::uint64_t>(bytes);
}

// The visit is over: the tile is final, or stays, or goes home until the next.
void RankMachine::close(Lane& lane, double now) {
  Visit const visit = lane.visits[lane.next];
  auto const [i, j, first, last, is_last] = visit;
  Tile& own = tile(i, j);
  Device& on = device(lane.rank, lane.device);
  own.updates = last;
  own.there = now;
  if (is_last || !is_resident_) {
    double const bytes = is_last ? costs_.bytes(i, j) : costs_.sum_bytes(i, j);
    on.out = std::max(on.out, now) + bytes / rates_.out_bytes_per_s;
    result_.ranks[index(lane.rank)].bytes_out += static_cast<std::uint64_t>(bytes);
    own.home = on.out;
  }
  if (is_last) {
    own.final_there = now;
    queue_.push({on.out, Event::Kind::Final, lane.rank, visit.row, visit.col});
  } else if (!is_resident_) {
    own.there = not_there;
  }
  wake_waiting(lane.rank, lane.device, i, j, now);
  lane.is_open = lane.is_done = false;
  ++lane.next;
  std::int64_t const step = order_.step_of(visit);
  --visits_to_come(lane.rank, step);
  end_part(lane.rank, step, now);
}

// --- messages ---

std::int64_t& RankMachine::visits_to_come(int rank, std::int64_t step) {
  auto& visits = at(rank).visits[index(step)];
  if (visits < 0) visits = order_.visits_in(rank, step);
  return visits;
}

// A rank that has made its visits of a step and passed on what it got for it gives that up.
void RankMachine::end_part(int rank, std::int64_t step, double now) {
  Rank& self = at(rank);
  if (visits_to_come(rank, step) > 0 || self.relays[index(step)] > 0) return;
  self.used -= std::exchange(self.held[index(step)], 0);
  self.used_bytes -= std::exchange(self.held_bytes[index(step)], 0);
  self.state[index(step)].reset();
  for (int d = 0; d < order_.devices; ++d) device(rank, d).copies[index(step)].reset();
  post(rank, now);
}

// Receives that there is room for.
void RankMachine::post(int rank, double now) {
  Rank& self = at(rank);
  while (self.used < self.room) {
    while (self.position == self.receives.size()) {
      if (self.step + 1 >= order_.steps()) return;
      self.receives = receives_of(order_, rank, ++self.step);
      self.position = 0;
      for (Message const& m : self.receives) {
        targets_of(order_, rank, m.row, m.col, targets_);
        self.relays[index(self.step)] += static_cast<std::int64_t>(targets_.size());
      }
      if (!self.receives.empty())
        self.state[index(self.step)] = std::make_unique<State[]>(count_in_step(self.step));
    }
    Message const m = self.receives[self.position++];
    double const bytes = costs_.bytes(m.row, m.col);
    ++self.used;
    ++self.held[index(self.step)];
    self.used_bytes += bytes;
    self.held_bytes[index(self.step)] += bytes;
    auto& most = result_.ranks[index(rank)].copy_bytes;
    most = std::max(most, static_cast<std::uint64_t>(self.used_bytes));
    self.state[index(self.step)][number_in_step(m.row, m.col)] = State::Posted;
    if (is_at(m.from, m.row, m.col)) send(m, now);
  }
}

// To those that wait for a tile that the rank now has.
void RankMachine::pass_on(int rank, std::int64_t i, std::int64_t k, double now) {
  targets_of(order_, rank, i, k, targets_);
  for (int const to : targets_)
    if (state(to, i, k) == State::Posted) send({i, k, rank, to}, now);
}

void RankMachine::send(Message const& m, double now) {
  Rank& from = at(m.from);
  from.outgoing.push_back(m);
  if (from.outgoing.size() == 1) begin_to_send(m.from, now);
}

void RankMachine::begin_to_send(int rank, double now) {
  Message const& m = at(rank).outgoing.front();
  Rank& to = at(m.to);
  double const bytes = costs_.bytes(m.row, m.col), seconds = bytes / rates_.network_bytes_per_s;
  to.network_in = std::max(now + rates_.message_seconds, to.network_in) + seconds;
  queue_.push({to.network_in, Event::Kind::Arrival, m.to, static_cast<std::int32_t>(m.row),
               static_cast<std::int32_t>(m.col)});
  queue_.push({now + seconds, Event::Kind::Sent, rank, 0, 0});
  result_.ranks[index(rank)].bytes_sent += static_cast<std::uint64_t>(bytes);
  result_.ranks[index(m.to)].bytes_received += static_cast<std::uint64_t>(bytes);
}

void RankMachine::leave(int rank, double now) {
  auto& outgoing = at(rank).outgoing;
  Message const m = outgoing.front();
  outgoing.pop_front();
  if (!outgoing.empty()) begin_to_send(rank, now);
  if (order_.owner(m.row, m.col) == rank) return;
  std::int64_t const step = order_.step_of_tile(m.row, m.col);
  --at(rank).relays[index(step)];
  end_part(rank, step, now);
}

void RankMachine::come_home(int rank, std::int64_t i, std::int64_t k, double now) {
  tile(i, k).is_home = true;
  ++finals_;
  result_.seconds = now;
  spread(rank, i, k, now);
  pass_on(rank, i, k, now);
}

void RankMachine::arrive(int rank, std::int64_t i, std::int64_t k, double now) {
  at(rank).state[step_of(i, k)][number_in_step(i, k)] = State::There;
  spread(rank, i, k, now);
  pass_on(rank, i, k, now);
}

// From the host, or from the device that made it, to the devices of the rank that need it.
void RankMachine::spread(int rank, std::int64_t i, std::int64_t k, double now) {
  bool const is_own = order_.owner(i, k) == rank;
  std::int64_t const step = order_.step_of_tile(i, k);
  for (int d = 0; d < order_.devices; ++d) {
    if (is_own && order_.device_of(i) == d) continue;
    if (!order_.needs_on(rank, d, i, k)) continue;
    if (is_own && visits_to_come(rank, step) == 0) continue;
    Device& on = device(rank, d);
    bool const is_linked = is_own && rates_.peer_bytes_per_s > 0;
    double const bytes = costs_.bytes(i, k);
    on.in = std::max(on.in, now) +
            bytes / (is_linked ? rates_.peer_bytes_per_s : rates_.in_bytes_per_s);
    auto& part = result_.ranks[index(rank)];
    (is_linked ? part.bytes_peer : part.bytes_in) += static_cast<std::uint64_t>(bytes);
    auto& copies = on.copies[index(step)];
    if (!copies) {
      copies = std::make_unique_for_overwrite<double[]>(count_in_step(step));
      std::fill_n(copies.get(), count_in_step(step), not_there);
    }
    copies[number_in_step(i, k)] = on.in;
    wake_waiting(rank, d, i, k, on.in);
  }
}

}  // namespace strata::study
