// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Exit.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <apps/solve/Strata_Sparse.hpp>
#include <core/io/Strata_Npz.hpp>
#include <core/io/Strata_PetscMatrix.hpp>

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
// and their set-up. A host has `share` of that, and of a file that one rank reads all.
void require_memory(SparseProblem& problem, SolveOptions const& options, double entries,
                    double listed, double share) {
  constexpr double abreast = 8 * 40;  // vectors of columns that go abreast
  double const columns = static_cast<double>(problem.summary.nrhs),
               vectors = 8.0 * (options.sparse.solver.restart + 30 + 4 * columns +
                                (columns > 1 ? abreast : 0));
  double const read =
      24 * listed * (options.file.format == MatrixFileFormat::MatrixMarket ? share : 1);
  double const bytes =
      read + share * (120 * entries + vectors * static_cast<double>(problem.summary.n));
  require_memory(
      memory_limit(options.max_memory), bytes,
      words("a sparse system of order ", problem.summary.n, " with ", entries,
            " entries needs about"),
      share < 1 ? text(" on this host, which has %.3g %% of the rows", 100 * share) : "");
  problem.summary.bytes_needed = static_cast<std::size_t>(bytes);
}

// The part of the ranks that work on this host.
double share_of_host(Communicator const& comm) {
  auto const hosts = comm.hosts();
  auto const here =
      std::count(hosts.begin(), hosts.end(), hosts[static_cast<std::size_t>(comm.rank())]);
  return static_cast<double>(here) / comm.size();
}

// What is known of the file before its entries are read; `share` of them on this host.
void look_at_file(SolveOptions const& options, double share, SparseProblem& problem) {
  std::string const& path = options.matrix;
  auto const& header = options.file;
  require(header.is_sparse, path,
          ": a sparse matrix is read from a Matrix Market coordinate file, SciPy's .npz or PETSc's "
          "binary file; leave --sparse out for a dense one");
  require(header.rows == header.cols, path, ": the matrix is ", header.rows, " x ", header.cols,
          ", must be square");
  // A few bytes of file never cost much memory.
  require(header.rows <= (1 << 20) || header.entries >= header.rows / 2, path, ": ", header.entries,
          " entries in a matrix of order ", header.rows, ": it has empty rows and is singular");
  problem.summary.source = path;
  problem.summary.format = header.words;
  problem.summary.n = header.rows;
  double const listed = static_cast<double>(header.entries);
  require_memory(problem, options, header.market.symmetric ? 2 * listed : listed, listed, share);
}

// Evenly, but nodes whose motions are given stay whole: of 1, 2, 3 or 6 unknowns.
std::vector<std::int64_t> partition(SolveOptions const& options, std::int64_t n,
                                    Communicator const& comm) {
  auto first_row = sparse::even_partition(n, comm.size());
  constexpr std::int64_t multiple = 6;
  if (options.sparse.coordinates.empty() && options.sparse.near_null_space.empty())
    return first_row;
  for (std::size_t rank = 1; rank + 1 < first_row.size(); ++rank)
    first_row[rank] -= first_row[rank] % multiple;
  return first_row;
}

// Ranks read a Matrix Market file together, and rank 0 any other.
void read_rows(SolveOptions const& options, Communicator const& comm, Progress& progress,
               SparseProblem& problem) {
  std::string const& path = options.matrix;
  auto const reading = read_options(options, &progress);
  double const share = share_of_host(comm);
  comm.agree([&] { look_at_file(options, share, problem); });
  problem.first_row = partition(options, problem.summary.n, comm);
  if (options.file.format == MatrixFileFormat::MatrixMarket) {
    problem.rows = sparse::read_rows(comm, path, problem.first_row, reading);
    return;
  }
  auto const whole = comm.agree([&] {
    if (comm.rank() != 0) return HostRows();
    bool const is_archive = options.file.format == MatrixFileFormat::Npz;
    return sparse::host_rows(is_archive ? read_sparse_npz(path, reading)
                                        : read_petsc_matrix(path, reading));
  });
  problem.rows = sparse::scattered(comm, problem.first_row, whole);
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
  double const share = share_of_host(comm);
  comm.agree([&] {
    problem.summary.n = sparse::model_rows(model, size);
    double const width = model == sparse::ModelProblem::Elasticity  ? 81
                         : model == sparse::ModelProblem::Poisson27 ? 27
                                                                    : 7;
    require_memory(problem, options, width * static_cast<double>(problem.summary.n), 0, share);
    problem.summary.source =
        model == sparse::ModelProblem::Graph
            ? words("graph, ", size.nx, " vertices, seed ", options.generator.seed)
            : words(name_of(model), ", ", size.nx, " x ", size.ny, " x ", size.nz, " points");
    problem.summary.format = "generated";
    problem.first_row = partition(options, problem.summary.n, comm);
    auto const rank = static_cast<std::size_t>(comm.rank());
    problem.rows =
        sparse::make_model(model, size, problem.first_row[rank], problem.first_row[rank + 1],
                           options.generator.seed, progress.listener());
  });
}

