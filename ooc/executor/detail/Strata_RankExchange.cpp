// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/executor/detail/Strata_RankExchange.hpp>

#include <core/Strata_Stopwatch.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <ooc/schedule/detail/Strata_RankRoom.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>
#include <set>

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

// Sends to one rank the next tile in order. With few under way it also sends a tile that is final
// before, for which the rank has room.
constexpr int most_open = 16, most_open_early = 2;
// Between looks at messages. On a host they take time from the streams' products, so that looks
// become rare while nothing moves and no stream waits for a tile.
constexpr std::chrono::microseconds pause_beside_device(20), shortest_pause_on_host(100),
    longest_pause_on_host(1600);

}  // namespace

std::vector<Route> routes_of(RankMessages const& messages) {
  std::set<Route> routes;
  for (Message const& sent : messages.sends) routes.insert({sent.from, sent.to});
  for (Message const& got : messages.receives) routes.insert({got.from, got.to});
  return {routes.begin(), routes.end()};
}

template <class Exec>
RankExchange<Exec>::RankExchange(TileMatrix<Exec>& matrix, RankOrder const& order,
                                 RankMessages messages,
                                 std::vector<std::vector<Visit>> const& lanes,
                                 Progress<Mark>& progress, MailboxLink const& link, int device,
                                 std::byte* slots)
    : matrix_(matrix),
      progress_(progress),
      transport_(link.transport),
      device_(device),
      mailbox_(*matrix.comm(), link.carrier),
      order_(order),
      sends_(std::move(messages.sends)),
      receives_(std::move(messages.receives)),
      has_arrived_(receives_.size(), false),
      queues_(static_cast<std::size_t>(order.grid.ranks())),
      steps_(static_cast<std::size_t>(order.steps())),
      slot_of_(tile_count(matrix.tiles()), 0) {
  for (std::size_t m = 0; m < sends_.size(); ++m) {
    Queue& queue = queues_[static_cast<std::size_t>(sends_[m].to)];
    queue.to_send.push_back(queue.messages.size());
    queue.messages.push_back(m);
    if (is_relay(sends_[m])) ++step_of(sends_[m]).relays;
  }
  RankRoom const room =
      rank_room(order, matrix.comm()->rank(), matrix.order(), matrix.tile_size(), matrix.map());
  slot_bytes_ = room.slot_bytes;
  std::size_t const room_bytes = slots ? 0 : room.bytes();
  room_bytes_ = room_bytes + bytes_of_stages();
  std::byte* const host = matrix.memory_for_others(room_bytes_);
  slots_ = slots ? slots : host;
  make_stages(host + room_bytes);
  free_.resize(room.slots);
  std::iota(free_.rbegin(), free_.rend(), std::size_t(0));
  for (auto const& lane : lanes)
    for (Visit const& visit : lane) ++steps_[static_cast<std::size_t>(order.step_of(visit))].visits;
  for (Step& step : steps_) step.is_made = step.visits == 0;
  progress_.on_wait([this] { wake(); });
}

template <class Exec>
std::size_t RankExchange<Exec>::bytes_of_stages() const {
  std::size_t bytes = 0;
  for (Queue const& queue : queues_) bytes += queue.stages.size() * widest_of(queue);
  return bytes;
}

// Whether a tile is on a device that the link can't read: a carrier reads one.
template <class Exec>
bool RankExchange<Exec>::is_staged(Message const& sent) const {
  if (matrix_.storage() == TileStorage::Host || is_relay(sent)) return false;
  return transport_ == Transport::Staged ||
         (transport_ == Transport::Enqueued && matrix_.device_of_row(sent.row) != device_);
}

// The most bytes of a tile that is staged for one rank.
template <class Exec>
std::size_t RankExchange<Exec>::widest_of(Queue const& queue) const {
  std::size_t widest = 0;
  for (std::size_t const number : queue.messages) {
    std::int64_t const row = sends_[number].row, col = sends_[number].col;
    if (is_staged(sends_[number]))
      widest = std::max(
          widest, tile_bytes(matrix_.map().at(row, col), matrix_.rows(row), matrix_.rows(col)));
  }
  return widest;
}

template <class Exec>
void RankExchange<Exec>::make_stages(std::byte* memory) {
  if (matrix_.storage() == TileStorage::Host) return;
  for (Queue& queue : queues_)
    for (Stage& stage : queue.stages) {
      stage.data = memory;
      memory += widest_of(queue);
    }
  for (std::int64_t i = 0; i < matrix_.tiles(); ++i)
    lanes_.try_emplace(matrix_.device_of_row(i), matrix_.device_of_row(i));
}

