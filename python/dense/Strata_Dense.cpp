// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// A dense factor: layers, refined solves, the log-determinant, reports.
#include <c/runtime/Strata_Held.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/Strata_Definiteness.hpp>
#include <dense/Strata_DenseFields.hpp>
#include <python/dense/detail/Strata_KeptFactor.hpp>
#include <python/detail/Strata_Arrays.hpp>
#include <python/detail/Strata_Bind.hpp>
#include <python/detail/Strata_BindFields.hpp>
#include <python/detail/Strata_Work.hpp>
#include <python/detail/Strata_Worked.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace strata::python {

namespace {

using namespace nb::literals;
using detail::InAnywhere, detail::OutAnywhere, detail::Kept, detail::Queue, detail::Stored;

using dense::CholeskyReport, dense::SolveReport, dense::ConditionEstimate,
    dense::LogDeterminantEstimate;

using detail::KeptFactor;
using Shared = std::shared_ptr<KeptFactor>;

double cube(std::int64_t n) { return std::pow(static_cast<double>(n), 3); }
// What a solve may take: a few passes over A for each column, or a factorisation on a higher rung.
double solve_flops(std::int64_t n, std::int64_t columns) {
  return 40.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(columns);
}

Stored<double const> require_square(InAnywhere const& A) {
  STRATA_REQUIRE(ShapeError, A.ndim() == 2, "A has ", A.ndim(), " dimensions, must have 2");
  STRATA_REQUIRE(ShapeError, A.shape(0) == A.shape(1), "A is ", A.shape(0), " x ", A.shape(1),
                 ", must be square");
  return detail::require_stored("A", A);
}

Shared cholesky(std::shared_ptr<Queue> const& queue, InAnywhere const& A, bool lower,
                std::string const& layers, std::int64_t leaf_size, double shift, bool equilibrate,
                bool ladder, bool jitter) {
  auto const stored = require_square(A);
  dense::CholeskyOptions options;
  options.leaf_size = leaf_size;
  options.shift = shift;
  options.equilibrate = equilibrate;
  options.ladder = ladder;
  options.jitter = jitter;
  return detail::run(cube(stored.rows) / 3, [queue, kept = Kept(A), stored, lower, layers,
                                             options](auto&) {
    return dense::in_terms_of_triangle(!lower, [&] {
      return std::make_shared<KeptFactor>(queue != nullptr ? queue->instance() : c::new_instance(),
                                          kept, stored, lower, layers, options);
    });
  });
}

Info is_positive_definite(std::shared_ptr<Queue> const& queue, InAnywhere const& A, bool lower) {
  auto const stored = require_square(A);
  return detail::run(cube(stored.rows) / 3, [queue, kept = Kept(A), stored,
                                             uplo = detail::uplo_of(stored, lower)](auto&) {
    auto const instance = queue != nullptr ? queue->instance() : c::new_instance();
    c::Operand<double const> const a(*instance, stored.data, stored.rows, stored.rows, stored.ld,
                                     c::part_of(uplo));
    return dense::is_positive_definite(*instance, c::as_lower(a, uplo));
  });
}

void update(Shared const& factor, InAnywhere const& A, bool lower) {
  auto const stored = require_square(A);
  STRATA_REQUIRE(ShapeError, stored.rows == factor->order(), "A is ", stored.rows, " x ",
                 stored.rows, ", the factor's order is ", factor->order());
  detail::work_with(factor, cube(stored.rows) / 3,
                    [kept = Kept(A), stored, lower, factor](c::DenseFactor& work) mutable {
                      factor->exchange(kept);
                      return dense::in_terms_of_triangle(!lower, [&] {
                        work.update(detail::uplo_of(stored, lower), stored.data, stored.ld);
                        return KeptFactor::require_definite(work);
                      });
                    });
}

// What a solve did, and the error of x where it leaves fewer than three digits.
using Solved = std::pair<SolveReport, std::optional<double>>;

std::optional<double> doubtful_error(c::DenseFactor& work, SolveReport const& report) {
  constexpr double least_digits = 3;
  if (!work.factor.needs_condition(work.exec, report)) return std::nullopt;
  auto const known = work.factor.report().condition;
  double const error = dense::forward_error(
      report.refinement, known.value > 0 ? known : work.factor.condition(work.exec));
  return dense::digits(error) < least_digits ? std::optional(error) : std::nullopt;
}

Solved solve(Shared const& factor, InAnywhere const& B, OutAnywhere const& X,
             std::string const& refine, double tolerance, int max_iterations, int restart) {
  auto const b = detail::require_stored("b", B);
  auto const x = detail::require_stored("out", X);
  dense::RefinementOptions options;
  options.refine = from_name<dense::Refine>(refine);
  options.tolerance = tolerance;
  options.max_iterations = max_iterations;
  options.restart = restart;
  double const columns = B.ndim() > 1 ? static_cast<double>(B.shape(1)) : 1;
  return detail::work_with(
      factor, solve_flops(factor->order(), static_cast<std::int64_t>(columns)),
      [kept = Kept(B, X), b, x, options](c::DenseFactor& work) {
        auto const& exec = work.exec;
        detail::Columns<double const> const right(exec, b, c::Part::All);
        detail::Columns<double> const solution(exec, x, c::Part::None);
        auto const report = work.factor.solve(exec, right.view(), solution.view(), options);
        solution.write_back(exec);
        exec.fence("strata::python::solve: X is written");
        KeptFactor::require_definite(work);
        bool const is_refined = options.refine != dense::Refine::None;
        return Solved(report,
                      is_refined && report.converged ? doubtful_error(work, report) : std::nullopt);
      });
}

LogDeterminantEstimate log_determinant(Shared const& factor, int probes, int steps,
                                       std::uint64_t seed) {
  dense::LogDeterminantOptions const options{.probes = probes, .steps = steps, .seed = seed};
  return detail::work_with(
      factor, solve_flops(factor->order(), probes),
      [options](c::DenseFactor& work) { return work.factor.log_determinant(work.exec, options); });
}

ConditionEstimate condition(Shared const& factor) {
  return detail::work_with(factor, solve_flops(factor->order(), 5),
                           [](c::DenseFactor& work) { return work.factor.condition(work.exec); });
}

void copy(Shared const& factor, detail::Out const& L) {
  auto const l = detail::require_stored("L", L);
  STRATA_REQUIRE(ShapeError, !l.transposed && l.rows == factor->order() && l.cols == l.rows,
                 "L must be ", factor->order(), " x ", factor->order(), ", in Fortran order");
  detail::answer(factor, [kept = Kept(L), l](c::DenseFactor& work) {
    c::Operand<double> const result(work.exec, l.data, l.rows, l.cols, l.ld, c::Part::None);
    work.factor.copy_factor(work.exec, result.matrix());
    result.write_back(work.exec, c::Part::Lower);
    work.exec.fence("strata::python::copy: L is written");
    return true;
  });
}

bool has_lines(detail::In const& array) {
  Stored<double const> found{};
  return detail::stored(array, found);
}

// (row, column, rows, columns, precision) of each block.
nb::list blocks_of(CholeskyReport const& report) {
  nb::list list;
  for (auto const& block : report.blocks)
    list.append(nb::make_tuple(block.row, block.col, block.rows, block.cols,
                               std::string(traits(block.precision).name)));
  return list;
}

void bind_reports(nb::module_& m) {
  detail::bind_described<dense::CholeskyAttempt>(m, "CholeskyAttempt",
                                                 "One factorisation that was tried.");
  auto factor =
      detail::bind_described<CholeskyReport>(m, "FactorReport", "What was done to the matrix.");
  factor.def("blocks", &blocks_of,
             nb::sig("def blocks(self) -> list[tuple[int, int, int, int, str]]"),
             "(row, column, rows, columns, precision) of each block of the factor, from 0.");
  detail::bind_plot(factor, "layers");
  detail::bind_report<Info>(m, "Definiteness", "True where a matrix is positive definite.")
      .def("__bool__", &Info::ok)
      .def_prop_ro("info", &Info::order,
                   "0, or the order of the first leading minor that is not positive.");
  auto solve = detail::bind_described<SolveReport>(m, "SolveReport",
                                                   "What a solve did; the errors are for its x.");
  detail::bind_plot(solve, "convergence");
  detail::bind_described<ConditionEstimate>(m, "Condition", "An estimate of the condition number.");
  detail::bind_described<LogDeterminantEstimate>(m, "LogDeterminant",
                                                 "log det A and how far off it may be.")
      .def("__float__", [](LogDeterminantEstimate const& found) { return found.value; });
}

}  // namespace

