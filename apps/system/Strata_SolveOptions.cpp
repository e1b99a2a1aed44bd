// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/system/Strata_SolveOptions.hpp>

#include <apps/shared/Strata_Options.hpp>
#include <apps/shared/Strata_Text.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace strata::apps {

namespace {

using sparse::ModelProblem;
// A dense kind or a sparse model; the message lists both.
void set_kind(SolveOptions& options, std::string const& text) {
  for (auto const model : enum_values<ModelProblem>)
    if (text == name_of(model)) {
      options.sparse.model = model;
      return;
    }
  if (text == "matern") {
    options.matern = true;
    return;
  }
  if (text == "saddle") {
    options.saddle = true;
    return;
  }
  try {
    options.kind = from_name<MatrixKind>(text);
  } catch (ValueError const& error) {
    throw CLI::ValidationError(
        "--generate",
        words(error.what(), ", matern, saddle; sparse: ", list_of_names<ModelProblem>()));
  }
}

Precision stored_precision(std::string const& text) {
  for (auto const precision : {Precision::fp64, Precision::fp32, Precision::bf16, Precision::fp16})
    if (text == traits(precision).name) return precision;
  throw ValueError("'" + text +
                   "' is no type that a preconditioner is stored in: fp64, fp32, bf16 or fp16");
}

std::optional<dense::LayerList> parse_layers(std::string const& text) {
  if (text == "auto") return std::nullopt;
  return dense::LayerList::parse(text);
}

bool parse_jitter(std::string const& text) {
  STRATA_REQUIRE(ValueError, text == "auto", "is ", text, ", must be auto");
  return true;
}

void add_matrix_options(CLI::App& command, SolveOptions& options) {
  OptionGroup group(command, "The matrix (one of --matrix, --locations, --generate)");
  auto& generator = options.generator;
  auto* const matrix =
      group.add("--matrix", options.matrix, "A.mtx|A.mtx.gz|A.npy|A.csv|A.bin",
                "matrix from a file: symmetric positive definite, or sparse; raw numbers have a "
                "description A.bin.json (see docs/out-of-core.md)");
  auto* const locations = group.add("--locations", options.locations, "STATIONS.csv",
                                    "kriging system of stations (x,y,value or lon,lat,value)");
  auto* const generate = group.function(
      "--generate", [&options](std::string const& text) { set_kind(options, text); }, "KIND",
      "a test matrix: " + list_of_names<MatrixKind>() + ", matern" +
          "; with --symmetric: saddle; sparse: " + list_of_names<ModelProblem>());
  generate->check(
      suggested(alternatives<MatrixKind>() + "|matern|saddle|" + alternatives<ModelProblem>()));
  matrix->excludes(locations, generate);
  locations->excludes(generate);
  group.parsed(
      "--covariance", options.covariance, "matern:SIGMA2,RANGE,NU[,NUGGET]",
      geostat::MaternCovariance::parse,
      "covariance of --locations, or of --generate matern and saddle; range in the unit of x,y, or "
      "km for lon,lat");
  group
      .count("--n", options.n, "N",
             "order of the generated matrix; of sparse ones points a side, or vertices",
             std::int64_t{0})
      ->needs(generate);
  group.add("--cond", generator.condition, "K", "its 2-norm condition number [100]")
      ->needs(generate);
  group
      .add("--scaling", generator.diagonal_spread, "S",
           "spread its diagonal over 1/S ... S by scaling rows and columns [1: not at all]")
      ->needs(generate);
  group.add("--seed", generator.seed, "S", "random seed [1]");
}

void add_method_options(CLI::App& command, SolveOptions& options) {
  OptionGroup group(command, "The method");
  auto& refinement = options.refinement;
  group.flag("--symmetric", options.symmetric,
             "A need not be definite: L D L^T instead of Cholesky; coordinate files, too, are "
             "solved as dense");
  group.parsed("--layers", options.layers, "LIST|auto", parse_layers,
               "precisions from the outermost block to the diagonal leaves, as fp16,fp16,fp32, in "
               "short fp16x2,fp32 [auto]");
  group.count("--leaf-size", options.leaf, "N",
              "order of the diagonal leaves [the library's choice]");
  group.parsed("--jitter", options.jitter, "auto", parse_jitter,
               "where A is not positive definite, solve with the least power of ten of its mean "
               "diagonal added to its diagonal [not at all]");
  group.named("--refine", refinement.refine, "how the solution is refined [auto]");
  group
      .add("--tolerance", refinement.tolerance, "E",
           "normwise backward error to stop at [sqrt(n) 2^-52 and HPL's and SLATE's limits]; "
           "sparse: relative residual [1e-10]")
      ->check(CLI::PositiveNumber.description(""));
  group.count("--max-iterations", refinement.max_iterations, "K",
              "[100 classical, 2000 else; sparse: 10000]");
  group.flag(
      "--log-determinant", options.log_determinant,
      "also estimate log det A, with an error bar; with --symmetric log |det A| and the sign");
}

void add_run_options(CLI::App& command, SolveOptions& options) {
  OptionGroup sides(command, "The right-hand side"), group(command, "The run"),
      results(command, "Results");
  auto* const rhs = sides.add("--rhs", options.rhs, "B.npy|.mtx|.csv|.txt",
                              "right-hand sides, as columns [A times known vectors]");
  sides.count("--nrhs", options.nrhs, "M", "number of known vectors [1]", std::int64_t{0})
      ->excludes(rhs);
  group.flag("--compare", options.compare,
             "also solve with the vendor's fp64 Cholesky, or L D L^T");
  group.count("--repeat", options.repeat, "R", "factor and solve R times, report the median [1]");
  group.bytes("--max-memory", options.max_memory,
              "refuse to use more on a host, as 8GB [what is available]");
  results.add("--output", options.output, "X.npy|.mtx|.csv|.txt",
              "the solution, in the format that the name ends in");
  results.flag("--brief", options.brief, "print the answer alone, without the report");
  results.add("--json", options.json, "FILE",
              "the report, for machines; - is the standard output, without the table");
  results.add("--trace", options.trace, "FILE", "what ran when, for Perfetto or chrome://tracing");
}

void add_out_of_core_options(CLI::App& command, SolveOptions& options) {
  OptionGroup group(command,
                    "In tiles (a dense matrix that one device does not hold, or its file; with "
                    "--out-of-core or --devices)");
  group.flag(
      "--out-of-core", options.out_of_core,
      "keep the matrix as tiles in host memory, for matrices larger than a GPU; with mpirun in "
      "all ranks' memory. Tiles are fp64 unless --epsilon or --layers is given. Generated "
      "matrices: matern and dominant. With --devices and without this option the tiles lie in "
      "the devices' memory, if they fit");
  add_tile_options(group, options.tiles);
  group.add("--checkpoint", options.checkpoint, "FOLDER",
            "save finished columns here; a later run continues from them. With a folder that all "
            "ranks see the number of ranks may change");
  group.add("--scratch", options.scratch, "FOLDER",
            "where a text file is unpacked to [the folder for temporary files]");
}

void add_sparse_options(CLI::App& command, SolveOptions& options) {
  OptionGroup group(command, "Sparse matrices (coordinate files and sparse kinds)");
  auto& solver = options.sparse.solver;
  auto& size = options.sparse.size;
  auto* const dense = group.flag("--dense", options.force_dense, "solve as dense");
  group.flag("--sparse", options.force_sparse, "solve as sparse; with mpirun on all its ranks")
      ->excludes(dense);
  group.named("--solver,--method", solver.solver, "[auto]");
  group.named("--preconditioner", solver.preconditioner, "[auto]");
  group.add("--fill", solver.fill, "K", "level of fill of the preconditioners ic and ilu [0]")
      ->check(CLI::Range(0, 20).description(""));
  group.parsed("--precision", solver.precision, "fp64|fp32|bf16|fp16", stored_precision,
               "precision of the preconditioner [fp32]");
  group
      .add("--absolute-tolerance", solver.absolute_tolerance, "E",
           "a residual ||b - A x|| that will do, too [none]")
      ->check(CLI::NonNegativeNumber.description(""));
  group.named("--stop", solver.stop,
              "what --tolerance bounds; CG alone has others than the residual [residual]");
  group.add("--guess", options.sparse.guess, "X0.npy|.mtx|.csv|.txt",
            "columns to begin with, one for each right-hand side [0]");
  group.count("--restart", solver.restart, "K", "basis vectors of a cycle of GMRES [50]");
  group.count("--block-size", solver.amg.block_size, "B",
              "unknowns of a node, one after the other, for AMG [found from the pattern]");
  auto* const places =
      group.add("--coordinates", options.sparse.coordinates, "FILE",
                "places of the nodes, 2 or 3 numbers a row: AMG knows the motions of a rigid body");
  group
      .add("--near-null-space", options.sparse.near_null_space, "FILE",
           "vectors, as columns, that AMG represents on all levels")
      ->excludes(places);
  group
      .add("--strength", solver.amg.strength, "S",
           "AMG ignores couplings weaker than this fraction of the row's largest [0.25]")
      ->check(CLI::Range(0.0, 0.999).description(""));
  group.add("--vtk", options.sparse.vtk, "X.vtk", "x at these places, for ParaView")->needs(places);
  for (auto const& [name, target] :
       {std::pair("--nx", &size.nx), std::pair("--ny", &size.ny), std::pair("--nz", &size.nz)})
    group.count(name, *target, "N",
                "grid points along this axis [the value of the axis before it]");
}

}  // namespace

void add_solve_options(CLI::App& command, SolveOptions& options) {
  add_matrix_options(command, options);
  add_method_options(command, options);
  add_run_options(command, options);
  add_out_of_core_options(command, options);
  add_sparse_options(command, options);
  command.parse_complete_callback([&command, &options] {
    options.tiles.layers = options.layers;
    for (auto const* const option : command.get_options())
      if (option->count() > 0) options.given.push_back(option->get_name());
    bool const on_devices = !options.out_of_core &&
                            std::ranges::find(options.given, "--devices") != options.given.end();
    options.tiles.storage = on_devices ? ooc::TileStorage::Automatic : ooc::TileStorage::Host;
    options.out_of_core = options.out_of_core || on_devices;
  });
}

}  // namespace strata::apps
