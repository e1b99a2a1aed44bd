// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// From the matrix to the solution in fp64: cholesky and solve, beside the vendor's potrf and potrs.
#include <core/Strata_MatrixRef.hpp>
#include <core/blas/Strata_FlopCount.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/Strata_Cholesky.hpp>

#include <StrataPerf_Harness.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

namespace strata::perf {

namespace {

using namespace strata::dense;
using enum Precision;

struct Problem {
  std::string matrix;
  std::int64_t n, nrhs;

  std::string name() const { return text("/matrix:", matrix, "/n:", n, "/nrhs:", nrhs); }
  std::int64_t flops() const { return potrf_flops(n) + potrs_flops(n, nrhs); }
  SpdMatrix generator(Exec const& exec) const {
    return SpdMatrix(exec, matrix, n, settings().condition);
  }
};

void fill_right_hand_side(Exec const& exec, MatrixView const& B) {
  fill_uniform(exec, matrix_ref(B), 0, 3);
}

void vendor(Run& run, Problem const& problem) {
  Exec const& exec = run.exec();
  std::int64_t const n = problem.n, nrhs = problem.nrhs;
  SpdMatrix const generator = problem.generator(exec);
  MatrixView const A = fp64_matrix(exec, n, n), X = fp64_matrix(exec, n, nrhs);
  LeafBlas<Exec>& blas = shared_blas(BlasPath::Vendor);
  LeafBlas<Exec>::InfoView const info(Kokkos::view_alloc(exec, "strata::perf::info"));
  run.measure(
      [&] {
        generator.fill(exec, A);
        fill_right_hand_side(exec, X);
      },
      [&] {
        blas.potrf(Uplo::Lower, matrix_ref(A), 0, info);
        for (Op const op : {Op::NoTrans, Op::Trans})
          blas.trsm(Side::Left, Uplo::Lower, op, Diag::NonUnit, 1, matrix_ref(A), matrix_ref(X));
      });
  run.count_flops(problem.flops(), fp64);
  run.count("bytes", static_cast<double>(A.size() * sizeof(double)));
  run.count_error("backward_error", error_limit({fp64}, n), [&] {
    MatrixView const B = fp64_matrix(exec, n, nrhs);
    fill_right_hand_side(exec, B);
    generator.fill(exec, A);
    return backward_error(blas, matrix_ref(A), matrix_ref(X), matrix_ref(B));
  });
  run.is_vendor(problem.name());
}

// The least time that a new factor takes to tell whether the condition should be estimated.
double seconds_to_tell(Exec const& exec, CholeskyFactor<Exec>& factor, MatrixView const& A,
                       MatrixView const& B, MatrixView const& X) {
  double least = 1e300;
  for (int k = 0; k < 5; ++k) {
    factor.refactor(exec, A);
    auto const solved = factor.solve(exec, B, X);
    exec.fence("strata::perf::needs_condition");
    Kokkos::Timer const timer;
    [[maybe_unused]] bool const is_needed = factor.needs_condition(exec, solved);
    least = std::min(least, timer.seconds());
  }
  return least;
}

void solve(Run& run, LayerList const& layers, Problem const& problem) {
  Exec const& exec = run.exec();
  std::int64_t const n = problem.n, nrhs = problem.nrhs;
  MatrixView const A = fp64_matrix(exec, n, n), B = fp64_matrix(exec, n, nrhs),
                   X = fp64_matrix(exec, n, nrhs);
  problem.generator(exec).fill(exec, A);
  fill_right_hand_side(exec, B);
  CholeskyOptions options;
  options.leaf_size = settings().leaf_size;
  options.columns = nrhs;
  std::optional<CholeskyFactor<Exec>> factor;
  SolveReport solved;
  run.measure([&] { factor.reset(); },
              [&] {
                factor.emplace(cholesky(exec, A, layers, options));
                solved = factor->solve(exec, B, X);
              });
  CholeskyReport const& report = factor->report();
  STRATA_REQUIRE(ValueError, solved.converged, "the solve did not converge, backward error ",
                 solved.backward_error);
  run.count_flops(problem.flops(), layers.at_depth(0));
  run.count("bytes", static_cast<double>(report.peak_bytes));
  run.count_memory();
  run.count("analyse_seconds", report.analyse_seconds);
  run.count("load_seconds", report.load_seconds);
  run.count("factor_seconds", report.factor_seconds);
  run.count("solve_seconds", solved.seconds);
  run.count("needs_condition_seconds", seconds_to_tell(exec, *factor, A, B, X));
  run.count("attempts", static_cast<double>(report.attempts.size()));
  run.count("iterations", static_cast<double>(solved.iterations));
  run.count_error("backward_error", error_limit({fp64}, n), [&] { return solved.backward_error; });
  run.count_ratio(problem.name());
}

Suite const suite([] {
  for (std::int64_t const n : settings().n) {
    for (std::string const& matrix : settings().matrices) {
      for (std::int64_t const nrhs : settings().nrhs) {
        Problem const problem{matrix, n, nrhs};
        if (has_vendor())
          add("dense/cholesky", "vendor/fp64" + problem.name(),
              [=](Run& run) { vendor(run, problem); });
        for (LayerList const& layers : settings().layers)
          add("dense/cholesky", short_name(layers) + problem.name(),
              [=](Run& run) { solve(run, layers, problem); });
      }
    }
  }
});

}  // namespace

}  // namespace strata::perf
