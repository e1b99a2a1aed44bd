// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_TILES_HPP
#define STRATA_APPS_TILES_HPP

#include <comm/Strata_Transport.hpp>
#include <core/Strata_Precision.hpp>
#include <dense/tree/Strata_Layers.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/schedule/Strata_PrecisionMap.hpp>
#include <ooc/schedule/Strata_RankGrid.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class Option;
}  // namespace CLI

namespace strata {
class Communicator;
}

namespace strata::apps {

class OptionGroup;
class Progress;
class Report;

/// How a matrix in tiles is kept and factored, of `strata mle` and `strata solve
/// --out-of-core`.
struct TileOptions {
  std::vector<Precision> precisions;  ///< empty: fp64, or all four with an epsilon
  double epsilon = 0;
  std::optional<dense::LayerList> layers;  ///< layers of `strata solve`, in place of both
  std::int64_t tile = 0;                   ///< 0: the library's choice
  int devices = 1;
  std::size_t device_memory = 0;  ///< bytes of tiles on each device; 0: what is free there
  ooc::RankGrid grid{0, 0};       ///< grid of the ranks; 0 x 0: the library's choice
  Transport transport = Transport::Automatic;  ///< between the ranks
  ooc::TileStorage storage =
      ooc::TileStorage::Automatic;  ///< Host for `strata solve --out-of-core`
};

/// Add them to a command.
void add_tile_options(OptionGroup& group, TileOptions& options);

/// Throws   UsageError for numbers out of range, precisions that are never used, and a grid of more
///          or fewer ranks than there are; nullptr: one.
void check(TileOptions const& options, Communicator const* comm);

/// Refuse a --device-memory in which not one stream could work on tiles of that order, before the
/// matrix is filled.
///
/// Throws   UsageError with both numbers of bytes.
void require_device_memory(TileOptions const& options, std::int64_t n, std::int64_t tile);

ooc::PrecisionRule precision_rule(TileOptions const& options);
/// The devices asked for; ranks of a host have devices of their own, as long as there are enough.
/// Collective; nullptr: one rank.
ooc::Devices tile_devices(TileOptions const& options, Communicator const* comm);

/// The most bytes of tiles that one of several ranks has of all, and of room for tiles of the
/// others.
struct RankBytes {
  double own, room;
};
RankBytes tile_bytes_of_rank(double all, std::int64_t n, std::int64_t tile,
                             TileOptions const& options, Communicator const* comm);

/// For `CholeskyOptions::on_task` of a matrix of so many rows of tiles, shared by so many ranks:
/// tells how far it is.
std::function<void(ooc::Task const&)> count_tasks(std::int64_t rows, int ranks, Progress& progress);

/// For `CholeskyOptions::on_silence`: warns of a rank that keeps this one waiting.
std::function<void(int, double)> warn_of_silence(Communicator const* comm, Progress& progress);

/// What reports tell of a matrix in tiles.
struct Tiles {
  std::array<std::int64_t, 4> count;  ///< numbers of tiles in fp64, fp32, fp16 and fp8_e4m3
  std::int64_t size;                  ///< order of a tile
  Rung rung;                          ///< rung of the ladder that held, or was the last
  std::vector<ooc::CholeskyAttempt> const& attempts;
  std::string map;  ///< text of `PrecisionMap::to_text`; empty: there is no factor
};

/// The lines of such a map.
std::vector<std::string> lines_of(std::string const& map);
/// What documents say of them, and how each looks.
inline constexpr char const* map_sentence =
    "Formats of the tiles by rows of the lower triangle: D fp64, S fp32, H fp16, Q fp8_e4m3; a to "
    "k "
    "fp64 whose products take 6 to 16 moduli.";
inline constexpr char const* map_schema =
    R"("items": {"type": "string", "pattern": "^[DSHQa-k]+$"})";

/// Show tiles, rung and attempts in the table.
void show_tiles(Report& report, Tiles const& tiles);

/// Names of the precisions that tiles may have: of a rule without an accuracy fp64 alone.
std::vector<std::string> allowed_precisions(ooc::PrecisionRule const& rule);

}  // namespace strata::apps

#endif
