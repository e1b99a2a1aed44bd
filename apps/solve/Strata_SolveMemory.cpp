// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/solve/Strata_SolveMemory.hpp>

#include <apps/shared/Strata_Text.hpp>
#include <core/info/Strata_Version.hpp>
#include <core/io/Strata_MatrixFile.hpp>
#include <core/io/Strata_MatrixMarket.hpp>
#include <core/io/Strata_Npy.hpp>
#include <dense/Strata_Automatic.hpp>
#include <dense/Strata_BlockTree.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <ooc/Strata_TileMatrix.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>

namespace strata::apps {

namespace {

using Exec = Kokkos::DefaultExecutionSpace;
constexpr bool copies_to_device =
    !Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Exec::memory_space>::accessible;

// Tree, operand scratch of at most n^2/8 numbers, and the vectors of the refinement.
std::size_t factorisation_bytes(std::int64_t n, std::int64_t nrhs, SolveOptions const& options) {
  auto const layers = options.layers ? *options.layers : dense::automatic_layers<Exec>(n, nrhs);
  auto const leaf = options.leaf > 0 ? options.leaf : dense::automatic_leaf_size<Exec>(n, layers);
  auto const tree = dense::BlockTree<dense::LayerList, Exec>::bytes_needed(n, layers, leaf);
  auto const order = static_cast<std::size_t>(n), columns = static_cast<std::size_t>(nrhs);
  return tree.stored + tree.working + order * order / 8 * traits(layers.at_depth(0)).bytes +
         6 * order * columns * sizeof(double);
}

// Tiles in fp64, since the ladder may end there, and on a host the devices' pools beside them.
double out_of_core_bytes(std::int64_t n, std::int64_t nrhs, SolveOptions const& options) {
  auto const order = static_cast<double>(n);
  auto const budget = options.tiles.device_memory;
  auto const tile = static_cast<double>(
      options.tiles.tile > 0 ? options.tiles.tile
                             : ooc::TileMatrix<Exec>::automatic_tile_size(n, budget));
  double const tiles = 4 * (order + tile) * (order + tile);
  double const most = tiles * (options.tiles.epsilon > 0 ? 2 : 1) + 64 * 8 * tile;
  double const pool = budget > 0 ? std::min(most, static_cast<double>(budget)) : most;
  double const pools = copies_to_device ? 0 : options.tiles.devices * pool;
  return tiles + pools + 12 * 8 * order * static_cast<double>(nrhs);
}

}  // namespace

MemoryLimit memory_limit(SolveOptions const& options) {
  if (options.max_memory > 0) return {options.max_memory, "--max-memory allows"};
  return {available_memory_bytes(), "available are"};
}

std::int64_t right_hand_sides(SolveOptions const& options) {
  if (options.rhs.empty()) return options.locations.empty() ? options.nrhs : 1;
  switch (matrix_file_format(options.rhs)) {
    case MatrixFileFormat::Npy:
      return read_npy_header(options.rhs).cols;
    case MatrixFileFormat::MatrixMarket:
      return read_matrix_market_header(options.rhs).cols;
    default:
      break;  // nothing but all of the file says it
  }
  auto const B = read_matrix(options.rhs, {.max_bytes = memory_limit(options).bytes});
  return static_cast<std::int64_t>(B.extent(1));
}

void require_memory(ProblemSummary& summary, SolveOptions const& options) {
  auto const [limit, reason] = memory_limit(options);
  auto const n = summary.n, nrhs = summary.nrhs;
  auto const require = [&](double bytes) {
    STRATA_REQUIRE(MemoryError, bytes <= static_cast<double>(limit), "a system of order ", n,
                   " with ", nrhs, " right-hand sides needs ", in_bytes(bytes),
                   " (the fp64 matrix alone ",
                   in_bytes(8.0 * static_cast<double>(n) * static_cast<double>(n)), "); ", reason,
                   " ", in_bytes(static_cast<double>(limit)));
  };
  if (options.out_of_core) {
    double const bytes = out_of_core_bytes(n, nrhs, options);
    require(bytes);
    summary.bytes_needed = static_cast<std::size_t>(bytes);
    return;
  }
  double const columns = static_cast<double>(n) + 3 * static_cast<double>(nrhs);
  double const matrix = 8 * static_cast<double>(n) * columns;
  require(matrix);  // in floating point: what passes here fits 64 bits
  auto const copies = static_cast<std::size_t>(1 + copies_to_device + options.compare);
  auto const needed =
      copies * static_cast<std::size_t>(matrix) + factorisation_bytes(n, nrhs, options);
  require(static_cast<double>(needed));
  summary.bytes_needed = needed;
}

}  // namespace strata::apps
