// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_EXECUTOR_DETAIL_RANK_EXCHANGE_HPP
#define STRATA_OOC_EXECUTOR_DETAIL_RANK_EXCHANGE_HPP

#include <comm/Strata_Carrier.hpp>
#include <comm/Strata_Mailbox.hpp>
#include <comm/Strata_Transport.hpp>
#include <ooc/schedule/Strata_RankOrder.hpp>
#include <ooc/team/detail/Strata_Machine.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>
#include <ooc/tiles/detail/Strata_Progress.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace strata::ooc::detail {

/// What a test lets a machine without NCCL take as a carrier; empty: nothing.
using PretendedCarrier =
    std::function<std::shared_ptr<Carrier>(Communicator const&, std::vector<Route> const&)>;
inline PretendedCarrier& pretended_carrier() {
  static PretendedCarrier carrier;
  return carrier;
}

/// How long a stream waits for a tile before its sender is told of, which a test shortens.
inline std::atomic<double> patience_seconds{60};

/// The pairs of ranks between which these messages go.
std::vector<Route> routes_of(RankMessages const& messages);

/// One rank's messages of a factorisation. Final tiles leave from where they are. If they are on a
/// device whose memory the link can't read, they are copied to host memory first. Tiles of others
/// arrive in slots of host memory, from where devices copy them in, or in slots of the device's
/// memory. What a rank passes on goes on from its slot.
///
/// A rank may stop, for an error of its streams or of a device, or for a breakdown. Then it sends
/// the rest of its messages without bytes, and the receivers stop too. So all messages come to
/// their end, and no rank is left waiting. An error of a message itself concerns this rank alone
/// (`run`).
template <class ExecutionSpace>
class RankExchange {
 public:
  using Mark = typename Lane<ExecutionSpace>::Mark;

  /// Exchanges tiles for the visits that this rank's streams make in an order. The link was made
  /// for the device with this number.
  ///
  /// `slots`    `rank_room` of the device's memory, which the link reads; nullptr: of the host's.
  /// Memory   on the host, of the matrix: this rank's `rank_room`; for each rank that gets tiles
  ///          from where the link can't read them two more, so that one is copied while the other
  ///          leaves.
  /// Throws   MemoryError.
  RankExchange(TileMatrix<ExecutionSpace>& matrix, RankOrder const& order, RankMessages messages,
               std::vector<std::vector<Visit>> const& lanes, Progress<Mark>& progress,
               MailboxLink const& link, int device, std::byte* slots);

  /// The memory of another rank's tile, which is final.
  std::byte* data(std::int64_t i, std::int64_t j) const {
    return slots_ + slot_of_[tile_number(i, j, matrix_.tiles())] * slot_bytes_;
  }

  /// A stream calls it: a visit of the step is done with others' tiles once the marks are reached.
  void finish_visit(std::int64_t step, Mark const& end, Mark const& in);
  /// A stream calls it: a tile is final, or the stream has ended.
  void wake() { changed_.notify_all(); }
  void end_stream() {
    {
      std::lock_guard const lock(mutex_);
      ++ended_streams_;
    }
    wake();
  }

  /// Send and receive until all messages and so many streams have ended. The thread that calls MPI.
  /// What it throws is this rank's alone. `on_silence` is as in `CholeskyOptions`.
  void run(int streams, std::function<void(int, double)> const& on_silence);

  std::size_t room_bytes() const { return room_bytes_; }
  std::uint64_t bytes_sent = 0, bytes_received = 0;

 private:
  // A tile of a device on its way to one rank, by the number of its message; -1: none.
  struct Stage {
    std::byte* data = nullptr;
    std::int64_t message = -1;
    Mark copied;
  };
  struct Queue {
    std::array<Stage, 2> stages;  // of their own: a rank that takes nothing keeps no other waiting
    std::vector<std::size_t> messages;  // of `sends_`, in the order of their receives
    std::deque<std::size_t> to_send;    // of these, in order
    int open = 0;
  };
  // What a rank does before it gives up what it got for a step.
  struct Step {
    std::int64_t visits = 0;  // to come, and what they end with: shared with the streams
    std::vector<Mark> marks;
    bool is_made = false;     // all visits are, as far as this thread knows
    std::int64_t relays = 0;  // that have not left
    std::vector<std::size_t> slots;
  };

  bool is_reached(Mark const& mark);
  bool send();
  bool send(Queue& queue, std::size_t nth, bool is_next);
  bool receive();
  bool end_visits(int streams);
  bool poll();
  void tell_silence(double seconds, std::function<void(int, double)> const& on_silence);
  Step& step_of(Message const& message);
  bool is_relay(Message const& sent) const { return !matrix_.has_tile(sent.row, sent.col); }
  bool is_staged(Message const& sent) const;
  std::byte const* data_of(Queue& queue, std::int64_t number);
  std::byte const* staged(Queue& queue, std::int64_t number);
  std::size_t bytes_of_stages() const;
  std::size_t widest_of(Queue const& queue) const;
  void make_stages(std::byte* memory);
  void end_copies();
  void free_slots(Step& step);

  TileMatrix<ExecutionSpace> const& matrix_;
  Progress<Mark>& progress_;
  Transport transport_;
  int device_;
  Mailbox mailbox_;
  RankOrder const& order_;
  std::vector<Message> sends_, receives_;  // in their order
  std::vector<bool> has_arrived_;          // of the receives
  std::vector<Queue> queues_;              // of sends, by rank
  std::size_t posted_ = 0;                 // receives
  std::vector<Step> steps_;
  std::byte* slots_ = nullptr;
  std::size_t slot_bytes_ = 0, room_bytes_ = 0;
  std::vector<std::size_t> free_, slot_of_;
  std::map<int, Lane<ExecutionSpace>>
      lanes_;         // of the devices that have tiles, which copy them to stages
  std::mutex mutex_;  // of what streams tell
  std::condition_variable changed_;
  std::vector<std::int64_t> finished_;  // steps, whose visits are made
  int ended_streams_ = 0;
  std::vector<std::int64_t> running_;  // of these, as far as this thread knows: on a device
  bool emptied_ = false;               // no stream reads slots any more
};

}  // namespace strata::ooc::detail

#endif
