// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Ending.hpp>
#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Ranks.hpp>
#include <apps/shared/Strata_Report.hpp>
#include <apps/shared/Strata_RunFacts.hpp>
#include <apps/solve/Strata_Answer.hpp>
#include <apps/solve/Strata_Sparse.hpp>
#include <apps/solve/Strata_Vtk.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/io/Strata_MatrixFile.hpp>
#include <sparse/coarsening/Strata_NearNullSpace.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <utility>
#include <vector>

namespace strata::apps {

namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using sparse::Communicator;
using Matrix = sparse::DistributedMatrix<Exec>;
using Vec = sparse::Vector<double, Exec::memory_space>;

// In the caller's order.
Vec natural(Exec const& exec, Communicator const& comm, std::vector<double> const& numbers) {
  auto const device = comm.agree([&] {
    return Vec(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "strata::solve::vector"),
               numbers.size());
  });
  using Host = Kokkos::View<double const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
  Kokkos::deep_copy(exec, device, Host(numbers.data(), numbers.size()));
  exec.fence("strata::solve::copied_to_device");
  return device;
}

std::vector<double> on_host(Exec const& exec, Vec const& x) {
  std::vector<double> numbers(x.extent(0));
  using Host = Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
  Kokkos::deep_copy(exec, Host(numbers.data(), numbers.size()), x);
  exec.fence("strata::solve::copied_to_host");
  return numbers;
}

Vec right_hand_side(Exec const& exec, Matrix const& A, SparseProblem const& problem) {
  if (!problem.knows_solution) return natural(exec, A.comm(), problem.b);
  auto const vector = [&] { return A.allocate<double>(exec, "strata::solve::product"); };
  auto const x = A.comm().agree(vector), Ax = A.comm().agree(vector);
  auto const b = natural(exec, A.comm(), problem.x);
  A.gather(exec, b, x);
  A.multiply(exec, x, Ax);
  A.scatter(exec, Ax, b);
  return b;
}

// NaN if a number of x is; on a rank without rows 0.
double forward_error(Communicator const& comm, std::vector<double> const& x,
                     std::vector<double> const& known) {
  double difference = 0, size = 0;
  bool finite = true;
  for (std::size_t i = 0; i < x.size(); ++i) {
    difference = std::max(difference, std::abs(x[i] - known[i]));
    size = std::max(size, std::abs(known[i]));
    finite = finite && std::isfinite(x[i]);
  }
  difference = comm.max(difference), size = comm.max(size);
  if (comm.max(finite ? 0 : 1) > 0) return std::nan("");
  return size > 0 ? difference / size : difference;
}

// The whole solution on rank 0, nothing elsewhere.
std::vector<double> gathered(Communicator const& comm, std::vector<double> mine) {
  std::vector<std::vector<double>> to(static_cast<std::size_t>(comm.size()));
  to.front() = std::move(mine);
  std::vector<double> whole;
  for (auto const& part : comm.exchange(std::move(to)))
    whole.insert(whole.end(), part.begin(), part.end());
  return whole;
}

// Of a file's matrix each row after the other.
std::vector<double> by_rows(HostMatrix const& A) {
  std::vector<double> numbers;
  numbers.reserve(A.size());
  for (std::size_t i = 0; i < A.extent(0); ++i)
    for (std::size_t j = 0; j < A.extent(1); ++j) numbers.push_back(A(i, j));
  return numbers;
}

// What multigrid is told of the unknowns, from files.
void read_modes(SolveOptions const& options, Communicator const& comm, std::int64_t n,
                sparse::AmgOptions& amg) {
  bool const is_places = !options.sparse.coordinates.empty(),
             is_for_picture = !options.sparse.vtk.empty();
  auto const& path = is_places ? options.sparse.coordinates : options.sparse.near_null_space;
  if (path.empty()) return;
  if (is_for_picture && is_places && comm.size() > 1) return;
  comm.agree([&] {
    require(comm.size() == 1, is_places ? "--coordinates" : "--near-null-space",
            " is taken on one rank, not on ", comm.size());
    auto const file = read_matrix(path, read_options(options, nullptr));
    auto const columns = static_cast<int>(file.extent(1));
    auto const rows = static_cast<std::int64_t>(file.extent(0));
    std::int64_t const unknowns = is_places ? rows * columns : rows;
    if (is_for_picture && is_places && unknowns != n) return;  // of scalars, or of shells
    require(unknowns == n, path, ": ", rows, " x ", columns, " numbers are of ", unknowns,
            " unknowns, the matrix is of order ", n);
    if (!is_places) {
      amg.near_null_space = sparse::near_null_space(by_rows(file), columns);
      return;
    }
    require(amg.block_size <= 1 || amg.block_size == columns, path, ": places of ", columns,
            " coordinates, --block-size is ", amg.block_size);
    amg.near_null_space = sparse::rigid_body_modes(by_rows(file), columns);
    amg.block_size = columns;
  });
}

sparse::SparseOptions asked(SolveOptions const& options) {
  auto solver = options.sparse.solver;
  if (options.refinement.tolerance > 0) solver.tolerance = options.refinement.tolerance;
  if (options.refinement.max_iterations > 0)
    solver.max_iterations = options.refinement.max_iterations;
  return solver;
}

