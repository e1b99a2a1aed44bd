// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Text.hpp>
#include <apps/solve/Strata_SolveProblem.hpp>
#include <dense/Strata_Automatic.hpp>
#include <dense/Strata_BlockTree.hpp>
#include <dense/Strata_Cholesky.hpp>

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

ReadOptions read_limit(SolveOptions const& options) {
  return {.max_bytes = memory_limit(options.max_memory).bytes};
}

std::int64_t right_hand_sides(SolveOptions const& options) {
  if (options.rhs.empty()) return options.locations.empty() ? options.nrhs : 1;
  auto const file = probe(options.rhs);
  if (file.format == MatrixFileFormat::Npy || file.format == MatrixFileFormat::MatrixMarket)
    return file.cols;
  // Nothing but all of the file says it.
  return static_cast<std::int64_t>(read_matrix(options.rhs, read_limit(options)).extent(1));
}

void require_memory(ProblemSummary& summary, SolveOptions const& options) {
  auto const limit = memory_limit(options.max_memory);
  auto const n = summary.n, nrhs = summary.nrhs;
  auto const require = [&](double bytes) {
    double const matrix = 8 * static_cast<double>(n) * static_cast<double>(n);
    require_memory(limit, bytes,
                   words("a system of order ", n, " with ", nrhs, " right-hand sides needs"),
                   " (the fp64 matrix alone " + in_bytes(matrix) + ")");
    summary.bytes_needed = static_cast<std::size_t>(bytes);
  };
  if (options.out_of_core) return require(out_of_core_bytes(n, nrhs, options));
  double const columns = static_cast<double>(n) + 3 * static_cast<double>(nrhs);
  double const matrix = 8 * static_cast<double>(n) * columns;
  require(matrix);  // in floating point: what passes here fits 64 bits
  auto const copies = static_cast<std::size_t>(1 + copies_to_device + options.compare);
  require(static_cast<double>(copies * static_cast<std::size_t>(matrix) +
                              factorisation_bytes(n, nrhs, options)));
}

}  // namespace strata::apps
