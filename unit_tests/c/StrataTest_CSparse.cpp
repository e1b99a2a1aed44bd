// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The sparse solver of strata.h.
#include <gtest/gtest.h>
#include <strata.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace strata::test {
namespace {

struct Destroy {
  void operator()(strata_sparse* solver) const { strata_sparse_destroy(solver); }
};
using Handle = std::unique_ptr<strata_sparse, Destroy>;

/// A square matrix in compressed rows.
template <class Index>
struct Rows {
  std::vector<Index> begin{0}, column;
  std::vector<double> value;

  std::int64_t n() const { return static_cast<std::int64_t>(begin.size()) - 1; }
  std::int64_t entries() const { return static_cast<std::int64_t>(value.size()); }
  void add(std::int64_t j, double a) {
    column.push_back(static_cast<Index>(j));
    value.push_back(a);
  }
  void end_row() { begin.push_back(static_cast<Index>(column.size())); }
  std::vector<double> times(double const* x) const {
    std::vector<double> y(static_cast<std::size_t>(n()), 0);
    for (std::size_t i = 0; i < y.size(); ++i)
      for (auto k = static_cast<std::size_t>(begin[i]); k < static_cast<std::size_t>(begin[i + 1]);
           ++k)
        y[i] += value[k] * x[column[k]];
    return y;
  }
};

/// The Laplacian of a grid of m x m points, with `wind` to one side and `more` on the diagonal.
template <class Index>
Rows<Index> grid(std::int64_t m, double wind = 0, double more = 0) {
  Rows<Index> A;
  for (std::int64_t i = 0; i < m * m; ++i) {
    if (i >= m) A.add(i - m, -1);
    if (i % m > 0) A.add(i - 1, -1 - wind);
    A.add(i, 4 + wind + more);
    if (i % m < m - 1) A.add(i + 1, -1);
    if (i < m * (m - 1)) A.add(i + m, -1);
    A.end_row();
  }
  return A;
}

strata_status set_up(Rows<std::int64_t> const& A, strata_sparse_options const* options,
                     strata_sparse** solver) {
  return strata_sparse_set_up(A.n(), A.begin.data(), A.column.data(), A.value.data(), options,
                              solver);
}
strata_status set_up(Rows<std::int32_t> const& A, strata_sparse_options const* options,
                     strata_sparse** solver) {
  return strata_sparse_set_up_int32(A.n(), A.begin.data(), A.column.data(), A.value.data(), options,
                                    solver);
}
template <class Index>
Handle solver_of(Rows<Index> const& A, strata_sparse_options const* options = nullptr) {
  strata_sparse* solver = nullptr;
  EXPECT_EQ(set_up(A, options, &solver), STRATA_SUCCESS) << strata_message();
  return Handle(solver);
}

strata_sparse_options options_with(char const* method, char const* preconditioner) {
  strata_sparse_options options{};
  options.struct_size = sizeof options;
  options.solver = method;
  options.preconditioner = preconditioner;
  return options;
}
strata_sparse_report empty_report() {
  strata_sparse_report report{};
  report.struct_size = sizeof report;
  return report;
}

std::vector<double> numbers(std::size_t n) {
  std::vector<double> b(n);
  for (std::size_t i = 0; i < n; ++i) b[i] = std::sin(0.7 * static_cast<double>(i) + 0.1);
  return b;
}

double norm(std::vector<double> const& v) {
  double sum = 0;
  for (double const x : v) sum += x * x;
  return std::sqrt(sum);
}

/// ||b - A x|| / ||b||
template <class Index>
double residual(Rows<Index> const& A, double const* x, std::vector<double> const& b) {
  auto r = A.times(x);
  for (std::size_t i = 0; i < r.size(); ++i) r[i] = b[i] - r[i];
  return norm(r) / norm(b);
}

template <class Index>
class CSparse : public testing::Test {};
using Indices = testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(CSparse, Indices);

TYPED_TEST(CSparse, SolvesAndReports) {
  for (double const wind : {0.0, 3.0}) {
    auto const A = grid<TypeParam>(40, wind);
    Handle const solver = solver_of(A);
    auto const b = numbers(1600);
    std::vector<double> x(1600, 0);
    auto report = empty_report();
    ASSERT_EQ(strata_sparse_solve(solver.get(), 1, b.data(), 1600, x.data(), 1600, &report),
              STRATA_SUCCESS)
        << strata_message();
    EXPECT_LE(residual(A, x.data(), b), 1e-10);
    EXPECT_EQ(report.solved, 1);
    EXPECT_STREQ(report.status, "converged");
    EXPECT_STREQ(report.solver, wind == 0 ? "cg" : "gmres");
    EXPECT_NEAR(report.relative_residual, residual(A, x.data(), b), 1e-13);
    EXPECT_GT(report.iterations, 0);
    EXPECT_GT(report.attempts, 0);
    EXPECT_GT(report.digits, 5);
    EXPECT_GT(report.condition_at_least, 1);
    EXPECT_GT(report.set_up_seconds, 0);
    // from the solution there is nothing to do
    ASSERT_EQ(strata_sparse_solve(solver.get(), 1, b.data(), 1600, x.data(), 1600, &report),
              STRATA_SUCCESS);
    EXPECT_EQ(report.iterations, 0);
  }
}

TYPED_TEST(CSparse, ColumnsMayBePaddedAndNothingElseIsWritten) {
  auto const A = grid<TypeParam>(9);
  auto const options = options_with("cg", "jacobi");  // three abreast
  Handle const solver = solver_of(A, &options);
  std::int64_t const n = 81, ldb = 90, ldx = 85;
  std::vector<double> B(3 * ldb, 7), X(3 * ldx, 0);
  auto const b = numbers(3 * n);
  for (int j = 0; j < 3; ++j) std::copy_n(b.data() + j * n, n, B.data() + j * ldb);
  for (int j = 0; j < 3; ++j) std::fill_n(X.data() + j * ldx + n, ldx - n, 5);
  auto report = empty_report();
  ASSERT_EQ(strata_sparse_solve(solver.get(), 3, B.data(), ldb, X.data(), ldx, &report),
            STRATA_SUCCESS);
  EXPECT_EQ(report.columns_abreast, 3);
  for (int j = 0; j < 3; ++j) {
    EXPECT_LE(residual(A, X.data() + j * ldx, {b.begin() + j * n, b.begin() + (j + 1) * n}), 1e-10);
    for (std::int64_t i = n; i < ldx; ++i) EXPECT_EQ(X[static_cast<std::size_t>(j * ldx + i)], 5);
  }
  EXPECT_EQ(strata_sparse_solve(solver.get(), 0, nullptr, n, nullptr, n, nullptr), STRATA_SUCCESS);
}

TYPED_TEST(CSparse, EntriesThatAreListedTwiceAreAdded) {
  Rows<TypeParam> twice, once;
  for (std::int64_t i = 0; i < 30; ++i) {
    twice.add(i, 1), twice.add(i, 2);
    once.add(i, 3);
    if (i > 0) twice.add(i - 1, -0.25), twice.add(i - 1, -0.75), once.add(i - 1, -1);
    if (i < 29) twice.add(i + 1, -1), once.add(i + 1, -1);
    twice.end_row(), once.end_row();
  }
  Handle const solver = solver_of(twice);
  auto const b = numbers(30);
  std::vector<double> x(30, 0);
  ASSERT_EQ(strata_sparse_solve(solver.get(), 1, b.data(), 30, x.data(), 30, nullptr),
            STRATA_SUCCESS)
      << strata_message();
  EXPECT_LE(residual(once, x.data(), b), 1e-10);
}

TYPED_TEST(CSparse, TakesOtherValuesInTheSamePlaces) {
  auto A = grid<TypeParam>(20);
  Handle const solver = solver_of(A);
  auto const b = numbers(400);
  std::vector<double> x(400, 0);
  auto const other = grid<TypeParam>(20, 0, 2.5);
  ASSERT_EQ(strata_sparse_update(solver.get(), other.entries(), other.value.data()), STRATA_SUCCESS)
      << strata_message();
  ASSERT_EQ(strata_sparse_solve(solver.get(), 1, b.data(), 400, x.data(), 400, nullptr),
            STRATA_SUCCESS);
  EXPECT_LE(residual(other, x.data(), b), 1e-10);
  EXPECT_EQ(strata_sparse_update(solver.get(), other.entries() - 1, other.value.data()),
            STRATA_INVALID_ARGUMENT);
  EXPECT_NE(std::string(strata_message()).find("entries is 1919, the pattern has 1920"),
            std::string::npos)
      << strata_message();
  // what fails leaves the old values
  auto broken = other.value;
  broken[7] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(strata_sparse_update(solver.get(), other.entries(), broken.data()), STRATA_NOT_FINITE);
  EXPECT_NE(std::string(strata_message()).find("row 2 has a value that is not finite"),
            std::string::npos)
      << strata_message();
  std::fill(x.begin(), x.end(), 0);
  ASSERT_EQ(strata_sparse_solve(solver.get(), 1, b.data(), 400, x.data(), 400, nullptr),
            STRATA_SUCCESS);
  EXPECT_LE(residual(other, x.data(), b), 1e-10);
}

// The pattern's part of multigrid is kept, of a solver and of a preconditioner alone.
TYPED_TEST(CSparse, KeepsWhatDependsOnThePatternAlone) {
  auto const A = grid<TypeParam>(48), other = grid<TypeParam>(48, 0, 2.5);
  std::size_t const n = 48 * 48;
  auto options = options_with("cg", "amg");
  auto const r = numbers(n);
  for (int const only : {0, 1}) {
    options.preconditioner_only = only;
    Handle const updated = solver_of(A, &options), fresh = solver_of(other, &options);
    auto report = empty_report();
    ASSERT_EQ(strata_sparse_describe(updated.get(), &report), STRATA_SUCCESS) << strata_message();
    EXPECT_EQ(report.has_old_pattern, 0);
    EXPECT_STREQ(report.preconditioner, "amg");
    // A solver on a GPU keeps patterns from its first update on, all else from the set-up on.
    for (int update = 1; update <= 2; ++update) {
      ASSERT_EQ(strata_sparse_update(updated.get(), other.entries(), other.value.data()),
                STRATA_SUCCESS);
      ASSERT_EQ(strata_sparse_describe(updated.get(), &report), STRATA_SUCCESS);
      if (only == 1 || update == 2) EXPECT_EQ(report.has_old_pattern, 1);
    }
    std::vector<double> z(n), expected(n);
    ASSERT_EQ(strata_sparse_precondition(updated.get(), r.data(), z.data()), STRATA_SUCCESS);
    ASSERT_EQ(strata_sparse_precondition(fresh.get(), r.data(), expected.data()), STRATA_SUCCESS);
    double difference = 0;  // of aggregates that are A's
    for (std::size_t i = 0; i < n; ++i)
      difference = std::max(difference, std::abs(z[i] - expected[i]));
    EXPECT_LE(difference, 0.2 * norm(expected));
  }
}

// Conjugate gradients of a caller need few steps with it.
TYPED_TEST(CSparse, PreconditionsTheMethodsOfOthers) {
  auto const A = grid<TypeParam>(48);
  std::size_t const n = 48 * 48;
  auto options = options_with("cg", "amg");
  for (int const only : {0, 1}) {
    options.preconditioner_only = only;
    Handle const solver = solver_of(A, &options);
    auto const b = numbers(n);
    std::vector<double> x(n, 0), r = b, z(n), p(n, 0);
    double old = 1;
    int steps = 0;
    auto const dot = [](auto const& u, auto const& v) {
      double sum = 0;
      for (std::size_t i = 0; i < u.size(); ++i) sum += u[i] * v[i];
      return sum;
    };
    for (; norm(r) > 1e-8 * norm(b) && steps < 100; ++steps) {
      ASSERT_EQ(strata_sparse_precondition(solver.get(), r.data(), z.data()), STRATA_SUCCESS)
          << strata_message();
      double const rho = dot(r, z);
      for (std::size_t i = 0; i < n; ++i) p[i] = z[i] + (steps > 0 ? rho / old : 0) * p[i];
      old = rho;
      auto const q = A.times(p.data());
      double const alpha = rho / dot(p, q);
      for (std::size_t i = 0; i < n; ++i) x[i] += alpha * p[i], r[i] -= alpha * q[i];
    }
    EXPECT_LE(steps, 25);  // 90 without it
    EXPECT_LE(residual(A, x.data(), b), 2e-8);
  }
}

TEST(CSparseErrors, AreNamed) {
  auto const A = grid<std::int64_t>(3);
  strata_sparse* solver = nullptr;
  auto const fails = [&](Rows<std::int64_t> const& rows, strata_sparse_options const* options,
                         strata_status status, char const* text) {
    EXPECT_EQ(set_up(rows, options, &solver), status) << text;
    EXPECT_NE(std::string(strata_message()).find(text), std::string::npos) << strata_message();
    EXPECT_EQ(solver, nullptr);
  };
  auto const changed = [&](std::function<void(Rows<std::int64_t>&)> const& change) {
    auto rows = A;
    change(rows);
    return rows;
  };
  fails(changed([](auto& rows) { rows.column[4] = 9; }), nullptr, STRATA_INVALID_ARGUMENT,
        "row 1 has a column outside [0, 9)");
  fails(changed([](auto& rows) { rows.column[0] = -1; }), nullptr, STRATA_INVALID_ARGUMENT,
        "row 0 has a column outside [0, 9)");
  fails(changed([](auto& rows) { rows.begin[2] = 1; }), nullptr, STRATA_INVALID_ARGUMENT,
        "row 1 begins or ends outside the 33 entries");
  fails(changed([](auto& rows) { rows.value[32] = INFINITY; }), nullptr, STRATA_NOT_FINITE,
        "row 8 has a value that is not finite");
  auto options = options_with("sor", nullptr);
  fails(A, &options, STRATA_INVALID_ARGUMENT, "sor");
  options = options_with(nullptr, "pixie dust");
  fails(A, &options, STRATA_INVALID_ARGUMENT, "pixie dust");
  options = options_with(nullptr, nullptr);
  options.struct_size = 0;
  fails(A, &options, STRATA_INVALID_ARGUMENT, "struct_size is 0");
  options.struct_size = sizeof options;
  options.tolerance = -1;
  fails(A, &options, STRATA_INVALID_ARGUMENT, "tolerance is -1");
  options.tolerance = 0;
  options.restart = -3;
  fails(A, &options, STRATA_INVALID_ARGUMENT, "restart is -3");
  EXPECT_EQ(
      strata_sparse_set_up(-1, A.begin.data(), A.column.data(), A.value.data(), nullptr, &solver),
      STRATA_INVALID_ARGUMENT);
  EXPECT_EQ(strata_sparse_set_up(9, nullptr, A.column.data(), A.value.data(), nullptr, &solver),
            STRATA_INVALID_ARGUMENT);
  EXPECT_EQ(strata_sparse_set_up(9, A.begin.data(), nullptr, A.value.data(), nullptr, &solver),
            STRATA_INVALID_ARGUMENT);
  EXPECT_EQ(strata_sparse_set_up(9, A.begin.data(), A.column.data(), nullptr, nullptr, &solver),
            STRATA_INVALID_ARGUMENT);
  EXPECT_EQ(
      strata_sparse_set_up(9, A.begin.data(), A.column.data(), A.value.data(), nullptr, nullptr),
      STRATA_INVALID_ARGUMENT);
}

TEST(CSparseErrors, OfSolvesAreNamed) {
  auto const A = grid<std::int64_t>(30, 0.5);
  auto options = options_with("gmres", "none");
  options.max_iterations = 3;
  Handle const solver = solver_of(A, &options);
  auto const b = numbers(900);
  std::vector<double> x(900, 0);
  auto report = empty_report();
  EXPECT_EQ(strata_sparse_solve(solver.get(), 1, b.data(), 900, x.data(), 900, &report),
            STRATA_NOT_CONVERGED);
  EXPECT_NE(std::string(strata_message()).find("did not converge in 3 iterations"),
            std::string::npos)
      << strata_message();
  EXPECT_EQ(report.solved, 0);
  EXPECT_EQ(report.iterations, 3);
  EXPECT_LT(report.relative_residual, 1);
  EXPECT_EQ(strata_sparse_solve(solver.get(), 1, b.data(), 899, x.data(), 900, nullptr),
            STRATA_INVALID_ARGUMENT);
  EXPECT_EQ(strata_sparse_solve(solver.get(), 1, x.data(), 900, x.data() + 5, 900, nullptr),
            STRATA_INVALID_ARGUMENT);
  EXPECT_EQ(strata_sparse_solve(nullptr, 1, b.data(), 900, x.data(), 900, nullptr),
            STRATA_INVALID_ARGUMENT);
  EXPECT_EQ(strata_sparse_precondition(solver.get(), b.data(), nullptr), STRATA_INVALID_ARGUMENT);
  EXPECT_EQ(strata_sparse_describe(solver.get(), nullptr), STRATA_INVALID_ARGUMENT);
  report.struct_size = 0;
  EXPECT_EQ(strata_sparse_describe(solver.get(), &report), STRATA_INVALID_ARGUMENT);
  auto infinite = b;
  infinite[3] = INFINITY;
  EXPECT_NE(strata_sparse_solve(solver.get(), 1, infinite.data(), 900, x.data(), 900, nullptr),
            STRATA_SUCCESS);
  options.preconditioner_only = 1;
  options.preconditioner = "jacobi";
  Handle const only = solver_of(A, &options);
  EXPECT_EQ(strata_sparse_solve(only.get(), 1, b.data(), 900, x.data(), 900, nullptr),
            STRATA_INVALID_ARGUMENT);
  EXPECT_NE(std::string(strata_message()).find("preconditioner_only"), std::string::npos);
  EXPECT_EQ(strata_sparse_precondition(only.get(), b.data(), x.data()), STRATA_SUCCESS);
  EXPECT_DOUBLE_EQ(x[5], b[5] / 4.5);
}

TEST(CSparseErrors, NothingIsSolvedQuietly) {
  Rows<std::int64_t> const none;
  Handle const solver = solver_of(none);
  auto report = empty_report();
  EXPECT_EQ(strata_sparse_solve(solver.get(), 1, nullptr, 1, nullptr, 1, &report), STRATA_SUCCESS)
      << strata_message();
  strata_sparse_destroy(nullptr);
  // a ring: rows add up to 0
  Rows<std::int64_t> ring;
  for (std::int64_t i = 0; i < 12; ++i) {
    ring.add(i, 2), ring.add((i + 1) % 12, -1), ring.add((i + 11) % 12, -1);
    ring.end_row();
  }
  Handle const floating = solver_of(ring);
  EXPECT_NE(std::string(strata_message()).find("add up to 0"), std::string::npos)
      << strata_message();
}

TEST(CSparseThreads, EachHasItsOwnSolver) {
  std::vector<std::thread> threads;
  std::vector<double> found(2, 1);
  for (std::size_t t = 0; t < 2; ++t)
    threads.emplace_back([t, &found] {
      auto const A = grid<std::int64_t>(25 + static_cast<std::int64_t>(t));
      auto const n = A.n();
      Handle const solver = solver_of(A);
      auto const b = numbers(static_cast<std::size_t>(n));
      std::vector<double> x(b.size(), 0);
      EXPECT_EQ(strata_sparse_solve(solver.get(), 1, b.data(), n, x.data(), n, nullptr),
                STRATA_SUCCESS);
      found[t] = residual(A, x.data(), b);
    });
  for (auto& thread : threads) thread.join();
  for (double const r : found) EXPECT_LE(r, 1e-10);
}

}  // namespace
}  // namespace strata::test