// Nothing may be copied to stages once they are another's.
template <class Exec>
void RankExchange<Exec>::end_copies() {
  try {
    for (auto& [device, lane] : lanes_) lane.fence();
  } catch (...) {
    progress_.stop(std::current_exception());
  }
}

template <class Exec>
auto RankExchange<Exec>::step_of(Message const& message) -> Step& {
  return steps_[static_cast<std::size_t>(order_.step_of_tile(message.row, message.col))];
}

// From where a message of the queue that is final can leave; nullptr: it is on its way there.
template <class Exec>
std::byte const* RankExchange<Exec>::data_of(Queue& queue, std::int64_t number) {
  Message const& sent = sends_[static_cast<std::size_t>(number)];
  if (is_relay(sent)) return data(sent.row, sent.col);
  if (!is_staged(sent)) return matrix_.data(sent.row, sent.col);
  try {
    return staged(queue, number);
  } catch (...) {
    progress_.stop(std::current_exception());
    return nullptr;
  }
}

template <class Exec>
std::byte const* RankExchange<Exec>::staged(Queue& queue, std::int64_t number) {
  Message const& sent = sends_[static_cast<std::size_t>(number)];
  auto stage = std::ranges::find(queue.stages, number, &Stage::message);
  if (stage == queue.stages.end()) {
    stage = std::ranges::find(queue.stages, std::int64_t{-1}, &Stage::message);
    if (stage == queue.stages.end()) return nullptr;
    auto& lane = lanes_.at(matrix_.device_of_row(sent.row));
    lane.wait(progress_.mark(tile_number(sent.row, sent.col, matrix_.tiles())));
    lane.copy(stage->data, matrix_.data(sent.row, sent.col),
              matrix_.copy_bytes(sent.row, sent.col));
    stage->copied = lane.record();
    stage->message = number;
  }
  return Lane<Exec>::is_reached(stage->copied) ? stage->data : nullptr;
}

// A device that fails stops the rank like a stream that does: its messages come to their end
// without bytes.
template <class Exec>
bool RankExchange<Exec>::is_reached(Mark const& mark) {
  try {
    return Lane<Exec>::is_reached(mark);
  } catch (...) {
    progress_.stop(std::current_exception());
    return false;
  }
}

template <class Exec>
void RankExchange<Exec>::finish_visit(std::int64_t step, Mark const& end, Mark const& in) {
  {
    std::lock_guard const lock(mutex_);
    auto& part = steps_[static_cast<std::size_t>(step)];
    part.marks.push_back(end);
    part.marks.push_back(in);
    if (--part.visits == 0) finished_.push_back(step);
  }
  wake();
}

// The first tile that is missing is the one that keeps streams waiting: they come in the order in
// which they are needed.
template <class Exec>
void RankExchange<Exec>::tell_silence(double seconds,
                                      std::function<void(int, double)> const& on_silence) {
  auto const missing = std::ranges::find(has_arrived_, false);
  if (!on_silence || missing == has_arrived_.end() || !progress_.is_awaited()) return;
  try {
    on_silence(receives_[static_cast<std::size_t>(missing - has_arrived_.begin())].from, seconds);
  } catch (...) {
    progress_.stop(std::current_exception());
  }
}

template <class Exec>
void RankExchange<Exec>::run(int streams, std::function<void(int, double)> const& on_silence) {
  Stopwatch quiet;
  double told = 0;
  bool const is_host = strata::runs_on_host<Exec>;
  auto const shortest_pause = is_host ? shortest_pause_on_host : pause_beside_device;
  auto const longest_pause = is_host ? longest_pause_on_host : pause_beside_device;
  auto pause = shortest_pause;
  while (true) {
    bool moved = end_visits(streams);
    moved = receive() || moved;
    moved = send() || moved;
    moved = poll() || moved;
    if (moved || !progress_.is_awaited()) {
      quiet = Stopwatch();
      told = 0;
    } else if (quiet.seconds() - told >= patience_seconds) {
      told = quiet.seconds();
      tell_silence(told, on_silence);
    }
    std::unique_lock lock(mutex_);
    bool const sent =
        std::ranges::all_of(queues_, [](Queue const& queue) { return queue.to_send.empty(); });
    if (ended_streams_ == streams && sent && posted_ == receives_.size() && mailbox_.open() == 0)
      return end_copies();
    if (!moved) changed_.wait_for(lock, pause);
    bool const is_urgent = moved || progress_.is_awaited();
    pause = is_urgent ? shortest_pause : std::min(4 * pause, longest_pause);
  }
}

