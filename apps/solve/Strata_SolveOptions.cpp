// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/solve/Strata_SolveOptions.hpp>

#include <apps/shared/Strata_Exit.hpp>
#include <apps/shared/Strata_OptionTools.hpp>

#include <CLI/CLI.hpp>

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
  try {
    options.kind = from_name<MatrixKind>(text);
  } catch (ValueError const& error) {
    throw CLI::ValidationError("--generate", std::string(error.what()) + ", matern; sparse: " +
                                                 list_of_names<ModelProblem>());
  }
}

Precision stored_precision(std::string const& text) {
  for (auto const precision : {Precision::fp64, Precision::fp32, Precision::bf16, Precision::fp16})
    if (text == traits(precision).name) return precision;
  throw ValueError("'" + text +
                   "' is no type that a preconditioner is stored in: fp64, fp32, bf16 or fp16");
}

void add_matrix_options(CLI::App& command, SolveOptions& options) {
  auto const group = std::string("The matrix (one of --matrix, --locations, --generate)");
  auto* const matrix =
      command
          .add_option("--matrix", options.matrix,
                      "matrix from a file: symmetric positive definite, or sparse; raw numbers "
                      "have a description A.bin.json (see docs/out-of-core.md)")
          ->type_name("A.mtx|A.mtx.gz|A.npy|A.bin")
          ->group(group);
  auto* const locations = command
                              .add_option("--locations", options.locations,
                                          "kriging system of stations (x,y,value or lon,lat,value)")
                              ->type_name("STATIONS.csv")
                              ->group(group);
  auto* const generate =
      command
          .add_option_function<std::string>(
              "--generate", [&options](std::string const& text) { set_kind(options, text); },
              "a test matrix: " + list_of_names<MatrixKind>() +
                  ", matern; sparse: " + list_of_names<ModelProblem>())
          ->type_name("KIND")
          ->group(group);
  matrix->excludes(locations, generate);
  locations->excludes(generate);
  add_parsed(command, "--covariance", options.covariance, geostat::MaternCovariance::parse,
             "covariance of --locations, or of --generate matern; range in the unit of x,y, or km "
             "for lon,lat")
      ->type_name("matern:SIGMA2,RANGE,NU[,NUGGET]")
      ->group(group);
  command
      .add_option("--n", options.n,
                  "order of the generated matrix; of sparse ones points a side, or vertices")
      ->type_name("N")
      ->check(at_least<std::int64_t>(0))
      ->needs(generate)
      ->group(group);
  command.add_option("--cond", options.generator.condition, "its 2-norm condition number [100]")
      ->type_name("K")
      ->needs(generate)
      ->group(group);
  command
      .add_option("--scaling", options.generator.diagonal_spread,
                  "spread its diagonal over 1/S ... S by scaling rows and columns [1: not at all]")
      ->type_name("S")
      ->needs(generate)
      ->group(group);
  command.add_option("--seed", options.generator.seed, "of all that is random [1]")
      ->type_name("S")
      ->group(group);
}

void add_method_options(CLI::App& command, SolveOptions& options) {
  auto const group = std::string("The method");
  auto const parse_layers = [](std::string const& text) {
    return text == "auto" ? std::nullopt : std::optional(dense::LayerList::parse(text));
  };
  add_parsed(command, "--layers", options.layers, parse_layers,
             "precisions from the outermost block to the diagonal leaves, as fp16,fp16,fp32, in "
             "short fp16x2,fp32 [auto]")
      ->type_name("LIST|auto")
      ->group(group);
  command.add_option("--leaf", options.leaf, "order of the diagonal leaves [the library's choice]")
      ->type_name("N")
      ->check(at_least<std::int64_t>(1))
      ->group(group);
  add_parsed(command, "--refine", options.refinement.refine, from_name<dense::Refine>,
             "auto, none, classical, cg or gmres [auto]")
      ->type_name("METHOD")
      ->group(group);
  command
      .add_option(
          "--tolerance", options.refinement.tolerance,
          "normwise backward error to stop at [sqrt(n) 2^-52 and HPL's and SLATE's limits]; "
          "sparse: relative residual [1e-10]")
      ->type_name("E")
      ->check(CLI::PositiveNumber)
      ->group(group);
  command
      .add_option("--max-iterations", options.refinement.max_iterations,
                  "[100 classical, 2000 else; sparse: 10000]")
      ->type_name("K")
      ->check(at_least<int>(1))
      ->group(group);
  command
      .add_flag("--log-determinant", options.log_determinant,
                "also estimate log det A, with an error bar")
      ->group(group);
}

