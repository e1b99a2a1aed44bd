// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/hpgmxp/Strata_HpgmxpOptions.hpp>

#include <apps/shared/Strata_Exit.hpp>

#include <CLI/CLI.hpp>

#include <fstream>
#include <map>
#include <string>

namespace strata::apps {

namespace {

using sparse::HpgmxpOptions;
using sparse::RunType;
using sparse::Transport;
using sparse::ValidationType;

void add_problem_options(CLI::App& command, HpgmxpRequest& request) {
  std::string const group = "The problem";
  auto* const sizes =
      command
          .add_option("sizes", request.sizes, "points of each rank, and seconds of the mixed phase")
          ->type_name("NX NY NZ [RT]")
          ->expected(3, 4)
          ->group(group);
  for (auto const& [name, target] : {std::pair("--nx", &request.nx), std::pair("--ny", &request.ny),
                                     std::pair("--nz", &request.nz)})
    command
        .add_option(name, *target,
                    "points of each rank in this dimension: a multiple of 8, at least 16")
        ->type_name("N")
        ->excludes(sizes)
        ->group(group);
  command
      .add_option("--input", request.input,
                  "sizes and seconds from a file as the public codes read it")
      ->type_name("hpgmp.dat")
      ->check(CLI::ExistingFile.description(""))
      ->excludes(sizes)
      ->group(group);
  std::array<char const*, 3> const names{"--npx", "--npy", "--npz"};
  for (std::size_t d = 0; d < names.size(); ++d)
    command
        .add_option(names[d], request.benchmark.grid[d],
                    "ranks in this dimension (by default the benchmark's rule)")
        ->type_name("P")
        ->group(group);
  command
      .add_option("--beta", request.benchmark.beta, "nonsymmetry: -1 - beta below, -1 + beta above")
      ->capture_default_str()
      ->group(group);
}

void add_run_options(CLI::App& command, HpgmxpRequest& request) {
  std::string const group = "The run";
  auto& benchmark = request.benchmark;
  std::map<std::string, RunType> const runs{{"benchmark", RunType::Benchmark},
                                            {"benchmark_no_ref", RunType::BenchmarkNoRef},
                                            {"standalone_mxp", RunType::StandaloneMixed},
                                            {"standalone_ref", RunType::StandaloneRef},
                                            {"validation", RunType::Validation}};
  std::map<std::string, ValidationType> const validations{{"standard", ValidationType::Standard},
                                                          {"fullscale", ValidationType::FullScale}};
  command
      .add_option("--rt", request.seconds,
                  "seconds of the mixed phase at least; an official run has 1800")
      ->type_name("SECONDS")
      ->group(group);
  command.add_option("--run_type,--run-type", benchmark.run, "what to run")
      ->transform(CLI::CheckedTransformer(runs).description(
          "benchmark|benchmark_no_ref|standalone_mxp|standalone_ref|validation"))
      ->type_name("")
      ->group(group);
  command
      .add_option("--validation_type,--validation-type", benchmark.validation,
                  "ranks that validate")
      ->transform(CLI::CheckedTransformer(validations).description("standard|fullscale"))
      ->type_name("")
      ->group(group);
  command
      .add_option("--validation-ranks", benchmark.validation_ranks,
                  "most ranks of a standard validation")
      ->check(CLI::PositiveNumber.description(""))
      ->capture_default_str()
      ->group(group);
  command.add_option("--restart", benchmark.restart, "basis vectors of a cycle")
      ->capture_default_str()
      ->group(group);
  command.add_option("--tolerance", benchmark.tolerance, "of the validation's relative residual")
      ->capture_default_str()
      ->group(group);
  command
      .add_flag("--free", request.free,
                "also solve without the benchmark's rules: trilinear transfers, all levels, CG")
      ->group(group);
  command.add_option("--json", request.json, "report for machines")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--report", request.report, "report with the keys of the public codes")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option(
          "--trace", request.trace,
          "what ran when on each rank in up to four iterations of the mixed phase (or the only "
          "one), for "
          "Perfetto or chrome://tracing; they run once more after it, on a device without replay")
      ->type_name("FILE")
      ->group(group);
}

void add_solver_options(CLI::App& command, HpgmxpRequest& request) {
  std::string const group = "The solver";
  auto& matrix = request.benchmark.matrix;
  std::map<std::string, Transport> const transports{{"automatic", Transport::Automatic},
                                                    {"direct", Transport::Direct},
                                                    {"staged", Transport::Staged},
                                                    {"enqueued", Transport::Enqueued}};
  command.add_option("--ordering", request.ordering, "Gauss-Seidel in row order, or by colours")
      ->check(CLI::IsMember({"lexicographic", "coloured"}))
      ->type_name("")
      ->capture_default_str()
      ->group(group);
  command.add_option("--colouring", request.colouring, "eight parities, or Jones-Plassmann-Luby")
      ->check(CLI::IsMember({"greedy", "jpl"}))
      ->type_name("")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--colour-order", matrix.colour_order,
                  "order of sweeping (7,0,6,1,5,2,4,3 for eight colours)")
      ->delimiter(',')
      ->type_name("C,C,...")
      ->group(group);
  command.add_option("--seed", matrix.seed, "of Jones-Plassmann-Luby")
      ->capture_default_str()
      ->group(group);
  command.add_option("--values", request.values, "storage of the matrices of the mixed solver")
      ->check(CLI::IsMember({"auto", "fp64", "fp32", "bf16", "fp16", "fp8_e4m3"}))
      ->type_name("")
      ->capture_default_str()
      ->group(group);
  command.add_option("--basis", request.basis, "storage of the mixed solver's Krylov vectors")
      ->check(CLI::IsMember({"auto", "fp32", "fp16"}))
      ->type_name("")
      ->capture_default_str()
      ->group(group);
  command
      .add_option(
          "--free-colours", matrix.free_colours,
          "how many colours may be swept while halos are under way; with 0 nothing is restricted "
          "meanwhile either [by the size]")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N")
      ->group(group);
  command
      .add_option("--transport", matrix.transport,
                  "between devices: MPI with their memory, MPI through host memory, NCCL or RCCL")
      ->transform(
          CLI::CheckedTransformer(transports).description("automatic|direct|staged|enqueued"))
      ->type_name("")
      ->group(group);
}

