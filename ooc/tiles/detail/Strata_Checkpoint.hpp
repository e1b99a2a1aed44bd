// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_TILES_DETAIL_CHECKPOINT_HPP
#define STRATA_OOC_TILES_DETAIL_CHECKPOINT_HPP

#include <core/io/files/Strata_FileDescriptor.hpp>

#include <array>
#include <compare>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace strata {
class Communicator;
}

namespace strata::ooc::detail {

/// Tiles of a column in a file of their own: of rows i with i % parts == part. On a grid P x Q with
/// super-panels a column has P parts, each of a rank; without them 2 P, two of each rank
/// (`owner_of`).
struct ColumnPart {
  std::int64_t column = 0, part = 0, parts = 1;
  /// The part's first row, from the diagonal down. Each `parts` rows another one follows.
  std::int64_t first_row() const { return column + (part - column % parts + parts) % parts; }
  auto operator<=>(ColumnPart const&) const = default;
};

/// Which column of which matrix, or which part of a column, a file holds: the file's first bytes.
struct CheckpointHeader {
  std::int64_t n = 0, tile_size = 0;
  ColumnPart part;
  double accuracy = 0;                ///< accuracy of the precision rule
  std::array<char, 80> precisions{};  ///< precisions that the rule may use, as text
  std::uint64_t map = 0;              ///< the precisions of the tiles, hashed
  std::uint64_t digest = 0;           ///< digest of every entry: see TileMatrix
  std::array<char, 16> backend{};     ///< backend that evaluated the entries, as text
};

/// A stored tile in memory.
struct TileBytes {
  std::byte* data;
  std::size_t bytes;
};
/// Copies between the host and a device's memory, where tiles are there; empty: they are on the
/// host.
using CopyTile = std::function<void(void* to, void const* from, std::size_t bytes)>;

/// A folder of columns that one factorisation uses at a time. It is made if it is not there. Files
/// that a killed process left half written are removed. Several ranks see one folder, or several
/// folders, as on hosts with their own disks. Of the ranks that see the same folder, the first
/// locks and cleans it.
///
/// Some file systems can't lock a folder. There the user must see to it that one factorisation uses
/// the folder. What looks half written stays, since another process may be writing it.
class CheckpointFolder {
 public:
  using Lock = int (*)(int, int);  ///< flock, or what a test has in its place

  /// "": none. Collective; ranks may give paths of their own.
  ///
  /// Throws   IoError if it can't be made, is in use, or a rank can't write to it.
  explicit CheckpointFolder(std::string path, Lock lock = nullptr,
                            Communicator const* comm = nullptr);
  std::string const& path() const { return path_; }
  /// Whether another rank, or this one, sees this folder.
  bool is_seen_by(int rank) const { return keepers_[static_cast<std::size_t>(rank)] == keeper_; }

 private:
  void make() const;
  void find_keepers(Communicator const& comm);
  void use(Lock lock);

  std::string path_;
  std::int64_t keeper_ = 0;                  // the first rank that sees this folder
  std::vector<std::int64_t> keepers_ = {0};  // the same of each rank
  strata::FileDescriptor lock_;
};

/// The path of the file of a column, or of a column's part.
std::string column_path(std::string const& folder, ColumnPart const& part);

/// Those that have a file, of a matrix with so many tile rows. Parts without tiles have none.
std::set<ColumnPart> parts_in(std::string const& folder, std::int64_t tiles);

/// Write finished tiles of a column; their file appears whole or not at all.
///
/// I/O      8 bytes that say what it is, the header, then for each tile its bytes, their number and
///          their CRC-32 (zlib).
/// Throws   IoError.
void write_column(std::string const& folder, CheckpointHeader const& header,
                  std::vector<TileBytes> const& tiles, CopyTile const& copy = {});

/// Throws   IoError with the path and what differs if the file is of another matrix or another
///          rule.
void check_column(std::string const& folder, CheckpointHeader const& header);

/// Read a file that is there, but for tiles without memory.
///
/// Throws   IoError with the path and what was expected and found if the file is of another matrix,
///          too short, too long or damaged; tiles may then be overwritten. The files stay as they
///          are: columns before a damaged one are as good as before.
void read_column(std::string const& folder, CheckpointHeader const& header,
                 std::vector<TileBytes> const& tiles, CopyTile const& copy = {});

/// A thread that writes columns while others factor.
class CheckpointWriter {
 public:
  /// `fail` is told the first error, from the writer's thread.
  explicit CheckpointWriter(std::function<void(std::exception_ptr)> fail);
  ~CheckpointWriter();
  CheckpointWriter(CheckpointWriter const&) = delete;
  CheckpointWriter& operator=(CheckpointWriter const&) = delete;

  void enqueue(std::function<void()> job);
  /// Do what is enqueued, then end.
  void finish();

 private:
  void run();

  std::function<void(std::exception_ptr)> fail_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace strata::ooc::detail

#endif