// Steps whose visits are made, once what they enqueued has run; other messages go on until then.
// Once the streams have ended there are none to come.
template <class Exec>
bool RankExchange<Exec>::end_visits(int streams) {
  bool ended = false;
  {
    std::lock_guard const lock(mutex_);
    running_.insert(running_.end(), finished_.begin(), finished_.end());
    finished_.clear();
    ended = ended_streams_ == streams && !emptied_;
  }
  auto const have_run = std::erase_if(running_, [&](std::int64_t number) {
    Step& step = steps_[static_cast<std::size_t>(number)];
    if (!std::ranges::all_of(step.marks, [&](Mark const& mark) { return is_reached(mark); }))
      return false;
    step.marks.clear();
    step.is_made = true;
    free_slots(step);
    return true;
  });
  if (ended) {
    emptied_ = true;
    for (Step& step : steps_) {
      step.is_made = true;
      free_slots(step);
    }
  }
  return have_run > 0;
}

// Nobody reads them once the step's visits are made and what is passed on has left.
template <class Exec>
void RankExchange<Exec>::free_slots(Step& step) {
  if (!step.is_made || step.relays > 0) return;
  free_.insert(free_.end(), step.slots.begin(), step.slots.end());
  step.slots.clear();
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
  for (Queue& queue : queues_) {
    auto& to_send = queue.to_send;
    while (!to_send.empty() && queue.open < most_open && send(queue, to_send.front(), true)) {
      to_send.pop_front();
      moved = true;
    }
    if (to_send.empty() || queue.open >= most_open_early) continue;
    auto const awaited = static_cast<std::size_t>(
        std::min(mailbox_.awaited(sends_[queue.messages[to_send.front()]].to),
                 static_cast<std::int64_t>(to_send.front()) + Mailbox::most_apart));
    for (auto nth = to_send.begin(); nth != to_send.end() && *nth < awaited;) {
      if (queue.open >= most_open_early) break;
      bool const leaves = send(queue, *nth, false);
      nth = leaves ? to_send.erase(nth) : nth + 1;
      moved = moved || leaves;
    }
  }
  return moved;
}

// Whether the message, which may be the next of its queue, could leave.
template <class Exec>
bool RankExchange<Exec>::send(Queue& queue, std::size_t nth, bool is_next) {
  std::size_t const number = queue.messages[nth];
  Message const& sent = sends_[number];
  std::size_t const tile = tile_number(sent.row, sent.col, matrix_.tiles());
  std::byte const* data = nullptr;
  std::size_t bytes = 0;
  if (!progress_.stopped()) {
    if (is_staged(sent) && !is_next) return false;  // stages are for those that are sure to leave
    if (!progress_.is_final(tile) || !is_reached(progress_.mark(tile))) return false;
    data = data_of(queue, static_cast<std::int64_t>(number));
    if (!data) return false;
    bytes = matrix_.copy_bytes(sent.row, sent.col);
  }
  mailbox_.send(static_cast<std::int64_t>(number), data, bytes, sent.to,
                static_cast<std::int64_t>(nth));
  tell("send", sent, "to", sent.to);
  bytes_sent += bytes;
  ++queue.open;
  return true;
}

template <class Exec>
bool RankExchange<Exec>::poll() {
  return mailbox_.poll(
      [&](std::int64_t number) {
        Message const& sent = sends_[static_cast<std::size_t>(number)];
        Queue& queue = queues_[static_cast<std::size_t>(sent.to)];
        --queue.open;
        for (Stage& stage : queue.stages)
          if (stage.message == number) stage.message = -1;
        if (!is_relay(sent)) return;
        --step_of(sent).relays;
        free_slots(step_of(sent));
      },
      [&](std::int64_t number, std::size_t bytes) {
        Message const& got = receives_[static_cast<std::size_t>(number)];
        std::size_t const tile = tile_number(got.row, got.col, matrix_.tiles());
        has_arrived_[static_cast<std::size_t>(number)] = true;
        step_of(got).slots.push_back(slot_of_[tile]);
        tell("got", got, "from", got.from);
        bytes_received += bytes;
        if (bytes == 0) {
          progress_.stop();
        } else {
          progress_.set(tile, {});
        }
        free_slots(step_of(got));
      });
}

#define STRATA_INSTANTIATE(Exec) template class RankExchange<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc::detail
