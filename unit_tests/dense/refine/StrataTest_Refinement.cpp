// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_ResidualNorms.hpp"
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_SpdSystem.hpp"
#include <core/Strata_Errors.hpp>
#include <dense/refine/Strata_Refinement.hpp>
#include <dense/refine/Strata_SpdSolve.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

template <class Exec>
using Block = typename OnDevice<Exec>::Block;

/// M^-1 = L^-T L^-1 in the arithmetic of T, on the host; and how often it was called for a column.
template <class Exec, class T>
auto cholesky_solve(PlainMatrix const& M) {
  auto const L = std::make_shared<PlainMatrix>(reference_cholesky<T>(M));
  return [L](Block<Exec> const& R) {
    PlainMatrix X = OnDevice<Exec>::read(R);
    for (std::size_t c = 0; c < X.cols; ++c) {
      double* const x = X.data.data() + c * X.rows;
      reference_forward<T>(*L, x);
      reference_backward<T>(*L, x);
    }
    OnDevice<Exec>::write(R, X);
  };
}

template <class Exec, class Solve>
RefinementOperators<Exec> operators_of(Exec const& exec, PlainMatrix const& A, Solve const& solve) {
  auto const device = OnDevice<Exec>::copy(A);
  RefinementOperators<Exec> result;
  result.apply = [exec, device](Block<Exec> const& X, Block<Exec> const& Y) {
    reference_product(exec, device, X, Y);
  };
  result.precondition = solve;
  result.norm_inf = norm_inf(A);
  return result;
}

double reference_backward_error(PlainMatrix const& A, PlainMatrix const& B, PlainMatrix const& X) {
  return worst_of(
      residual_norms(static_cast<std::int64_t>(B.rows), static_cast<std::int64_t>(B.cols), A, X, B),
      &ResidualNorms::backward_error);
}

bool finite(PlainMatrix const& X) {
  return std::ranges::all_of(X.data, [](double x) { return std::isfinite(x); });
}

struct Refined {
  RefinementReport report;
  PlainMatrix X;
  double backward_error;  ///< backward error by the reference
};

template <class Exec, class Solve>
Refined solve(PlainMatrix const& A, Solve const& preconditioner, PlainMatrix const& B,
              RefinementOptions const& options = {}, std::size_t padding = 0) {
  Exec const exec;
  auto const operators = operators_of(exec, A, preconditioner);
  auto const b = OnDevice<Exec>::copy(B, padding);
  auto const x = OnDevice<Exec>::copy(PlainMatrix(B.rows, B.cols), padding);
  Refined outcome{refine(exec, operators, b, x, options), OnDevice<Exec>::read(x), 0};
  outcome.backward_error = reference_backward_error(A, B, outcome.X);
  if (finite(B)) {
    EXPECT_EQ(OnDevice<Exec>::read(b).data, B.data) << "B was written";
  }
  return outcome;
}

/// Converged, by the report and by the reference, and all the numbers of the report agree with it.
void expect_solved(Refined const& outcome, std::size_t n) {
  auto const& report = outcome.report;
  double const order = static_cast<double>(n);
  EXPECT_TRUE(report.converged) << report.backward_error << " after " << report.iterations;
  EXPECT_TRUE(finite(outcome.X));
  EXPECT_EQ(report.unconverged_columns, 0);
  EXPECT_LE(report.backward_error, std::sqrt(order) * 0x1p-52);
  // The residual that was reported was rounded itself: n 2^-53 at worst.
  EXPECT_NEAR(outcome.backward_error, report.backward_error, order * 0x1p-53 + 0x1p-52);
  EXPECT_LE(report.hpl_scaled_residual, hpl_threshold);
  EXPECT_LE(report.slate_error, slate_threshold);
  ASSERT_FALSE(report.history.empty());
  EXPECT_EQ(report.history.size(), static_cast<std::size_t>(report.outer_iterations) + 1);
}

/// Not converged, and it says so with a finite X.
void expect_truthful_failure(Refined const& outcome) {
  EXPECT_FALSE(outcome.report.converged);
  EXPECT_GE(outcome.report.unconverged_columns, 1);
  EXPECT_TRUE(finite(outcome.X));
}

/// Q D Q^T and a matrix with the same eigenvectors and eigenvalues off by factors in [1, spread].
struct Pair {
  PlainMatrix A, M;
};
Pair perturbed(std::vector<double> const& spectrum, double spread) {
  std::vector<double> other = spectrum;
  for (std::size_t i = 0; i < other.size(); ++i)
    other[i] *= std::pow(spread, static_cast<double>((i * 37) % 101) / 100);
  return {with_spectrum(spectrum), with_spectrum(other)};
}

template <class Exec>
class Refinement : public testing::Test {};
TYPED_TEST_SUITE(Refinement, Spaces, SpaceNames);

// --- every method, where it must work
// -------------------------------------------------------------

