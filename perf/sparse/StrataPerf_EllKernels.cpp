// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/krylov/Strata_KrylovBasis.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>
#include <sparse/matrix/Strata_ModelProblems.hpp>
#include <sparse/multigrid/Strata_GeometricMultigrid.hpp>
#include <sparse/multigrid/Strata_GridHierarchy.hpp>

#include <StrataPerf_Harness.hpp>
#include <StrataPerf_KernelsSystem.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

// The kernels of sparse solvers on the 27-point matrix of a cube, and Kokkos Kernels' beside them.
// Bytes are those that have to be moved once: entries, and vectors without what a cache would save
// or lose.

namespace strata::perf {

namespace {

using namespace strata::sparse;
using enum Precision;
using Wide = Vector<double, Exec::memory_space>;

StencilProblem cube(std::int64_t n) { return {n, n, n}; }

MatrixOptions eight_colours() {
  MatrixOptions options;
  options.order = RowOrder::Sweep;
  options.colouring = ColouringMethod::Greedy;
  return options;
}

DistributedMatrix<Exec> matrix_of(Exec const& exec, std::int64_t n, Precision values) {
  return DistributedMatrix<Exec>(exec, {}, cube(n).rows(), cube(n), eight_colours())
      .stored_in(exec, values);
}

DistributedMatrix<Exec> model_matrix(Exec const& exec, ModelProblem problem, ColouringMethod method,
                                     std::int64_t n, Precision values) {
  MatrixOptions options;
  options.order = RowOrder::Sweep;
  options.colouring = method;
  return make_matrix(exec, {}, make_model(problem, {n, n, n}, 0, n * n * n), options)
      .stored_in(exec, values);
}

template <class Scalar>
Vector<Scalar, Exec::memory_space> filled(Exec const& exec, DistributedMatrix<Exec> const& A,
                                          double value) {
  auto const x = A.template allocate<Scalar>(exec, "strata::perf::x");
  Kokkos::deep_copy(exec, x, static_cast<Scalar>(value));
  return x;
}

std::int64_t entry_bytes(DistributedMatrix<Exec> const& A) {
  return A.entries() *
         static_cast<std::int64_t>(traits(A.precision()).bytes + sizeof(std::int32_t));
}

// max |x_i - 1| of a solution that is all ones
template <class Vec>
double distance_from_one(Exec const& exec, Vec const& x, std::int64_t rows) {
  double most = 0;
  Kokkos::parallel_reduce(
      "strata::perf::distance", Kokkos::RangePolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, double& value) {
        double const d = Kokkos::abs(static_cast<double>(x(i)) - 1);
        value = d > value ? d : value;
      },
      Kokkos::Max<double>(most));
  exec.fence("strata::perf::distance");
  return most;
}

template <class Scalar>
void multiply(Run& run, Precision values, std::int64_t n) {
  Exec const& exec = run.exec();
  auto const A = matrix_of(exec, n, values);
  auto const x = filled<Scalar>(exec, A, 1), y = filled<Scalar>(exec, A, 0);
  run.measure([] {}, [&] { A.multiply(exec, x, y); });
  run.count_bytes(entry_bytes(A) + 2 * A.rows() * static_cast<std::int64_t>(sizeof(Scalar)));
  run.count_ratio(text("multiply ", n));
}

// A sweep for A x = A 1 leaves x = 1 where it is.
template <class Scalar>
void gauss_seidel(Run& run, Precision values, std::int64_t n) {
  Exec const& exec = run.exec();
  auto const A = matrix_of(exec, n, values);
  auto const x = filled<Scalar>(exec, A, 1), r = filled<Scalar>(exec, A, 0);
  A.multiply(exec, x, r);
  run.measure([] {}, [&] { A.gauss_seidel(exec, r, x); });
  run.count_bytes(entry_bytes(A) + 3 * A.rows() * static_cast<std::int64_t>(sizeof(Scalar)));
  run.count_error("error", 1e-5, [&] { return distance_from_one(exec, x, A.rows()); });
  run.count_ratio(text("gauss_seidel ", n));
}

double median(std::vector<double> values) {
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The entries up to the diagonal are read, and x is not. ratio_to_full is the median time of full
// sweeps, each just before one from zero, over the median time of the latter.
template <class Scalar>
void sweep_from_zero(Run& run, DistributedMatrix<Exec> const& A) {
  Exec const& exec = run.exec();
  auto const x = filled<Scalar>(exec, A, 1), r = filled<Scalar>(exec, A, 1);
  std::vector<double> full, from_zero;
  auto const sweep = [&](Guess guess, std::vector<double>& seconds) {
    exec.fence("strata::perf::before_sweep");
    Watch const watch;
    A.gauss_seidel(exec, r, x, Sweep::Forward, guess);
    exec.fence("strata::perf::after_sweep");
    seconds.push_back(watch.seconds());
  };
  run.measure([&] { sweep(Guess::Given, full); }, [&] { sweep(Guess::Zero, from_zero); });
  run.count_bytes(entry_bytes(A) / 2 + 2 * A.rows() * static_cast<std::int64_t>(sizeof(Scalar)));
  run.count("ratio_to_full", median(full) / median(from_zero));
}

template <class Scalar>
void residual_restrict(Run& run, Precision values, std::int64_t n) {
  Exec const& exec = run.exec();
  auto const hierarchy =
      make_grid_hierarchy(exec, {}, cube(n), 2, eight_colours()).stored_in(exec, values);
  auto const& level = hierarchy.levels.front();
  auto const& coarse = hierarchy.levels.back().A;
  auto const x = filled<Scalar>(exec, level.A, 1), b = filled<Scalar>(exec, level.A, 0),
             c = filled<Scalar>(exec, coarse, 0);
  run.measure([] {}, [&] { level.A.restrict_residual(exec, level.injection, b, x, c); });
  // An eighth of the rows, all of x, b at the rows that are read, the numbers of those.
  run.count_bytes(entry_bytes(level.A) / 8 +
                  level.A.rows() * static_cast<std::int64_t>(sizeof(Scalar)) +
                  coarse.rows() * static_cast<std::int64_t>(2 * sizeof(Scalar) + 4));
}

// Vector k of a basis: k + 1 vectors in three passes, and vector k written three times.
template <class Scalar, class Stored = Scalar>
void orthogonalise(Run& run, std::int64_t n, int k) {
  Exec const& exec = run.exec();
  std::int64_t const rows = n * n * n;
  sparse::KrylovBasis<Exec, Scalar, Stored> basis(exec, {}, rows, k + 1);
  for (int j = 0; j <= k; ++j) Kokkos::deep_copy(exec, basis[j], Scalar(0));
  sparse::Vector<double, Exec::memory_space> const r("strata::perf::r", rows);
  Kokkos::deep_copy(exec, r, 1 / std::sqrt(static_cast<double>(rows)));
  basis.start(exec, 1, r);
  run.measure([&] { Kokkos::deep_copy(exec, basis[k], Scalar(1)); },
              [&] { (void)basis.orthogonalise(exec, k); });
  run.count_bytes(
      rows * static_cast<std::int64_t>(3 * k * sizeof(Stored) + 7 * sizeof(Scalar) +
                                       (sizeof(Stored) < sizeof(Scalar) ? sizeof(Stored) : 0)));
}

KernelsSystem kernels_system(Exec const& exec, std::int64_t n) {
  return {exec, make_model(ModelProblem::Poisson27, {n, n, n}, 0, n * n * n)};
}
std::int64_t crs_bytes(KernelsSystem const& system) {
  return static_cast<std::int64_t>(12 * system.matrix().nnz()) + 8 * system.matrix().numRows();
}

void kernels_multiply(Run& run, std::int64_t n) {
  auto const system = kernels_system(run.exec(), n);
  KernelsSystem::Vec const x(Kokkos::view_alloc(run.exec(), "strata::perf::x"), n * n * n),
      y(Kokkos::view_alloc(run.exec(), "strata::perf::y"), n * n * n);
  run.measure([] {}, [&] { system.multiply(x, y); });
  run.count_bytes(crs_bytes(system) + 16 * system.matrix().numRows());
  run.is_vendor(text("multiply ", n));
}

void kernels_gauss_seidel(Run& run, std::int64_t n) {
  auto system = kernels_system(run.exec(), n);
  KernelsSystem::Vec const x(Kokkos::view_alloc(run.exec(), "strata::perf::x"), n * n * n),
      r(Kokkos::view_alloc(run.exec(), "strata::perf::r"), n * n * n);
  system.set_up_gauss_seidel(true);
  run.measure([] {}, [&] { system.forward_sweep(r, x); });
  run.count_bytes(crs_bytes(system) + 24 * system.matrix().numRows());
  run.is_vendor(text("gauss_seidel ", n));
}

template <class Scalar>
void register_kernels(Precision values, std::int64_t n) {
  std::string const type =
      text(traits(values).name, ',', traits(precision_of<Scalar>).name, "/n:", n);
  add("sparse/multiply", type, [=](Run& run) { multiply<Scalar>(run, values, n); });
  add("sparse/gauss_seidel", type, [=](Run& run) { gauss_seidel<Scalar>(run, values, n); });
  for (auto const problem : {ModelProblem::Poisson7, ModelProblem::Poisson27})
    for (auto const method :
         {ColouringMethod::Greedy, ColouringMethod::JonesPlassmannLuby, ColouringMethod::Levels})
      add("sparse/gauss_seidel_from_zero", text(name_of(problem), '/', name_of(method), '/', type),
          [=](Run& run) {
            sweep_from_zero<Scalar>(run, model_matrix(run.exec(), problem, method, n, values));
          });
  add("sparse/restrict_residual", type,
      [=](Run& run) { residual_restrict<Scalar>(run, values, n); });
}

Suite const suite([] {
  for (std::int64_t const n : settings().grid) {
    add("sparse/multiply", text("kernels/fp64/n:", n), [=](Run& run) { kernels_multiply(run, n); });
    add("sparse/gauss_seidel", text("kernels/fp64/n:", n),
        [=](Run& run) { kernels_gauss_seidel(run, n); });
    register_kernels<double>(fp64, n);
    register_kernels<float>(fp32, n);
    register_kernels<float>(bf16, n);
    for (int const k : {8, 30}) {
      add("sparse/orthogonalise", text("fp64/n:", n, "/k:", k),
          [=](Run& run) { orthogonalise<double>(run, n, k); });
      add("sparse/orthogonalise", text("fp32/n:", n, "/k:", k),
          [=](Run& run) { orthogonalise<float>(run, n, k); });
      add("sparse/orthogonalise", text("fp16/n:", n, "/k:", k),
          [=](Run& run) { orthogonalise<float, strata::fp16>(run, n, k); });
    }
  }
});

}  // namespace

}  // namespace strata::perf