bool is_triangular(Communicator const& comm, SparseProblem const& problem) {
  auto const first = problem.first_row[static_cast<std::size_t>(comm.rank())];
  auto const& rows = problem.rows;
  bool below = false, above = false;
  for (std::int64_t i = 0; i < rows.rows(); ++i)
    for (auto k = rows.begin[static_cast<std::size_t>(i)];
         k < rows.begin[static_cast<std::size_t>(i) + 1]; ++k) {
      auto const column = rows.column[static_cast<std::size_t>(k)];
      below = below || column < first + i;
      above = above || column > first + i;
    }
  bool const has_below = comm.max(below ? 1 : 0) > 0, has_above = comm.max(above ? 1 : 0) > 0;
  return has_below != has_above;
}

// All that ranks do together; x is the whole solution on rank 0.
SparseOutcome run(SolveOptions const& options, Communicator const& comm, SparseProblem problem,
                  Progress& progress, std::vector<double>& x, Answer& found) {
  Exec const exec;
  bool const reports = comm.rank() == 0;
  SparseOutcome outcome;
  outcome.problem = problem.summary;
  outcome.ranks = comm.size();
  outcome.asked = asked(options);
  outcome.has_tolerance = options.refinement.tolerance > 0;
  Stopwatch watch;
  progress.phase("assembling the matrix");
  read_modes(options, comm, comm.gather(problem.summary.n).front(), outcome.asked.amg);
  outcome.triangular = is_triangular(comm, problem);
  sparse::MatrixOptions how;
  how.on_progress = progress.listener();
  Matrix const A = sparse::make_matrix(exec, comm, std::exchange(problem.rows, {}), how);
  auto const b = right_hand_side(exec, A, problem);
  auto const solution =
      natural(exec, comm, std::vector<double>(static_cast<std::size_t>(A.rows()), 0.0));
  exec.fence("strata::solve::assembled");
  outcome.entries = A.global_entries();
  outcome.colours = A.order().colours;
  outcome.assemble_seconds = watch.lap();
  progress.phase("setting up the preconditioner");
  auto choices = outcome.asked;
  auto const tell = falls_to(choices.tolerance, progress);
  choices.amg.on_progress = progress.listener();
  choices.amg.keeps_patterns = false;
  choices.monitor = [&](std::int64_t iteration, double residual) {
    outcome.history.emplace_back(iteration, residual);
    tell(residual);
    constexpr std::int64_t iterations = 32;  // between questions, each a sum over the ranks
    if (iteration % iterations == 0)
      comm.agree([&] {
        end_if_asked(words(" after ", iteration, " iterations, at a relative residual of ",
                           text("%.3g", residual), "; nothing is kept"));
      });
    if (reports && iteration == many_iterations)
      progress.aside([&] { suggest_modes(std::cerr, outcome); });
  };
  sparse::SparseSolver<Exec> solver(exec, A, choices);
  progress.clear();
  outcome.report = solver.set_up_report();
  if (reports) warn(std::cerr, outcome);
  progress.phase("solving");
  outcome.report = solver.solve(exec, b, solution);
  auto mine = on_host(exec, solution);
  auto const& rows = outcome.report.rows;
  bool const is_the_only_one = rows.empty == 0 && rows.floating_parts == 0 &&
                               rows.null_vectors == 0 && !rows.maps_constants_to_zero;
  if (problem.knows_solution && is_the_only_one)
    outcome.forward_error = forward_error(comm, mine, problem.x);
  found = answer(comm, mine, problem.first_row[static_cast<std::size_t>(comm.rank())]);
  found.block_size = outcome.report.block_size;
  if (!options.output.empty() || !options.sparse.vtk.empty()) x = gathered(comm, std::move(mine));
  return outcome;
}

}  // namespace

Exit solve_sparse(SolveOptions const& options) {
  Communicator const comm = all_ranks();
  bool const reports = comm.rank() == 0;
  return on_ranks(comm, [&] {
    Progress progress(reports);
    Stopwatch total, watch;
    SparseProblem problem = as_usage_of_ranks([&] {
      comm.agree([&] { check(options); });
      return set_up_sparse(options, comm, progress);
    });
    HostMatrix const places = as_usage_of_ranks([&] {
      return comm.agree([&] {
        bool const is_asked = reports && !options.sparse.vtk.empty();
        return is_asked ? read_places(options.sparse.coordinates, problem.summary.n,
                                      read_options(options, &progress))
                        : HostMatrix();
      });
    });
    double const read_seconds = watch.lap();
    std::vector<double> x;
    Answer found;
    auto outcome = as_usage_of_ranks(
        [&] { return run(options, comm, std::move(problem), progress, x, found); });
    outcome.read_seconds = read_seconds;
    outcome.total_seconds = total.lap();
    publish(comm, progress, options.json, [&] {
      if (!options.output.empty())
        write_matrix(options.output, ConstHostMatrix(x.data(), x.size(), 1), progress.listener());
      if (!options.sparse.vtk.empty()) write_vtk(options.sparse.vtk, places, x);
      auto told = report(outcome);
      if (options.brief) told.hide_table();
      return told;
    });
    if (reports && options.json != "-") {
      if (!options.brief) std::cout << '\n';
      print(std::cout, found, place_of_solution(options, !options.output.empty()),
            verdict(outcome));
    }
    if (reports) explain(std::cerr, options, outcome);
    return outcome.exit();
  });
}

}  // namespace strata::apps