template <class Exec>
void solves_with_a_single_precision_factor() {
  std::size_t const n = 150;
  for (double const kappa : {1e1, 1e3, 1e5}) {
    for (auto const& spectrum : {geometric_spectrum(n, kappa), clustered_spectrum(n, kappa)}) {
      PlainMatrix const A = with_spectrum(spectrum);
      auto const M = cholesky_solve<Exec, float>(A);
      for (Refine const refine : {Refine::Classical, Refine::Cg, Refine::Gmres, Refine::Automatic})
        for (std::size_t const columns : {1, 3, 17}) {
          SCOPED_TRACE(std::string(name_of(refine)) + ", kappa " + std::to_string(kappa));
          auto const outcome = solve<Exec>(A, M, random_numbers(n, columns), {.refine = refine});
          expect_solved(outcome, n);
          EXPECT_LE(outcome.report.iterations, 12);
          if (refine != Refine::Automatic) {
            EXPECT_EQ(outcome.report.method, refine);
          }
        }
    }
  }
}
TYPED_TEST(Refinement, SolvesWithASinglePrecisionFactor) {
  solves_with_a_single_precision_factor<TypeParam>();
}

template <class Exec>
void reaches_backward_error_at_the_hard_end() {
  std::size_t const n = 200;
  for (double const kappa : {1e6, 1e9, 1e12}) {
    auto const [A, M] = perturbed(geometric_spectrum(n, kappa), 1e4);
    auto const solver = cholesky_solve<Exec, double>(M);
    for (Refine const refine : {Refine::Cg, Refine::Gmres, Refine::Automatic}) {
      SCOPED_TRACE(std::string(name_of(refine)) + ", kappa " + std::to_string(kappa));
      auto const outcome = solve<Exec>(A, solver, random_numbers(n, 3), {.refine = refine});
      expect_solved(outcome, n);
      if (refine == Refine::Automatic) {
        EXPECT_EQ(outcome.report.method, Refine::Cg);
      }
    }
  }
}
TYPED_TEST(Refinement, ReachesBackwardErrorAtTheHardEnd) {
  reaches_backward_error_at_the_hard_end<TypeParam>();
}

template <class Exec>
void takes_bad_diagonal_scaling() {
  std::size_t const n = 120;
  for (double const kappa : {1e2, 1e5}) {
    PlainMatrix const A = badly_scaled(with_spectrum(geometric_spectrum(n, kappa)), 6);
    auto const M = cholesky_solve<Exec, float>(A);
    for (Refine const refine : {Refine::Classical, Refine::Cg, Refine::Gmres, Refine::Automatic}) {
      SCOPED_TRACE(name_of(refine));
      expect_solved(solve<Exec>(A, M, random_numbers(n, 3), {.refine = refine}), n);
    }
  }
}
TYPED_TEST(Refinement, TakesBadDiagonalScaling) { takes_bad_diagonal_scaling<TypeParam>(); }

template <class Exec>
void refines_columns_of_any_size() {
  std::size_t const n = 90;
  auto const [A, M] = perturbed(geometric_spectrum(n, 1e6), 30);
  auto const solver = cholesky_solve<Exec, float>(M);
  PlainMatrix B = random_numbers(n, 17);
  for (std::size_t i = 0; i < n; ++i) {
    B(i, 2) = 0;
    B(i, 5) *= 1e200;
    B(i, 6) *= 1e-200;
    B(i, 9) = i == 4 ? 1 : 0;
    B(i, 16) = A(i, 0);  // easy: x = e_1
  }
  for (Refine const refine : {Refine::Classical, Refine::Cg, Refine::Gmres, Refine::Automatic}) {
    SCOPED_TRACE(name_of(refine));
    auto const outcome = solve<Exec>(A, solver, B, {.refine = refine}, 7);
    if (refine == Refine::Classical) {
      expect_truthful_failure(outcome);  // the spectral radius of I - M^-1 A is 1 - 1/30
    } else {
      expect_solved(outcome, n);
    }
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(outcome.X(i, 2), 0);
  }
}
TYPED_TEST(Refinement, RefinesColumnsOfAnySize) { refines_columns_of_any_size<TypeParam>(); }

template <class Exec>
void takes_matrices_of_any_size() {
  std::size_t const n = 60;
  for (double const size : {1e-250, 1e250}) {
    PlainMatrix A = with_spectrum(geometric_spectrum(n, 1e4));
    auto const unscaled = cholesky_solve<Exec, float>(A);
    auto const M = [unscaled, size](Block<Exec> const& R) {
      unscaled(R);
      PlainMatrix X = OnDevice<Exec>::read(R);
      for (double& x : X.data) x /= size;
      OnDevice<Exec>::write(R, X);
    };
    for (double& a : A.data) a *= size;
    for (Refine const refine : {Refine::Classical, Refine::Cg, Refine::Gmres}) {
      SCOPED_TRACE(name_of(refine));
      expect_solved(solve<Exec>(A, M, random_numbers(n, 3), {.refine = refine}), n);
    }
  }
}
TYPED_TEST(Refinement, TakesMatricesOfAnySize) { takes_matrices_of_any_size<TypeParam>(); }

