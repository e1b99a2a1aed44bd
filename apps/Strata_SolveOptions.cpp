// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/Strata_Exit.hpp>
#include <apps/Strata_SolveOptions.hpp>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>

namespace strata::apps {

namespace {

// An option whose text the library parses: `target` = `parse`(text).
template <class Target, class Parse>
CLI::Option* add_parsed(CLI::App& command, std::string const& name, Target& target, Parse parse,
                        std::string const& help) {
  auto const store = [name, &target, parse](std::string const& text) {
    try {
      target = parse(text);
    } catch (Error const& error) {
      throw CLI::ValidationError(name, error.what());
    }
  };
  return command.add_option_function<std::string>(name, store, help);
}

// Shown in messages, not in the help.
template <class Integer>
CLI::Validator at_least(Integer least) {
  return CLI::Range(least, std::numeric_limits<Integer>::max()).description("");
}

std::string kinds() {
  std::string list;
  for (auto const kind : all_matrix_kinds())
    list += (list.empty() ? "" : ", ") + std::string(name(kind));
  return list;
}

void add_matrix_options(CLI::App& command, SolveOptions& options) {
  auto const group = std::string("The matrix (one of --matrix, --locations, --generate)");
  auto* const matrix =
      command
          .add_option("--matrix", options.matrix, "symmetric positive definite matrix from a file")
          ->type_name("A.mtx|A.mtx.gz|A.npy")
          ->group(group);
  auto* const locations = command
                              .add_option("--locations", options.locations,
                                          "kriging system of stations (x,y,value or lon,lat,value)")
                              ->type_name("STATIONS.csv")
                              ->group(group);
  auto* const generate = add_parsed(command, "--generate", options.kind, matrix_kind_from_name,
                                    "a test matrix: " + kinds())
                             ->type_name("KIND")
                             ->group(group);
  matrix->excludes(locations, generate);
  locations->excludes(generate);
  add_parsed(command, "--covariance", options.covariance, MaternCovariance::parse,
             "covariance of --locations, or of --generate matern; range in the unit of x,y, or km "
             "for lon,lat")
      ->type_name("matern:SIGMA2,RANGE,NU[,NUGGET]")
      ->group(group);
  auto* const n = command.add_option("--n", options.n, "order of the generated matrix")
                      ->type_name("N")
                      ->check(at_least<std::int64_t>(0))
                      ->needs(generate)
                      ->group(group);
  generate->needs(n);
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
             "precisions from the outermost block to the diagonal leaves, as fp16,fp16,fp32 [auto]")
      ->type_name("LIST|auto")
      ->group(group);
  command.add_option("--leaf", options.leaf, "order of the diagonal leaves [the library's choice]")
      ->type_name("N")
      ->check(at_least<std::int64_t>(1))
      ->group(group);
  add_parsed(command, "--refine", options.refinement.refine, dense::refine_from_name,
             "auto, none, classical, cg or gmres [auto]")
      ->type_name("METHOD")
      ->group(group);
  command
      .add_option("--tolerance", options.refinement.tolerance,
                  "normwise backward error to stop at [sqrt(n) 2^-52 and HPL's and SLATE's limits]")
      ->type_name("E")
      ->check(CLI::PositiveNumber)
      ->group(group);
  command
      .add_option("--max-iterations", options.refinement.max_iterations,
                  "[100 classical, 2000 else]")
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
  auto* const rhs =
      command.add_option("--rhs", options.rhs, "right-hand sides [A times a known vector]")
          ->type_name("B.npy")
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
                  "refuse to use more, as 8GB [what is available]")
      ->type_name("BYTES")
      ->transform(CLI::AsSizeValue(true))
      ->group(group);
}

void add_result_options(CLI::App& command, SolveOptions& options) {
  auto const group = std::string("Results");
  command.add_option("--output", options.output, "the solution")->type_name("X.npy")->group(group);
  command.add_option("--json", options.json, "the report, for machines")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--trace", options.trace, "what ran when, for Perfetto or chrome://tracing")
      ->type_name("FILE")
      ->group(group);
}

// Found now rather than after an hour's work.
void check_writable(std::string const& option, std::string const& path) {
  namespace fs = std::filesystem;
  if (path.empty()) return;
  std::error_code error;
  auto const folder =
      fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  STRATA_REQUIRE(apps::UsageError, !fs::is_directory(path, error), option, ": ", path,
                 " is a folder");
  STRATA_REQUIRE(apps::UsageError, fs::is_directory(folder, error), option, ": ", folder.string(),
                 " is no folder");
  bool const exists = fs::exists(path, error);
  bool const device = exists && !fs::is_regular_file(path, error);
  STRATA_REQUIRE(apps::UsageError, access(device ? path.c_str() : folder.c_str(), W_OK) == 0,
                 option, ": ", device ? path : folder.string(), " is not writable");
}

}  // namespace

void add_solve_options(CLI::App& command, SolveOptions& options) {
  add_matrix_options(command, options);
  add_method_options(command, options);
  add_run_options(command, options);
  add_result_options(command, options);
}

void check(SolveOptions const& options) {
  int const sources =
      !options.matrix.empty() + !options.locations.empty() + options.kind.has_value();
  STRATA_REQUIRE(apps::UsageError, sources == 1,
                 "give exactly one of --matrix, --locations and --generate");
  bool const matern = options.kind == MatrixKind::Matern;
  STRATA_REQUIRE(apps::UsageError, options.locations.empty() || options.covariance,
                 "--locations needs --covariance matern:SIGMA2,RANGE,NU[,NUGGET]");
  STRATA_REQUIRE(apps::UsageError, !options.covariance || matern || !options.locations.empty(),
                 "--covariance goes with --locations or --generate matern");
  STRATA_REQUIRE(apps::UsageError, std::isfinite(options.refinement.tolerance),
                 "--tolerance: ", options.refinement.tolerance, " is not finite");
  check_writable("--output", options.output);
  check_writable("--json", options.json);
  check_writable("--trace", options.trace);
}

}  // namespace strata::apps
