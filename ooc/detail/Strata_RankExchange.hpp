// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_RANK_EXCHANGE_HPP
#define STRATA_RANK_EXCHANGE_HPP

#include <ooc/Strata_Messages.hpp>
#include <ooc/Strata_TileMatrix.hpp>
#include <ooc/detail/Strata_Machine.hpp>
#include <ooc/detail/Strata_Progress.hpp>

#include <Kokkos_Core.hpp>

#include <comm/Strata_Mailbox.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace strata::ooc::detail {

/// One rank's messages of a factorisation: final tiles go from the host memory that they are in, and those of
/// others come to slots of host memory, from where devices copy them in.
///
/// A rank that stops, for an error or a breakdown, sends the rest of its messages without bytes, by which
/// their receivers stop too; each rank's messages all come to their end, so that none is left waiting.
template <class ExecutionSpace>
class RankExchange {
 public:
  using Mark = typename Lane<ExecutionSpace>::Mark;

  /// For the tasks of this rank's part of a schedule that has blocks of so many columns.
  ///
  /// Memory   `room_for_messages` tiles on the host, pinned where there is a device.
  /// Throws   MemoryError.
  RankExchange(TileMatrix<ExecutionSpace> const& matrix, Schedule const& part,
               std::int64_t column_block, Progress<Mark>& progress);

  /// Where a tile of another rank is, which is final.
  std::byte* data(std::int64_t i, std::int64_t j) const {
    return slots_.data() + slot_of_[tile_number(i, j, matrix_.tiles())] * slot_bytes_;
  }

  /// From a stream: a task of the column is done with others' tiles once the marks are reached.
  void finish_task(std::int64_t column, Mark const& home, Mark const& in);
  /// From a stream: a tile is final, or the stream has ended.
  void wake() { changed_.notify_all(); }
  void end_stream() {
    {
      std::lock_guard const lock(mutex_);
      ++ended_streams_;
    }
    wake();
  }

  /// Send and receive until all messages and so many streams have ended. The thread that calls MPI.
  void run(int streams);

  std::size_t room_bytes() const { return slots_.size(); }
  std::uint64_t bytes_sent = 0, bytes_received = 0;

 private:
  struct Queue {
    std::vector<Message> messages;
    std::size_t next = 0;
    int open = 0;
  };
  struct Column {
    std::int64_t unfinished = 0;
    std::vector<Mark> marks;
    std::vector<std::size_t> slots;  // of the row of this number
  };

  bool send();
  bool receive();
  bool free_slots(int streams);
  bool poll();

  TileMatrix<ExecutionSpace> const& matrix_;
  Progress<Mark>& progress_;
  Mailbox mailbox_;
  std::vector<Queue> sends_;       // by rank
  std::vector<Message> receives_;  // in their order
  std::size_t posted_ = 0;         // receives
  std::vector<Column> columns_;
  Kokkos::View<std::byte*, CopySpace<ExecutionSpace>> slots_;
  std::size_t slot_bytes_ = 0;
  std::vector<std::size_t> free_, slot_of_;
  std::mutex mutex_;  // of what streams tell
  std::condition_variable changed_;
  std::deque<std::int64_t> finished_;  // columns
  int ended_streams_ = 0;
  bool emptied_ = false;  // nobody reads slots any more
};

}  // namespace strata::ooc::detail

#endif