// In the last iterations p'Ap is subnormal, or nearly, where A is huge: its reciprocal would not be
// finite.
template <class Exec>
void cg_divides_by_curvatures_of_any_size() {
  std::size_t const n = 60;
  auto const pair = perturbed(geometric_spectrum(n, 1e4), 30);
  auto const unscaled = cholesky_solve<Exec, double>(pair.M);
  for (double const size : {0x1p-990, 1.0, 0x1p+990}) {
    SCOPED_TRACE(size);
    PlainMatrix A = pair.A;
    for (double& a : A.data) a *= size;
    auto const M = [&](Block<Exec> const& R) {
      unscaled(R);
      PlainMatrix X = OnDevice<Exec>::read(R);
      for (double& x : X.data) x /= size;
      OnDevice<Exec>::write(R, X);
    };
    auto const outcome = solve<Exec>(A, M, random_numbers(n, 3), {.refine = Refine::Cg});
    expect_solved(outcome, n);
    EXPECT_EQ(outcome.report.outer_iterations, 2);  // an iteration that breaks off needs more
  }
}
TYPED_TEST(Refinement, CgDividesByCurvaturesOfAnySize) {
  cg_divides_by_curvatures_of_any_size<TypeParam>();
}

template <class Exec>
void solves_small_systems() {
  for (std::size_t const n : {1, 2, 3, 5})
    for (Refine const refine : {Refine::Classical, Refine::Cg, Refine::Gmres, Refine::Automatic}) {
      SCOPED_TRACE(std::string(name_of(refine)) + " " + std::to_string(n));
      PlainMatrix const A = with_spectrum(geometric_spectrum(n, 10));
      expect_solved(
          solve<Exec>(A, cholesky_solve<Exec, float>(A), random_numbers(n, 3), {.refine = refine}),
          n);
    }
}
TYPED_TEST(Refinement, SolvesSmallSystems) { solves_small_systems<TypeParam>(); }

template <class Exec>
void returns_at_once_when_empty() {
  Exec const exec;
  for (auto const& [n, m] : {std::pair(0, 3), std::pair(4, 0), std::pair(0, 0)}) {
    Block<Exec> const B("strata::test::B", n, m), X("strata::test::X", n, m);
    auto const report = refine(exec, RefinementOperators<Exec>{}, B, X);
    EXPECT_TRUE(report.converged);
    EXPECT_EQ(report.iterations, 0);
  }
}
TYPED_TEST(Refinement, ReturnsAtOnceWhenEmpty) { returns_at_once_when_empty<TypeParam>(); }

template <class Exec>
void solves_more_rows_than_a_chunk() {
  // A = I + e e' / n with M = I: one eigenvalue is 2, the others 1.
  std::size_t const n = 9001;
  Exec const exec;
  RefinementOperators<Exec> operators;
  operators.apply = [exec](Block<Exec> const& X, Block<Exec> const& Y) {
    PlainMatrix x = OnDevice<Exec>::read(X);
    for (std::size_t c = 0; c < x.cols; ++c) {
      double sum = 0;
      for (std::size_t i = 0; i < x.rows; ++i) sum += x(i, c);
      for (std::size_t i = 0; i < x.rows; ++i) x(i, c) += sum / static_cast<double>(x.rows);
    }
    OnDevice<Exec>::write(Y, x);
  };
  operators.precondition = [](Block<Exec> const&) {};
  operators.norm_inf = 2;
  PlainMatrix const B = random_numbers(n, 2);
  for (Refine const method : {Refine::Cg, Refine::Gmres}) {
    auto const X = OnDevice<Exec>::copy(PlainMatrix(n, 2));
    auto const report = refine(exec, operators, OnDevice<Exec>::copy(B), X, {.refine = method});
    EXPECT_TRUE(report.converged);
    EXPECT_LE(report.iterations, 8);
    PlainMatrix const x = OnDevice<Exec>::read(X);
    for (std::size_t c = 0; c < 2; ++c) {  // x = b - e (e'b) / (2 n)
      double sum = 0, worst = 0;
      for (std::size_t i = 0; i < n; ++i) sum += B(i, c);
      for (std::size_t i = 0; i < n; ++i)
        worst = std::max(worst, std::abs(x(i, c) - B(i, c) + sum / static_cast<double>(2 * n)));
      EXPECT_LE(worst, 1e-12);
    }
  }
}
TYPED_TEST(Refinement, SolvesMoreRowsThanAChunk) { solves_more_rows_than_a_chunk<TypeParam>(); }

// --- what the report says
// -------------------------------------------------------------------------

