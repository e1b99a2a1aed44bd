// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// A dense factor: layers, refined solves, the log-determinant, reports.
#include <c/runtime/Strata_Held.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/Strata_Definiteness.hpp>
#include <python/detail/Strata_Arrays.hpp>
#include <python/detail/Strata_Bind.hpp>
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

// The triangle of an array that is read, as that of the matrix in memory.
Uplo uplo_of(Stored<double const> const& A, bool lower) {
  return lower != A.transposed ? Uplo::Lower : Uplo::Upper;
}

// A factor, and the array that it reads.
class KeptFactor : public detail::Worked<c::DenseFactor> {
 public:
  KeptFactor(c::Instance const& instance, Kept A, Stored<double const> const& stored, bool lower,
             std::string const& layers, dense::CholeskyOptions const& options)
      : Worked(std::in_place, instance, uplo_of(stored, lower), stored.rows, stored.data, stored.ld,
               layers == "auto" ? std::nullopt : std::optional(dense::LayerList::parse(layers)),
               options),
        A_(std::move(A)),
        order_(stored.rows) {
    require_definite(made());
  }

  std::int64_t order() const { return order_; }
  /// From now on A is read, in the turn of the call; the caller has the array before.
  void exchange(Kept& A) { std::swap(A_, A); }

  static bool require_definite(c::DenseFactor const& work) {
    auto const info = work.factor.info();
    if (!info.ok())
      throw NotPositiveDefinite(info.order(), describe(work.factor.report().breakdown));
    return true;
  }

 private:
  Kept A_;  // alive as long as it is read
  std::int64_t order_;
};
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
  return detail::run(
      cube(stored.rows) / 3, [queue, kept = Kept(A), stored, uplo = uplo_of(stored, lower)](auto&) {
        auto const instance = queue != nullptr ? queue->instance() : c::new_instance();
        c::Operand<double const> const a(*instance, stored.data, stored.rows, stored.rows,
                                         stored.ld, c::part_of(uplo));
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
                        work.update(uplo_of(stored, lower), stored.data, stored.ld);
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
    work.factor.factor(work.exec, result.matrix());
    result.write_back(work.exec, c::Part::Lower);
    work.exec.fence("strata::python::copy: L is written");
    return true;
  });
}

// (row, column, rows, columns, precision) of each block.
nb::list blocks_of(CholeskyReport const& report) {
  nb::list list;
  for (auto const& block : report.blocks)
    list.append(nb::make_tuple(block.row, block.col, block.rows, block.cols,
                               std::string(traits(block.precision).name)));
  return list;
}

void bind_factor_report(nb::module_& m) {
  using Attempt = dense::CholeskyAttempt;
  detail::bind_report<Attempt>(m, "CholeskyAttempt", "One factorisation that was tried.")
      .def_prop_ro("layers", [](Attempt const& a) { return a.layers.name(); })
      .def_ro("shift", &Attempt::shift)
      .def_prop_ro("rung", [](Attempt const& a) { return detail::name(a.rung); })
      .def_prop_ro("outcome", [](Attempt const& a) { return detail::name(a.outcome); })
      .def_ro("info", &Attempt::info, "0, or the order of the minor that was not positive.")
      .def_prop_ro("seconds", &Attempt::seconds);
  using Report = CholeskyReport;
  auto report = detail::bind_report<Report>(m, "FactorReport", "What was done to the matrix.");
  detail::bind_plot(report, "layers");
  report
      .def("blocks", &blocks_of,
           nb::sig("def blocks(self) -> list[tuple[int, int, int, int, str]]"),
           "(row, column, rows, columns, precision) of each block of the factor, from 0.")
      .def_ro("n", &Report::n)
      .def_prop_ro(
          "layers", [](Report const& r) { return r.layers.name(); },
          "Precisions of the factor, farthest from the diagonal first.")
      .def_ro("leaf_size", &Report::leaf_size, "Columns of a diagonal leaf.")
      .def_prop_ro(
          "rung", [](Report const& r) { return detail::name(r.rung); },
          "Which rung of the ladder of precisions held.")
      .def_ro("shift", &Report::shift, "The diagonal was multiplied by 1 + shift.")
      .def_ro("jitter", &Report::jitter, "Added to the diagonal, as a part of the mean diagonal.")
      .def_ro("attempts", &Report::attempts)
      .def_ro("equilibrated", &Report::equilibrated)
      .def_ro("norm_inf", &Report::norm_inf, "The largest sum of magnitudes in a row of A.")
      .def_ro("stored_bytes", &Report::stored_bytes, "Of the factor.")
      .def_ro("peak_bytes", &Report::peak_bytes, "While it was made.")
      .def_prop_ro(
          "seconds",
          [](Report const& r) { return r.analyse_seconds + r.load_seconds + r.factor_seconds; })
      .def_ro("factor_flop_per_s", &Report::factor_flop_per_s,
              "Of the last attempt; 0 where it broke down.");
}

