// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/hpgmxp/Strata_Hpgmxp.hpp>
#include <apps/shared/Strata_Options.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

namespace strata::apps {

namespace {

using sparse::HpgmxpOptions;

void add_problem_options(CLI::App& command, HpgmxpRequest& request) {
  OptionGroup group(command, "The problem");
  auto* const sizes = group
                          .add("sizes", request.sizes, "NX NY NZ [RT]",
                               "points of each rank, and seconds of the mixed phase")
                          ->expected(3, 4)
                          ->option_text("NX NY NZ [RT]");
  for (auto const& [name, target] : {std::pair("--nx", &request.nx), std::pair("--ny", &request.ny),
                                     std::pair("--nz", &request.nz)})
    group
        .add(name, *target, "N",
             "points of each rank in this dimension: a multiple of 8, at least 16 [as the "
             "dimension before]")
        ->excludes(sizes);
  group
      .add("--input", request.input, "hpgmp.dat",
           "sizes and seconds from a file as the public codes read it")
      ->check(CLI::ExistingFile.description(""))
      ->excludes(sizes);
  auto& grid = request.benchmark.grid;
  for (auto const& [name, target] :
       {std::pair("--npx", &grid[0]), std::pair("--npy", &grid[1]), std::pair("--npz", &grid[2])})
    group.add(name, *target, "P", "ranks in this dimension (by default the benchmark's rule)");
  group.with_default("--beta", request.benchmark.beta,
                     "nonsymmetry: -1 - beta below, -1 + beta above");
}

void add_run_options(CLI::App& command, HpgmxpRequest& request) {
  OptionGroup group(command, "The run");
  auto& benchmark = request.benchmark;
  group.add("--rt", request.seconds, "SECONDS",
            "seconds of the mixed phase at least; an official run has 1800");
  group.named("--run_type,--run-type", benchmark.run, "what to run");
  group.named("--validation_type,--validation-type", benchmark.validation, "ranks that validate");
  group
      .with_default("--validation-ranks", benchmark.validation_ranks,
                    "most ranks of a standard validation")
      ->check(CLI::Range(1, std::numeric_limits<int>::max()).description(""));
  group.with_default("--restart", benchmark.restart, "basis vectors of a cycle");
  group.with_default("--tolerance", benchmark.tolerance, "relative residual of the validation");
  group.flag("--free", request.free,
             "also solve without the benchmark's rules: trilinear transfers, all levels, CG");
  group.add("--json", request.json, "FILE",
            "the report, for machines; - is the standard output, without the table");
  group.add("--report", request.report, "FILE", "report with the keys of the public codes");
  group.add("--trace", request.trace, "FILE",
            "what ran when on each rank in up to four iterations of the mixed phase (or the only "
            "one), for Perfetto or chrome://tracing; they run once more after it, on a device "
            "without replay");
}

void add_solver_options(CLI::App& command, HpgmxpRequest& request) {
  OptionGroup group(command, "The solver");
  auto& matrix = request.benchmark.matrix;
  group.one_of("--ordering", request.ordering, "Gauss-Seidel in row order, or by colours",
               {"lexicographic", "coloured"});
  group.one_of("--colouring", request.colouring, "eight parities, or Jones-Plassmann-Luby",
               {"greedy", "jpl"});
  group
      .add("--colour-order", matrix.colour_order, "C,C",
           "order of sweeping (7,0,6,1,5,2,4,3 for eight colours)")
      ->delimiter(',');
  group.with_default("--seed", matrix.seed, "seed of Jones-Plassmann-Luby");
  group.one_of("--values", request.values, "storage of the matrices of the mixed solver",
               {"auto", "fp64", "fp32", "bf16", "fp16", "fp8_e4m3"});
  group.one_of("--basis", request.basis, "storage of the mixed solver's Krylov vectors",
               {"auto", "fp32", "fp16"});
  group
      .add("--free-colours", matrix.free_colours, "N",
           "how many colours may be swept while halos are under way; with 0 nothing is restricted "
           "meanwhile either [by the size]")
      ->check(CLI::NonNegativeNumber.description(""));
  group.named("--transport", matrix.transport,
              "how halos travel between devices: MPI with their memory, MPI through host memory, "
              "NCCL or RCCL");
}

// A size that stands beside the seconds, which may be any number.
std::int64_t points(double size) {
  require(std::abs(size) < 0x1p53 && size == std::trunc(size), "sizes: ", size,
          " is no number of points");
  return static_cast<std::int64_t>(size);
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
    options.nx = points(request.sizes[0]), options.ny = points(request.sizes[1]),
    options.nz = points(request.sizes[2]);
    if (request.sizes.size() > 3) options.seconds = request.sizes[3];
  }
  if (request.nx) options.nx = options.ny = options.nz = *request.nx;
  if (request.ny) options.ny = options.nz = *request.ny;
  if (request.nz) options.nz = *request.nz;
  if (request.seconds) options.seconds = *request.seconds;
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
