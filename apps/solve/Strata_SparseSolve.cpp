// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Ending.hpp>
#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Ranks.hpp>
#include <apps/shared/Strata_Report.hpp>
#include <apps/shared/Strata_RunFacts.hpp>
#include <apps/solve/Strata_Sparse.hpp>
#include <apps/solve/Strata_Vtk.hpp>
#include <apps/system/Strata_Answer.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/io/matrix_file/Strata_MatrixFile.hpp>
#include <sparse/coarsening/Strata_NearNullSpace.hpp>

#include <Kokkos_Core.hpp>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace strata::apps {

namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using sparse::Communicator;
using Matrix = sparse::DistributedMatrix<Exec>;
using Vec = sparse::Vector<double, Exec::memory_space>;
using Block = sparse::VectorBlock<Exec::memory_space>;

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

// Columns of this rank, one after the other.
Block columns(Vec const& numbers, std::int64_t rows, std::int64_t count) {
  return Block(numbers.data(), static_cast<std::size_t>(rows), static_cast<std::size_t>(count));
}

Vec right_hand_sides(Exec const& exec, Matrix const& A, SparseProblem const& problem,
                     std::int64_t count) {
  if (!problem.knows_solution) return natural(exec, A.comm(), problem.b);
  auto const vector = [&] { return A.allocate<double>(exec, "strata::solve::product"); };
  auto const x = A.comm().agree(vector), Ax = A.comm().agree(vector);
  auto const all = natural(exec, A.comm(), problem.x);
  auto const B = columns(all, A.rows(), count);
  for (std::int64_t j = 0; j < count; ++j) {
    Vec const b(Kokkos::subview(B, Kokkos::ALL, j));
    A.gather(exec, b, x);
    A.multiply(exec, x, Ax);
    A.scatter(exec, Ax, b);
  }
  return all;
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

// The largest of the columns' errors.
double forward_error(Communicator const& comm, std::vector<double> const& x,
                     std::vector<double> const& known, std::int64_t rows, std::int64_t count) {
  double most = 0;
  for (std::int64_t j = 0; j < count; ++j) {
    auto const of_column = [&](std::vector<double> const& all) {
      return std::vector<double>(all.begin() + j * rows, all.begin() + (j + 1) * rows);
    };
    double const error = forward_error(comm, of_column(x), of_column(known));
    most = error <= most ? most : error;
  }
  return most;
}

// The whole solution on rank 0, nothing elsewhere.
HostMatrix gathered(Communicator const& comm, std::vector<double> mine,
                    std::vector<std::int64_t> const& first_row, std::int64_t count) {
  std::vector<std::vector<double>> to(static_cast<std::size_t>(comm.size()));
  to.front() = std::move(mine);
  auto const parts = comm.exchange(std::move(to));
  if (comm.rank() != 0) return {};
  HostMatrix const X("strata::solve::X", static_cast<std::size_t>(first_row.back()),
                     static_cast<std::size_t>(count));
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    std::int64_t const rows = first_row[rank + 1] - first_row[rank];
    for (std::int64_t j = 0; j < count; ++j)
      std::copy_n(parts[rank].begin() + j * rows, rows,
                  X.data() + j * first_row.back() + first_row[rank]);
  }
  return X;
}

// Of a file's matrix each row after the other.
std::vector<double> by_rows(HostMatrix const& A) {
  std::vector<double> numbers;
  numbers.reserve(A.size());
  for (std::size_t i = 0; i < A.extent(0); ++i)
    for (std::size_t j = 0; j < A.extent(1); ++j) numbers.push_back(A(i, j));
  return numbers;
}

// Of all rows' vectors this rank's.
std::shared_ptr<sparse::NearNullSpace const> own_rows(Communicator const& comm,
                                                      std::vector<std::int64_t> const& first_row,
                                                      sparse::NearNullSpace const& all) {
  auto const rank = static_cast<std::size_t>(comm.rank());
  auto const begin = all.values.begin();
  return std::make_shared<sparse::NearNullSpace const>(sparse::NearNullSpace{
      all.width, {begin + first_row[rank] * all.width, begin + first_row[rank + 1] * all.width}});
}

