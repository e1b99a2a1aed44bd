// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <trilinos/Strata_Parameters.hpp>

#include <core/Strata_Errors.hpp>

#include <BelosTypes.hpp>
#include <Teuchos_VerboseObject.hpp>

#include <array>
#include <cmath>
#include <ostream>
#include <string_view>
#include <utility>

namespace strata::trilinos {
namespace {

using Teuchos::ParameterList;

void require_known_names(std::string_view owner, ParameterList const& given,
                         ParameterList const& valid) {
  std::string list;
  for (auto const& entry : valid) list += (list.empty() ? "" : ", ") + entry.first;
  for (auto const& entry : given)
    STRATA_REQUIRE(ValueError, valid.isParameter(entry.first), owner, ": no parameter is called '",
                   entry.first, "', only ", list);
}

// The value that was given, or the default.
template <class T>
T value_of(std::string_view owner, ParameterList const& given, ParameterList const& valid,
           std::string const& name) {
  if (!given.isParameter(name)) return valid.get<T>(name);
  STRATA_REQUIRE(ValueError, given.isType<T>(name), owner, ": '", name, "' is of type ",
                 given.getEntry(name).getAny().typeName(), ", must be ",
                 valid.getEntry(name).getAny().typeName());
  return given.get<T>(name);
}

int at_least(int least, std::string_view owner, std::string_view name, int value) {
  STRATA_REQUIRE(ValueError, value >= least, owner, ": '", name, "' is ", value,
                 ", must be at least ", least);
  return value;
}

template <class Value, std::size_t N>
Value named(std::array<std::pair<std::string_view, Value>, N> const& names, std::string_view owner,
            std::string_view parameter, std::string const& text) {
  std::string list;
  for (auto const& [name, value] : names) {
    if (name == text) return value;
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  throw ValueError(
      strata::detail::message(owner, ": '", parameter, "' is '", text, "', must be one of ", list));
}

constexpr std::array<std::pair<std::string_view, sparse::Sweep>, 3> sweep_names{
    {{"forward", sparse::Sweep::Forward},
     {"backward", sparse::Sweep::Backward},
     {"symmetric", sparse::Sweep::Symmetric}}};
constexpr std::array<std::pair<std::string_view, std::optional<sparse::ColouringMethod>>, 4>
    colouring_names{{{"auto", std::nullopt},
                     {"jones-plassmann-luby", sparse::ColouringMethod::JonesPlassmannLuby},
                     {"greedy", sparse::ColouringMethod::Greedy},
                     {"levels", sparse::ColouringMethod::Levels}}};
constexpr std::array<std::pair<std::string_view, Precision>, 4> precision_names{
    {{"fp64", Precision::fp64},
     {"fp32", Precision::fp32},
     {"bf16", Precision::bf16},
     {"fp16", Precision::fp16}}};
using Scaling = GmresIrOptions::Scaling;
constexpr std::array<std::pair<std::string_view, Scaling>, 3> scaling_names{
    {{"Norm of Initial Residual", Scaling::InitialResidual},
     {"Norm of RHS", Scaling::RightSide},
     {"None", Scaling::None}}};

constexpr std::string_view preconditioner_name = "Strata preconditioner";
constexpr std::string_view solver_name = "Strata GMRES-IR";

// Belos takes an int or one of its MsgType.
int verbosity_of(ParameterList const& given, ParameterList const& valid) {
  std::string const name = "Verbosity";
  if (given.isParameter(name) && given.isType<Belos::MsgType>(name))
    return given.get<Belos::MsgType>(name);
  return value_of<int>(solver_name, given, valid, name);
}

}  // namespace

ParameterList preconditioner_parameters() {
  PreconditionerOptions const standard;
  ParameterList list("Strata preconditioner");
  list.set("Type", std::string(sparse::name_of(standard.kind)),
           "auto, none, jacobi, gs or amg; auto: amg, or none where a diagonal entry is 0; gs on "
           "several ranks need not be positive definite, as CG wants it");
  list.set("Precision", std::string("fp32"), "of its matrices: fp64, fp32, bf16 or fp16");
  list.set("Sweeps", standard.sweeps, "of Gauss-Seidel");
  list.set("Sweep Direction", std::string("symmetric"),
           "of Gauss-Seidel: forward, backward or symmetric, which is two");
  list.set("Colouring", std::string("auto"),
           "order of sweeps: jones-plassmann-luby, greedy, levels (the order of the rows) or auto");
  list.set("Strength", standard.amg.strength,
           "amg: couplings below this part of the largest two are weak");
  list.set("Coarse Rows", static_cast<int>(standard.amg.coarse_rows),
           "amg: solved directly from here on");
  list.set("Block Size", standard.amg.block_size,
           "amg: unknowns of a point, one after the other; 0: found");
  return list;
}

PreconditionerOptions preconditioner_options(ParameterList const& parameters) {
  auto const valid = preconditioner_parameters();
  auto const owner = preconditioner_name;
  require_known_names(owner, parameters, valid);
  auto const text = [&](std::string const& name) {
    return value_of<std::string>(owner, parameters, valid, name);
  };
  auto const number = [&](std::string const& name) {
    return at_least(1, owner, name, value_of<int>(owner, parameters, valid, name));
  };
  PreconditionerOptions options;
  options.kind = from_name<sparse::PreconditionerKind>(text("Type"));
  options.precision = named(precision_names, owner, "Precision", text("Precision"));
  options.sweep = named(sweep_names, owner, "Sweep Direction", text("Sweep Direction"));
  options.sweeps = number("Sweeps");
  options.colouring = named(colouring_names, owner, "Colouring", text("Colouring"));
  options.amg.strength = value_of<double>(owner, parameters, valid, "Strength");
  options.amg.coarse_rows = number("Coarse Rows");
  options.amg.block_size =
      at_least(0, owner, "Block Size", value_of<int>(owner, parameters, valid, "Block Size"));
  return options;
}

ParameterList gmres_ir_parameters() {
  GmresIrOptions const standard;
  ParameterList list{std::string(solver_name)};
  list.set("Convergence Tolerance", standard.tolerance,
           "of the norm of the residual b - A x, computed in fp64, over the scaling");
  list.set("Maximum Iterations", standard.max_iterations, "for each right-hand side");
  list.set("Num Blocks", standard.num_blocks, "vectors of a basis: iterations until a restart");
  list.set("Maximum Restarts", standard.max_restarts,
           "no more than Num Blocks (Maximum Restarts + 1) iterations; refinement restarts sooner");
  list.set("Explicit Residual Scaling", std::string(scaling_names.front().first),
           "Norm of Initial Residual, Norm of RHS or None");
  list.set("Verbosity", standard.verbosity, "Belos::MsgType, added up");
  list.set("Output Frequency", standard.output_frequency,
           "iterations between lines of StatusTestDetails; less than 1: none");
  list.set("Output Stream",
           Teuchos::RCP<std::ostream>(Teuchos::VerboseObjectBase::getDefaultOStream()),
           "where rank 0 prints");
  list.set("Preconditioner", preconditioner_parameters(),
           "made where the problem has no right preconditioner");
  return list;
}

GmresIrOptions gmres_ir_options(ParameterList const& parameters) {
  auto const valid = gmres_ir_parameters();
  auto const owner = solver_name;
  require_known_names(owner, parameters, valid);
  auto const number = [&](std::string const& name, int least) {
    return at_least(least, owner, name, value_of<int>(owner, parameters, valid, name));
  };
  GmresIrOptions options;
  options.tolerance = value_of<double>(owner, parameters, valid, "Convergence Tolerance");
  STRATA_REQUIRE(ValueError, options.tolerance >= 0 && std::isfinite(options.tolerance), owner,
                 ": 'Convergence Tolerance' is ", options.tolerance, ", must be at least 0");
  options.max_iterations = number("Maximum Iterations", 0);
  options.num_blocks = number("Num Blocks", 1);
  options.max_restarts = number("Maximum Restarts", 0);
  options.scaling =
      named(scaling_names, owner, "Explicit Residual Scaling",
            value_of<std::string>(owner, parameters, valid, "Explicit Residual Scaling"));
  options.verbosity = verbosity_of(parameters, valid);
  options.output_frequency = value_of<int>(owner, parameters, valid, "Output Frequency");
  options.output = value_of<Teuchos::RCP<std::ostream>>(owner, parameters, valid, "Output Stream");
  STRATA_REQUIRE(ValueError, !options.output.is_null(), owner, ": 'Output Stream' is null");
  if (parameters.isParameter("Preconditioner")) {
    STRATA_REQUIRE(ValueError, parameters.isSublist("Preconditioner"), owner,
                   ": 'Preconditioner' must be a list");
    options.preconditioner = preconditioner_options(parameters.sublist("Preconditioner"));
  }
  return options;
}

}  // namespace strata::trilinos