// Two lines of comment, the dimensions, the seconds.
void read_input(std::string const& path, HpgmxpOptions& options) {
  std::ifstream file(path);
  std::string comment;
  std::getline(file, comment);
  std::getline(file, comment);
  if (!(file >> options.nx >> options.ny >> options.nz >> options.seconds))
    throw UsageError(path + ": expected two lines of comment, three dimensions and the seconds");
}

}  // namespace

void add_hpgmxp_options(CLI::App& command, HpgmxpRequest& request) {
  add_problem_options(command, request);
  add_run_options(command, request);
  add_solver_options(command, request);
}

sparse::HpgmxpOptions resolved(HpgmxpRequest const& request) {
  HpgmxpOptions options = request.benchmark;
  if (!request.input.empty()) read_input(request.input, options);
  if (!request.sizes.empty()) {
    options.nx = request.sizes[0], options.ny = request.sizes[1], options.nz = request.sizes[2];
    if (request.sizes.size() > 3) options.seconds = static_cast<double>(request.sizes[3]);
  }
  if (request.nx != 0) options.nx = options.ny = options.nz = request.nx;
  if (request.ny != 0) options.ny = options.nz = request.ny;
  if (request.nz != 0) options.nz = request.nz;
  if (request.seconds >= 0) options.seconds = request.seconds;
  auto& grid = options.grid;
  if (grid != std::array<int, 3>{0, 0, 0})
    for (auto& ranks : grid) ranks = ranks == 0 ? 1 : ranks;
  bool const lexicographic = request.ordering == "lexicographic";
  STRATA_REQUIRE(ValueError, !lexicographic || options.matrix.colour_order.empty(),
                 "--colour-order is for --ordering coloured");
  options.matrix.colouring = lexicographic ? sparse::ColouringMethod::Levels
                             : request.colouring == "jpl"
                                 ? sparse::ColouringMethod::JonesPlassmannLuby
                                 : sparse::ColouringMethod::Greedy;
  if (!request.trace.empty()) options.traced_iterations = 4;
  if (request.values != "auto") options.values = from_name<Precision>(request.values);
  if (request.basis != "auto") options.basis = from_name<Precision>(request.basis);
  return options;
}

}  // namespace strata::apps