void bind_solve_reports(nb::module_& m) {
  detail::bind_report<Info>(m, "Definiteness", "True where a matrix is positive definite.")
      .def("__bool__", &Info::ok)
      .def_prop_ro("info", &Info::order,
                   "0, or the order of the first leading minor that is not positive.");
  using Solve = SolveReport;
  auto solve =
      detail::bind_report<Solve>(m, "SolveReport", "What a solve did; errors are those of its x.");
  detail::bind_plot(solve, "convergence");
  solve.def_ro("converged", &Solve::converged)
      .def_ro("backward_error", &Solve::backward_error,
              "The largest |r_j| / (|A| |x_j| + |b_j|) of a column in the infinity norm.")
      .def_ro("hpl_scaled_residual", &Solve::hpl_scaled_residual, "backward_error / (n 2^-52).")
      .def_prop_ro(
          "equilibrated_error", [](Solve const& r) { return r.refinement.equilibrated_error; },
          "The backward error of the equilibrated system.")
      .def_prop_ro(
          "relative_residual", [](Solve const& r) { return r.refinement.relative_residual; },
          "The largest |r_j| / (|A| |x_j|) of that system, its rounding counted.")
      .def_prop_ro(
          "tolerance", [](Solve const& r) { return r.refinement.tolerance; },
          "On the backward error.")
      .def_prop_ro(
          "method", [](Solve const& r) { return detail::name(r.refinement.method); },
          "The last method of refinement that ran.")
      .def_ro("iterations", &Solve::iterations,
              "Applications of the factor to the column that took most.")
      .def_ro("climbs", &Solve::climbs, "Factorisations in higher precision, for convergence.")
      .def_ro("obstacle", &Solve::obstacle, "Why it was not factored again; empty: nothing.")
      .def_prop_ro(
          "history", [](Solve const& r) { return r.refinement.history; },
          "The worst column's backward error after each step of the refinement.")
      .def_ro("seconds", &Solve::seconds);
  using Condition = ConditionEstimate;
  detail::bind_report<Condition>(m, "Condition", "An estimate of the condition number.")
      .def_ro("value", &Condition::value,
              "In the 1-norm, of the equilibrated matrix; seldom below a third of the true one.")
      .def_ro("converged", &Condition::converged, "If not, the true one may be far larger.")
      .def_ro("solves", &Condition::solves)
      .def_ro("seconds", &Condition::seconds);
  using LogDeterminant = LogDeterminantEstimate;
  detail::bind_report<LogDeterminant>(m, "LogDeterminant", "log det A and how far off it may be.")
      .def_ro("value", &LogDeterminant::value)
      .def("__float__", [](LogDeterminant const& found) { return found.value; })
      .def_prop_ro("error", &LogDeterminant::error,
                   "|value - log det A| is less, but for about one case in a thousand.")
      .def_ro("correction", &LogDeterminant::correction, "value - log det of the factor's matrix.")
      .def_ro("standard_error", &LogDeterminant::standard_error)
      .def_ro("quadrature_error", &LogDeterminant::quadrature_error)
      .def_ro("rounding_error", &LogDeterminant::rounding_error)
      .def_ro("steps", &LogDeterminant::steps, "Of Lanczos.");
}

}  // namespace

void bind_dense(nb::module_& m) {
  bind_factor_report(m);
  bind_solve_reports(m);
  m.def(
      "has_lines",
      [](detail::In const& array) {
        Stored<double const> found{};
        return detail::stored(array, found);
      },
      "array"_a.noconvert(),
      "Whether the numbers along an axis are neighbours in memory: it is then used where it is.");
  nb::class_<KeptFactor>(m, "Factor", "A Cholesky factor in layers of precision.")
      .def_prop_ro("order", &KeptFactor::order)
      .def_prop_ro("stream", &KeptFactor::stream, "That it works on, as a number; 0 on a host.")
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
