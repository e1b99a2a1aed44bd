// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Exit.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <apps/solve/Strata_Sparse.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace strata::apps {

namespace {

using sparse::Communicator;
using sparse::HostRows;

// Entries are read (24 bytes), sorted into rows (16), and spread over the ranks in messages (16).
// They are stored for products and for sweeps (12 and 16), and once more by the levels of multigrid
// and their set-up. A host has `share` of all but what is read from a file, which one host has
// whole.
void require_memory(SparseProblem& problem, SolveOptions const& options, double entries,
                    double listed, double share) {
  double const vectors = 8.0 * (options.sparse.solver.restart + 30);
  double const bytes =
      24 * listed + share * (120 * entries + vectors * static_cast<double>(problem.summary.n));
  require_memory(
      memory_limit(options.max_memory), bytes,
      words("a sparse system of order ", problem.summary.n, " with ", entries,
            " entries needs about"),
      share < 1 ? text(" on this host, which has %.3g %% of the rows", 100 * share) : "");
  problem.summary.bytes_needed = static_cast<std::size_t>(bytes);
}

// On rank 0.
HostRows read_file(SolveOptions const& options, Progress& progress, SparseProblem& problem) {
  std::string const& path = options.matrix;
  auto const& header = options.file.market;
  require(options.file.format == MatrixFileFormat::MatrixMarket, path,
          ": a sparse matrix is read from a Matrix Market coordinate file; leave --sparse "
          "out for a dense one");
  require(header.format == MatrixMarketFormat::Coordinate, path,
          ": an array is a dense matrix; leave --sparse out");
  require(header.rows == header.cols, path, ": the matrix is ", header.rows, " x ", header.cols,
          ", must be square");
  // A few bytes of file never cost much memory.
  require(header.rows <= (1 << 20) || header.entries >= header.rows / 2, path, ": ", header.entries,
          " entries in a matrix of order ", header.rows, ": it has empty rows and is singular");
  problem.summary.source = path;
  problem.summary.format = options.file.words;
  problem.summary.n = header.rows;
  double const listed = static_cast<double>(header.entries);
  require_memory(problem, options, header.symmetric ? 2 * listed : listed, listed, 1);
  return sparse::host_rows(
      std::get<CoordinateMatrix>(read_matrix_market(path, read_options(options, &progress))));
}

sparse::ModelSize resolved(SolveOptions const& options) {
  auto size = options.sparse.size;
  bool const graph = options.sparse.model == sparse::ModelProblem::Graph;
  if (options.n > 0) size.nx = options.n;
  if (size.ny == 0) size.ny = graph ? 1 : size.nx;
  if (size.nz == 0) size.nz = graph ? 1 : size.ny;
  return size;
}

void make_rows(SolveOptions const& options, Communicator const& comm, Progress& progress,
               SparseProblem& problem) {
  auto const model = *options.sparse.model;
  auto const size = resolved(options);
  auto const hosts = comm.hosts();
  auto const on_this_host =
      std::count(hosts.begin(), hosts.end(), hosts[static_cast<std::size_t>(comm.rank())]);
  comm.agree([&] {
    problem.summary.n = sparse::model_rows(model, size);
    double const width = model == sparse::ModelProblem::Elasticity  ? 81
                         : model == sparse::ModelProblem::Poisson27 ? 27
                                                                    : 7;
    require_memory(problem, options, width * static_cast<double>(problem.summary.n), 0,
                   static_cast<double>(on_this_host) / comm.size());
    problem.summary.source =
        model == sparse::ModelProblem::Graph
            ? words("graph, ", size.nx, " vertices, seed ", options.generator.seed)
            : words(name_of(model), ", ", size.nx, " x ", size.ny, " x ", size.nz, " points");
    problem.summary.format = "generated";
    problem.first_row = sparse::even_partition(problem.summary.n, comm.size());
    auto const rank = static_cast<std::size_t>(comm.rank());
    problem.rows =
        sparse::make_model(model, size, problem.first_row[rank], problem.first_row[rank + 1],
                           options.generator.seed, progress.listener());
  });
}

// Each rank's part of a vector that rank 0 has.
std::vector<double> scattered(Communicator const& comm, std::vector<std::int64_t> const& first,
                              std::vector<double> const& whole) {
  std::vector<std::vector<double>> to(static_cast<std::size_t>(comm.size()));
  if (comm.rank() == 0)
    for (std::size_t rank = 0; rank < to.size(); ++rank)
      to[rank].assign(whole.begin() + first[rank], whole.begin() + first[rank + 1]);
  return comm.exchange(std::move(to)).front();
}

void read_rhs(SolveOptions const& options, Communicator const& comm, Progress& progress,
              SparseProblem& problem) {
  auto const whole = comm.agree([&] {
    std::vector<double> b;
    if (comm.rank() != 0) return b;
    progress.phase("reading " + options.rhs);
    auto const B = read_matrix(options.rhs, read_options(options, &progress));
    require(static_cast<std::int64_t>(B.extent(0)) == problem.summary.n && B.extent(1) == 1,
            misfit(options.rhs, B.extent(0), B.extent(1), problem.summary.n));
    b.assign(B.data(), B.data() + B.extent(0));
    return b;
  });
  problem.b = scattered(comm, problem.first_row, whole);
  problem.summary.rhs = options.rhs;
}

}  // namespace

SparseProblem set_up_sparse(SolveOptions const& options, Communicator const& comm,
                            Progress& progress) {
  SparseProblem problem;
  progress.phase(options.sparse.model ? "generating the matrix" : "reading " + options.matrix);
  if (options.sparse.model) {
    make_rows(options, comm, progress, problem);
  } else {
    auto const whole = comm.agree(
        [&] { return comm.rank() == 0 ? read_file(options, progress, problem) : HostRows(); });
    problem.summary.n = comm.gather(problem.summary.n).front();
    problem.first_row = sparse::even_partition(problem.summary.n, comm.size());
    problem.rows = sparse::scattered(comm, problem.first_row, whole);
  }
  if (!options.rhs.empty()) {
    read_rhs(options, comm, progress, problem);
  } else {
    auto const rank = static_cast<std::size_t>(comm.rank());
    problem.knows_solution = true;
    problem.summary.rhs = "A times a known vector";
    problem.x = comm.agree([&] {
      auto const X = known_solution(problem.summary.n, 1, options.generator.seed);
      return std::vector<double>(X.data() + problem.first_row[rank],
                                 X.data() + problem.first_row[rank + 1]);
    });
  }
  return problem;
}

}  // namespace strata::apps
