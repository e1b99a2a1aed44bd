// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// A preconditioner of one's own, z = M^-1 r, under conjugate gradients. Couplings along x are a
// hundred times stronger than along y: each line along x is solved exactly, in fp32. A.scatter
// brings r from the solver's order to that in which rows were given.
#include <sparse/Strata_Sparse.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <iostream>

using namespace strata;
using Exec = Kokkos::DefaultExecutionSpace;
using Floats = sparse::Vector<float, Exec::memory_space>;
constexpr std::int64_t points = 128, rows = points * points;

// Gauss' elimination on each line. The pivots 2.0202, 2.0202 - 1 / 2.0202, ... soon are one number,
// which is taken for all.
void solve_lines(Exec const& exec, Floats const& v) {
  auto const pivot = static_cast<float>(1.0101 + Kokkos::sqrt(1.0101 * 1.0101 - 1));
  Kokkos::parallel_for(
      "solve_lines", Kokkos::RangePolicy<Exec>(exec, 0, points), KOKKOS_LAMBDA(std::int64_t line) {
        std::int64_t const first = line * points, last = first + points - 1;
        for (auto i = first; i < last; ++i) v(i + 1) += v(i) / pivot;
        v(last) /= pivot;
        for (auto i = last - 1; i >= first; --i) v(i) = (v(i) + v(i + 1)) / pivot;
      });
}

struct Lines {
  sparse::DistributedMatrix<Exec> A;
  Floats v;
  void apply(Exec const& exec, Floats const& r, Floats const& z) const {
    A.scatter(exec, r, v);
    solve_lines(exec, v);
    A.gather(exec, v, z);
  }
};

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Exec const exec;
  auto const model = make_model(sparse::ModelProblem::Anisotropic, {points, points, 1}, 0, rows);
  auto const A = make_matrix(exec, sparse::Communicator(), model);
  auto const ones = A.allocate<double>(exec, "ones"), b = A.allocate<double>(exec, "b");
  Kokkos::deep_copy(exec, ones, 1.0);
  A.multiply(exec, ones, b);
  for (bool const with_lines : {false, true}) {
    sparse::Preconditioner<Exec, float> M;  // none
    if (with_lines) M = Lines{A, Floats("v", rows)};
    auto const x = A.allocate<double>(exec, "x");  // 0, to become the ones
    sparse::ConjugateGradients<Exec, float> solver(exec, A, M, {.tolerance = 1e-10});
    auto const report = solver.solve(exec, b, x);
    auto const x_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
    double error = 0;
    for (int i = 0; i < rows; ++i) error = Kokkos::fmax(error, Kokkos::abs(x_host(i) - 1));
    std::cout << (with_lines ? "with lines: " : "without: ") << report.iterations
              << " iterations, largest error " << error << '\n';
    if (!(error < 1e-6) || report.iterations > (with_lines ? 200 : 1000)) return 1;
  }
}
