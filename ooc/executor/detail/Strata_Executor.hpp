// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_EXECUTOR_DETAIL_EXECUTOR_HPP
#define STRATA_OOC_EXECUTOR_DETAIL_EXECUTOR_HPP

#include <comm/Strata_Transport.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <ooc/Strata_CholeskyOptions.hpp>
#include <ooc/executor/detail/Strata_DeviceMemory.hpp>
#include <ooc/executor/detail/Strata_RankExchange.hpp>
#include <ooc/executor/detail/Strata_VariantRules.hpp>
#include <ooc/schedule/Strata_RankOrder.hpp>
#include <ooc/schedule/Strata_TilePlan.hpp>
#include <ooc/team/detail/Strata_Machine.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>
#include <ooc/tiles/detail/Strata_Checkpoint.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace strata::ooc::detail {

/// Plays one rank's part of an order on a machine: one worker for each stream.
///
/// Where a tile has several visits, its sums stay on the device between visits if there is room for
/// all tiles of the rank. Else the sums go home after each visit, to where the tile is stored. A
/// worker on a host whose budget was left open has all tiles at home. Its pool holds their rounded
/// copies, and sums of tiles in low precision. A device has tiles at home that the matrix keeps in
/// its memory, and tiles of other ranks that come to slots there.
template <class ExecutionSpace>
class Executor {
 public:
  using Mark = typename Lane<ExecutionSpace>::Mark;
  using Memory = DeviceMemory<ExecutionSpace>;

  /// `devices` are the machine's, each with a budget of at least the smallest. `checkpoint`:
  /// the folder for finished columns, or "".
  Executor(Machine<ExecutionSpace>& machine, Devices const& devices,
           TileMatrix<ExecutionSpace>& matrix, RankOrder const& order, std::string checkpoint,
           CholeskyOptions const& options);
  ~Executor();

  /// Make all visits; the report's times, bytes and counts. All ranks have the same result, or
  /// throw the same.
  ///
  /// Without a breakdown it fails where sums of integers outgrew the moduli that the map gives a
  /// tile (`outgrown`): the tiles are then undefined.
  Info run(CholeskyReport& report);
  /// Whether they did, on any rank.
  bool outgrown() const { return outgrown_; }

 private:
  class Stream;

  MailboxLink link_for(std::vector<Route> const& routes);
  void prepare(MailboxLink const& link, RankMessages messages);
  void play(CholeskyReport& report);
  std::byte* data(std::int64_t i, std::int64_t j) const {
    return matrix_.has_tile(i, j) ? matrix_.data(i, j) : exchange_->data(i, j);
  }
  int device_of(std::size_t lane) const { return static_cast<int>(lane) / order_.streams; }
  void make_memories(bool may_hold_others);
  std::size_t room_on_device() const;
  typename Memory::Pool pool_of(std::size_t device, std::size_t bytes);
  // What a device needs: blocks for tiles and their forms, but for tiles that it has at home, and
  // tiles of other ranks.
  struct Needs {
    std::int64_t own = 0;     // blocks of those that it makes
    std::int64_t near = 0;    // of the rank's others
    std::int64_t others = 0;  // tiles, at a time
  };
  std::int64_t blocks_of_others(std::size_t device) const;
  Needs needs_of(std::size_t device) const;
  // Whether a device works on the tile where it is stored.
  bool is_at_home(std::size_t device, std::int64_t i, std::int64_t j) const {
    if (is_at_home_[device]) return true;
    return matrix_.has_tile(i, j) ? matrix_.device_of_row(i) == machine_.devices()[device].id
                                  : room_bytes_ > 0;
  }
  bool is_on_devices() const { return matrix_.storage() == TileStorage::Devices; }
  bool stays(std::size_t device, Needs const& needs, std::int64_t blocks) const;
  void count_uses();
  void write_checkpoint(std::int64_t j);
  void report_on(CholeskyReport& report);
  std::int64_t largest_outgrown() const;

  Machine<ExecutionSpace>& machine_;
  Devices devices_;
  TileMatrix<ExecutionSpace>& matrix_;
  RankOrder const& order_;
  std::vector<std::vector<Visit>> lanes_;  // of this rank's streams
  std::string folder_;                     // of the checkpoint
  CholeskyOptions const& options_;
  Recorder* recorder_ = Recorder::current();  // of the thread that has the streams' threads
  VariantRules rules_;
  TilePlan plan_;
  Progress<Mark> progress_;
  std::vector<std::unique_ptr<Memory>> memories_;
  std::vector<bool> is_at_home_;  // whether each device works on all tiles where they are stored
  std::size_t room_bytes_ = 0;    // of the only device's pool, for tiles of other ranks
  std::byte* others_data_ = nullptr;         // where that is
  std::vector<std::int32_t*> integer_sums_;  // of each device's streams, one behind the other
  std::vector<double> diagonal_;             // of the matrix, for units of integers
  bool outgrown_ = false;
  std::vector<bool> is_resident_;          // whether sums stay on each device between visits
  std::vector<std::vector<bool>> linked_;  // [device][other]
  std::vector<int> makers_;                // the device that makes each tile, -1: none
  /// TRSMs that still need a diagonal tile, for each device and column.
  std::vector<std::vector<std::atomic<std::int64_t>>> diagonal_uses_;
  std::vector<std::atomic<std::int64_t>> unfinished_;  // tiles of each column
  std::atomic<std::int64_t> breakdown_{0};
  std::unique_ptr<CheckpointWriter> checkpoint_;
  std::unique_ptr<RankExchange<ExecutionSpace>> exchange_;  // nullptr: one rank
  std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace strata::ooc::detail

#endif
