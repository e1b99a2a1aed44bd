// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/detail/Strata_RankExchange.hpp>

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>

#include <algorithm>
#include <chrono>
#include <numeric>

namespace strata::ooc::detail {

namespace {

// A moment at which a message begins or has arrived, for the thread's recorder.
void tell(char const* what, Message const& message, char const* whom, int rank) {
  Recorder* const recorder = Recorder::current();
  if (!recorder) return;
  Recorder::Stamp const now{Recorder::Clock::now(), {}};
  recorder->add("messages",
                strata::detail::message(what, " (", message.row, ",", message.col, ") ", whom,
                                        " rank ", rank),
                now, now);
}

constexpr int most_open = 16;                            // sends to one rank
constexpr std::chrono::microseconds between_looks(100);  // at messages

}  // namespace

template <class Exec>
RankExchange<Exec>::RankExchange(TileMatrix<Exec> const& matrix, Schedule const& part,
                                 std::int64_t column_block, Progress<Mark>& progress)
    : matrix_(matrix),
      progress_(progress),
      mailbox_(*matrix.comm()),
      columns_(static_cast<std::size_t>(matrix.tiles())),
      slot_of_(tile_count(matrix.tiles()), 0) {
  RankGrid const grid{matrix.comm()->size()};
  auto messages = messages_of(matrix.tiles(), grid, matrix.comm()->rank(), part.first_column);
  sends_.resize(static_cast<std::size_t>(grid.ranks));
  for (Message const& sent : messages.sends)
    sends_[static_cast<std::size_t>(sent.to)].messages.push_back(sent);
  receives_ = std::move(messages.receives);
  for (Message const& got : receives_)
    slot_bytes_ = std::max(slot_bytes_, tile_bytes(matrix.map().at(got.row, got.col),
                                                   matrix.rows(got.row), matrix.rows(got.col)));
  auto const room =
      static_cast<std::size_t>(std::min(room_for_messages(matrix.tiles(), grid, column_block),
                                        static_cast<std::int64_t>(receives_.size())));
  slots_ = allocate_on_host<decltype(slots_)>("strata::ooc::ranks::HostSlots", room * slot_bytes_);
  free_.resize(room);
  std::iota(free_.rbegin(), free_.rend(), std::size_t(0));
  for (auto const& tasks : part.tasks)
    for (Task const& task : tasks) ++columns_[static_cast<std::size_t>(task.col)].unfinished;
}

template <class Exec>
void RankExchange<Exec>::finish_task(std::int64_t column, Mark const& home, Mark const& in) {
  {
    std::lock_guard const lock(mutex_);
    auto& part = columns_[static_cast<std::size_t>(column)];
    part.marks.push_back(home);
    part.marks.push_back(in);
    if (--part.unfinished == 0) finished_.push_back(column);
  }
  wake();
}

template <class Exec>
void RankExchange<Exec>::run(int streams) {
  while (true) {
    bool moved = free_slots(streams);
    moved = receive() || moved;
    moved = send() || moved;
    moved = poll() || moved;
    std::unique_lock lock(mutex_);
    bool const sent = std::ranges::all_of(
        sends_, [](Queue const& queue) { return queue.next == queue.messages.size(); });
    if (ended_streams_ == streams && sent && posted_ == receives_.size() && mailbox_.open() == 0)
      return;
    if (!moved) changed_.wait_for(lock, between_looks);
  }
}

// Slots of rows that this rank is done with; once its streams have ended, all of them.
template <class Exec>
bool RankExchange<Exec>::free_slots(int streams) {
  std::deque<std::int64_t> finished;
  bool ended = false;
  {
    std::lock_guard const lock(mutex_);
    finished.swap(finished_);
    ended = ended_streams_ == streams;
  }
  for (std::int64_t const column : finished) {
    auto& part = columns_[static_cast<std::size_t>(column)];
    for (Mark const& mark : part.marks) Lane<Exec>::sync(mark);
    part.marks.clear();
    free_.insert(free_.end(), part.slots.begin(), part.slots.end());
    part.slots.clear();
  }
  if (ended && !emptied_) {
    emptied_ = true;
    for (Column& part : columns_) {
      free_.insert(free_.end(), part.slots.begin(), part.slots.end());
      part.slots.clear();
    }
  }
  return !finished.empty();
}

template <class Exec>
bool RankExchange<Exec>::receive() {
  bool moved = false;
  while (posted_ < receives_.size() && !free_.empty()) {
    Message const& got = receives_[posted_];
    std::size_t const slot = free_.back();
    free_.pop_back();
    slot_of_[tile_number(got.row, got.col, matrix_.tiles())] = slot;
    mailbox_.receive(static_cast<std::int64_t>(posted_++), data(got.row, got.col),
                     matrix_.copy_bytes(got.row, got.col), got.from);
    moved = true;
  }
  return moved;
}

template <class Exec>
bool RankExchange<Exec>::send() {
  bool moved = false;
  for (std::size_t to = 0; to < sends_.size(); ++to) {
    Queue& queue = sends_[to];
    for (; queue.next < queue.messages.size() && queue.open < most_open; ++queue.next) {
      Message const& sent = queue.messages[queue.next];
      std::size_t const tile = tile_number(sent.row, sent.col, matrix_.tiles());
      std::size_t bytes = 0;
      if (!progress_.stopped()) {
        if (!progress_.is_final(tile)) break;
        Lane<Exec>::sync(progress_.mark(tile));
        bytes = matrix_.copy_bytes(sent.row, sent.col);
      }
      mailbox_.send(static_cast<std::int64_t>(to), matrix_.data(sent.row, sent.col), bytes,
                    sent.to);
      tell("send", sent, "to", sent.to);
      bytes_sent += bytes;
      ++queue.open;
      moved = true;
    }
  }
  return moved;
}

template <class Exec>
bool RankExchange<Exec>::poll() {
  return mailbox_.poll(
      [&](std::int64_t to) { --sends_[static_cast<std::size_t>(to)].open; },
      [&](std::int64_t number, std::size_t bytes) {
        Message const& got = receives_[static_cast<std::size_t>(number)];
        std::size_t const tile = tile_number(got.row, got.col, matrix_.tiles());
        if (emptied_) {
          free_.push_back(slot_of_[tile]);
        } else {
          columns_[static_cast<std::size_t>(got.row)].slots.push_back(slot_of_[tile]);
        }
        tell("got", got, "from", got.from);
        bytes_received += bytes;
        if (bytes == 0) return progress_.stop();
        progress_.set(tile, {});
      });
}

#define STRATA_INSTANTIATE(Exec) template class RankExchange<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc::detail
