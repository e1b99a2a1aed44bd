// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Sparse systems: a matrix in compressed rows, the solver that chooses, its preconditioner by
// itself.
#include <c/detail/Strata_Call.hpp>
#include <c/detail/Strata_Options.hpp>
#include <c/runtime/Strata_CallersCsr.hpp>
#include <c/runtime/Strata_Held.hpp>
#include <c/runtime/Strata_SparseSystem.hpp>
#include <c/strata.h>
#include <comm/Strata_Communicator.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace strata::c;
using namespace strata::c::detail;
using strata::Communicator;
using strata::sparse::SparseOptions;
using strata::sparse::SparseReport;

namespace {

using Matrix = strata::sparse::DistributedMatrix<Exec>;
using Reals = strata::sparse::Vector<double, Memory>;
using Solver = strata::sparse::SparseSolver<Exec>;

/// A caller's choices, in the library's terms.
struct Chosen {
  SparseOptions options;
  bool preconditioner_only = false;
  Communicator comm;
};

template <class Kind>
void take_name(Kind& kind, char const* name) {
  if (name != nullptr) kind = strata::from_name<Kind>(name);
}

std::int64_t within(std::int64_t value, std::int64_t fallback, std::int64_t most,
                    char const* name) {
  STRATA_REQUIRE(ValueError, value >= 0 && value <= most, "options: ", name, " is ", value,
                 ", must be in [0, ", most, "]");
  return value == 0 ? fallback : value;
}

Communicator communicator(void const* mpi_comm) {
  if (mpi_comm == nullptr) return {};
#ifdef STRATA_ENABLE_MPI
  return Communicator(*static_cast<MPI_Comm const*>(mpi_comm));
#else
  throw strata::ValueError("options: mpi_comm is given to a build without MPI");
#endif
}

Chosen chosen(strata_sparse_options const* given) {
  Chosen result;
  if (given == nullptr) return result;
  strata_sparse_options o{};
  std::size_t const size = given->struct_size;
  STRATA_REQUIRE(ValueError, size >= sizeof(std::size_t) && size <= sizeof o,
                 "options: struct_size is ", size,
                 ", must be set to sizeof(strata_sparse_options), ", sizeof o);
  std::memcpy(&o, given, size);
  constexpr std::int64_t most_int = std::numeric_limits<int>::max();
  auto& options = result.options;
  take_name(options.solver, o.solver);
  take_name(options.preconditioner, o.preconditioner);
  take_name(options.precision, o.precision);
  STRATA_REQUIRE(ValueError, o.tolerance >= 0 && std::isfinite(o.tolerance),
                 "options: tolerance is ", o.tolerance, ", must be finite and >= 0");
  if (o.tolerance > 0) options.tolerance = o.tolerance;
  options.absolute_tolerance = o.absolute_tolerance;
  take_name(options.stop, o.stop);
  options.max_iterations = within(o.max_iterations, options.max_iterations,
                                  std::numeric_limits<std::int64_t>::max(), "max_iterations");
  options.restart = static_cast<int>(within(o.restart, options.restart, most_int, "restart"));
  options.amg.block_size =
      static_cast<int>(within(o.block_size, options.amg.block_size, most_int, "block_size"));
  result.preconditioner_only = o.preconditioner_only != 0;
  result.comm = communicator(o.mpi_comm);
  return result;
}

/// A matrix, its pattern, and what works with it.
struct System {
  using Patterns = std::variant<std::shared_ptr<CsrPattern<std::int32_t>>,
                                std::shared_ptr<CsrPattern<std::int64_t>>>;

  template <class Index>
  System(std::int64_t n, Index const* begin, Index const* column, double const* value,
         Chosen const& with)
      : given(with),
        pattern(std::make_shared<CsrPattern<Index>>(exec, n, begin, column, true)),
        rows(n) {
    set_up(value);
  }

  std::int64_t entries() const {
    return std::visit([](auto const& kept) { return kept->entries; }, pattern);
  }
  // Throws: the system is as before.
  void set_up(double const* value) {
    Matrix const* const old = solver || preconditioner ? &matrix : nullptr;
    auto A = std::visit(
        [&](auto const& kept) { return matrix_of(exec, given.comm, *kept, value, old); }, pattern);
    std::optional<Solver> made;
    std::optional<SparsePreconditioner> M;
    if (given.preconditioner_only)
      M.emplace(exec, A, given.options, true, preconditioner ? preconditioner->kept : nullptr);
    else if (solver)
      made.emplace(solver->updated(exec, A));
    else
      made.emplace(exec, A, given.options);
    exec.fence("strata::c::sparse_set_up");
    matrix = std::move(A);
    solver = std::move(made);
    preconditioner = std::move(M);
  }
  SparsePreconditioner const& only() {
    if (!preconditioner) {
      SparseOptions options = given.options;
      options.preconditioner = solver->set_up_report().preconditioner;
      preconditioner.emplace(exec, matrix, options);
    }
    return *preconditioner;
  }

