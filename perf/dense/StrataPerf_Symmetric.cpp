// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Indefinite systems in fp64: symmetric_factor and solve, beside the vendor's sytrf. The library
// factors; the solve with its factor is Strata's.
#include <core/Strata_MatrixRef.hpp>
#include <dense/indefinite/Strata_SymmetricFactor.hpp>

#include <StrataPerf_Harness.hpp>

#include <cmath>
#include <optional>
#include <utility>

namespace strata::perf {

namespace {

using namespace strata::dense;

// A = [G G; G -G] / sqrt(2): the eigenvalues of G with both signs, and so its condition.
void fill_indefinite(Exec const& exec, std::int64_t n, MatrixView const& A) {
  std::int64_t const half = n / 2;
  MatrixView const G = fp64_matrix(exec, half, half);
  SpdMatrix(exec, "geometric", half, settings().condition).fill(exec, G);
  double const c = std::sqrt(0.5);
  Kokkos::parallel_for(
      "strata::perf::indefinite",
      Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>(exec, {0, 0}, {n, n}),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        std::int64_t const row = i % half, column = j % half;
        double const g = row >= column ? G(row, column) : G(column, row);
        A(i, j) = i >= half && j >= half ? -c * g : c * g;
      });
  exec.fence("strata::perf::indefinite");
}

double flops(double n) { return n * n * n / 3 + 4 * n * n; }

void measure(Run& run, std::int64_t n, bool is_pivoted) {
  Exec const& exec = run.exec();
  MatrixView const A = fp64_matrix(exec, n, n), B = fp64_matrix(exec, n, 1),
                   X = fp64_matrix(exec, n, 1);
  fill_indefinite(exec, n, A);
  fill_uniform(exec, matrix_ref(B), 0, 3);
  SymmetricOptions options;
  options.pivoted = is_pivoted;
  RefinementOptions refinement;
  if (is_pivoted) refinement.refine = Refine::None;
  std::optional<SymmetricFactor<Exec>> factor;
  SolveReport solved;
  run.measure([&] { factor.reset(); },
              [&] {
                factor.emplace(symmetric_factor(exec, A, options));
                solved = factor->solve(exec, B, X, refinement);
              });
  std::string const name = text("/n:", n);
  run.count_flops(static_cast<std::int64_t>(flops(static_cast<double>(n))), Precision::fp64);
  run.count("iterations", static_cast<double>(solved.iterations));
  run.count("attempts", static_cast<double>(factor->report().attempts.size()));
  run.count("solve_seconds", solved.seconds);
  run.count("backward_error", solved.backward_error);
  is_pivoted ? run.is_vendor(name) : run.count_ratio(name);
}

Suite const suite([] {
  for (std::int64_t const given : settings().n) {
    std::int64_t const n = given / 2 * 2;
    add("dense/symmetric", text("vendor/fp64/n:", n), [=](Run& run) { measure(run, n, true); });
    add("dense/symmetric", text("layers/n:", n), [=](Run& run) { measure(run, n, false); });
  }
});

}  // namespace

}  // namespace strata::perf
