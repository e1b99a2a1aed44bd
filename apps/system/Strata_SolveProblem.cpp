// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/system/Strata_SolveProblem.hpp>

#include <apps/shared/Strata_Terminal.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <core/io/Strata_Csv.hpp>
#include <core/io/matrix_file/Strata_MatrixBlocks.hpp>
#include <core/io/matrix_file/Strata_MatrixFile.hpp>
#include <dense/Strata_Automatic.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/tree/Strata_BlockTree.hpp>
#include <geostat/Strata_MaternTiles.hpp>
#include <ooc/tiles/Strata_TileSources.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <numeric>
#include <ostream>

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

// L D L^T on the last rung, LAPACK's room, a basis of GMRES, and vectors of the refinement.
std::size_t symmetric_bytes(std::int64_t n, std::int64_t nrhs) {
  auto const order = static_cast<std::size_t>(n + 3), columns = static_cast<std::size_t>(nrhs);
  return 8 * order * (order + 64 + 40 + 6 * columns);
}

// Tiles in fp64, since the ladder may end there, and on a host the devices' pools beside them.
// Those that GPUs are to hold are counted once they do not.
double out_of_core_bytes(std::int64_t n, std::int64_t nrhs, SolveOptions const& options) {
  auto const order = static_cast<double>(n);
  auto const budget = options.tiles.device_memory;
  std::int64_t const tile_size = options.tiles.tile > 0
                                     ? options.tiles.tile
                                     : ooc::TileMatrix<Exec>::automatic_tile_size(n, budget);
  auto const tile = static_cast<double>(tile_size);
  auto const [tiles, room] = tile_bytes_of_rank(4 * (order + tile) * (order + tile), n, tile_size,
                                                options.tiles, options.comm.get());
  double const most = tiles * (precision_rule(options.tiles).may_mix() ? 2 : 1) + 64 * 8 * tile;
  double const pool = budget > 0 ? std::min(most, static_cast<double>(budget)) : most;
  double const pools = copies_to_device ? 0 : options.tiles.devices * pool;
  bool const on_host = !copies_to_device || options.tiles.storage == ooc::TileStorage::Host;
  return (on_host ? tiles : 0) + room + pools + 12 * 8 * order * static_cast<double>(nrhs);
}

// Nothing but all of a text file says how large its matrix is.
void read_text(SolveOptions const& options, Progress& progress, Problem& problem) {
  std::string const& path = options.matrix;
  problem.A = read_matrix(path, read_options(options, &progress));
  auto const rows = problem.A.extent(0), cols = problem.A.extent(1);
  bool const is_list = cols == 3 && rows != 3;
  require(rows == cols, path, ": the matrix is ", rows, " x ", cols, ", must be square",
          is_list
              ? words("; if its lines are `row column value`, counted from 1, with blanks between "
                      "them, put these before them: `%%MatrixMarket matrix coordinate real "
                      "general` and `ROWS COLUMNS ",
                      rows, "`, and name it .mtx")
              : "");
  try {
    symmetrize(problem.A);
  } catch (ValueError const& error) {
    throw UsageError(path + ": " + error.what());
  }
  auto& summary = problem.summary;
  summary.source = path;
  summary.format = "columns of numbers";
  summary.n = static_cast<std::int64_t>(rows);
  require_memory(summary, options);
}

void read_file(SolveOptions const& options, Progress& progress, Problem& problem) {
  std::string const& path = options.matrix;
  auto const& file = options.file;
  if (file.format == MatrixFileFormat::Columns) return read_text(options, progress, problem);
  require(file.rows == file.cols, path, ": the matrix is ", file.rows, " x ", file.cols,
          ", must be square");
  auto& summary = problem.summary;
  summary.source = path;
  summary.format = file.words;
  summary.n = file.rows;
  if (file.format == MatrixFileFormat::MatrixMarket || file.is_sparse)
    summary.entries = file.entries;
  if (file.format == MatrixFileFormat::Raw) {
    MatrixBlocks const blocks(path);
    summary.format = blocks.format();
    summary.n = blocks.order();
  }
  require_memory(summary, options);
  problem.A = read_symmetric_matrix(path, read_options(options, &progress));
}

// The file stays where it is; its tiles are read when they are asked for.
void open_file(SolveOptions const& options, Progress& progress, Problem& problem) {
  std::string const& path = options.matrix;
  auto& summary = problem.summary;
  summary.source = path;
  if (options.file.format == MatrixFileFormat::MatrixMarket) {
    summary.n = options.file.rows;
    require_memory(summary, options);  // before the file is unpacked
  }
  auto const file = std::make_shared<MatrixBlocks const>(
      path, MatrixBlocksOptions{.scratch_folder = options.scratch,
                                .on_progress = progress.listener(),
                                .verify_checksum = !options.comm || options.comm->rank() == 0});
  summary.n = file->order();
  summary.format = file->format();
  summary.scratch_bytes = file->scratch_bytes();
  require_memory(summary, options);
  problem.tiles = ooc::file_tiles<Exec>(file);
  problem.file = file;
}

