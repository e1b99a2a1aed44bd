// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Errors.hpp>
#include <sparse/Strata_SparseSolver.hpp>

#include <array>
#include <string>
#include <utility>

namespace strata::sparse {
namespace {

template <class Kind, std::size_t N>
using Names = std::array<std::pair<Kind, std::string_view>, N>;

constexpr Names<SolverKind, 4> solver_names{{{SolverKind::Automatic, "auto"},
                                             {SolverKind::ConjugateGradients, "cg"},
                                             {SolverKind::Gmres, "gmres"},
                                             {SolverKind::Fgmres, "fgmres"}}};
constexpr Names<PreconditionerKind, 5> preconditioner_names{
    {{PreconditionerKind::Automatic, "auto"},
     {PreconditionerKind::None, "none"},
     {PreconditionerKind::Jacobi, "jacobi"},
     {PreconditionerKind::GaussSeidel, "gs"},
     {PreconditionerKind::Amg, "amg"}}};

template <class Kind, std::size_t N>
std::string_view name_in(Names<Kind, N> const& names, Kind kind) {
  for (auto const& [value, name] : names)
    if (value == kind) return name;
  return names.front().second;
}

template <class Kind, std::size_t N>
Kind from_name(Names<Kind, N> const& names, std::string_view what, std::string_view text) {
  std::string list;
  for (auto const& [value, name] : names) {
    if (name == text) return value;
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  throw ValueError(strata::detail::message("no ", what, " is called '", text, "', only ", list));
}

}  // namespace

std::string_view name_of(SolverKind kind) { return name_in(solver_names, kind); }
SolverKind solver_from_name(std::string_view name) {
  return from_name(solver_names, "solver", name);
}
std::string_view name_of(PreconditionerKind kind) { return name_in(preconditioner_names, kind); }
PreconditionerKind preconditioner_from_name(std::string_view name) {
  return from_name(preconditioner_names, "preconditioner", name);
}
std::string_view name_of(KrylovStatus status) {
  switch (status) {
    case KrylovStatus::Converged:
      return "converged";
    case KrylovStatus::RoundingLimit:
      return "rounding_limit";
    case KrylovStatus::IterationLimit:
      return "iteration_limit";
    case KrylovStatus::Breakdown:
      return "breakdown";
    case KrylovStatus::Stalled:
      return "stalled";
    case KrylovStatus::NotPositiveDefinite:
      break;
  }
  return "not_positive_definite";
}

}  // namespace strata::sparse