  Chosen given;
  Instance instance = new_instance();  // before what works on it
  Exec exec = *instance;
  Patterns pattern;
  std::int64_t rows;
  Matrix matrix;
  std::optional<Solver> solver;
  std::optional<SparsePreconditioner> preconditioner;
};

template <std::size_t N>
void write_name(char (&to)[N], std::string_view name) {
  name.copy(to, N - 1);
}

strata_sparse_report filled(SparseReport const& from) {
  strata_sparse_report to{};
  to.solved = from.solved();
  to.iterations = from.iterations;
  to.attempts = static_cast<std::int64_t>(from.attempts.size());
  to.levels = static_cast<std::int64_t>(from.levels.size());
  to.relative_residual = from.relative_residual;
  to.backward_error = from.backward_error;
  to.condition_at_least = from.condition_at_least;
  to.forward_error = from.forward_error;
  to.digits = from.digits();
  to.incompatible = from.incompatible;
  to.operator_complexity = from.operator_complexity;
  to.preconditioner_bytes = from.preconditioner_bytes;
  to.set_up_seconds = from.set_up_seconds;
  to.solve_seconds = from.solve_seconds;
  to.columns_abreast = from.columns_abreast;
  to.has_old_pattern = from.has_old_pattern;
  write_name(to.status, strata::name_of(from.status));
  write_name(to.solver, strata::name_of(from.solver));
  write_name(to.preconditioner, strata::name_of(from.preconditioner));
  write_name(to.precision, strata::traits(from.precision).name);
  return to;
}

// All that a user should know, in sentences.
std::string remarks(SparseReport const& report) {
  std::string text;
  for (auto const& list : {report.remarks_on_matrix(), report.remarks_on_solution()})
    for (auto const& remark : list) text += (text.empty() ? "" : " ") + remark;
  return text;
}

Outcome outcome_of(SparseReport const& report, std::int64_t column, std::int64_t columns) {
  if (report.solved()) return {STRATA_SUCCESS, remarks(report)};
  std::string text = strata::detail::message(
      columns > 1 ? strata::detail::message("column ", column, " ") : std::string(),
      "did not converge in ", report.iterations, " iterations (", strata::name_of(report.status),
      "); the relative residual is ", report.relative_residual);
  if (auto const advice = report.advice(); !advice.empty()) text += "; " + advice;
  if (auto const more = remarks(report); !more.empty()) text += ". " + more;
  return {STRATA_NOT_CONVERGED, text};
}

Reals view_of(Operand<double> const& vector) {
  auto const a = vector.matrix();
  return Reals(static_cast<double*>(a.data), static_cast<std::size_t>(a.rows));
}

// Columns with a leading dimension.
strata::sparse::VectorBlock<Memory> block_of(Operand<double> const& matrix) {
  auto const a = matrix.matrix();
  auto const rows = static_cast<std::size_t>(a.rows), cols = static_cast<std::size_t>(a.cols);
  strata::sparse::VectorBlock<Memory> const padded(static_cast<double*>(a.data),
                                                   static_cast<std::size_t>(a.ld), cols);
  return Kokkos::subview(padded, std::pair<std::size_t, std::size_t>(0, rows), Kokkos::ALL);
}

bool overlap(double const* a, std::int64_t lda, double const* b, std::int64_t ldb, std::int64_t n,
             std::int64_t columns) {
  return strata::dense::share_memory({a, n, columns, 1, lda}, {b, n, columns, 1, ldb});
}

}  // namespace

struct strata_sparse {
  template <class Index>
  strata_sparse(std::int64_t n, Index const* begin, Index const* column, double const* value,
                Chosen const& with)
      : held(n, begin, column, value, with) {}
  System& work() const { return held.work(); }

  Held<System> held;
};

namespace {

template <class Index>
strata_status set_up(char const* name, int64_t n, Index const* begin, Index const* column,
                     double const* value, strata_sparse_options const* options,
                     strata_sparse** solver) {
  if (solver != nullptr) *solver = nullptr;
  return call(name, [&]() -> Outcome {
    require(solver != nullptr, "solver is a null pointer");
    require_argument(n >= 0 && n < std::numeric_limits<std::int32_t>::max(), 1, "n is ", n,
                     ", must be in [0, 2147483646]");
    require_argument(begin != nullptr, 2, "begin is a null pointer");
    auto made = std::make_unique<strata_sparse>(n, begin, column, value, chosen(options));
    auto& work = made->work();
    std::string text;
    if (work.solver)
      for (auto const& remark : work.solver->set_up_report().remarks_on_matrix())
        text += (text.empty() ? "" : " ") + remark;
    *solver = made.release();
    return {STRATA_SUCCESS, text};
  });
}

}  // namespace

