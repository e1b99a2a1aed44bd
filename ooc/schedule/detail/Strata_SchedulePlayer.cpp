// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/schedule/detail/Strata_SchedulePlayer.hpp>

#include <core/Strata_Errors.hpp>
#include <ooc/schedule/Strata_PrecisionMap.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace strata::ooc::detail {

namespace {

using strata::detail::message;

// The first thing wrong with which tiles are written, or "".
std::string fault_in_tiles(Played const& s) {
  std::int64_t const tiles = s.order.tiles;
  if (tiles < 0 || s.devices < 1 || s.order.streams < 1 || s.order.first_column < 0 ||
      s.order.first_column > tiles ||
      s.lanes.size() !=
          static_cast<std::size_t>(s.devices) * static_cast<std::size_t>(s.order.streams))
    return message("sizes: ", tiles, " tile rows from column ", s.order.first_column, ", ",
                   s.devices, " devices, ", s.order.streams, " streams, ", s.lanes.size(),
                   " lists of tasks");
  std::vector<int> written(tile_count(tiles), 0);
  for (auto const& visits : s.lanes) {
    for (Visit const& v : visits) {
      bool const is_whole = !v.is_last || v.last == v.col;
      if (v.col < s.order.first_column || v.row < v.col || v.row >= tiles || v.first < 0 ||
          v.last < v.first || v.last > v.col || !is_whole)
        return message("task (", v.row, ",", v.col, ") is not a tile to be factored");
      if (v.is_last && ++written[tile_number(v.row, v.col, tiles)] > 1)
        return message("tile (", v.row, ",", v.col, ") is written twice");
    }
  }
  for (std::int64_t j = s.order.first_column; j < tiles; ++j)
    for (std::int64_t i = j; i < tiles; ++i)
      if (written[tile_number(i, j, tiles)] == 0)
        return message("tile (", i, ",", j, ") is never written");
  return "";
}

std::string name_of(Message const& m) {
  return message("tile (", m.row, ",", m.col, ") from rank ", m.from, " to rank ", m.to);
}

// Runs every stream of every rank as far as it gets, and again those that waited for a tile once
// their rank has it. A message goes when its sender has the tile, and its receiver the room.
class Player {
 public:
  Player(Played const& all, std::vector<RankMessages> const& messages,
         std::vector<std::int64_t> const& rooms)
      : all_(all),
        order_(all.order),
        messages_(messages),
        ranks_(messages.size()),
        rooms_(rooms),
        tiles_(tile_count(order_.tiles)),
        has_(ranks_, std::vector<bool>(tiles_, false)),
        waiting_(ranks_ * tiles_),
        updates_(tiles_, 0),
        position_(all.lanes.size()),
        part_(ranks_, std::vector<std::int64_t>(static_cast<std::size_t>(order_.tiles), 0)),
        held_(part_),
        posted_(ranks_, 0),
        used_(ranks_, 0),
        to_send_(ranks_ * ranks_),
        to_get_(ranks_ * ranks_) {
    for (std::int64_t j = 0; j < all.order.first_column; ++j)
      for (std::int64_t i = j; i < order_.tiles; ++i)
        has_[static_cast<std::size_t>(order_.owner(i, j))][number(i, j)] = true;
  }

  RankCheck play() {
    result_.fault = fault_in_parts();
    if (result_.fault.empty()) run();
    if (result_.fault.empty()) result_.fault = what_is_left();
    return result_;
  }

 private:
  struct Position {
    std::size_t visit = 0;
    std::int64_t update = -1;  // < 0: the visit has not begun
    Task awaited;
  };
  struct Queue {
    std::vector<std::size_t> messages;  // of the list of its rank
    std::size_t next = 0;
    bool is_empty() const { return next == messages.size(); }
  };

  int device_of(std::size_t lane) const { return static_cast<int>(lane) / order_.streams; }
  std::size_t rank_of(std::size_t lane) const {
    return static_cast<std::size_t>(device_of(lane)) % ranks_;
  }
  std::size_t number(std::int64_t i, std::int64_t j) const {
    return tile_number(i, j, order_.tiles);
  }
  Queue& sends(std::size_t from, std::size_t to) { return to_send_[from * ranks_ + to]; }
  Queue& gets(std::size_t from, std::size_t to) { return to_get_[from * ranks_ + to]; }
  std::int64_t& part(std::size_t rank, std::int64_t step) {
    return part_[rank][static_cast<std::size_t>(step)];
  }
  // Whether a rank passes on what it got itself.
  bool is_relay(Message const& sent) const { return order_.owner(sent.row, sent.col) != sent.from; }

