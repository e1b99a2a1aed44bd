// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/solve/Strata_SolveProblem.hpp>

#include <apps/shared/Strata_Text.hpp>
#include <apps/solve/Strata_SolveVectors.hpp>
#include <core/io/Strata_Csv.hpp>
#include <core/io/Strata_MatrixBlocks.hpp>
#include <core/io/Strata_MatrixFile.hpp>
#include <geostat/Strata_MaternTiles.hpp>
#include <ooc/Strata_TileSources.hpp>

#include <Kokkos_Core.hpp>

#include <memory>
#include <numeric>

namespace strata::apps {

namespace {

Problem read_file(SolveOptions const& options) {
  std::string const& path = options.matrix;
  auto const& file = options.file;
  STRATA_REQUIRE(apps::UsageError, file.format != MatrixFileFormat::Columns, path,
                 ": a matrix is read from a Matrix Market file (.mtx, .mtx.gz), .npy, or raw "
                 "numbers with a description; .csv and .txt hold right-hand sides");
  STRATA_REQUIRE(apps::UsageError, file.rows == file.cols, path, ": the matrix is ", file.rows,
                 " x ", file.cols, ", must be square");
  Problem problem;
  auto& summary = problem.summary;
  summary.source = path;
  summary.format = file.words;
  summary.n = file.rows;
  if (file.format == MatrixFileFormat::MatrixMarket) summary.entries = file.market.entries;
  if (file.format == MatrixFileFormat::Raw) {
    MatrixBlocks const blocks(path);
    summary.format = blocks.format();
    summary.n = blocks.order();
  }
  summary.nrhs = right_hand_sides(options);
  require_memory(summary, options);
  problem.A = read_symmetric_matrix(path, read_limit(options));
  return problem;
}

// The file stays where it is; its tiles are read when they are asked for.
Problem open_file(SolveOptions const& options) {
  std::string const& path = options.matrix;
  Problem problem;
  auto& summary = problem.summary;
  summary.source = path;
  summary.nrhs = right_hand_sides(options);
  if (options.file.format == MatrixFileFormat::MatrixMarket) {
    summary.n = options.file.rows;
    require_memory(summary, options);  // before the file is unpacked
  }
  auto const file =
      std::make_shared<MatrixBlocks const>(path, MatrixBlocksOptions{options.scratch});
  summary.n = file->order();
  summary.format = file->format();
  summary.scratch_bytes = file->scratch_bytes();
  require_memory(summary, options);
  file->require_symmetric();
  problem.tiles = ooc::file_tiles<Kokkos::DefaultExecutionSpace>(file);
  return problem;
}

// The values, centred, are the right-hand side: the solution holds the weights of simple kriging.
HostMatrix centred(std::vector<double> const& values, std::vector<std::int64_t> const& order) {
  auto const n = order.size();
  double const mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(n);
  HostMatrix B("strata::solve::B", n, 1);
  for (std::size_t k = 0; k < n; ++k) B(k, 0) = values[static_cast<std::size_t>(order[k])] - mean;
  return B;
}

geostat::MaternCovariance covariance_of(SolveOptions const& options) {
  return options.covariance.value_or(geostat::MaternCovariance{});
}

// The matrix, or its tiles.
void fill(Problem& problem, SolveOptions const& options,
          geostat::MaternCovariance const& covariance, geostat::Locations const& locations) {
  if (options.out_of_core)
    problem.tiles = geostat::matern_tiles(Kokkos::DefaultExecutionSpace(), covariance, locations);
  else
    problem.A = geostat::covariance_matrix(covariance, locations);
}

Problem read_locations(SolveOptions const& options, geostat::MaternCovariance const& covariance) {
  auto const stations = read_stations(options.locations);
  Problem problem;
  auto& summary = problem.summary;
  auto const metric =
      stations.geographic ? geostat::Metric::GreatCircle : geostat::Metric::Euclidean;
  geostat::Locations const locations{stations.x, stations.y, metric};
  summary.source = words(options.locations, ", ", to_string(covariance));
  summary.format = stations.geographic
                       ? "kriging system, great-circle distances in km, Morton order"
                       : "kriging system, Euclidean distances, Morton order";
  summary.n = locations.size();
  summary.nrhs = right_hand_sides(options);
  geostat::check_covariance(covariance, locations);
  require_memory(summary, options);
  problem.order = geostat::morton_order(locations.x, locations.y);
  fill(problem, options, covariance, locations.permuted(problem.order));
  if (options.rhs.empty()) {
    problem.B = centred(stations.value, problem.order);
    summary.rhs = "the measured values, centred";
  }
  return problem;
}

// What is known of a generated matrix before it is made.
Problem generated(SolveOptions const& options, std::string const& kind) {
  auto const& generator = options.generator;
  Problem problem;
  auto& summary = problem.summary;
  summary.source = words(kind, ", seed ", generator.seed);
  if (options.matern) summary.source += ", " + to_string(covariance_of(options));
  if (generator.diagonal_spread != 1)
    summary.source += words(", diagonal spread over 1/", generator.diagonal_spread, " ... ",
                            generator.diagonal_spread);
  summary.format = "generated";
  summary.n = options.n;
  summary.nrhs = right_hand_sides(options);
  return problem;
}

Problem generate_matern(SolveOptions const& options) {
  auto const& generator = options.generator;
  Problem problem = generated(options, "matern");
  require_memory(problem.summary, options);
  fill(problem, options, covariance_of(options),
       geostat::synthetic_locations(options.n, generator.seed));
  if (!options.out_of_core && generator.diagonal_spread > 1)
    spread_diagonal(problem.A, generator.diagonal_spread, generator.seed);
  return problem;
}

Problem generate_matrix(SolveOptions const& options, MatrixKind kind) {
  auto const& generator = options.generator;
  Problem problem = generated(options, std::string(name(kind)));
  auto& summary = problem.summary;
  if (has_spectrum(kind)) summary.condition = generator.condition;
  require_memory(summary, options);
  if (!options.out_of_core)
    problem.A = generate(kind, options.n, generator);
  else
    problem.tiles = ooc::dominant_tiles<Kokkos::DefaultExecutionSpace>(options.n, generator.seed);
  return problem;
}

void add_right_hand_sides(SolveOptions const& options, Problem& problem) {
  auto& summary = problem.summary;
  if (!options.rhs.empty()) {
    auto const B = read_matrix(options.rhs, read_limit(options));
    STRATA_REQUIRE(apps::UsageError, static_cast<std::int64_t>(B.extent(0)) == summary.n,
                   options.rhs, ": ", B.extent(0), " x ", B.extent(1),
                   " right-hand sides do not fit the matrix of order ", summary.n);
    problem.B = in_order(B, problem.order);
    summary.rhs = options.rhs;
  } else if (options.locations.empty()) {
    problem.knows_solution = true;
    problem.X = known_solution(summary.n, summary.nrhs, options.generator.seed);
    summary.rhs = "A times a known vector";
  }
}

Problem read_or_generate(SolveOptions const& options) {
  if (options.kind) return generate_matrix(options, *options.kind);
  if (options.matern) return generate_matern(options);
  if (options.covariance) return read_locations(options, *options.covariance);
  return options.out_of_core ? open_file(options) : read_file(options);
}

}  // namespace

Problem set_up(SolveOptions const& options, Progress& progress) {
  progress.phase(options.kind || options.matern ? "generating the matrix"
                                                : "reading " + options.matrix + options.locations);
  Problem problem = read_or_generate(options);
  add_right_hand_sides(options, problem);
  return problem;
}

}  // namespace strata::apps
