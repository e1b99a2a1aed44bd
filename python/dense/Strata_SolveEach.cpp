// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Many systems of different orders in one call.
#include <dense/varied/Strata_SolveEach.hpp>

#include <c/runtime/Strata_Operand.hpp>
#include <python/dense/detail/Strata_KeptFactor.hpp>
#include <python/detail/Strata_Arrays.hpp>
#include <python/detail/Strata_BindSolveEach.hpp>
#include <python/detail/Strata_Work.hpp>

#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata::python {

namespace {

using namespace nb::literals;
using detail::InAnywhere, detail::OutAnywhere, detail::Kept, detail::Stored;

// A system as its arrays hold it: X has the right-hand sides before.
struct Given {
  Stored<double const> A;
  Stored<double> X;
  Uplo uplo;
};

// Throws   NotPositiveDefinite that names the first system without a factor.
void require_factors(dense::EachSolved const& found) {
  std::int64_t const first = found.first_failed();
  if (first < 0) return;
  std::int64_t failed = 0;
  for (std::int64_t const info : found.info) failed += info != 0;
  std::int64_t const minor = found.info[static_cast<std::size_t>(first)];
  throw NotPositiveDefinite(
      minor, strata::detail::message("system ", first, ", from 0: the leading minor of order ",
                                     minor, " is not positive, or not a number; ", failed, " of ",
                                     found.info.size(), " systems have no factor"));
}

dense::EachSolved solve_all(std::vector<Given> const& given) {
  auto const instance = c::new_instance();
  c::Exec const exec = *instance;
  std::vector<c::Operand<double const>> matrices;
  std::vector<c::Operand<double>> solutions;
  std::vector<dense::VariedSystem<c::Memory>> systems;
  for (auto const& [A, X, uplo] : given) {
    matrices.emplace_back(exec, A.data, A.rows, A.rows, A.ld, c::part_of(uplo));
    solutions.emplace_back(exec, X.data, X.rows, X.cols, X.ld, c::Part::All);
    systems.push_back({uplo, matrices.back().matrix(), solutions.back().matrix()});
  }
  auto found = dense::solve_each(exec, systems);
  for (auto const& solution : solutions) solution.write_back(exec, c::Part::All);
  exec.fence("strata::python::solve_each: the solutions are written");
  return found;
}

// X: the right-hand sides by columns, which become solutions. The logarithms of determinants.
auto solve_each(std::vector<InAnywhere> const& matrices, std::vector<OutAnywhere> const& X,
                bool lower) {
  std::vector<Given> given;
  double flops = 0;
  for (std::size_t s = 0; s < matrices.size(); ++s) {
    auto const A = detail::require_stored("A", matrices[s]);
    auto const x = detail::require_stored("X", X[s]);
    given.push_back({A, x, detail::uplo_of(A, lower)});
    flops += std::pow(static_cast<double>(A.rows), 3) / 3;
  }
  auto const found =
      detail::run(flops, [kept = Kept(matrices, X), given](auto&) { return solve_all(given); });
  require_factors(found);
  return detail::as_array(std::span<double const>(found.log_determinants));
}

}  // namespace

void bind_solve_each(nb::module_& m) {
  m.def("solve_each", &solve_each, "matrices"_a, "X"_a, "lower"_a);
}

}  // namespace strata::python