void add_run_options(CLI::App& command, SolveOptions& options) {
  auto const rhs_group = std::string("The right-hand side");
  auto* const rhs = command
                        .add_option("--rhs", options.rhs,
                                    "right-hand sides, one for sparse [A times a known vector]")
                        ->type_name("B.npy|.mtx|.csv|.txt")
                        ->group(rhs_group);
  command.add_option("--nrhs", options.nrhs, "number of known vectors [1]")
      ->type_name("M")
      ->check(at_least<std::int64_t>(0))
      ->excludes(rhs)
      ->group(rhs_group);
  auto const group = std::string("The run");
  command.add_flag("--compare", options.compare, "also solve with the vendor's fp64 Cholesky")
      ->group(group);
  command.add_option("--repeat", options.repeat, "factor and solve R times, report the median [1]")
      ->type_name("R")
      ->check(at_least<int>(1))
      ->group(group);
  command
      .add_option("--max-memory", options.max_memory,
                  "refuse to use more on a host, as 8GB [what is available]")
      ->type_name("BYTES")
      ->transform(CLI::AsSizeValue(true))
      ->group(group);
}

void add_result_options(CLI::App& command, SolveOptions& options) {
  auto const group = std::string("Results");
  command
      .add_option("--output", options.output, "the solution, in the format that the name ends in")
      ->type_name("X.npy|.mtx|.csv|.txt")
      ->group(group);
  command.add_option("--json", options.json, "the report, for machines")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--trace", options.trace, "what ran when, for Perfetto or chrome://tracing")
      ->type_name("FILE")
      ->group(group);
}

void add_out_of_core_options(CLI::App& command, SolveOptions& options) {
  auto const group =
      std::string("Out of core (a dense matrix that the host holds, or its file, but no device)");
  auto* const out_of_core =
      command
          .add_flag("--out-of-core", options.out_of_core,
                    "factor in tiles in host memory; of --generate matern and dominant")
          ->group(group);
  add_tile_options(command, options.tiles, group, out_of_core);
  command
      .add_option("--checkpoint", options.checkpoint,
                  "keep finished columns here, and go on from those that are there")
      ->type_name("FOLDER")
      ->needs(out_of_core)
      ->group(group);
  command
      .add_option("--scratch", options.scratch,
                  "where a text file is unpacked to [the folder for temporary files]")
      ->type_name("FOLDER")
      ->needs(out_of_core)
      ->group(group);
}

void add_sparse_options(CLI::App& command, SolveOptions& options) {
  auto const group = std::string("Sparse matrices (coordinate files and sparse kinds)");
  auto& solver = options.sparse.solver;
  auto* const dense =
      command.add_flag("--dense", options.force_dense, "solve as dense")->group(group);
  command
      .add_flag("--sparse", options.force_sparse, "solve as sparse; with mpirun on all its ranks")
      ->excludes(dense)
      ->group(group);
  add_parsed(command, "--solver", solver.solver, from_name<sparse::SolverKind>,
             "auto, cg, gmres or fgmres [auto]")
      ->type_name("METHOD")
      ->group(group);
  add_parsed(command, "--preconditioner", solver.preconditioner,
             from_name<sparse::PreconditionerKind>, "auto, none, jacobi, gs or amg [auto]")
      ->type_name("NAME")
      ->group(group);
  add_parsed(command, "--precision", solver.precision, stored_precision,
             "of the preconditioner: fp64, fp32, bf16 or fp16 [fp32]")
      ->type_name("TYPE")
      ->group(group);
  command.add_option("--restart", solver.restart, "basis vectors of a cycle of GMRES [50]")
      ->type_name("K")
      ->check(at_least<int>(1))
      ->group(group);
  command
      .add_option("--block-size", solver.amg.block_size,
                  "unknowns of a node, one after the other, for AMG [1]")
      ->type_name("B")
      ->check(at_least<int>(1))
      ->group(group);
  command
      .add_option("--strength", solver.amg.strength,
                  "of couplings within AMG's aggregates, of the largest in a row [0.25]")
      ->type_name("S")
      ->check(CLI::Range(0.0, 0.999).description(""))
      ->group(group);
  std::pair<char const*, std::int64_t*> const sides[] = {{"--nx", &options.sparse.size.nx},
                                                         {"--ny", &options.sparse.size.ny},
                                                         {"--nz", &options.sparse.size.nz}};
  for (auto const& [name, target] : sides)
    command.add_option(name, *target, "points of a sparse kind along this axis [those before it]")
        ->type_name("N")
        ->check(at_least<std::int64_t>(1))
        ->group(group);
}

}  // namespace

void add_solve_options(CLI::App& command, SolveOptions& options) {
  add_matrix_options(command, options);
  add_method_options(command, options);
  add_run_options(command, options);
  add_result_options(command, options);
  add_out_of_core_options(command, options);
  add_sparse_options(command, options);
  command.parse_complete_callback([&command, &options] {
    for (auto const* const option : command.get_options())
      if (option->count() > 0) options.given.push_back(option->get_name());
  });
}

}  // namespace strata::apps