// The values, centred, are the right-hand side: the solution holds the weights of simple kriging.
HostMatrix centred(std::vector<double> const& values, std::vector<std::int64_t> const& order) {
  auto const n = order.size();
  double const mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(n);
  HostMatrix B("strata::solve::B", n, 1);
  for (std::size_t k = 0; k < n; ++k) B(k, 0) = values[static_cast<std::size_t>(order[k])] - mean;
  return B;
}

// The matrix, or its tiles.
void fill(Problem& problem, SolveOptions const& options, Progress& progress,
          geostat::MaternCovariance const& covariance, geostat::Locations const& locations) {
  if (options.out_of_core) {
    problem.tiles = geostat::matern_tiles(Exec(), covariance, locations);
    return;
  }
  progress.phase(words("filling the covariance matrix, n = ", locations.size()));
  problem.A = geostat::covariance_matrix(covariance, locations, progress.listener());
}

void read_locations(SolveOptions const& options, Progress& progress, Problem& problem) {
  auto const& covariance = *options.covariance;
  auto const stations = read_stations(options.locations, {.on_progress = progress.listener()});
  auto const metric =
      stations.geographic ? geostat::Metric::GreatCircle : geostat::Metric::Euclidean;
  geostat::Locations const locations{stations.x, stations.y, metric};
  auto& summary = problem.summary;
  summary.source = words(options.locations, ", ", to_string(covariance));
  summary.format =
      words("kriging system, ",
            stations.geographic ? "great-circle distances in km" : "Euclidean distances",
            ", Morton order");
  summary.n = locations.size();
  geostat::check_covariance(covariance, locations);
  require_memory(summary, options);
  problem.order = geostat::morton_order(locations.x, locations.y);
  fill(problem, options, progress, covariance, locations.permuted(problem.order));
  if (!options.rhs.empty()) return;
  problem.B = centred(stations.value, problem.order);
  summary.rhs = "the measured values, centred";
}

// [K F; F^T 0] of universal kriging: the covariance of synthetic locations, bordered by the drift
// 1, x, y, so that as many eigenvalues are negative as F has columns.
HostMatrix saddle_point(geostat::MaternCovariance const& covariance, std::int64_t n,
                        std::uint64_t seed, Progress& progress) {
  std::int64_t const drifts = std::min<std::int64_t>(3, n / 2), count = n - drifts;
  auto const locations = geostat::synthetic_locations(count, seed);
  progress.phase(words("filling the covariance matrix, n = ", count));
  auto const K = geostat::covariance_matrix(covariance, locations, progress.listener());
  HostMatrix A("strata::solve::A", static_cast<std::size_t>(n), static_cast<std::size_t>(n));
  for (std::int64_t j = 0; j < count; ++j) {
    auto const place = static_cast<std::size_t>(j);
    for (std::int64_t i = 0; i < count; ++i) A(i, j) = K(i, j);
    double const drift[] = {1, locations.x[place], locations.y[place]};
    for (std::int64_t f = 0; f < drifts; ++f) A(count + f, j) = A(j, count + f) = drift[f];
  }
  return A;
}

void make_matrix(SolveOptions const& options, Progress& progress, Problem& problem) {
  auto generator = options.generator;
  generator.on_progress = progress.listener();
  auto const covariance = options.covariance.value_or(geostat::MaternCovariance{});
  double const spread = generator.diagonal_spread;
  auto& summary = problem.summary;
  summary.source = words(options.matern   ? "matern"
                         : options.saddle ? "saddle"
                                          : name_of(*options.kind),
                         ", seed ", generator.seed);
  if (options.matern || options.saddle) summary.source += ", " + to_string(covariance);
  if (spread != 1) summary.source += words(", diagonal spread over 1/", spread, " ... ", spread);
  summary.format = "generated";
  summary.n = options.n;
  if (options.kind && has_spectrum(*options.kind)) summary.condition = generator.condition;
  require_memory(summary, options);
  if (options.matern) {
    fill(problem, options, progress, covariance,
         geostat::synthetic_locations(options.n, generator.seed));
    if (!options.out_of_core && spread > 1) spread_diagonal(problem.A, spread, generator.seed);
  } else if (options.saddle) {
    problem.A = saddle_point(covariance, options.n, generator.seed, progress);
    if (spread > 1) spread_diagonal(problem.A, spread, generator.seed);
  } else if (options.out_of_core) {
    problem.tiles = ooc::dominant_tiles<Exec>(options.n, generator.seed);
  } else {
    problem.A = generate(*options.kind, options.n, generator);
  }
}

void add_right_hand_sides(SolveOptions const& options, Progress& progress, Problem& problem) {
  auto& summary = problem.summary;
  if (!options.rhs.empty()) {
    progress.phase("reading " + options.rhs);
    auto const B = read_matrix(options.rhs, read_options(options, &progress));
    require(static_cast<std::int64_t>(B.extent(0)) == summary.n,
            misfit(options.rhs, B.extent(0), B.extent(1), summary.n));
    problem.B = in_order(B, problem.order);
    summary.rhs = options.rhs;
  } else if (options.locations.empty()) {
    problem.knows_solution = true;
    problem.X = known_solution(summary.n, summary.nrhs, options.generator.seed);
    summary.rhs = "A times a known vector";
  }
}

}  // namespace

