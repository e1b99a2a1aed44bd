// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Sparse systems of one process: the solver that chooses, and preconditioners by themselves.
#include <c/runtime/Strata_SparseSystem.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <python/detail/Strata_Arrays.hpp>
#include <python/detail/Strata_Bind.hpp>
#include <python/detail/Strata_BindFields.hpp>
#include <python/detail/Strata_Work.hpp>
#include <python/detail/Strata_Worked.hpp>
#include <python/sparse/detail/Strata_SparseRows.hpp>
#include <sparse/Strata_SparseFields.hpp>
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/coarsening/Strata_NearNullSpace.hpp>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace strata::python {

namespace {

using namespace nb::literals;
using namespace sparse;
using c::Exec, c::Memory;
using detail::In, detail::InAnywhere, detail::OutAnywhere, detail::Kept, detail::Queue;

using Matrix = DistributedMatrix<Exec>;
using Reals = Vector<double, Memory>;
using detail::Numbers, detail::Rows;

// A matrix, and what works with it. They share its Views, so that a solver's preconditioner is
// here, too.
struct System {
  System(Rows const& A, SparseOptions const& chosen, c::Instance const& on,
         Matrix const* old = nullptr)
      : options(chosen), instance(on ? on : c::new_instance()), matrix(A.matrix(exec, old)) {}

  SparseOptions options;
  c::Instance instance;  // before what works on it
  Exec exec = *instance;
  Matrix matrix;
  std::optional<SparseSolver<Exec>> solver;
  std::optional<c::SparsePreconditioner> preconditioning;
};

class Sparse : public detail::Worked<System> {
 public:
  enum class Role : std::uint8_t { Solver, Preconditioner };

  Sparse(Rows const& A, SparseOptions const& options, Role role, c::Instance const& on)
      : Worked(std::in_place, A, options, on), rows_(A.rows), entries_(A.entries) {
    System& work = made();
    if (role == Role::Solver)
      work.solver.emplace(work.exec, work.matrix, options);
    else
      work.preconditioning.emplace(work.exec, work.matrix, options);
  }
  // The solver of another matrix, with what an old one's pattern leaves as it is.
  Sparse(Rows const& A, System const& old, c::Instance const& on)
      : Worked(std::in_place, A, old.options, on, &old.matrix), rows_(A.rows), entries_(A.entries) {
    System& work = made();
    work.solver.emplace(old.solver->updated(work.exec, work.matrix));
  }
  std::int64_t rows() const { return rows_; }
  std::int64_t entries() const { return entries_; }

 private:
  std::int64_t rows_, entries_;
};

// Both in Python's hands; a solver and its preconditioner take turns.
struct Solver {
  std::shared_ptr<Sparse> of;
};
struct Preconditioner {
  std::shared_ptr<Sparse> of;
};

// A caller's columns, one after the other, where the device works on them: themselves, or a copy.
class ColumnBlock {
 public:
  ColumnBlock(Exec const& exec, double* data, std::int64_t n, std::int64_t count)
      : operand_(exec, data, n, count, n > 0 ? n : 1, c::Part::All) {}
  VectorBlock<Memory> view() const {
    auto const a = operand_.matrix();
    return VectorBlock<Memory>(static_cast<double*>(a.data), static_cast<std::size_t>(a.rows),
                               static_cast<std::size_t>(a.cols));
  }
  void write_back(Exec const& exec) const { operand_.write_back(exec, c::Part::All); }

 private:
  c::Operand<double> operand_;
};

// What a sparse call may take: a few hundred operations for each entry are done before a person
// could press a key.
double flops(std::int64_t entries, std::int64_t columns) {
  return 1000.0 * static_cast<double>(entries) * static_cast<double>(columns);
}

SparseOptions options(std::string const& solver, std::string const& preconditioner,
                      std::string const& precision, double tolerance, int restart,
                      std::int64_t max_iterations, int block_size, int fill,
                      double absolute_tolerance, std::string const& stop) {
  SparseOptions chosen;
  chosen.solver = from_name<SolverKind>(solver);
  chosen.preconditioner = from_name<PreconditionerKind>(preconditioner);
  chosen.precision = from_name<Precision>(precision);
  chosen.tolerance = tolerance;
  chosen.restart = restart;
  chosen.max_iterations = max_iterations;
  chosen.amg.block_size = block_size;
  chosen.fill = fill;
  chosen.absolute_tolerance = absolute_tolerance;
  chosen.stop = from_name<StopNorm>(stop);
  return chosen;
}

c::Instance instance_of(std::shared_ptr<Queue> const& queue) {
  return queue ? queue->instance() : c::Instance();
}

template <Sparse::Role role>
std::shared_ptr<Sparse> make(std::shared_ptr<Queue> const& queue, Numbers const& begin,
                             Numbers const& column, Numbers const& value,
                             SparseOptions const& chosen) {
  auto const A = detail::given(queue, begin, column, value);
  return detail::run(flops(A.entries, 1), [A, chosen, on = instance_of(queue)](auto&) {
    return std::make_shared<Sparse>(A, chosen, role, on);
  });
}

// In the turn of the old one, whose patterns it takes.
Solver updated(Solver const& solver, std::shared_ptr<Queue> const& queue, Numbers const& begin,
               Numbers const& column, Numbers const& value) {
  auto const A = detail::given(queue, begin, column, value);
  auto const work = [A, on = instance_of(queue)](System& old) {
    return std::make_shared<Sparse>(A, old, on);
  };
  return {detail::work_with(solver.of, flops(A.entries, 1), work)};
}

// The columns of b and x, each in one piece.
struct Columns {
  double const* b;
  double* x;
  std::int64_t rows, count;
};
Columns columns(InAnywhere const& B, OutAnywhere const& X, std::int64_t n) {
  auto const b = detail::require_stored("b", B);
  auto const x = detail::require_stored("x", X);
  std::int64_t const count = B.ndim() > 1 ? static_cast<std::int64_t>(B.shape(1)) : 1;
  STRATA_REQUIRE(ShapeError,
                 !b.transposed && !x.transposed && b.rows == n && x.rows == n && x.cols == count &&
                     (count <= 1 || (b.ld == n && x.ld == n)),
                 "b and x must have ", n, " rows, as many columns, and be contiguous columns");
  return {b.data, x.data, n, count};
}

// In host memory; the solver finds those on the device.
template <class T>
void require_finite(char const* name, nb::ndarray<T> const& array, double const* first) {
  if (array.device_type() != nb::device::cpu::value) return;
  auto const rows = static_cast<std::int64_t>(array.shape(0));
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(array.size()); ++k)
    STRATA_REQUIRE(ValueError, std::isfinite(first[k]), name, " has ", first[k], " in row ",
                   k % rows, ", must be finite");
}

// What a solve calls after each iteration: a function of Python's, or None, which the caller keeps
// alive; it ends when nobody waits any more.
auto told(PyObject* monitor, detail::Call const& call) {
  return [monitor, &call](std::int64_t iteration, double relative_residual) {
    call.require_wanted();
    if (monitor == Py_None) return;
    detail::Callback const callback(call);
    nb::borrow<nb::object>(monitor)(iteration, relative_residual);
  };
}

// Takes the monitor from a solver again.
struct Monitored {
  Monitored(SparseSolver<Exec>& solver, PyObject* monitor, detail::Call const& call) : of(solver) {
    of.set_monitor(told(monitor, call));
  }
  ~Monitored() { of.set_monitor({}); }
  Monitored(Monitored const&) = delete;
  Monitored& operator=(Monitored const&) = delete;

  SparseSolver<Exec>& of;
};

std::vector<SparseReport> solve(Solver const& solver, InAnywhere const& B, OutAnywhere const& X,
                                nb::object const& monitor) {
  auto const at = columns(B, X, solver.of->rows());
  require_finite("b", B, at.b);
  require_finite("x0", X, at.x);
  return detail::work_with(
      solver.of, monitor.is_none() ? flops(solver.of->entries(), at.count) : detail::long_flops,
      [kept = Kept(B, X, monitor), at, function = monitor.ptr()](System& work, detail::Call& call) {
        Monitored const monitored(*work.solver, function, call);
        ColumnBlock const b(work.exec, const_cast<double*>(at.b), at.rows, at.count);
        ColumnBlock const x(work.exec, at.x, at.rows, at.count);
        auto const reports = work.solver->solve(work.exec, b.view(), x.view());
        x.write_back(work.exec);
        work.exec.fence("strata::python::sparse: X is written");
        return reports;
      });
}

void apply(Preconditioner const& M, InAnywhere const& R, OutAnywhere const& Z) {
  auto const at = columns(R, Z, M.of->rows());
  require_finite("r", R, at.b);
  detail::work_with(
      M.of, flops(M.of->entries(), at.count) / 100, [kept = Kept(R, Z), at](System& work) {
        ColumnBlock const r(work.exec, const_cast<double*>(at.b), at.rows, at.count);
        ColumnBlock const z(work.exec, at.x, at.rows, at.count);
        for (std::int64_t j = 0; j < at.count; ++j)
          work.preconditioning->apply(work.exec, Reals(Kokkos::subview(r.view(), Kokkos::ALL, j)),
                                      Reals(Kokkos::subview(z.view(), Kokkos::ALL, j)));
        z.write_back(work.exec);
        work.exec.fence("strata::python::preconditioner: Z is written");
        return true;
      });
}

// The solver's preconditioner by itself, of its matrix: made once.
Preconditioner preconditioner_of(Solver const& solver) {
  detail::work_with(solver.of, flops(solver.of->entries(), 1), [](System& work) {
    if (work.preconditioning) return true;
    SparseOptions options = work.options;
    options.preconditioner = work.solver->set_up_report().preconditioner;
    work.preconditioning.emplace(work.exec, work.matrix, options);
    return true;
  });
  return {solver.of};
}

void bind_reports(nb::module_& m) {
  detail::bind_described<SparseAttempt>(m, "SparseAttempt", "One run of one method.");
  detail::bind_described<SparseReport::Level>(m, "SparseLevel", "A level of the preconditioner.");
  auto report = detail::bind_described<SparseReport>(m, "SparseReport",
                                                     "What a solve did; the errors are for its x.");
  detail::bind_plot(report, "convergence");
}

void bind_options(nb::module_& m) {
  nb::class_<SparseOptions>(m, "SparseOptions", "Choices of a solver.")
      .def(
          "__init__",
          [](SparseOptions* self, std::string const& solver, std::string const& preconditioner,
             std::string const& precision, double tolerance, int restart,
             std::int64_t max_iterations, int block_size, int fill, double absolute_tolerance,
             std::string const& stop) {
            new (self)
                SparseOptions(options(solver, preconditioner, precision, tolerance, restart,
                                      max_iterations, block_size, fill, absolute_tolerance, stop));
          },
          "solver"_a, "preconditioner"_a, "precision"_a, "tolerance"_a, "restart"_a,
          "max_iterations"_a, "block_size"_a, "fill"_a, "absolute_tolerance"_a = 0.0,
          "stop"_a = "residual")
      .def(
          "set_near_null_space",
          [](SparseOptions& chosen, In const& values, int width) {
            auto const numbers = detail::require_vector("near_null_space", values);
            chosen.amg.near_null_space = near_null_space({numbers.data(), numbers.size()}, width);
          },
          "values"_a, "width"_a)
      .def(
          "set_coordinates",
          [](SparseOptions& chosen, In const& values, int dimensions) {
            auto const numbers = detail::require_vector("coordinates", values);
            chosen.amg.near_null_space =
                rigid_body_modes({numbers.data(), numbers.size()}, dimensions);
            if (chosen.amg.block_size == 0) chosen.amg.block_size = dimensions;
          },
          "values"_a, "dimensions"_a);
}

}  // namespace

