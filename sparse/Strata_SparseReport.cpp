// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/Strata_SparseSolver.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace strata::sparse {
namespace {

std::string short_number(double value) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.1e", value);
  return text;
}

std::string counted(std::int64_t count, char const* one, char const* many) {
  return std::to_string(count) + ' ' + (count == 1 ? one : many);
}

// The parts that nothing holds.
std::string floating(SparseReport const& report) {
  auto const& rows = report.rows;
  if (rows.null_vectors > 0)
    return "the matrix is singular: it maps " +
           counted(rows.null_vectors, "combination", "combinations") + " of the given modes to 0" +
           (rows.floating_parts > 0 ? ", beside constants" : "") +
           "; x is given no part in them, and is one of many solutions if there is one" +
           (report.symmetric ? "" : "; it is not symmetric, so that b must fit");
  bool const whole = rows.floating_parts == 1 && rows.maps_constants_to_zero;
  std::string const where =
      whole
          ? "the matrix is probably singular: each row's entries add up to 0, so that A x = 0 for "
            "constant x"
          : "the matrix is probably singular: each row's entries add up to 0 in " +
                counted(rows.floating_parts, "part", "parts") +
                " that nothing connects to the rest, " +
                counted(rows.floating_rows, "row", "rows") + " of " +
                std::to_string(report.global_rows) + ", so that A x = 0 for constants there";
  std::string const kind =
      report.symmetric ? "" : "; it is not symmetric, so that b is taken as it is, and must fit";
  return where + "; x is given mean 0 there, and is one of many solutions if there is one" + kind +
         "; are boundary conditions missing? (A body of several unknowns a node may turn freely, "
         "too: "
         "b must have no moment then.)";
}

}  // namespace

int SparseReport::digits() const {
  if (std::isnan(forward_error)) return -1;
  return static_cast<int>(std::clamp(std::floor(-std::log10(forward_error)), 0.0, 15.0));
}

std::vector<std::string> SparseReport::remarks_on_matrix() const {
  std::vector<std::string> remarks;
  if (rows.floating_parts > 0 || rows.null_vectors > 0) remarks.push_back(floating(*this));
  if (rows.empty > 0)
    remarks.push_back("row " + std::to_string(rows.first_empty + 1) + " is empty" +
                      (rows.empty > 1 ? ", with " + std::to_string(rows.empty - 1) + " more" : "") +
                      ": the matrix is singular; x is set to 0 there");
  return remarks;
}

std::vector<std::string> SparseReport::remarks_on_solution() const {
  std::vector<std::string> remarks;
  if (status == KrylovStatus::LeastSquares)
    remarks.push_back("the system has no solution: A is singular, and " +
                      short_number(incompatible) +
                      " of b, its part in what A maps to 0, was left out; x is the "
                      "solution without them, of least squares");
  bool const is_open = (rows.floating_parts > 0 || rows.null_vectors > 0) && !symmetric;
  if (is_open && !solved())
    remarks.push_back(
        "A is singular and not symmetric: there is a solution only where w'b = 0 for the vector w "
        "with w'A = 0, which is not computed");
  if (solved() && digits() == 0)
    remarks.push_back("x may have no right digit: its error is about " +
                      short_number(forward_error) +
                      " of its largest entry; the condition of A is at least " +
                      short_number(condition_at_least));
  return remarks;
}

std::string SparseReport::advice() const {
  if (status != KrylovStatus::Stalled && status != KrylovStatus::IterationLimit) return {};
  bool const has_sweeps = zero_diagonal_row == 0;
  std::string text = "other preconditioners may do (";
  for (auto const kind : {PreconditionerKind::Amg, PreconditionerKind::GaussSeidel,
                          PreconditionerKind::Jacobi, PreconditionerKind::None}) {
    if (kind == preconditioner || (!has_sweeps && kind != PreconditionerKind::None)) continue;
    text += (text.back() == '(' ? "" : ", ") + std::string(name_of(kind));
  }
  text = text.back() == '(' ? "" : text + ")";
  if (solver == SolverKind::ConjugateGradients) return text;
  return text + (text.empty() ? "" : ", or ") + "a longer restart than " + std::to_string(restart);
}

}  // namespace strata::sparse