template <class Exec>
void needs_no_method_with_an_exact_factor() {
  std::size_t const n = 80;
  PlainMatrix const A = with_spectrum(geometric_spectrum(n, 1e3));
  for (Refine const refine : enum_values<Refine>) {
    SCOPED_TRACE(name_of(refine));
    auto const outcome =
        solve<Exec>(A, cholesky_solve<Exec, double>(A), random_numbers(n, 3), {.refine = refine});
    expect_solved(outcome, n);
    EXPECT_EQ(outcome.report.method, Refine::None);
    EXPECT_EQ(outcome.report.iterations, 1);
    EXPECT_EQ(outcome.report.outer_iterations, 0);
  }
}
TYPED_TEST(Refinement, NeedsNoMethodWithAnExactFactor) {
  needs_no_method_with_an_exact_factor<TypeParam>();
}

template <class Exec>
void none_reports_the_error_of_the_first_solve() {
  std::size_t const n = 80;
  PlainMatrix const A = with_spectrum(geometric_spectrum(n, 1e3));
  auto const outcome = solve<Exec>(A, cholesky_solve<Exec, float>(A), random_numbers(n, 2),
                                   {.refine = Refine::None});
  expect_truthful_failure(outcome);
  EXPECT_NEAR(outcome.report.backward_error, outcome.backward_error, 1e-3 * outcome.backward_error);
  EXPECT_GT(outcome.report.backward_error, 1e-12);
  EXPECT_EQ(outcome.report.iterations, 1);
}
TYPED_TEST(Refinement, NoneReportsTheErrorOfTheFirstSolve) {
  none_reports_the_error_of_the_first_solve<TypeParam>();
}

template <class Exec>
void stops_at_the_tolerance_asked_for() {
  std::size_t const n = 100;
  auto const [A, M] = perturbed(geometric_spectrum(n, 1e5), 2);
  auto const solver = cholesky_solve<Exec, double>(M);
  auto const loose = solve<Exec>(A, solver, random_numbers(n, 3), {.tolerance = 1e-6});
  auto const tight = solve<Exec>(A, solver, random_numbers(n, 3));
  EXPECT_TRUE(loose.report.converged);
  EXPECT_EQ(loose.report.tolerance, 1e-6);
  EXPECT_LE(loose.report.backward_error, 1e-6);
  EXPECT_GT(loose.report.backward_error, 1e-14);
  EXPECT_LT(loose.report.iterations, tight.report.iterations);
}
TYPED_TEST(Refinement, StopsAtTheToleranceAskedFor) {
  stops_at_the_tolerance_asked_for<TypeParam>();
}

template <class Exec>
void says_when_it_stagnates() {
  std::size_t const n = 60;
  PlainMatrix const A = with_spectrum(geometric_spectrum(n, 1e2));
  for (Refine const refine : {Refine::Classical, Refine::Cg, Refine::Gmres, Refine::Automatic}) {
    SCOPED_TRACE(name_of(refine));
    auto const outcome = solve<Exec>(A, cholesky_solve<Exec, float>(A), random_numbers(n, 3),
                                     {.refine = refine, .tolerance = 1e-25});
    expect_truthful_failure(outcome);
    EXPECT_TRUE(outcome.report.stagnated);
    EXPECT_LE(outcome.backward_error, std::sqrt(60.0) * 0x1p-52) << "the best iterate was lost";
  }
}
TYPED_TEST(Refinement, SaysWhenItStagnates) { says_when_it_stagnates<TypeParam>(); }

template <class Exec>
void keeps_to_max_iterations() {
  std::size_t const n = 150;
  auto const [A, M] = perturbed(geometric_spectrum(n, 1e8), 1e4);
  auto const solver = cholesky_solve<Exec, double>(M);
  for (Refine const refine : {Refine::Classical, Refine::Cg, Refine::Gmres, Refine::Automatic})
    for (int const most : {1, 2, 7}) {
      SCOPED_TRACE(name_of(refine));
      auto const outcome =
          solve<Exec>(A, solver, random_numbers(n, 2), {.refine = refine, .max_iterations = most});
      expect_truthful_failure(outcome);
      EXPECT_LE(outcome.report.iterations, most);
    }
}
TYPED_TEST(Refinement, KeepsToMaxIterations) { keeps_to_max_iterations<TypeParam>(); }

template <class Exec>
void gmres_keeps_to_its_memory() {
  std::size_t const n = 100;
  auto const [A, M] = perturbed(geometric_spectrum(n, 1e6), 30);
  auto const solver = cholesky_solve<Exec, double>(M);
  PlainMatrix const B = random_numbers(n, 5);
  auto const all = solve<Exec>(A, solver, B, {.refine = Refine::Gmres});
  std::size_t const two_columns = 2 * 61 * n * sizeof(double);
  auto const chunked =
      solve<Exec>(A, solver, B, {.refine = Refine::Gmres, .max_basis_bytes = two_columns});
  auto const short_of =
      solve<Exec>(A, solver, B, {.refine = Refine::Gmres, .max_basis_bytes = 31 * n * 8});
  expect_solved(all, n);
  expect_solved(chunked, n);
  expect_solved(short_of, n);
  EXPECT_EQ(all.report.iterations, chunked.report.iterations);
  EXPECT_GT(short_of.report.iterations, all.report.iterations) << "restart 15 must cost more";
}
TYPED_TEST(Refinement, GmresKeepsToItsMemory) { gmres_keeps_to_its_memory<TypeParam>(); }

