// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/detail/Strata_TileCheckpoint.hpp>

#include <comm/Strata_Together.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <dense/Strata_Layers.hpp>

#include <algorithm>

namespace strata::ooc::detail {

template <class Exec>
std::vector<TileBytes> tiles_of(TileMatrix<Exec> const& matrix, ColumnPart const& part) {
  std::vector<TileBytes> tiles;
  for (std::int64_t i = part.column; i < matrix.tiles(); ++i)
    if (part.has_row(i))
      tiles.push_back({matrix.data(i, part.column), matrix.copy_bytes(i, part.column)});
  return tiles;
}

template <class Exec>
CopyTile copy_of(TileMatrix<Exec> const& matrix) {
  if (matrix.storage() == TileStorage::Host) return {};
  return [&matrix](void* to, void const* from, std::size_t bytes) { matrix.copy(to, from, bytes); };
}

template <class Exec>
std::vector<ColumnPart> own_parts(TileMatrix<Exec> const& matrix, std::int64_t column) {
  RankGrid const& grid = matrix.grid();
  std::int64_t const rounds = grid.rows > 1 && matrix.super_panel() == 0 ? 2 : 1;
  std::int64_t const parts = rounds * grid.rows;
  std::vector<ColumnPart> own;
  for (std::int64_t i = column; i < std::min(column + parts, matrix.tiles()); ++i)
    if (matrix.has_tile(i, column)) own.push_back({column, i % parts, parts});
  return own;
}

namespace {

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
std::int64_t resume(TileMatrix<Exec>& matrix, std::string const& folder) {
  if (folder.empty()) return 0;
  Communicator const* const comm = matrix.comm();
  std::vector<double> parts(static_cast<std::size_t>(matrix.tiles()), 0);  // of each column
  together(comm, [&] {
    if (!comm || comm->rank() == 0)
      std::ranges::copy(parts_of_columns(folder, matrix.tiles()), parts.begin());
  });
  if (comm) comm->broadcast(parts, 0);
  auto const columns = std::ranges::find(parts, 0.0) - parts.begin();
  auto const each_file = [&](auto const& f) {
    auto header = header_of(matrix, {});
    for (std::int64_t column = 0; column < columns; ++column) {
      auto const count = static_cast<std::int64_t>(parts[static_cast<std::size_t>(column)]);
      for (std::int64_t part = 0; part < count; ++part) {
        header.part = {column, part, count};
        auto const tiles = tiles_of(matrix, header.part);
        if (std::ranges::any_of(tiles, [](auto const& tile) { return tile.data != nullptr; }))
          f(header, tiles);
      }
    }
  };
  together(comm, [&] {
    each_file([&](auto const& header, auto const&) { check_column(folder, header); });
  });
  if (columns > 0) matrix.overwrite();
  together(comm, [&] {
    each_file([&](auto const& header, auto const& tiles) {
      read_column(folder, header, tiles, copy_of(matrix));
    });
  });
  return columns;
}

#define STRATA_INSTANTIATE(Exec)                                                              \
  template std::vector<TileBytes> tiles_of<Exec>(TileMatrix<Exec> const&, ColumnPart const&); \
  template CopyTile copy_of<Exec>(TileMatrix<Exec> const&);                                   \
  template std::vector<ColumnPart> own_parts<Exec>(TileMatrix<Exec> const&, std::int64_t);    \
  template CheckpointHeader header_of<Exec>(TileMatrix<Exec> const&, ColumnPart const&);      \
  template std::int64_t resume<Exec>(TileMatrix<Exec>&, std::string const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc::detail
