// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/detail/Strata_SchedulePlayer.hpp>

#include <core/Strata_Errors.hpp>
#include <ooc/Strata_PrecisionMap.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace strata::ooc::detail {

namespace {

using strata::detail::message;

// The first thing wrong with which tiles are written, or "".
std::string fault_in_tiles(Schedule const& s) {
  if (s.tiles < 0 || s.devices < 1 || s.streams < 1 || s.first_column < 0 ||
      s.first_column > s.tiles ||
      s.tasks.size() != static_cast<std::size_t>(s.devices) * static_cast<std::size_t>(s.streams))
    return message("sizes: ", s.tiles, " tile rows from column ", s.first_column, ", ", s.devices,
                   " devices, ", s.streams, " streams, ", s.tasks.size(), " lists of tasks");
  std::vector<int> written(tile_count(s.tiles), 0);
  for (auto const& tasks : s.tasks) {
    for (Task const& task : tasks) {
      if (task.col < s.first_column || task.row < task.col || task.row >= s.tiles)
        return message("task (", task.row, ",", task.col, ") is not a tile to be factored");
      if (++written[tile_number(task.row, task.col, s.tiles)] > 1)
        return message("tile (", task.row, ",", task.col, ") is written twice");
    }
  }
  for (std::int64_t j = s.first_column; j < s.tiles; ++j)
    for (std::int64_t i = j; i < s.tiles; ++i)
      if (written[tile_number(i, j, s.tiles)] == 0)
        return message("tile (", i, ",", j, ") is never written");
  return "";
}

std::string name_of(Message const& m) {
  return message("tile (", m.row, ",", m.col, ") from rank ", m.from, " to rank ", m.to);
}

// Runs every stream of every rank as far as it gets, and again those that waited for a tile once their
// rank has it. A message goes when its sender has the tile, and its receiver the room.
class Player {
 public:
  Player(Schedule const& all, std::vector<RankMessages> const& messages, std::int64_t room)
      : all_(all),
        messages_(messages),
        ranks_(messages.size()),
        room_(room),
        tiles_(tile_count(all.tiles)),
        has_(ranks_, std::vector<bool>(tiles_, false)),
        waiting_(ranks_ * tiles_),
        position_(all.tasks.size()),
        part_(ranks_, std::vector<std::int64_t>(static_cast<std::size_t>(all.tiles), 0)),
        held_(part_),
        posted_(ranks_, 0),
        used_(ranks_, 0),
        to_send_(ranks_ * ranks_),
        to_get_(ranks_ * ranks_) {
    for (std::int64_t j = 0; j < all.first_column; ++j)
      for (std::int64_t i = j; i < all.tiles; ++i)
        has_[static_cast<std::size_t>(i) % ranks_][number(i, j)] = true;
  }

  RankCheck play() {
    result_.fault = fault_in_parts();
    if (result_.fault.empty()) run();
    if (result_.fault.empty()) result_.fault = what_is_left();
    return result_;
  }

 private:
  struct Position {
    std::size_t task = 0;
    std::int64_t update = 0;
    Task awaited;
  };
  struct Queue {
    std::vector<std::size_t> messages;  // of the list of its rank
    std::size_t next = 0;
    bool is_empty() const { return next == messages.size(); }
  };

  std::size_t rank_of(std::size_t lane) const {
    return static_cast<std::size_t>(all_.device_of(lane)) % ranks_;
  }
  std::size_t number(std::int64_t i, std::int64_t j) const { return tile_number(i, j, all_.tiles); }
  Queue& sends(std::size_t from, std::size_t to) { return to_send_[from * ranks_ + to]; }
  Queue& gets(std::size_t from, std::size_t to) { return to_get_[from * ranks_ + to]; }