/// What a solve asks of the operators: products with A, and applications of M^-1, of all columns
/// together.
struct Work {
  int products = 0, applications = 0;
};
template <class Exec>
Work work_of(Pair const& pair, PlainMatrix const& B, Refine refine, PlainMatrix& X) {
  Exec const exec;
  Work work;
  auto operators = operators_of(exec, pair.A, cholesky_solve<Exec, double>(pair.M));
  operators.apply = [&work, apply = operators.apply](Block<Exec> const& V, Block<Exec> const& W) {
    ++work.products;
    apply(V, W);
  };
  operators.precondition = [&work, solve = operators.precondition](Block<Exec> const& R) {
    ++work.applications;
    solve(R);
  };
  auto const b = OnDevice<Exec>::copy(B), x = OnDevice<Exec>::copy(PlainMatrix(B.rows, B.cols));
  auto const report = dense::refine(exec, operators, b, x, {.refine = refine});
  EXPECT_TRUE(report.converged) << name_of(refine);
  EXPECT_LE(report.iterations, work.applications);
  X = OnDevice<Exec>::read(x);
  return work;
}

// The correction of a classical step shows that it would gain little, or make x worse. Its product
// with A, and the one that takes it back, are not made, and its M^-1 r goes to CG.
template <class Exec>
void automatic_leaves_out_steps_that_gain_little() {
  std::size_t const n = 120;
  for (double const spread : {4.0, 1.0 / 8}) {  // contracts by 1/4 at most, and not at all
    auto const pair = perturbed(geometric_spectrum(n, 1e5), spread);
    for (std::size_t const cols : {1, 3}) {
      SCOPED_TRACE(testing::Message() << spread << ' ' << cols);
      PlainMatrix const B = random_numbers(n, cols);
      PlainMatrix automatic(n, cols), by_cg(n, cols);
      Work const found = work_of<Exec>(pair, B, Refine::Automatic, automatic),
                 expected = work_of<Exec>(pair, B, Refine::Cg, by_cg);
      EXPECT_EQ(found.products, expected.products);
      EXPECT_EQ(found.applications, expected.applications);
      EXPECT_EQ(automatic.data, by_cg.data);
    }
  }
}
TYPED_TEST(Refinement, AutomaticLeavesOutStepsThatGainLittle) {
  automatic_leaves_out_steps_that_gain_little<TypeParam>();
}

// Where they gain much, each takes one product and one M^-1; CG takes another residual.
template <class Exec>
void automatic_takes_steps_that_gain_much() {
  auto const pair = perturbed(geometric_spectrum(120, 1e3), 1.001);
  PlainMatrix const B = random_numbers(120, 2);
  PlainMatrix X(120, 2);
  Work const found = work_of<Exec>(pair, B, Refine::Automatic, X);
  EXPECT_EQ(found.products, found.applications);
  EXPECT_LT(found.products, work_of<Exec>(pair, B, Refine::Cg, X).products);
}
TYPED_TEST(Refinement, AutomaticTakesStepsThatGainMuch) {
  automatic_takes_steps_that_gain_much<TypeParam>();
}

// The host looks once at what an iteration found: step lengths stay where they are needed.
template <class Exec>
void cg_waits_once_an_iteration() {
  auto const pair = perturbed(geometric_spectrum(120, 1e5), 30);
  // Equal columns, which are done at the same time, and too many to be arguments of a kernel.
  PlainMatrix B = random_numbers(120, 3);
  for (std::size_t i = 0; i < 120; ++i) B(i, 1) = B(i, 2) = B(i, 0);
  static int waits;
  auto const saved = Kokkos::Tools::Experimental::get_callbacks();
  Kokkos::Tools::Experimental::set_begin_fence_callback(
      [](char const* name, std::uint32_t, std::uint64_t*) {
        std::string const fence = name;
        waits += fence.starts_with("strata::dense::refine::") && !fence.ends_with("::release");
      });
  waits = 0;
  auto const outcome =
      solve<Exec>(pair.A, cholesky_solve<Exec, double>(pair.M), B, {.refine = Refine::Cg});
  Kokkos::Tools::Experimental::set_callbacks(saved);
  auto const& report = outcome.report;
  EXPECT_GT(report.iterations, 10);
  // The first solve waits once; an outer step before its iterations, and for its residual.
  EXPECT_EQ(waits, (report.iterations - 1) + 2 * report.outer_iterations + 1);
}
TYPED_TEST(Refinement, CgWaitsOnceAnIteration) { cg_waits_once_an_iteration<TypeParam>(); }

