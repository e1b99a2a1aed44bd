// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_CHOLESKY_OPTIONS_HPP
#define STRATA_OOC_CHOLESKY_OPTIONS_HPP

#include <core/Strata_EnumNames.hpp>
#include <core/Strata_Ladder.hpp>
#include <core/Strata_Precision.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace strata {
enum class Transport;  // comm/Strata_Transport.hpp
}  // namespace strata

namespace strata::ooc {

struct Task;

/// What is kept on a device, and when it is given up; one executor, six policies.
enum class Variant : std::uint8_t {
  Sync,   ///< one stream; every step waits for the one before, nothing is kept
  Async,  ///< several streams, nothing is kept
  V1,     ///< a tile stays on the device while it is updated
  V2,     ///< operands stay until memory is short; the least recently used goes first
  V3,     ///< diagonal tiles stay until their column is done
  V4,     ///< the tile whose next use is furthest goes first; tiles are fetched ahead of their use
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(Variant) {
  return enum_names<Variant>("variant", {{Variant::Sync, "sync"},
                                         {Variant::Async, "async"},
                                         {Variant::V1, "v1"},
                                         {Variant::V2, "v2"},
                                         {Variant::V3, "v3"},
                                         {Variant::V4, "v4"}});
}
using strata::name_of;

/// The place where finished columns are kept, and from which a later run takes them up.
struct CheckpointOptions {
  /// A folder for one file per column of tiles; "": no checkpoint. Columns that are there already,
  /// from the first on without a gap, are not factored again. The factor has the same bits on any
  /// number of ranks, devices, streams and bytes. Each of several ranks has one file or two for its
  /// tiles of a column. The folder may be one that all ranks see, or one on each host. With one on
  /// each host, only the same grid can go on, with each rank on the host where it was; others are
  /// refused. Rungs of the ladder above the first have folders of their own in this folder, and so
  /// has a rung that is repeated with all moduli. One factorisation uses the folder at a time. On
  /// file systems that can't lock a folder, the user must see to that.
  ///
  /// A file says which matrix it belongs to: order, tile size, the precision rule, and a digest of
  /// every entry (see TileMatrix). A file that differs in any of them is refused in words; a
  /// difference is missed with a chance of 2^-64. A covariance that a GPU has evaluated differs
  /// from a host's in last bits, and is refused there. A matrix that has the same bits on both, as
  /// from a file, is taken up. Its factor is then as accurate, but has the bits of neither.
  std::string folder;
};

/// Choices of an out-of-core factorisation.
struct CholeskyOptions {
  Variant variant = Variant::V4;  ///< what is kept on a device
  /// Streams of each device; 0: chosen. A GPU gets 4. A host gets as many as keep all cores busy,
  /// but no more than there are columns of tiles, and no more than the budgets suffice for. Sync
  /// has one. On hosts each stream's products take one thread where tiles have at most 512 rows,
  /// else as many as its execution space has.
  int streams = 0;
  /// See `cholesky_schedule`, of whole tasks; 0: 1, but for V4 the one that moves the fewest bytes
  /// in a simulation.
  std::int64_t column_block = 0;
  bool peer_copies = true;  ///< fetch finished tiles from the device that has them
  /// How tiles travel between ranks, the same on each: `Automatic`. `Enqueued` is from the first
  /// device of each rank, which each has alone; `Direct` of tiles on devices needs an MPI that
  /// reads their memory.
  Transport transport{};
  int lookahead = 2;             ///< updates ahead of which V4 fetches
  bool ladder = true;            ///< on breakdown or without convergence, go on with the next rung
  CheckpointOptions checkpoint;  ///< place where finished columns are kept; none by default
  /// Called by a stream's thread before each task, with super-panels before its last part; what it
  /// throws ends the factorisation.
  std::function<void(Task const&)> on_task;
  /// Called where a stream of this rank has waited for a message for a minute, and each further
  /// minute. Gets the rank whose tile the stream waits for, and the seconds. What it throws ends
  /// the factorisation.
  std::function<void(int rank, double seconds)> on_silence;
};

/// What one device moved.
struct DeviceReport {
  int id = 0;                                 ///< number of the device
  std::size_t budget_bytes = 0;               ///< bytes of the pool of tiles
  std::uint64_t bytes_in = 0, bytes_out = 0;  ///< bytes from and to the host
  std::uint64_t bytes_peer = 0;               ///< bytes from other devices
  /// how often a tile was there, was not, or had to go
  std::int64_t hits = 0, misses = 0, evictions = 0;
};

/// One factorisation that was tried. The first has the matrix as it came, the last is in fp64. In
/// between the accuracy of the rule is divided by 100, and once more, or the layers are promoted,
/// as often as they can be. An attempt that would change no tile is left out.
struct CholeskyAttempt : FactorAttempt {
  double accuracy = 0;                      ///< accuracy of the precision rule; 0: fp64, or layers
  std::array<std::int64_t, 4> histogram{};  ///< tiles in fp64, fp32, fp16, fp8_e4m3
  std::vector<Precision> layers{};          ///< layers of the rule, or none
};

/// What was done. Columns, bytes and rates belong to the last attempt.
struct CholeskyReport {
  /// Order of the matrix and of a tile; rows of tiles; columns of tiles taken from a checkpoint.
  std::int64_t n = 0, tile_size = 0, tiles = 0, first_column = 0;
  Variant variant = Variant::V4;            ///< variant that was played
  int streams = 0;                          ///< streams of each device
  std::int64_t column_block = 1;            ///< columns of tiles that were factored together
  int grid_rows = 1, grid_cols = 1;         ///< rows and columns of the ranks
  std::int64_t super_panel = 0;             ///< columns of tiles; 0: whole tasks
  std::array<std::int64_t, 4> histogram{};  ///< tiles in fp64, fp32, fp16, fp8_e4m3
  /// Moduli of the products of tiles in int8x6 to int8x16, whose number of tiles counts as fp64; 0:
  /// there are none.
  int moduli = 0;
  /// Tiles whose products took 6, 7, ..., 16 moduli.
  std::array<std::int64_t, most_moduli - least_moduli + 1> moduli_histogram{};
  std::vector<DeviceReport> devices;  ///< devices of this rank
  std::size_t room_bytes = 0;         ///< room on this rank's host for tiles of others
  std::uint64_t bytes_sent = 0, bytes_received = 0;  ///< bytes that this rank sent and got
  Transport transport{};                             ///< transport that took them
  /// smallest budget of a device for these streams and precisions
  std::size_t smallest_budget_bytes = 0;
  /// time to make what the team has not yet: pools, queues, threads
  double setup_seconds = 0;
  double factor_seconds = 0;              ///< time of the last attempt
  double flop_per_s = 0;                  ///< n^3/3 flops over factor_seconds
  Rung rung = Rung::AsAsked;              ///< rung that held, or was the last
  std::vector<CholeskyAttempt> attempts;  ///< each rung that was tried, and why it was left
  /// The worst ||L_ik||_F ||L_mk||_F u Nt / (eps ||A||_F) of the rule that made the map, with the
  /// norms that L has. Above 1 the map was too coarse. 0 for maps of one precision, and of layers.
  double operand_excess = 0;

  /// Bytes from the host, over all devices.
  std::uint64_t bytes_in() const;
  /// Bytes to the host, over all devices.
  std::uint64_t bytes_out() const;
  /// Bytes between the devices.
  std::uint64_t bytes_peer() const;
};

}  // namespace strata::ooc

#endif