  // What each rank has to do in a step, and the queues between two ranks.
  std::string fault_in_parts() {
    for (std::size_t lane = 0; lane < all_.lanes.size(); ++lane) {
      for (Visit const& v : all_.lanes[lane]) {
        if (static_cast<std::size_t>(order_.owner(v.row, v.col)) != rank_of(lane))
          return message("rank ", rank_of(lane), " writes tile (", v.row, ",", v.col,
                         "), which is not its own");
        ++part(rank_of(lane), order_.step_of(v));
      }
    }
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      auto const own = static_cast<int>(rank);
      for (std::size_t m = 0; m < messages_[rank].sends.size(); ++m) {
        Message const& sent = messages_[rank].sends[m];
        if (sent.from != own || !is_rank(sent.to)) return "rank sends as another: " + name_of(sent);
        sends(rank, static_cast<std::size_t>(sent.to)).messages.push_back(m);
        if (is_relay(sent)) ++part(rank, order_.step_of_tile(sent.row, sent.col));
      }
      for (std::size_t m = 0; m < messages_[rank].receives.size(); ++m) {
        Message const& got = messages_[rank].receives[m];
        if (got.to != own || !is_rank(got.from)) return "rank gets as another: " + name_of(got);
        gets(static_cast<std::size_t>(got.from), rank).messages.push_back(m);
      }
    }
    return "";
  }
  bool is_rank(int rank) const { return rank >= 0 && static_cast<std::size_t>(rank) < ranks_; }

  void run() {
    for (std::size_t rank = 0; rank < ranks_; ++rank) post(rank);
    for (std::size_t lane = 0; lane < position_.size(); ++lane) ready_.push_back(lane);
    while (!ready_.empty() && result_.fault.empty()) {
      std::size_t const lane = ready_.back();
      ready_.pop_back();
      advance(lane);
      while (!relays_.empty() && result_.fault.empty()) {
        auto const [from, to] = relays_.back();
        relays_.pop_back();
        deliver(from, to);
      }
    }
  }

  bool wait(std::size_t lane, std::int64_t i, std::int64_t j) {
    position_[lane].awaited = {i, j};
    waiting_[rank_of(lane) * tiles_ + number(i, j)].push_back(lane);
    return false;
  }
  bool has(std::size_t lane, std::int64_t i, std::int64_t j) {
    return has_[rank_of(lane)][number(i, j)] || wait(lane, i, j);
  }

  void advance(std::size_t lane) {
    Position& position = position_[lane];
    auto const& visits = all_.lanes[lane];
    for (; position.visit < visits.size(); ++position.visit, position.update = -1) {
      Visit const& v = visits[position.visit];
      if (position.update < 0 && !begin(lane, v)) return;
      for (; position.update < v.last; ++position.update, ++result_.updates)
        if (!has(lane, v.row, position.update) || !has(lane, v.col, position.update)) return;
      if (v.is_last && v.row != v.col && !has(lane, v.col, v.col)) return;
      finish(rank_of(lane), v);
    }
  }

  // Whether the tile has had its updates by the columns before, and none of these.
  bool begin(std::size_t lane, Visit const& v) {
    auto const updates = updates_[number(v.row, v.col)];
    if (updates < v.first) return wait(lane, v.row, v.col);
    if (updates > v.first)
      result_.fault = message("tile (", v.row, ",", v.col, ") has its updates from column ",
                              v.first, " on behind those to column ", updates);
    position_[lane].update = v.first;
    return result_.fault.empty();
  }

  // A rank has updated a tile of its own, which may be final, and may be done with others'.
  void finish(std::size_t rank, Visit const& v) {
    updates_[number(v.row, v.col)] = v.last;
    if (v.is_last) {
      ++result_.tasks;
      arrive(rank, v.row, v.col);
      for (std::size_t to = 0; to < ranks_; ++to) deliver(rank, to);
    } else {
      wake(rank, v.row, v.col);
    }
    end_part(rank, order_.step_of(v));
  }

  void end_part(std::size_t rank, std::int64_t step) {
    if (--part(rank, step) == 0) give_up(rank, step);
  }

  void arrive(std::size_t rank, std::int64_t i, std::int64_t j) {
    has_[rank][number(i, j)] = true;
    wake(rank, i, j);
  }

  void wake(std::size_t rank, std::int64_t i, std::int64_t j) {
    auto& woken = waiting_[rank * tiles_ + number(i, j)];
    ready_.insert(ready_.end(), woken.begin(), woken.end());
    woken.clear();
  }

  // Receives that there is room for.
  void post(std::size_t rank) {
    auto const& receives = messages_[rank].receives;
    while (posted_[rank] < receives.size() && used_[rank] < rooms_[rank]) {
      Message const& next = receives[posted_[rank]++];
      result_.most_tiles = std::max(result_.most_tiles, ++used_[rank]);
      deliver(static_cast<std::size_t>(next.from), rank);
    }
  }