// With D G D as D (G (D p)), where the passes for D are its own: powers of two round nothing.
template <class Exec>
void products_with_the_matrix_as_given_change_no_bit() {
  Exec const exec;
  std::size_t const n = 90;
  auto const [H, M] = perturbed(geometric_spectrum(n, 1e5), 30);
  PlainMatrix const B = random_numbers(n, 2);
  PlainMatrix G = H, d(n, 1);
  for (std::size_t i = 0; i < n; ++i) d(i, 0) = std::ldexp(1.0, static_cast<int>(i % 9) - 4);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < n; ++i) G(i, j) /= d(i, 0) * d(j, 0);
  for (Refine const refine : {Refine::Classical, Refine::Cg, Refine::Automatic}) {
    SCOPED_TRACE(name_of(refine));
    auto operators = operators_of(exec, H, cholesky_solve<Exec, double>(M));
    operators.scaling = Kokkos::subview(OnDevice<Exec>::copy(d), Kokkos::ALL, 0);
    operators.given_norm_inf = norm_inf(G);
    auto const b = OnDevice<Exec>::copy(B), x = OnDevice<Exec>::copy(PlainMatrix(n, 2)),
               y = OnDevice<Exec>::copy(PlainMatrix(n, 2));
    auto const expected = dense::refine(exec, operators, b, x, {.refine = refine});
    int products = 0;
    operators.apply = [](Block<Exec> const&, Block<Exec> const&) {
      FAIL() << "D G D was asked for";
    };
    operators.apply_given = [&, given = OnDevice<Exec>::copy(G)](Block<Exec> const& X,
                                                                 Block<Exec> const& Y) {
      ++products;
      reference_product(exec, given, X, Y);
    };
    auto const found = dense::refine(exec, operators, b, y, {.refine = refine});
    EXPECT_EQ(found.iterations, expected.iterations);
    EXPECT_EQ(OnDevice<Exec>::read(y).data, OnDevice<Exec>::read(x).data);
    EXPECT_GT(products, 1);
  }
}
TYPED_TEST(Refinement, ProductsWithTheMatrixAsGivenChangeNoBit) {
  products_with_the_matrix_as_given_change_no_bit<TypeParam>();
}

/// A factor below a rung that costs as much as some iterations.
template <class Exec>
class LowFactor final : public SpdFactor<Exec> {
 public:
  LowFactor(RefinementOperators<Exec> operators, std::size_t n, Patience patience)
      : operators_(std::move(operators)), n_(n), patience_(patience) {}

  std::int64_t order() const override { return static_cast<std::int64_t>(n_); }
  Kokkos::View<double const*, typename Exec::memory_space> scaling() const override { return {}; }
  RefinementOperators<Exec> operators(Exec const&) override { return operators_; }
  bool at_the_top() const override { return false; }
  Patience patience() const override { return patience_; }
  bool climb(Climb) override { return false; }
  void end_ladder() override {}

 private:
  RefinementOperators<Exec> operators_;
  std::size_t n_;
  Patience patience_;
};

template <class Exec>
RefinementReport refine_below_a_rung(Pair const& pair, PlainMatrix const& B, Patience patience,
                                     RefinementOptions const& options = {}) {
  Exec const exec;
  LowFactor<Exec> factor(operators_of(exec, pair.A, cholesky_solve<Exec, double>(pair.M)), B.rows,
                         patience);
  auto const b = OnDevice<Exec>::copy(B), x = OnDevice<Exec>::copy(PlainMatrix(B.rows, B.cols));
  return dense::refine(exec, factor, b, x, options);
}

// CG sees by its first iterations that those which cost as much as the next rung will not do.
template <class Exec>
void gives_up_at_once_below_a_rung() {
  std::size_t const n = 150;
  auto const slow = perturbed(geometric_spectrum(n, 1e8), 1e4);
  for (std::size_t const cols : {1, 3}) {
    PlainMatrix const B = random_numbers(n, cols);
    auto const given_up = refine_below_a_rung<Exec>(slow, B, {30, true});
    EXPECT_FALSE(given_up.converged);
    EXPECT_LE(given_up.iterations, 7);  // the first solve, a classical step, and few of CG
    EXPECT_EQ(given_up.method, Refine::Cg);
    auto const by_gmres = refine_below_a_rung<Exec>(slow, B, {60, true}, {.refine = Refine::Gmres});
    EXPECT_LE(by_gmres.iterations, 13) << by_gmres.converged;
    // where the costs are not known, or iterations were asked for, all are made, GMRES' too
    for (auto const& whole :
         {refine_below_a_rung<Exec>(slow, B, {30, false}),
          refine_below_a_rung<Exec>(slow, B, {30, true}, {.max_iterations = 29})}) {
      EXPECT_GT(whole.iterations, 15);
      EXPECT_EQ(whole.method, Refine::Gmres);
    }
  }
}
TYPED_TEST(Refinement, GivesUpAtOnceBelowARung) { gives_up_at_once_below_a_rung<TypeParam>(); }