void bind_sparse(nb::module_& m) {
  bind_reports(m);
  bind_options(m);
  nb::class_<Preconditioner>(m, "SparsePreconditioner", "M^-1 of a sparse matrix.")
      .def_prop_ro("rows", [](Preconditioner const& M) { return M.of->rows(); })
      .def_prop_ro("stream", [](Preconditioner const& M) { return M.of->stream(); })
      .def("apply", &apply, "r"_a.noconvert(), "z"_a.noconvert());
  nb::class_<Solver>(m, "SparseSolver", "A sparse matrix, and what solves with it.")
      .def_prop_ro("rows", [](Solver const& s) { return s.of->rows(); })
      .def("updated", &updated, "queue"_a.none(), "indptr"_a.noconvert(), "indices"_a.noconvert(),
           "data"_a.noconvert())
      .def_prop_ro("stream", [](Solver const& s) { return s.of->stream(); })
      .def_prop_ro("entries", [](Solver const& s) { return s.of->entries(); })
      .def_prop_ro("set_up",
                   [](Solver const& s) {
                     return detail::answer(
                         s.of, [](System& work) { return work.solver->set_up_report(); });
                   })
      .def("preconditioner", &preconditioner_of)
      .def("solve", &solve, "b"_a.noconvert(), "x"_a.noconvert(), "monitor"_a = nb::none());
  m.def(
      "check_lines",
      [](Numbers const& begin, Numbers const& column, Numbers const& value, bool by_row) {
        detail::checked(begin, column, value, by_row ? "row" : "column", by_row ? "column" : "row");
      },
      "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(), "by_row"_a);
  using Role = Sparse::Role;
  m.def(
      "sparse_solver",
      [](std::shared_ptr<Queue> const& queue, Numbers const& begin, Numbers const& column,
         Numbers const& value, SparseOptions const& chosen) {
        return Solver{make<Role::Solver>(queue, begin, column, value, chosen)};
      },
      "queue"_a.none(), "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(),
      "options"_a);
  m.def(
      "sparse_preconditioner",
      [](std::shared_ptr<Queue> const& queue, Numbers const& begin, Numbers const& column,
         Numbers const& value, SparseOptions const& chosen) {
        return Preconditioner{make<Role::Preconditioner>(queue, begin, column, value, chosen)};
      },
      "queue"_a.none(), "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(),
      "options"_a);
}

}  // namespace strata::python