  void deliver(std::size_t from, std::size_t to) {
    Queue &out = sends(from, to), &in = gets(from, to);
    while (!out.is_empty() && !in.is_empty() && result_.fault.empty()) {
      Message const& sent = messages_[from].sends[out.messages[out.next]];
      if (in.messages[in.next] >= posted_[to] || !has_[from][number(sent.row, sent.col)]) return;
      Message const& got = messages_[to].receives[in.messages[in.next]];
      if (!(sent == got)) result_.fault = name_of(sent) + " meets the receive of " + name_of(got);
      ++out.next;
      ++in.next;
      ++result_.messages;
      arrive(to, got.row, got.col);
      for (std::size_t next = 0; order_.super_panel > 0 && next < ranks_; ++next)
        relays_.emplace_back(to, next);
      std::int64_t const step = order_.step_of_tile(sent.row, sent.col);
      if (is_relay(sent)) end_part(from, step);
      ++held_[to][static_cast<std::size_t>(step)];
      if (part(to, step) == 0) give_up(to, step);
    }
  }

  // What has arrived for a step whose part the rank has done.
  void give_up(std::size_t rank, std::int64_t step) {
    used_[rank] -= std::exchange(held_[rank][static_cast<std::size_t>(step)], 0);
    post(rank);
  }

  std::string what_is_left() {
    for (std::size_t lane = 0; lane < position_.size(); ++lane) {
      auto const& visits = all_.lanes[lane];
      if (position_[lane].visit == visits.size()) continue;
      Visit const& v = visits[position_[lane].visit];
      Task const& awaited = position_[lane].awaited;
      std::string const who = ranks_ > 1 ? message("rank ", rank_of(lane))
                                         : message("device ", device_of(lane), " stream ",
                                                   lane % static_cast<std::size_t>(order_.streams));
      return message("deadlock: ", who, " waits in task (", v.row, ",", v.col, ") for tile (",
                     awaited.row, ",", awaited.col, ")");
    }
    for (std::size_t from = 0; from < ranks_; ++from) {
      for (std::size_t to = 0; to < ranks_; ++to) {
        Queue const &out = sends(from, to), &in = gets(from, to);
        if (!out.is_empty())
          return "a send without a receive: " +
                 name_of(messages_[from].sends[out.messages[out.next]]);
        if (!in.is_empty())
          return "a receive without a send: " +
                 name_of(messages_[to].receives[in.messages[in.next]]);
      }
    }
    return "";
  }

  Played const& all_;
  RankOrder const& order_;
  std::vector<RankMessages> const& messages_;
  std::size_t ranks_;
  std::vector<std::int64_t> const& rooms_;
  std::size_t tiles_;
  std::vector<std::vector<bool>> has_;             // [rank][tile]
  std::vector<std::vector<std::size_t>> waiting_;  // lanes, by rank and tile
  std::vector<std::int64_t> updates_;              // of each tile, so far
  std::vector<Position> position_;
  std::vector<std::vector<std::int64_t>> part_;  // [rank][step]: own visits and relays to come
  std::vector<std::vector<std::int64_t>> held_;  // [rank][step]: tiles of others that are there
  std::vector<std::size_t> posted_;              // receives of each rank
  std::vector<std::int64_t> used_;               // room of each rank
  std::vector<Queue> to_send_, to_get_;          // [from][to]
  std::vector<std::size_t> ready_;
  std::vector<std::pair<std::size_t, std::size_t>> relays_;  // from, to
  RankCheck result_;
};

}  // namespace

std::vector<std::vector<Visit>> visits_of(Schedule const& schedule) {
  std::vector<std::vector<Visit>> lanes(schedule.tasks.size());
  for (std::size_t lane = 0; lane < lanes.size(); ++lane)
    for (Task const& task : schedule.tasks[lane]) {
      auto const col = static_cast<std::int32_t>(task.col);
      lanes[lane].push_back({static_cast<std::int32_t>(task.row), col, 0, col, true});
    }
  return lanes;
}

Played played(Schedule const& schedule, int ranks) {
  RankOrder order{schedule.tiles, {ranks, 1}, schedule.devices / ranks, schedule.streams};
  order.first_column = schedule.first_column;
  return {order, schedule.devices, visits_of(schedule)};
}

Played played(RankOrder const& order) {
  return {order, order.grid.ranks() * order.devices, ooc::visits_of(order)};
}

RankCheck play(Played const& all, std::vector<RankMessages> const& messages,
               std::vector<std::int64_t> const& rooms) {
  RankCheck check;
  check.fault = fault_in_tiles(all);
  return check.ok() ? Player(all, messages, rooms).play() : check;
}

}  // namespace strata::ooc::detail