template <class Exec>
void goes_on_below_a_rung_where_that_will_do() {
  std::size_t const n = 120;
  for (double const spread : {1.001, 4.0, 20.0}) {
    auto const pair = perturbed(geometric_spectrum(n, 1e5), spread);
    for (std::size_t const cols : {1, 3}) {
      SCOPED_TRACE(testing::Message() << spread << ' ' << cols);
      PlainMatrix const B = random_numbers(n, cols);
      auto const found = refine_below_a_rung<Exec>(pair, B, {60, true});
      EXPECT_TRUE(found.converged);
      EXPECT_TRUE(
          refine_below_a_rung<Exec>(pair, B, {60, true}, {.refine = Refine::Gmres}).converged);
      PlainMatrix X(n, cols);
      Work const alone = work_of<Exec>(pair, B, Refine::Automatic, X);
      EXPECT_LE(found.iterations, alone.applications);
    }
  }
}
TYPED_TEST(Refinement, GoesOnBelowARungWhereThatWillDo) {
  goes_on_below_a_rung_where_that_will_do<TypeParam>();
}

// --- garbage
// --------------------------------------------------------------------------------------

template <class Exec>
void automatic_goes_on_to_gmres_when_m_is_negative() {
  std::size_t const n = 70;
  PlainMatrix const A = with_spectrum(geometric_spectrum(n, 1e4));
  auto const positive = cholesky_solve<Exec, float>(A);
  auto const negative = [positive](Block<Exec> const& R) {
    positive(R);
    PlainMatrix X = OnDevice<Exec>::read(R);
    for (double& x : X.data) x = -x;
    OnDevice<Exec>::write(R, X);
  };
  auto const automatic = solve<Exec>(A, negative, random_numbers(n, 3));
  expect_solved(automatic, n);
  EXPECT_EQ(automatic.report.method, Refine::Gmres);
  expect_truthful_failure(solve<Exec>(A, negative, random_numbers(n, 3), {.refine = Refine::Cg}));
  expect_truthful_failure(
      solve<Exec>(A, negative, random_numbers(n, 3), {.refine = Refine::Classical}));
}
TYPED_TEST(Refinement, AutomaticGoesOnToGmresWhenMIsNegative) {
  automatic_goes_on_to_gmres_when_m_is_negative<TypeParam>();
}

template <class Exec>
void gmres_solves_an_indefinite_system() {
  std::size_t const n = 80;
  std::vector<double> spectrum = geometric_spectrum(n, 1e3), absolute = spectrum;
  for (std::size_t i = 0; i < n; i += 3) spectrum[i] = -spectrum[i];
  PlainMatrix const A = with_spectrum(spectrum);
  auto const M = cholesky_solve<Exec, float>(with_spectrum(absolute));
  expect_solved(solve<Exec>(A, M, random_numbers(n, 3), {.refine = Refine::Gmres}), n);
  auto const automatic = solve<Exec>(A, M, random_numbers(n, 3));
  expect_solved(automatic, n);
  EXPECT_EQ(automatic.report.method, Refine::Gmres);
}
TYPED_TEST(Refinement, GmresSolvesAnIndefiniteSystem) {
  gmres_solves_an_indefinite_system<TypeParam>();
}

template <class Exec, class Change>
void expect_failure_of_each_method(Change const& change) {
  std::size_t const n = 40;
  PlainMatrix const A = with_spectrum(geometric_spectrum(n, 1e2));
  auto const garbage = [change](Block<Exec> const& R) {
    PlainMatrix X = OnDevice<Exec>::read(R);
    for (std::size_t c = 0; c < X.cols; ++c)
      for (std::size_t i = 0; i < X.rows; ++i) X(i, c) = change(i, X(i, c));
    OnDevice<Exec>::write(R, X);
  };
  for (Refine const refine : enum_values<Refine>) {
    SCOPED_TRACE(name_of(refine));
    auto const outcome = solve<Exec>(A, garbage, random_numbers(n, 3), {.refine = refine});
    expect_truthful_failure(outcome);
    EXPECT_NEAR(outcome.report.backward_error, outcome.backward_error, 1e-10);
  }
}
TYPED_TEST(Refinement, FailsTruthfullyWhenMIsZero) {
  expect_failure_of_each_method<TypeParam>([](std::size_t, double) { return 0.0; });
}
TYPED_TEST(Refinement, FailsTruthfullyWhenMIsSingular) {
  expect_failure_of_each_method<TypeParam>([](std::size_t i, double x) { return i % 2 ? x : 0.0; });
}
TYPED_TEST(Refinement, FailsTruthfullyWhenMIsNaN) {
  expect_failure_of_each_method<TypeParam>(
      [](std::size_t i, double x) { return i == 3 ? not_a_number : x; });
}
TYPED_TEST(Refinement, FailsTruthfullyWhenMOverflows) {
  expect_failure_of_each_method<TypeParam>(
      [](std::size_t i, double x) { return i == 3 ? INFINITY : 1e300 * x; });
}