// Each rank's part of a vector that rank 0 has, behind `mine`.
void scatter(Communicator const& comm, std::vector<std::int64_t> const& first, double const* whole,
             std::vector<double>& mine) {
  std::vector<std::vector<double>> to(static_cast<std::size_t>(comm.size()));
  if (comm.rank() == 0)
    for (std::size_t rank = 0; rank < to.size(); ++rank)
      to[rank].assign(whole + first[rank], whole + first[rank + 1]);
  auto const part = comm.exchange(std::move(to)).front();
  mine.insert(mine.end(), part.begin(), part.end());
}

// Columns of --rhs, or of known vectors; the same on all ranks.
std::int64_t columns_of(SolveOptions const& options, Communicator const& comm) {
  auto const known =
      comm.agree([&] { return comm.rank() == 0 ? right_hand_sides(options) : std::int64_t{0}; });
  return comm.gather(known).front();
}

// This rank's part of a file's columns, of which there must be as many as right-hand sides.
std::vector<double> read_columns(std::string const& path, SolveOptions const& options,
                                 Communicator const& comm, Progress& progress,
                                 ProblemSummary const& summary,
                                 std::vector<std::int64_t> const& first_row) {
  auto const whole = comm.agree([&] {
    if (comm.rank() != 0) return HostMatrix();
    progress.phase("reading " + path);
    auto const B = read_matrix(path, read_options(options, &progress));
    auto const rows = static_cast<std::int64_t>(B.extent(0)),
               cols = static_cast<std::int64_t>(B.extent(1));
    require(rows == summary.n && cols > 0, misfit(path, B.extent(0), B.extent(1), summary.n));
    require(cols == summary.nrhs, path, ": ", cols, " columns, there are ", summary.nrhs,
            " right-hand sides");
    return B;
  });
  std::vector<double> mine;
  for (std::int64_t j = 0; j < summary.nrhs; ++j)
    scatter(comm, first_row, comm.rank() == 0 ? whole.data() + j * summary.n : nullptr, mine);
  return mine;
}

}  // namespace

SparseProblem set_up_sparse(SolveOptions const& options, Communicator const& comm,
                            Progress& progress) {
  SparseProblem problem;
  problem.summary.nrhs = columns_of(options, comm);
  require(problem.summary.nrhs == 1 || options.sparse.vtk.empty(),
          "--vtk has one column; the right-hand sides are ", problem.summary.nrhs);
  progress.phase(options.sparse.model ? "generating the matrix" : "reading " + options.matrix);
  if (options.sparse.model) {
    make_rows(options, comm, progress, problem);
  } else {
    read_rows(options, comm, progress, problem);
  }
  if (!options.rhs.empty()) {
    problem.b =
        read_columns(options.rhs, options, comm, progress, problem.summary, problem.first_row);
    problem.summary.rhs = options.rhs;
  } else {
    auto const rank = static_cast<std::size_t>(comm.rank());
    problem.knows_solution = true;
    problem.summary.rhs = "A times a known vector";
    problem.x = comm.agree([&] {
      auto const X =
          known_solution(problem.summary.n, problem.summary.nrhs, options.generator.seed);
      std::vector<double> mine;
      for (std::int64_t j = 0; j < problem.summary.nrhs; ++j) {
        auto const* const column = X.data() + j * problem.summary.n;
        mine.insert(mine.end(), column + problem.first_row[rank],
                    column + problem.first_row[rank + 1]);
      }
      return mine;
    });
  }
  if (!options.sparse.guess.empty())
    problem.guess = read_columns(options.sparse.guess, options, comm, progress, problem.summary,
                                 problem.first_row);
  return problem;
}

}  // namespace strata::apps
