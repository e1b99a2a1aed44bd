// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The logarithm of a determinant, once from a factor in fp64 and once from one in fp16 and fp32,
// each with the error that it may have. The exact value is known, as the matrix is the covariance
// of a Markov process.
#include <dense/Strata_Cholesky.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <iostream>

using Exec = Kokkos::DefaultExecutionSpace;

// C_ij = rho^|i - j|, filled where it lives.
void fill_covariance(Exec const& exec, double rho, Kokkos::View<double**> const& C) {
  auto const n = static_cast<int>(C.extent(0));
  Kokkos::parallel_for(
      "fill_covariance", Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>(exec, {0, 0}, {n, n}),
      KOKKOS_LAMBDA(int i, int j) { C(i, j) = Kokkos::pow(rho, i > j ? i - j : j - i); });
}

template <class Layers>
bool is_within_its_error(Exec const& exec, Kokkos::View<double**> const& C, double exact) {
  auto factor = strata::dense::cholesky<Layers>(exec, C);
  if (!factor.info().ok()) return false;
  auto const log_det = factor.log_determinant(exec);
  std::cout << factor.report().layers.name() << ": " << log_det.value << " +- " << log_det.error()
            << ", off by " << std::abs(log_det.value - exact) << '\n';
  return std::abs(log_det.value - exact) <= log_det.error();
}

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Exec const exec;

  int const n = 1000;
  double const rho = 0.9, exact = (n - 1) * std::log1p(-rho * rho);
  Kokkos::View<double**> const C("C", n, n);
  fill_covariance(exec, rho, C);

  std::cout.precision(10);
  std::cout << "exact: " << exact << '\n';
  bool const holds =
      is_within_its_error<strata::dense::Layers<double>>(exec, C, exact) &&
      is_within_its_error<strata::dense::Layers<strata::fp16, float>>(exec, C, exact);
  if (!holds) std::cerr << "a log-determinant is off by more than it says\n";
  return holds ? 0 : 1;
}