// What multigrid is told of the unknowns, from files.
void read_modes(SolveOptions const& options, Communicator const& comm,
                std::vector<std::int64_t> const& first_row, sparse::AmgOptions& amg) {
  bool const is_places = !options.sparse.coordinates.empty(),
             is_for_picture = !options.sparse.vtk.empty();
  auto const& path = is_places ? options.sparse.coordinates : options.sparse.near_null_space;
  if (path.empty()) return;
  if (is_for_picture && is_places && comm.size() > 1) return;
  comm.agree([&] {
    auto const file = read_matrix(path, read_options(options, nullptr));
    auto const columns = static_cast<int>(file.extent(1));
    auto const rows = static_cast<std::int64_t>(file.extent(0));
    std::int64_t const n = first_row.back(), unknowns = is_places ? rows * columns : rows;
    if (is_for_picture && is_places && unknowns != n) return;  // of scalars, or of shells
    require(unknowns == n, path, ": ", rows, " x ", columns, " numbers are of ", unknowns,
            " unknowns, the matrix is of order ", n);
    if (!is_places) {
      amg.near_null_space =
          own_rows(comm, first_row, *sparse::near_null_space(by_rows(file), columns));
      return;
    }
    require(amg.block_size <= 1 || amg.block_size == columns, path, ": places of ", columns,
            " coordinates, --block-size is ", amg.block_size);
    amg.near_null_space =
        own_rows(comm, first_row, *sparse::rigid_body_modes(by_rows(file), columns));
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

// Of one that is not solved, or has the largest residual; with the time of all.
sparse::SparseReport worst(std::vector<sparse::SparseReport> const& columns) {
  auto report = *std::ranges::max_element(columns, {}, [](auto const& column) {
    return std::pair(!column.solved(), column.relative_residual);
  });
  report.solve_seconds = 0;
  for (auto const& column : columns) report.solve_seconds += column.solve_seconds;
  return report;
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

// Nothing is known that A maps to 0.
bool has_one_solution(sparse::RowKind const& rows) {
  return rows.empty == 0 && rows.floating_parts == 0 && rows.null_vectors == 0 &&
         !rows.maps_constants_to_zero;
}

// All that ranks do together; X is the whole solution on rank 0.
SparseOutcome run(SolveOptions const& options, Communicator const& comm, SparseProblem problem,
                  Progress& progress, HostMatrix& X, Answer& found) {
  Exec const exec;
  bool const reports = comm.rank() == 0;
  SparseOutcome outcome;
  outcome.problem = problem.summary;
  outcome.ranks = comm.size();
  outcome.asked = asked(options);
  outcome.has_tolerance = options.refinement.tolerance > 0;
  Stopwatch watch;
  progress.phase("assembling the matrix");
  read_modes(options, comm, problem.first_row, outcome.asked.amg);
  outcome.triangular = is_triangular(comm, problem);
  sparse::MatrixOptions how;
  how.on_progress = progress.listener();
  Matrix const A = sparse::make_matrix(exec, comm, std::exchange(problem.rows, {}), how);
  std::int64_t const count = outcome.problem.nrhs;
  auto const b = right_hand_sides(exec, A, problem, count);
  problem.guess.resize(static_cast<std::size_t>(A.rows() * count), 0.0);
  auto const solution = natural(exec, comm, problem.guess);
  exec.fence("strata::solve::assembled");
  outcome.entries = A.global_entries();
  outcome.colours = A.order().colours;
  outcome.assemble_seconds = watch.lap();
  progress.phase("setting up the preconditioner");
  auto choices = outcome.asked;
  auto const tell = falls_to(choices.tolerance, progress);
  choices.amg.on_progress = progress.listener();
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
  outcome.columns =
      solver.solve(exec, columns(b, A.rows(), count), columns(solution, A.rows(), count));
  outcome.report = worst(outcome.columns);
  auto mine = on_host(exec, solution);
  if (problem.knows_solution && has_one_solution(outcome.report.rows))
    outcome.forward_error = forward_error(comm, mine, problem.x, A.rows(), count);
  if (count == 1)
    found = answer(comm, mine, problem.first_row[static_cast<std::size_t>(comm.rank())]);
  if (count > 1 || !options.output.empty() || !options.sparse.vtk.empty())
    X = gathered(comm, std::move(mine), problem.first_row, count);
  if (count > 1 && reports) found = answer(X);
  found.block_size = outcome.report.block_size;
  return outcome;
}

// What one step frees serves the next. Pages that go back to the system come again cleared: a fifth
// of the time of a set-up on a host.
void keep_freed_memory() {
#ifdef __GLIBC__
  if (Kokkos::DefaultHostExecutionSpace().concurrency() > 1)
    return;  // pages belong where threads touch them first
  (void)mallopt(M_MMAP_MAX, 0);
  (void)mallopt(M_TRIM_THRESHOLD, -1);
#endif
}

}  // namespace

Exit solve_sparse(SolveOptions const& options) {
  keep_freed_memory();
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
    HostMatrix X;
    Answer found;
    auto outcome = as_usage_of_ranks(
        [&] { return run(options, comm, std::move(problem), progress, X, found); });
    outcome.read_seconds = read_seconds;
    outcome.total_seconds = total.lap();
    publish(comm, progress, options.json, [&] {
      if (!options.output.empty()) write_matrix(options.output, X, progress.listener());
      if (!options.sparse.vtk.empty())
        write_vtk(options.sparse.vtk, places,
                  std::vector<double>(X.data(), X.data() + X.extent(0)));
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