ReadOptions read_options(SolveOptions const& options, Progress* progress) {
  return {.max_bytes = memory_limit(options.max_memory).bytes,
          .on_progress = progress ? progress->listener() : nullptr,
          .on_remark = [progress](std::string const& remark) {
            auto const tell = [&] { std::cerr << warning_line(remark); };
            progress ? progress->aside(tell) : tell();
          }};
}

std::string misfit(std::string const& path, std::size_t rows, std::size_t cols, std::int64_t n) {
  auto const order = static_cast<std::size_t>(n);
  auto text =
      words(path, ": ", rows, " x ", cols, " right-hand sides do not fit the matrix of order ", n,
            ", whose right-hand side is a column of ", n, " numbers");
  bool const is_npy = path.ends_with(".npy"), is_csv = path.ends_with(".csv");
  if (rows * cols == order && cols > 1)
    text += words(
        "; this makes one of them: python3 -c \"import numpy; numpy.savetxt('column.txt', "
        "numpy.",
        is_npy ? "load('" : "loadtxt('", path, is_csv ? "', delimiter=','" : "'", ").ravel())\"");
  else if (cols == 1 && rows > 0 && order % rows == 0)
    text += words("; if the matrix has ", order / rows, " unknowns for each of the ", rows,
                  ", list so many numbers for each, one after the other");
  return text;
}

std::int64_t right_hand_sides(SolveOptions const& options) {
  if (options.rhs.empty()) return options.locations.empty() ? options.nrhs : 1;
  auto const file = probe(options.rhs);
  if (file.cols > 0) return file.cols;
  // Nothing but all of the file says it.
  return static_cast<std::int64_t>(read_matrix(options.rhs, read_options(options)).extent(1));
}

std::string place_of_solution(SolveOptions const& options, bool is_written) {
  if (is_written) return options.output;
  if (!options.output.empty()) return "nowhere, since it is no solution";
  if (!options.matrix.empty() && options.rhs.empty())
    return "nowhere: the right-hand side is invented (yours: --rhs b.npy --output x.npy)";
  return "nowhere (--output x.npy keeps it)";
}

void warn_of_invented_rhs(std::ostream& out, SolveOptions const& options) {
  if (options.output.empty() || !options.rhs.empty() || options.matrix.empty()) return;
  out << warning_line(
      options.output +
      " solves for an invented right-hand side, A times a known vector; give yours with --rhs");
}

void require_memory(ProblemSummary& summary, SolveOptions const& options) {
  auto const limit = memory_limit(options.max_memory);
  auto const n = summary.n, nrhs = summary.nrhs;
  auto const demand = [&](double bytes) {
    double const matrix = 8 * static_cast<double>(n) * static_cast<double>(n);
    require_memory(
        limit, bytes, words("a system of order ", n, " with ", nrhs, " right-hand sides needs"),
        options.out_of_core ? " (all tiles in fp64 together " + in_bytes(matrix / 2) + ")"
                            : " (the fp64 matrix alone " + in_bytes(matrix) + ")");
    summary.bytes_needed = static_cast<std::size_t>(bytes);
  };
  if (options.out_of_core) return demand(out_of_core_bytes(n, nrhs, options));
  double const columns = static_cast<double>(n) + 3 * static_cast<double>(nrhs);
  double const matrix = 8 * static_cast<double>(n) * columns;
  demand(matrix);  // in floating point: what passes here fits 64 bits
  auto const copies = static_cast<std::size_t>(1 + copies_to_device + options.compare);
  demand(static_cast<double>(
      copies * static_cast<std::size_t>(matrix) +
      (options.symmetric ? symmetric_bytes(n, nrhs) : factorisation_bytes(n, nrhs, options))));
}

HostMatrix in_order(HostMatrix const& B, std::vector<std::int64_t> const& order) {
  if (order.empty()) return B;
  HostMatrix permuted("strata::solve::B", B.extent(0), B.extent(1));
  for (std::size_t j = 0; j < B.extent(1); ++j)
    for (std::size_t k = 0; k < order.size(); ++k)
      permuted(k, j) = B(static_cast<std::size_t>(order[k]), j);
  return permuted;
}

Problem set_up(SolveOptions const& options, Progress& progress) {
  bool const generates = options.kind || options.matern || options.saddle;
  progress.phase(generates ? "generating the matrix"
                           : "reading " + options.matrix + options.locations);
  Problem problem;
  problem.summary.nrhs = right_hand_sides(options);
  generates                    ? make_matrix(options, progress, problem)
  : !options.locations.empty() ? read_locations(options, progress, problem)
  : options.out_of_core        ? open_file(options, progress, problem)
                               : read_file(options, progress, problem);
  add_right_hand_sides(options, progress, problem);
  return problem;
}

}  // namespace strata::apps