void bind_dense(nb::module_& m) {
  bind_reports(m);
  m.def("has_lines", &has_lines, "array"_a.noconvert(),
        "Whether the numbers along an axis are neighbours in memory: it is then used where it is.");
  nb::class_<KeptFactor> factor(m, "Factor", "A Cholesky factor in layers of precision.");
  factor.def_prop_ro("order", &KeptFactor::order)
      .def_prop_ro("stream", &KeptFactor::stream, "Its stream, as a number; 0 on a host.")
      .def_prop_ro("info",
                   [](Shared const& f) {
                     return detail::answer(
                         f, [](c::DenseFactor& work) { return work.factor.info().order(); });
                   })
      .def_prop_ro("report",
                   [](Shared const& f) {
                     return detail::answer(
                         f, [](c::DenseFactor& work) { return work.factor.report(); });
                   })
      .def_prop_ro("jitter",
                   [](Shared const& f) {
                     return detail::answer(
                         f, [](c::DenseFactor& work) { return work.factor.report().jitter; });
                   })
      .def("update", &update, "A"_a.noconvert(), "lower"_a)
      .def("solve", &solve, "b"_a.noconvert(), "out"_a.noconvert(), "refine"_a, "tolerance"_a,
           "max_iterations"_a, "restart"_a)
      .def("log_determinant", &log_determinant, "probes"_a, "steps"_a, "seed"_a)
      .def("condition", &condition)
      .def("copy", &copy, "L"_a.noconvert());
  bind_more_than_solves(factor);
  nb::class_<Queue>(m, "Queue", "Where a factor will work.")
      .def("__init__",
           [](Queue* self) {
             detail::run(detail::no_flops, [self](auto&) { return new (self) Queue(); });
           })
      .def_prop_ro("stream", &Queue::stream);
  m.def(
      "device",
      [] {
        auto const found =
            detail::run(detail::no_flops, [](auto&) { return c::vendor::device_of(c::Exec()); });
        return nb::make_tuple(found.type, found.id);
      },
      nb::sig("def device() -> tuple[int, int]"), "Where the library works, in DLPack's numbers.");
  m.def("cholesky", &cholesky, "queue"_a.none(), "A"_a.noconvert(), "lower"_a, "layers"_a,
        "leaf_size"_a, "shift"_a, "equilibrate"_a, "ladder"_a, "jitter"_a);
  m.def(
      "forward_error",
      [](SolveReport const& solve, ConditionEstimate const& condition) {
        return dense::forward_error(solve.refinement, condition);
      },
      "solve"_a, "condition"_a);
  m.def("digits", &dense::digits, "forward_error"_a);
  m.def("is_positive_definite", &is_positive_definite, "queue"_a.none(), "A"_a.noconvert(),
        "lower"_a);
}

}  // namespace strata::python
