// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/tiles/detail/Strata_TileCheckpoint.hpp>

#include <comm/Strata_Together.hpp>
#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <dense/tree/Strata_Layers.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace strata::ooc::detail {

template <class Exec>
std::vector<TileBytes> tiles_of(TileMatrix<Exec> const& matrix, ColumnPart const& part) {
  std::vector<TileBytes> tiles;
  for (std::int64_t i = part.first_row(); i < matrix.tiles(); i += part.parts)
    tiles.push_back({matrix.data(i, part.column), matrix.copy_bytes(i, part.column)});
  return tiles;
}

template <class Exec>
CopyTile copy_of(TileMatrix<Exec> const& matrix) {
  if (matrix.storage() == TileStorage::Host) return {};
  return [&matrix](void* to, void const* from, std::size_t bytes) { matrix.copy(to, from, bytes); };
}

namespace {

// Parts that a rank of this grid writes.
template <class Exec>
std::int64_t parts_of_grid(TileMatrix<Exec> const& matrix) {
  RankGrid const& grid = matrix.grid();
  return grid.rows > 1 && matrix.super_panel() == 0 ? 2 * grid.rows : grid.rows;
}

// Those, of so many, that have a tile of this rank.
template <class Exec>
std::vector<ColumnPart> parts_with_own(TileMatrix<Exec> const& matrix, std::int64_t column,
                                       std::int64_t parts) {
  std::vector<ColumnPart> found;
  std::int64_t const tiles = matrix.tiles();
  for (std::int64_t first = column; first < column + std::min(parts, tiles - column); ++first) {
    std::int64_t i = first;
    while (i < tiles && !matrix.has_tile(i, column)) i += parts;
    if (i < tiles) found.push_back({column, first % parts, parts});
  }
  return found;
}

// The files with all tiles that this rank has of a column; nothing if there are not all of them.
template <class Exec>
std::optional<std::vector<ColumnPart>> files_of_column(TileMatrix<Exec> const& matrix,
                                                       std::set<ColumnPart> const& files,
                                                       std::int64_t column) {
  std::set<std::int64_t> ways = {parts_of_grid(matrix)};  // in how many parts
  for (auto file = files.lower_bound({column}); file != files.end() && file->column == column;
       ++file)
    ways.insert(file->parts);
  for (std::int64_t const parts : ways) {
    auto const needed = parts_with_own(matrix, column, parts);
    if (std::ranges::all_of(needed, [&](auto const& part) { return files.contains(part); }))
      return needed;
  }
  return std::nullopt;
}

// A part that is not taken up is seen by all ranks that have tiles in it. Or it belongs to another
// grid, or to a rank on another host.
template <class Exec>
void require_seen(TileMatrix<Exec> const& matrix, CheckpointFolder const& folder,
                  ColumnPart const& part) {
  for (std::int64_t i = part.first_row(); i < matrix.tiles(); i += part.parts) {
    int const rank = matrix.owner(i, part.column);
    STRATA_REQUIRE(
        IoError, folder.is_seen_by(rank), column_path(folder.path(), part), ": part ", part.part,
        " of ", part.parts, " of column ", part.column, " has tiles of rank ", rank,
        ", which sees another folder. On this grid of ", matrix.grid().rows, " x ",
        matrix.grid().cols, " ranks a column has ", parts_of_grid(matrix),
        " parts, each in the folder that its rank sees: go on with the grid and on the hosts "
        "of the run before, or gather the files in one folder that all ranks see, or take empty "
        "folders");
  }
}

// Which precisions a rule may choose: without an accuracy the first alone, or its layers.
std::string precisions_of(PrecisionRule const& rule) {
  if (!rule.layers.empty()) return "layers " + dense::LayerList(rule.layers).name();
  std::string text;
  for (Precision const precision : rule.precisions) {
    text.append(text.empty() ? "" : ",").append(traits(precision).name);
    if (rule.accuracy == 0) return text;
  }
  return text + (rule.operand_rule ? "" : " without the operand rule");
}

}  // namespace

template <class Exec>
std::vector<ColumnPart> own_parts(TileMatrix<Exec> const& matrix, std::int64_t column) {
  return parts_with_own(matrix, column, parts_of_grid(matrix));
}

template <class Exec>
CheckpointHeader header_of(TileMatrix<Exec> const& matrix, ColumnPart const& part) {
  CheckpointHeader header;
  header.n = matrix.order();
  header.tile_size = matrix.tile_size();
  header.part = part;
  header.accuracy = matrix.rule().accuracy;
  precisions_of(matrix.rule()).copy(header.precisions.data(), header.precisions.size() - 1);
  header.map = matrix.map().hash();
  header.digest = matrix.digest();
  std::string(Exec::name()).copy(header.backend.data(), header.backend.size() - 1);
  return header;
}

template <class Exec>
std::int64_t resume(TileMatrix<Exec>& matrix, CheckpointFolder const& folder) {
  std::string const& path = folder.path();
  if (path.empty()) return 0;
  Communicator const* const comm = matrix.comm();
  std::set<ColumnPart> files;
  std::vector<std::vector<ColumnPart>> parts;  // of each column that this rank can read
  auto columns = together(comm, [&] {
    files = parts_in(path, matrix.tiles());
    for (std::int64_t column = 0; column < matrix.tiles(); ++column) {
      auto found = files_of_column(matrix, files, column);
      if (!found) break;
      parts.push_back(std::move(*found));
    }
    return static_cast<std::int64_t>(parts.size());
  });
  if (comm) columns = std::ranges::min(comm->gather(columns));
  together(comm, [&] {
    auto header = header_of(matrix, {});
    for (std::int64_t column = 0; column < matrix.tiles(); ++column)
      for (ColumnPart const& part :
           column < columns ? parts[static_cast<std::size_t>(column)] : own_parts(matrix, column)) {
        header.part = part;
        if (files.contains(part)) check_column(path, header);
      }
    for (ColumnPart const& part : files)
      if (part.column >= columns) require_seen(matrix, folder, part);
  });
  if (columns > 0) matrix.overwrite();
  together(comm, [&] {
    auto header = header_of(matrix, {});
    for (auto const& of_column : std::span(parts).first(static_cast<std::size_t>(columns)))
      for (ColumnPart const& part : of_column) {
        header.part = part;
        read_column(path, header, tiles_of(matrix, part), copy_of(matrix));
      }
  });
  return columns;
}

#define STRATA_INSTANTIATE(Exec)                                                              \
  template std::vector<TileBytes> tiles_of<Exec>(TileMatrix<Exec> const&, ColumnPart const&); \
  template CopyTile copy_of<Exec>(TileMatrix<Exec> const&);                                   \
  template std::vector<ColumnPart> own_parts<Exec>(TileMatrix<Exec> const&, std::int64_t);    \
  template CheckpointHeader header_of<Exec>(TileMatrix<Exec> const&, ColumnPart const&);      \
  template std::int64_t resume<Exec>(TileMatrix<Exec>&, CheckpointFolder const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc::detail