  // The parts of each rank's column, and the queues between two ranks.
  std::string fault_in_parts() {
    for (std::size_t lane = 0; lane < all_.tasks.size(); ++lane) {
      for (Task const& task : all_.tasks[lane]) {
        if (static_cast<std::size_t>(task.row) % ranks_ != rank_of(lane))
          return message("rank ", rank_of(lane), " writes tile (", task.row, ",", task.col,
                         "), which is not its own");
        ++part_[rank_of(lane)][static_cast<std::size_t>(task.col)];
      }
    }
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      auto const own = static_cast<int>(rank);
      for (std::size_t m = 0; m < messages_[rank].sends.size(); ++m) {
        Message const& sent = messages_[rank].sends[m];
        if (sent.from != own || !is_rank(sent.to)) return "rank sends as another: " + name_of(sent);
        sends(rank, static_cast<std::size_t>(sent.to)).messages.push_back(m);
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
    }
  }

  bool has(std::size_t lane, std::int64_t i, std::int64_t j) {
    std::size_t const rank = rank_of(lane);
    if (has_[rank][number(i, j)]) return true;
    position_[lane].awaited = {i, j};
    waiting_[rank * tiles_ + number(i, j)].push_back(lane);
    return false;
  }

  void advance(std::size_t lane) {
    Position& position = position_[lane];
    auto const& tasks = all_.tasks[lane];
    for (; position.task < tasks.size(); ++position.task, position.update = 0) {
      Task const& task = tasks[position.task];
      for (; position.update < task.col; ++position.update, ++result_.updates)
        if (!has(lane, task.row, position.update) || !has(lane, task.col, position.update)) return;
      if (task.row != task.col && !has(lane, task.col, task.col)) return;
      ++result_.tasks;
      finish(rank_of(lane), task);
    }
  }

  // A rank has a tile of its own, and may be done with a row of another's.
  void finish(std::size_t rank, Task const& task) {
    arrive(rank, task.row, task.col);
    for (std::size_t to = 0; to < ranks_; ++to) deliver(rank, to);
    auto const col = static_cast<std::size_t>(task.col);
    if (--part_[rank][col] > 0) return;
    used_[rank] -= std::exchange(held_[rank][col], 0);
    post(rank);
  }

  void arrive(std::size_t rank, std::int64_t i, std::int64_t j) {
    has_[rank][number(i, j)] = true;
    auto& woken = waiting_[rank * tiles_ + number(i, j)];
    ready_.insert(ready_.end(), woken.begin(), woken.end());
    woken.clear();
  }

  // Receives that there is room for.
  void post(std::size_t rank) {
    auto const& receives = messages_[rank].receives;
    while (posted_[rank] < receives.size() && used_[rank] < room_) {
      Message const& next = receives[posted_[rank]++];
      ++held_[rank][static_cast<std::size_t>(next.row)];
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
    }
  }

  std::string what_is_left() {
    for (std::size_t lane = 0; lane < position_.size(); ++lane) {
      auto const& tasks = all_.tasks[lane];
      if (position_[lane].task == tasks.size()) continue;
      Task const &task = tasks[position_[lane].task], &awaited = position_[lane].awaited;
      std::string const who = ranks_ > 1 ? message("rank ", rank_of(lane))
                                         : message("device ", all_.device_of(lane), " stream ",
                                                   lane % static_cast<std::size_t>(all_.streams));
      return message("deadlock: ", who, " waits in task (", task.row, ",", task.col, ") for tile (",
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

  Schedule const& all_;
  std::vector<RankMessages> const& messages_;
  std::size_t ranks_;
  std::int64_t room_;
  std::size_t tiles_;
  std::vector<std::vector<bool>> has_;             // [rank][tile]
  std::vector<std::vector<std::size_t>> waiting_;  // lanes, by rank and tile
  std::vector<Position> position_;
  std::vector<std::vector<std::int64_t>> part_;  // [rank][column]: own tiles that are not final
  std::vector<std::vector<std::int64_t>> held_;  // [rank][row]: tiles of others
  std::vector<std::size_t> posted_;              // receives of each rank
  std::vector<std::int64_t> used_;               // room of each rank
  std::vector<Queue> to_send_, to_get_;          // [from][to]
  std::vector<std::size_t> ready_;
  RankCheck result_;
};

}  // namespace

RankCheck play(Schedule const& all, std::vector<RankMessages> const& messages, std::int64_t room) {
  RankCheck check;
  check.fault = fault_in_tiles(all);
  return check.ok() ? Player(all, messages, room).play() : check;
}

}  // namespace strata::ooc::detail