strata_status strata_sparse_set_up(int64_t n, int64_t const* begin, int64_t const* column,
                                   double const* value, strata_sparse_options const* options,
                                   strata_sparse** solver) {
  return set_up("strata_sparse_set_up", n, begin, column, value, options, solver);
}

strata_status strata_sparse_set_up_int32(int64_t n, int32_t const* begin, int32_t const* column,
                                         double const* value, strata_sparse_options const* options,
                                         strata_sparse** solver) {
  return set_up("strata_sparse_set_up_int32", n, begin, column, value, options, solver);
}

strata_status strata_sparse_update(strata_sparse* solver, int64_t entries, double const* value) {
  return call("strata_sparse_update", [&]() -> Outcome {
    require(solver != nullptr, "solver is a null pointer");
    Caller const caller;
    System& work = solver->work();
    require_argument(entries == work.entries(), 2, "entries is ", entries, ", the pattern has ",
                     work.entries());
    work.set_up(value);
    return {};
  });
}

strata_status strata_sparse_solve(strata_sparse* solver, int64_t nrhs, double const* B, int64_t ldb,
                                  double* X, int64_t ldx, strata_sparse_report* report) {
  return call("strata_sparse_solve", [&]() -> Outcome {
    require(solver != nullptr, "solver is a null pointer");
    Caller const caller;
    System& work = solver->work();
    require(work.solver.has_value(), "the solver was set up with preconditioner_only");
    auto const n = work.rows;
    require_argument(nrhs >= 0, 2, "nrhs is ", nrhs, ", must be >= 0");
    require_matrix("B", B, n, nrhs, ldb, sizeof(double), 3, 4);
    require_matrix("X", X, n, nrhs, ldx, sizeof(double), 5, 6);
    require(!overlap(B, ldb, X, ldx, n, nrhs), "X overlaps B");
    require_report(report);
    Operand<double> const b(work.exec, const_cast<double*>(B), n, nrhs, ldb, Part::All);
    Operand<double> const x(work.exec, X, n, nrhs, ldx, Part::All);
    auto const columns = with_checked_options(
        [&] { return work.solver->solve(work.exec, block_of(b), block_of(x)); });
    x.write_back(work.exec, Part::All);
    SparseReport shown = work.solver->set_up_report();
    Outcome outcome;
    for (std::int64_t j = 0; j < nrhs && outcome.status == STRATA_SUCCESS; ++j) {
      shown = columns[static_cast<std::size_t>(j)];
      outcome = outcome_of(shown, j, nrhs);
    }
    work.exec.fence("strata::c::sparse_solve: X is written");
    if (report != nullptr) give(filled(shown), report);
    return outcome;
  });
}

strata_status strata_sparse_precondition(strata_sparse* solver, double const* r, double* z) {
  return call("strata_sparse_precondition", [&]() -> Outcome {
    require(solver != nullptr, "solver is a null pointer");
    Caller const caller;
    System& work = solver->work();
    auto const n = work.rows;
    require(n == 0 || (r != nullptr && z != nullptr), "r or z is a null pointer");
    require(!overlap(r, std::max<std::int64_t>(n, 1), z, std::max<std::int64_t>(n, 1), n, 1),
            "z overlaps r");
    auto const& M = work.only();
    Operand<double> const in(work.exec, const_cast<double*>(r), n, 1, std::max<std::int64_t>(n, 1),
                             Part::All);
    Operand<double> const out(work.exec, z, n, 1, std::max<std::int64_t>(n, 1), Part::None);
    M.apply(work.exec, view_of(in), view_of(out));
    out.write_back(work.exec, Part::All);
    work.exec.fence("strata::c::sparse_precondition: z is written");
    return {};
  });
}

strata_status strata_sparse_describe(strata_sparse const* solver, strata_sparse_report* report) {
  return call("strata_sparse_describe", [&]() -> Outcome {
    require(solver != nullptr && report != nullptr, "a null pointer for the solver or the report");
    Caller const caller;
    System const& work = solver->work();
    SparseReport found;
    if (work.solver) {
      found = work.solver->set_up_report();
    } else {
      found.preconditioner = work.given.options.preconditioner;
      found.has_old_pattern = work.preconditioner->has_old_pattern;
    }
    give(filled(found), report);
    return {};
  });
}

void strata_sparse_destroy(strata_sparse* solver) { delete solver; }
