// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Many small systems in one call, beside the vendor's batched potrf and potrs, or a loop of
// LAPACK's.
#include <core/blas/Strata_FlopCount.hpp>
#include <dense/Strata_BatchedCholesky.hpp>

#include <StrataPerf_Harness.hpp>

#include <algorithm>
#include <type_traits>

namespace strata::perf {

template <class T>
using Batched = Kokkos::View<T***, Kokkos::LayoutLeft, Exec::memory_space>;

/// A(:, :, b) = (1 + (b mod 8) / 8) base. Enqueued.
template <class T>
void fill_batch(Exec const& exec, MatrixView const& base, Batched<T> const& A) {
  auto const n = static_cast<std::int64_t>(A.extent(0)), square = n * n;
  Kokkos::parallel_for(
      "strata::perf::fill_batch",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(
          exec, 0, square * static_cast<std::int64_t>(A.extent(2))),
      KOKKOS_LAMBDA(std::int64_t t) {
        std::int64_t const b = t / square, i = t % square % n, j = t % square / n;
        A(i, j, b) = static_cast<T>(base(i, j) * (1 + 0.125 * static_cast<double>(b % 8)));
      });
}

/// The largest number.
double largest_of(Exec const& exec, Kokkos::View<double*, Exec::memory_space> const& numbers) {
  double result = 0;
  Kokkos::parallel_reduce(
      "strata::perf::largest", Kokkos::RangePolicy<Exec>(exec, 0, numbers.extent(0)),
      KOKKOS_LAMBDA(std::size_t i, double& most) {
        if (!(numbers(i) <= most)) most = numbers(i);
      },
      Kokkos::Max<double>(result));
  return result;
}

namespace {

struct Problem {
  std::string matrix;
  std::int64_t n, nrhs, count;
  Precision precision;

  std::string name() const {
    return text('/', traits(precision).name, "/matrix:", matrix, "/n:", n, "/nrhs:", nrhs,
                "/count:", count);
  }
  // The triangles and the right-hand sides, each read and written once.
  std::int64_t bytes() const {
    auto const numbers = count * (n * (n + 1) + 2 * n * nrhs);
    return numbers * static_cast<std::int64_t>(traits(precision).bytes);
  }
  std::int64_t flops() const { return count * (potrf_flops(n) + potrs_flops(n, nrhs)); }
};

template <class T>
Batched<T> uninitialised(Exec const& exec, std::int64_t rows, std::int64_t cols,
                         std::int64_t count) {
  return Batched<T>(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "strata::perf::batch"),
                    static_cast<std::size_t>(rows), static_cast<std::size_t>(cols),
                    static_cast<std::size_t>(count));
}

template <class T>
void solve(Run& run, Problem const& problem, BlasPath path) {
  Exec const& exec = run.exec();
  std::int64_t const n = problem.n, columns = std::max<std::int64_t>(problem.nrhs, 1);
  MatrixView const base = fp64_matrix(exec, n, n);
  SpdMatrix(exec, problem.matrix, n, settings().condition).fill(exec, base);
  auto const A = uninitialised<T>(exec, n, n, problem.count),
             X = uninitialised<T>(exec, n, columns, problem.count);
  dense::BatchedCholesky<Exec> batch(exec, path);
  decltype(batch)::InfoView const info(Kokkos::view_alloc(exec, "strata::perf::info"),
                                       static_cast<std::size_t>(problem.count));
  auto const fill = [&](Batched<T> const& B) {
    fill_batch<T>(exec, base, A);
    fill_uniform(exec,
                 {B.data(), n, columns * problem.count, std::max<std::int64_t>(n, 1),
                  precision_of<T>, nullptr},
                 0, 3);
  };
  run.measure([&] { fill(X); },
              [&] {
                if (problem.nrhs > 0)
                  batch.factor_and_solve(Uplo::Lower, A, X, info);
                else
                  batch.factor(Uplo::Lower, A, info);
              });
  run.count_flops(problem.flops(), problem.precision);
  run.count_bytes(problem.bytes());
  run.count_error("backward_error", error_limit({problem.precision}, n), [&] {
    auto const B = uninitialised<T>(exec, n, columns, problem.count);
    decltype(batch)::ResultView const errors(Kokkos::view_alloc(exec, "strata::perf::errors"),
                                             static_cast<std::size_t>(problem.count));
    if (problem.nrhs == 0) batch.solve(Uplo::Lower, A, X);
    fill(B);
    batch.backward_errors(Uplo::Lower, A, X, B, errors);
    return largest_of(exec, errors);
  });
  if (path == BlasPath::Vendor)
    run.is_vendor(problem.name());
  else
    run.count_ratio(problem.name());
}

void add_problem(Problem const& problem) {
  auto const add_path = [&](char const* label, BlasPath path) {
    add("dense/batched", label + problem.name(), [=](Run& run) {
      with_arithmetic_type(problem.precision,
                           [&]<class T>(std::type_identity<T>) { solve<T>(run, problem, path); });
    });
  };
  if (has_vendor()) add_path("vendor", BlasPath::Vendor);
  add_path("strata", BlasPath::Automatic);
}

Suite const suite([] {
  for (Precision const precision : {Precision::fp64, Precision::fp32})
    for (std::string const& matrix : settings().matrices)
      for (std::int64_t const n : settings().batch_n)
        for (std::int64_t const nrhs : settings().batch_nrhs) {
          auto const fitting = static_cast<std::int64_t>(settings().batch_bytes) / (8 * n * n);
          add_problem({matrix, n, nrhs, std::clamp<std::int64_t>(fitting, 1, 100000), precision});
        }
});

}  // namespace

}  // namespace strata::perf
