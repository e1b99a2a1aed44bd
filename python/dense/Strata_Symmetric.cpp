// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// A factor of a symmetric matrix that need not be definite.
#include <c/runtime/Strata_SymmetricWork.hpp>
#include <dense/indefinite/Strata_SymmetricFactor.hpp>
#include <dense/indefinite/Strata_SymmetricFields.hpp>
#include <python/dense/detail/Strata_KeptFactor.hpp>
#include <python/detail/Strata_Arrays.hpp>
#include <python/detail/Strata_BindFields.hpp>
#include <python/detail/Strata_BindSymmetric.hpp>
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
using dense::SolveReport, dense::SymmetricReport;
using detail::InAnywhere, detail::OutAnywhere, detail::Kept, detail::Queue, detail::Stored;

using c::SymmetricWork;

class KeptSymmetric : public detail::Worked<SymmetricWork> {
 public:
  KeptSymmetric(c::Instance const& instance, Kept A, Stored<double const> const& stored, bool lower,
                dense::SymmetricOptions const& options)
      : Worked(std::in_place, instance, detail::uplo_of(stored, lower), stored.rows, stored.data,
               stored.ld, options),
        A_(std::move(A)),
        order_(stored.rows) {}

  std::int64_t order() const { return order_; }

 private:
  Kept A_;  // alive as long as it is read
  std::int64_t order_;
};
using Shared = std::shared_ptr<KeptSymmetric>;

double flops(std::int64_t n, std::int64_t columns) {
  return 40.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(columns);
}

Shared factor(std::shared_ptr<Queue> const& queue, InAnywhere const& A, bool lower,
              std::string const& layers, bool pivoted) {
  STRATA_REQUIRE(ShapeError, A.ndim() == 2, "A has ", A.ndim(), " dimensions, must have 2");
  STRATA_REQUIRE(ShapeError, A.shape(0) == A.shape(1), "A is ", A.shape(0), " x ", A.shape(1),
                 ", must be square");
  auto const stored = detail::require_stored("A", A);
  dense::SymmetricOptions options;
  if (layers != "auto") options.layers = dense::LayerList::parse(layers);
  options.pivoted = pivoted;
  return detail::run(std::pow(static_cast<double>(stored.rows), 3) / 3,
                     [queue, kept = Kept(A), stored, lower, options](auto&) {
                       return dense::in_terms_of_triangle(!lower, [&] {
                         return std::make_shared<KeptSymmetric>(
                             queue != nullptr ? queue->instance() : c::new_instance(), kept, stored,
                             lower, options);
                       });
                     });
}

// What a solve did, and the error of x where it leaves fewer than three digits.
using Solved = std::pair<SolveReport, std::optional<double>>;

std::optional<double> doubtful_error(SymmetricWork& work, SolveReport const& report) {
  constexpr double least_digits = 3;
  if (!work.factor.needs_condition(report)) return std::nullopt;
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
  auto const columns = B.ndim() > 1 ? static_cast<std::int64_t>(B.shape(1)) : 1;
  return detail::work_with(
      factor, flops(factor->order(), columns),
      [kept = Kept(B, X), b, x, options](SymmetricWork& work) {
        detail::Columns<double const> const right(work.exec, b, c::Part::All);
        detail::Columns<double> const solution(work.exec, x, c::Part::None);
        auto const report = work.factor.solve(work.exec, right.view(), solution.view(), options);
        solution.write_back(work.exec);
        work.exec.fence("strata::python::solve: X is written");
        bool const is_refined = options.refine != dense::Refine::None;
        return Solved(report,
                      is_refined && report.converged ? doubtful_error(work, report) : std::nullopt);
      });
}

template <class Function>
auto ask(Shared const& factor, Function f) {
  return detail::work_with(factor, flops(factor->order(), 8),
                           [f](SymmetricWork& work) { return f(work); });
}

}  // namespace

void bind_symmetric(nb::module_& m) {
  detail::bind_described<dense::SymmetricAttempt>(m, "SymmetricAttempt",
                                                  "One factorisation that was tried.");
  detail::bind_described<SymmetricReport>(m, "SymmetricReport", "What was done to the matrix.");
  detail::bind_described<dense::Inertia>(m, "Inertia",
                                         "The numbers of eigenvalues by their signs.");
  detail::bind_described<dense::SignedLogDeterminant>(
      m, "SignedLogDeterminant", "The sign of det A, log |det A| and how far off that may be.");
  nb::class_<KeptSymmetric>(m, "SymmetricFactor",
                            "L D L^T of a symmetric matrix, in layers of precision.")
      .def_prop_ro("order", &KeptSymmetric::order)
      .def_prop_ro("stream", &KeptSymmetric::stream)
      .def_prop_ro("report",
                   [](Shared const& factor) {
                     return detail::answer(factor, [](SymmetricWork& work) {
                       return SymmetricReport(work.factor.report());
                     });
                   })
      .def("solve", &solve, "b"_a.noconvert(), "out"_a.noconvert(), "refine"_a, "tolerance"_a,
           "max_iterations"_a, "restart"_a)
      .def("inertia",
           [](Shared const& factor) {
             return ask(factor, [](SymmetricWork& w) { return w.factor.inertia(w.exec); });
           })
      .def("log_determinant",
           [](Shared const& factor) {
             return ask(factor, [](SymmetricWork& w) { return w.factor.log_determinant(w.exec); });
           })
      .def("condition", [](Shared const& factor) {
        return ask(factor, [](SymmetricWork& w) { return w.factor.condition(w.exec); });
      });
  m.def("symmetric_factor", &factor, "queue"_a.none(), "A"_a.noconvert(), "lower"_a, "layers"_a,
        "pivoted"_a);
}

}  // namespace strata::python