template <class Exec>
void never_takes_nan_for_success() {
  std::size_t const n = 40;
  PlainMatrix const A = with_spectrum(geometric_spectrum(n, 1e2));
  auto const M = cholesky_solve<Exec, float>(A);
  for (double const bad : {not_a_number, static_cast<double>(INFINITY)})
    for (Refine const refine : enum_values<Refine>) {
      SCOPED_TRACE(name_of(refine));
      PlainMatrix broken = A, B = random_numbers(n, 3);
      broken(3, 5) = broken(5, 3) = bad;
      expect_truthful_failure(solve<Exec>(broken, M, B, {.refine = refine}));
      B(7, 1) = bad;
      auto const outcome = solve<Exec>(A, M, B, {.refine = refine});
      expect_truthful_failure(outcome);
      if (refine != Refine::None) {
        EXPECT_EQ(outcome.report.unconverged_columns, 1);
      }
      EXPECT_TRUE(std::isnan(outcome.report.backward_error));
      EXPECT_FALSE(outcome.report.slate_error <= slate_threshold);
    }
}
TYPED_TEST(Refinement, NeverTakesNanForSuccess) { never_takes_nan_for_success<TypeParam>(); }

/// A that is finite by its norm but yields NaN from the k-th product on.
template <class Exec>
void survives_an_operator_that_breaks() {
  std::size_t const n = 60;
  Exec const exec;
  auto const [A, M] = perturbed(geometric_spectrum(n, 1e6), 1e3);
  PlainMatrix const B = random_numbers(n, 3);
  for (Refine const method : {Refine::Classical, Refine::Cg, Refine::Gmres, Refine::Automatic})
    for (int const good : {0, 1, 2, 9}) {
      SCOPED_TRACE(std::string(name_of(method)) + " " + std::to_string(good));
      auto operators = operators_of(exec, A, cholesky_solve<Exec, double>(M));
      int products = 0;
      operators.apply = [apply = operators.apply, &products, good](Block<Exec> const& X,
                                                                   Block<Exec> const& Y) {
        apply(X, Y);
        if (products++ < good) return;
        PlainMatrix y = OnDevice<Exec>::read(Y);
        for (double& value : y.data) value = not_a_number;
        OnDevice<Exec>::write(Y, y);
      };
      auto const b = OnDevice<Exec>::copy(B), x = OnDevice<Exec>::copy(PlainMatrix(n, 3));
      auto const report = refine(exec, operators, b, x, {.refine = method});
      EXPECT_FALSE(report.converged);
      PlainMatrix const X = OnDevice<Exec>::read(x);
      EXPECT_TRUE(finite(X));
      EXPECT_NEAR(report.backward_error, reference_backward_error(A, B, X), 1e-10);
    }
}
TYPED_TEST(Refinement, SurvivesAnOperatorThatBreaks) {
  survives_an_operator_that_breaks<TypeParam>();
}

// --- mistakes of the caller
// -----------------------------------------------------------------------

template <class Exception, class Function>
void expect_message(Function const& function, std::string const& expected) {
  try {
    function();
    FAIL() << "nothing was thrown";
  } catch (Exception const& error) {
    EXPECT_EQ(error.what(), expected);
  }
}

template <class Exec>
void refuses_with_the_numbers() {
  Exec const exec;
  PlainMatrix const A = with_spectrum(geometric_spectrum(4, 10));
  auto const good = operators_of(exec, A, cholesky_solve<Exec, float>(A));
  Block<Exec> const B("strata::test::B", 4, 2), X("strata::test::X", 4, 3),
      Y("strata::test::Y", 4, 2);
  expect_message<ShapeError>([&] { (void)refine(exec, good, B, X); },
                             "refine: B is 4 x 2 and X is 4 x 3, must be the same");
  auto const expect = [&](RefinementOptions const& options, std::string const& expected) {
    expect_message<ValueError>([&] { (void)refine(exec, good, B, Y, options); }, expected);
  };
  expect({.tolerance = -1}, "refine: tolerance is -1, must be finite and >= 0");
  expect({.tolerance = not_a_number}, "refine: tolerance is nan, must be finite and >= 0");
  expect({.max_iterations = -3}, "refine: max_iterations is -3, must be >= 0");
  expect({.restart = 0}, "refine: restart is 0, must be >= 1");
  expect({.inner_tolerance = 1}, "refine: inner_tolerance is 1, must be in (0, 1)");
  expect({.stagnation_steps = 0}, "refine: stagnation_steps is 0, must be >= 1");
  auto negative = good;
  negative.norm_inf = -2;
  expect_message<ValueError>([&] { (void)refine(exec, negative, B, Y); },
                             "refine: norm_inf is -2, must be >= 0");
  expect_message<ValueError>([&] { (void)refine(exec, RefinementOperators<Exec>{}, B, Y); },
                             "refine: the operators apply and precondition must both be given");
}
TYPED_TEST(Refinement, ThrowsWithTheNumbers) { refuses_with_the_numbers<TypeParam>(); }

TEST(RefineNames, GoBackAndForth) {
  for (Refine const refine : enum_values<Refine>)
    EXPECT_EQ(from_name<Refine>(name_of(refine)), refine);
  expect_message<ValueError>([] { (void)from_name<Refine>("bicg"); },
                             "no refinement 'bicg'; there are none, classical, cg, gmres, auto");
}

}  // namespace
