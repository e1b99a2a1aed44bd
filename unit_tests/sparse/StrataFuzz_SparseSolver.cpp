// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Fuzz.hpp"
#include <core/Strata_Config.hpp>
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

// Small sparse systems of all kinds on 1 to 4 ranks, against elimination with complete pivoting in
// long double. No "converged" may be false, no number in the report wrong, no x worse than the
// guess, and all ranks must have the same.

namespace {

using namespace strata;
using namespace strata::sparse;
using Exec = Kokkos::DefaultHostExecutionSpace;
using Real = long double;
using test::FuzzCase;
using test::FuzzRandom;

constexpr double eps = 0x1p-52;

/// The whole system, as every rank draws it; A row by row.
struct System {
  std::int64_t n = 0;
  std::vector<double> A, b, x;
  bool is_easy = false;      // must be solved
  bool has_penalty = false;  // on its diagonal, which is positive
  bool is_floating = false;  // each row's entries add up to 0, and A is symmetric
  bool nearly_fits = false;  // but for less than 2^-12 of b, which least squares leave
  std::string kind;

  double& at(std::int64_t i, std::int64_t j) { return A[static_cast<std::size_t>(i * n + j)]; }
  double at(std::int64_t i, std::int64_t j) const { return A[static_cast<std::size_t>(i * n + j)]; }
};

Real norm_inf(std::vector<double> const& v) {
  Real most = 0;
  for (double const value : v) most = std::max(most, std::abs(static_cast<Real>(value)));
  return most;
}
Real norm_of_A(System const& s) {
  Real most = 0;
  for (std::int64_t i = 0; i < s.n; ++i) {
    Real sum = 0;
    for (std::int64_t j = 0; j < s.n; ++j) sum += std::abs(static_cast<Real>(s.at(i, j)));
    most = std::max(most, sum);
  }
  return most;
}

std::vector<Real> residual(System const& s, std::vector<double> const& x) {
  std::vector<Real> r;
  for (std::int64_t i = 0; i < s.n; ++i) {
    Real sum = s.b[static_cast<std::size_t>(i)];
    for (std::int64_t j = 0; j < s.n; ++j)
      sum -= static_cast<Real>(s.at(i, j)) * x[static_cast<std::size_t>(j)];
    r.push_back(sum);
  }
  return r;
}
/// The guess that a solve begins with: an unknown whose row is empty is 0, whatever was given.
std::vector<double> without_empty_rows(System const& s) {
  auto x = s.x;
  for (std::int64_t i = 0; i < s.n; ++i) {
    bool is_empty = true;
    for (std::int64_t j = 0; j < s.n; ++j) is_empty = is_empty && s.at(i, j) == 0;
    if (is_empty) x[static_cast<std::size_t>(i)] = 0;
  }
  return x;
}
template <class Number>
Real norm_2(std::vector<Number> const& v) {
  Real most = 0, sum = 0;
  for (auto const value : v) most = std::max(most, std::abs(static_cast<Real>(value)));
  if (most == 0 || !std::isfinite(most)) return most;
  for (auto const value : v) sum += (value / most) * (value / most);
  return most * std::sqrt(sum);
}

/// x = A^-1 b and ||A^-1||_oo.
struct Direct {
  std::vector<Real> x;
  Real norm_of_inverse = 0;
};

/// By elimination with complete pivoting of the matrix scaled to a largest entry of 1; nothing
/// where a pivot is less than 1e-15 of that: singular to fp64.
std::optional<Direct> solve_directly(System const& s) {
  auto const n = static_cast<std::size_t>(s.n), width = 2 * n;
  Real const size = norm_inf(s.A);
  if (size == 0) return std::nullopt;
  std::vector<Real> M(n * width,
                      0);  // (A, I), which becomes (I, A^-1) with rows in the order of `unknown`
  std::vector<std::size_t> unknown(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) M[i * width + j] = s.A[i * n + j] / size;
    M[i * width + n + i] = 1;
    unknown[i] = i;
  }
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t p = k, q = k;
    for (std::size_t i = k; i < n; ++i)
      for (std::size_t j = k; j < n; ++j)
        if (std::abs(M[i * width + j]) > std::abs(M[p * width + q])) p = i, q = j;
    if (!(std::abs(M[p * width + q]) > 1e-15L)) return std::nullopt;
    for (std::size_t j = 0; j < width; ++j) std::swap(M[k * width + j], M[p * width + j]);
    for (std::size_t i = 0; i < n; ++i) std::swap(M[i * width + k], M[i * width + q]);
    std::swap(unknown[k], unknown[q]);
    Real const pivot = M[k * width + k];
    for (std::size_t j = 0; j < width; ++j) M[k * width + j] /= pivot;
    for (std::size_t i = 0; i < n; ++i) {
      Real const factor = M[i * width + k];
      if (i == k || factor == 0) continue;
      for (std::size_t j = 0; j < width; ++j) M[i * width + j] -= factor * M[k * width + j];
    }
  }
  Direct direct{std::vector<Real>(n, 0), 0};
  for (std::size_t i = 0; i < n; ++i) {
    Real sum = 0;
    for (std::size_t j = 0; j < n; ++j) {
      sum += std::abs(M[i * width + n + j]);
      direct.x[unknown[i]] += M[i * width + n + j] * s.b[j] / size;
    }
    direct.norm_of_inverse = std::max(direct.norm_of_inverse, sum / size);
  }
  return direct;
}

void couple(System& s, std::int64_t i, std::int64_t j, double value) {
  s.at(i, j) -= value, s.at(j, i) -= value;
  s.at(i, i) += value, s.at(j, j) += value;
}

// A graph's Laplacian of chains and random couplings, in parts that nothing connects.
void add_laplacian(FuzzRandom& random, System& s) {
  std::int64_t const parts = random.once_in(3) ? random.integer(2, 4) : 1;
  for (std::int64_t i = 0; i + 1 < s.n; ++i)
    if (i % parts == (i + parts) % parts && i + parts < s.n)
      couple(s, i, i + parts, random.number(0.1, 2));
  for (std::int64_t k = random.integer(0, s.n); k > 0; --k) {
    auto const i = random.integer(0, s.n - 1), j = random.integer(0, s.n - 1);
    if (i != j && i % parts == j % parts) couple(s, i, j, random.number(0.01, 1));
  }
}

void add_random_entries(FuzzRandom& random, System& s) {
  for (std::int64_t k = random.integer(0, 4 * s.n); k > 0; --k)
    s.at(random.integer(0, s.n - 1), random.integer(0, s.n - 1)) += random.normal();
}

void fill(FuzzRandom& random, System& s) {
  static constexpr char const* kinds[] = {"definite",   "laplacian", "unsymmetric", "random",
                                          "indefinite", "saddle",    "biharmonic",  "near_singular",
                                          "penalty",    "floating"};
  s.kind = random.one_of(kinds);
  add_laplacian(random, s);
  s.has_penalty = s.kind == "penalty", s.is_floating = s.kind == "floating";
  if (s.kind == "definite" || s.kind == "unsymmetric" || s.has_penalty)
    for (std::int64_t i = 0; i < s.n; ++i) s.at(i, i) += random.number(0.5, 2);
  s.is_easy = s.kind == "definite" || s.kind == "unsymmetric";
  if (s.kind == "unsymmetric")
    for (std::int64_t i = 0; i + 1 < s.n; ++i) s.at(i, i + 1) -= 0.3, s.at(i, i) += 0.3;
  if (s.has_penalty) {
    double const penalty = std::exp2(random.number(23, 100));
    for (auto k = random.integer(1, s.n); k > 0; --k) {
      auto const i = random.integer(0, s.n - 1);
      s.at(i, i) += penalty;
    }
    if (random.coin())
      for (std::int64_t i = 0; i + 1 < s.n; ++i) s.at(i, i + 1) -= 0.3, s.at(i, i) += 0.3;
  }
  if (s.kind == "random") add_random_entries(random, s);
  if (s.kind == "indefinite")
    for (std::int64_t i = 0; i < s.n; ++i) s.at(i, i) += random.number(-2, 2);
  if (s.kind == "saddle")
    for (std::int64_t i = s.n / 2; i < s.n; ++i)
      for (std::int64_t j = s.n / 2; j < s.n; ++j) s.at(i, j) = 0;
  if (s.kind == "near_singular")
    s.at(0, 0) += std::ldexp(1.0, -static_cast<int>(random.integer(10, 55)));
  if (s.kind == "biharmonic") {
    auto const L = s.A;
    for (std::int64_t i = 0; i < s.n; ++i)
      for (std::int64_t j = 0; j < s.n; ++j) {
        double sum = i == j ? 1e-6 : 0;
        for (std::int64_t k = 0; k < s.n; ++k)
          sum +=
              L[static_cast<std::size_t>(i * s.n + k)] * L[static_cast<std::size_t>(k * s.n + j)];
        s.at(i, j) = sum;
      }
  }
}

// What files hold that nobody meant: rows without entries, zeros on the diagonal, rows in other
// units.
void spoil(FuzzRandom& random, System& s) {
  if (s.has_penalty || s.is_floating) return;
  if (random.once_in(6)) {
    for (auto k = random.integer(1, 2); k > 0; --k) {
      auto const i = random.integer(0, s.n - 1);
      for (std::int64_t j = 0; j < s.n; ++j) {
        s.at(i, j) = 0;
        if (random.coin()) s.at(j, i) = 0;
      }
    }
    s.kind += ", empty rows", s.is_easy = false;
  }
  if (random.once_in(8)) {
    auto const i = random.integer(0, s.n - 1);
    s.at(i, i) = 0;
    s.kind += ", zero diagonal", s.is_easy = false;
  }
  if (random.once_in(4)) {
    int const most = random.coin() ? 20 : 500;
    bool const symmetric = random.coin();
    for (std::int64_t i = 0; i < s.n; ++i) {
      int const e = static_cast<int>(random.integer(-most, most));
      for (std::int64_t j = 0; j < s.n; ++j) {
        s.at(i, j) = std::ldexp(s.at(i, j), e);
        if (symmetric) s.at(j, i) = std::ldexp(s.at(j, i), e);
      }
    }
    s.kind += ", scaled rows", s.is_easy = false;
  } else if (random.once_in(3)) {
    int const e = static_cast<int>(random.integer(-600, 600));
    for (auto& value : s.A) value = std::ldexp(value, e);
    s.kind += ", times 2^" + std::to_string(e);
  }
  for (auto& value : s.A)
    if (!std::isfinite(value)) value = 0;
}

System drawn(FuzzRandom& random) {
  System s;
  s.n = random.once_in(10) ? random.integer(0, 3) : random.integer(4, 60);
  auto const n = static_cast<std::size_t>(s.n);
  s.A.assign(n * n, 0), s.b.assign(n, 0), s.x.assign(n, 0);
  if (n == 0) return s;
  fill(random, s);
  spoil(random, s);
  // b = A times numbers of a size that keeps b within fp64, or any b
  bool const in_range = random.coin();
  int const of_b = random.once_in(3) ? static_cast<int>(random.integer(-700, 700)) : 0;
  std::vector<double> known(n);
  for (auto& value : known) value = random.normal();
  Real const size = norm_of_A(s);
  for (std::size_t i = 0; i < n; ++i) {
    Real sum = known[i];
    if (in_range && size > 0) {
      sum = 0;
      for (std::size_t j = 0; j < n; ++j) sum += s.A[i * n + j] / size * known[j];
    }
    s.b[i] = std::ldexp(static_cast<double>(sum), of_b);
  }
  s.kind += (in_range ? ", b in range 2^" : ", b 2^") + std::to_string(of_b);
  if (s.is_floating && in_range) {  // but for this part of it
    double const part = random.number(3, 40);
    s.nearly_fits = part > 12;
    double const share = static_cast<double>(norm_inf(s.b)) * std::exp2(-part);
    for (auto& value : s.b) value += share;
    s.kind += ", and a constant";
  }
  if (random.once_in(5)) {
    for (auto& value : s.x) value = random.normal();
    s.kind += ", guess";
  }
  // what x = A^-1 b is too large or too small for
  int const of_x = of_b - (size > 0 ? std::ilogb(static_cast<double>(size)) : 0);
  // a guess is of size 1: far from a tiny solution it is none that iterations can mend
  bool const is_guess = norm_inf(s.x) > 0;
  bool const is_near = std::abs(of_x) < (is_guess ? 10 : 950);
  s.is_easy = s.is_easy && is_near, s.nearly_fits = s.nearly_fits && is_near;
  return s;
}

SparseOptions drawn_options(FuzzRandom& random) {
  SparseOptions options;
  options.solver =
      random.coin()
          ? SolverKind::Automatic
          : random.one_of({SolverKind::ConjugateGradients, SolverKind::Gmres, SolverKind::Fgmres});
  options.preconditioner =
      random.coin() ? PreconditionerKind::Automatic
                    : random.one_of({PreconditionerKind::None, PreconditionerKind::Jacobi,
                                     PreconditionerKind::GaussSeidel, PreconditionerKind::Amg});
  options.precision = random.one_of(
      {Precision::fp64, Precision::fp32, Precision::fp32, Precision::bf16, Precision::fp16});
  options.tolerance = random.one_of({1e-10, 1e-10, 1e-4, 1e-13, 1e-16});
  options.restart = static_cast<int>(random.integer(1, 60));
  options.max_iterations = random.once_in(5) ? random.integer(0, 20) : 600;
  options.amg.coarse_rows = random.integer(0, 40);
  return options;
}

// ||b - A x|| of least squares, where A maps constants on the connected parts of its graph to 0 and
// is symmetric.
Real least_squares(System const& s) {
  std::vector<std::int64_t> part(static_cast<std::size_t>(s.n));
  std::iota(part.begin(), part.end(), 0);
  auto const join = [&](std::int64_t one, std::int64_t other) {
    for (auto& number : part)
      if (number == one) number = other;
  };
  for (std::int64_t i = 0; i < s.n; ++i)
    for (std::int64_t j = 0; j < s.n; ++j)
      if (s.at(i, j) != 0)
        join(part[static_cast<std::size_t>(i)], part[static_cast<std::size_t>(j)]);
  std::vector<Real> sums(part.size(), 0), means;
  std::vector<int> rows(part.size(), 0);
  for (std::size_t i = 0; i < part.size(); ++i) {
    sums[static_cast<std::size_t>(part[i])] += s.b[i];
    ++rows[static_cast<std::size_t>(part[i])];
  }
  // a row without entries is no part, and b is not projected there
  for (std::size_t p = 0; p < sums.size(); ++p)
    if (rows[p] > 1) means.push_back(sums[p] / std::sqrt(static_cast<Real>(rows[p])));
  return norm_2(means);
}

void check(FuzzCase& c, System const& s, SparseOptions const& options, SparseReport const& report,
           std::vector<double> const& x) {
  Real const norm_A = norm_of_A(s), size_x = norm_inf(x), norm_b = norm_2(s.b);
  if (!c.expect(std::isfinite(size_x), "x is not finite, status ", name_of(report.status))) return;
  auto const r = residual(s, x);
  Real const norm_r = norm_2(r), unit = norm_b > 0 ? norm_b : 1;
  Real most_r = 0;
  for (Real const value : r) most_r = std::max(most_r, std::abs(value));
  // what computing b - A x in fp64 changes of it, denormal numbers included
  Real const rounding = 2 * static_cast<Real>(s.n + 4) * eps * std::sqrt(static_cast<Real>(s.n)) *
                            (norm_A * size_x + norm_inf(s.b)) +
                        static_cast<Real>(s.n) * 0x1p-1070L;
  Real const relative = norm_r / unit;
  bool const is_beyond_fp64 = relative > 1e308L;
  c.expect(is_beyond_fp64 ||
               std::abs(relative - report.relative_residual) <= 1e-6L * relative + rounding / unit,
           "relative residual ", report.relative_residual, " is ", static_cast<double>(relative));
  Real const guess = norm_2(residual(s, report.attempts.empty() ? s.x : without_empty_rows(s)));
  c.expect(norm_r <= guess * 1.000001L + rounding, "residual ", static_cast<double>(norm_r),
           ", of the guess ", static_cast<double>(guess), ", status ", name_of(report.status));
  Real const denominator = norm_A * size_x + norm_inf(s.b);
  Real const backward = denominator > 0 ? most_r / denominator : most_r;
  if (!report.solved()) {
    bool const is_default = options.solver == SolverKind::Automatic &&
                            options.preconditioner == PreconditionerKind::Automatic &&
                            options.max_iterations >= 600 && options.tolerance > 1e-15;
    c.expect(!s.nearly_fits || !is_default || report.rows.empty > 0,
             "a right-hand side that nearly fits ended as ", name_of(report.status));
    c.expect(!s.is_easy || options.max_iterations < 600, "an easy system ended as ",
             name_of(report.status), ", residual ", static_cast<double>(relative));
    return;
  }
  if (s.is_floating) {
    Real const least = least_squares(s) / unit;
    c.expect(relative <= std::max<Real>(options.tolerance, 2 * least) * 1.000001L + rounding / unit,
             "solved with a residual of ", static_cast<double>(relative), ", least squares ",
             static_cast<double>(least), ", status ", name_of(report.status));
    c.expect(std::abs(report.incompatible - least) <= 1e-6L * least + rounding / unit,
             "incompatible by ", report.incompatible, ", is ", static_cast<double>(least));
  }
  c.expect(backward <= 0.1L, "solved with a backward error of ", static_cast<double>(backward));
  if (report.status == KrylovStatus::Converged)
    c.expect(norm_r <= options.tolerance * 1.001L * norm_b + rounding, "converged at ",
             static_cast<double>(relative), ", tolerance ", options.tolerance);
  else if (report.status == KrylovStatus::RoundingLimit)
    c.expect(relative <= 1.01e-3L + rounding / unit && backward <= 25 * eps, "rounding limit at ",
             static_cast<double>(relative), ", backward error ", static_cast<double>(backward));
  else
    c.expect(relative <= 2.1e-3L + rounding / unit, "least squares at ",
             static_cast<double>(relative));
}

// x against the direct solution: ||x - x*|| <= ||A^-1|| ||b - A x||, by the residual that the
// report promises.
void compare(FuzzCase& c, System const& s, SparseOptions const& options,
             std::vector<double> const& x, SparseReport const& report) {
  if (!report.solved() || s.n == 0 || report.status == KrylovStatus::LeastSquares) return;
  auto const direct = solve_directly(s);
  if (!direct) return;
  Real const size = norm_of_A(s) * norm_inf(x) + norm_inf(s.b);
  Real const promised =
      report.status == KrylovStatus::Converged
          ? options.tolerance * norm_2(s.b) + 2 * static_cast<Real>(s.n * (s.n + 4)) * eps * size
          : 25 * eps * size;
  Real error = 0;
  for (std::size_t i = 0; i < x.size(); ++i) error = std::max(error, std::abs(x[i] - direct->x[i]));
  c.expect(error <= 1.01L * direct->norm_of_inverse * promised + s.n * 0x1p-1070L, "forward error ",
           static_cast<double>(error), ", of ", static_cast<double>(norm_inf(x)), ", bound ",
           static_cast<double>(direct->norm_of_inverse * promised));
}

// A penalty hides no other row: the rows are scaled to a largest entry near 1, and the bound is of
// the tolerance for those.
void compare_scaled(FuzzCase& c, System const& s, SparseOptions const& options,
                    std::vector<double> const& x, SparseReport const& report) {
  if (report.status != KrylovStatus::Converged || !s.has_penalty || s.n == 0) return;
  System scaled = s;
  for (std::int64_t i = 0; i < s.n; ++i) {
    int const e = -std::ilogb(s.at(i, i));
    for (std::int64_t j = 0; j < s.n; ++j) scaled.at(i, j) = std::ldexp(s.at(i, j), e);
    scaled.b[static_cast<std::size_t>(i)] = std::ldexp(s.b[static_cast<std::size_t>(i)], e);
  }
  auto const direct = solve_directly(scaled);
  if (!direct) return;
  constexpr Real apart = 4096;  // rows that are no farther apart are left alone
  Real const promised = apart * options.tolerance * norm_2(scaled.b) +
                        2 * static_cast<Real>(s.n * (s.n + 4)) * eps * norm_inf(x) * 10;
  Real error = 0;
  for (std::size_t i = 0; i < x.size(); ++i) error = std::max(error, std::abs(x[i] - direct->x[i]));
  c.expect(error <= direct->norm_of_inverse * promised + s.n * 0x1p-1070L,
           "beside a penalty x = ", static_cast<double>(norm_inf(x)), " is wrong by ",
           static_cast<double>(error), ", bound ",
           static_cast<double>(direct->norm_of_inverse * promised));
}

// The same number on all ranks?
bool agrees(Communicator const& comm, double value) {
  return comm.max(value) == value && -comm.max(-value) == value;
}

void run(FuzzCase& c, Communicator const& comm, System const& s, SparseOptions const& options,
         bool in_order) {
  Exec const exec;
  auto const first = even_partition(s.n, comm.size());
  auto const begin = first[static_cast<std::size_t>(comm.rank())],
             end = first[static_cast<std::size_t>(comm.rank()) + 1];
  HostRows rows;
  for (auto i = begin; i < end; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j)
      if (s.at(i, j) != 0) rows.add(j, s.at(i, j));
    rows.end_row();
  }
  using Vec = Vector<double, Exec::memory_space>;
  Vec const b("strata::fuzz::b", static_cast<std::size_t>(end - begin)),
      x("strata::fuzz::x", static_cast<std::size_t>(end - begin));
  for (auto i = begin; i < end; ++i) {
    b(static_cast<std::size_t>(i - begin)) = s.b[static_cast<std::size_t>(i)];
    x(static_cast<std::size_t>(i - begin)) = s.x[static_cast<std::size_t>(i)];
  }
  SparseReport report;
  std::string refused;
  try {
    auto const A = make_matrix(exec, comm, rows);
    SparseSolver<Exec> solver(exec, A, options);
    if (in_order) {
      auto const own_b = A.allocate<double>(exec, "strata::fuzz::b"),
                 own_x = A.allocate<double>(exec, "strata::fuzz::x");
      A.gather(exec, b, own_b);
      A.gather(exec, x, own_x);
      report = solver.solve_in_order(exec, own_b, own_x);
      A.scatter(exec, own_x, x);
    } else {
      report = solver.solve(exec, b, x);
    }
  } catch (ValueError const& error) {
    refused = error.what();
  }
  bool const same = agrees(comm, refused.empty() ? 0 : 1);
  if (!c.expect(same, "refused on some ranks only: ", refused)) return;
  if (!refused.empty()) {
    bool const is_known = refused.find("CG needs a symmetric matrix") != std::string::npos ||
                          refused.find("diagonal entries are 0 or missing") != std::string::npos;
    c.expect(is_known, "refused: ", refused);
    return;
  }
  c.expect(agrees(comm, static_cast<double>(report.iterations)) &&
               agrees(comm, static_cast<double>(report.status)) &&
               agrees(comm, report.relative_residual),
           "reports differ among ranks");
  auto const whole = comm.gather(std::span<double const>(x.data(), x.extent(0)));
  check(c, s, options, report, whole);
  compare(c, s, options, whole, report);
  compare_scaled(c, s, options, whole, report);
}

void one_case(FuzzCase& c, Communicator const& all) {
  auto const s = drawn(c.random);
  auto const options = drawn_options(c.random);
  auto const ranks = static_cast<int>(c.random.integer(1, all.size()));
  bool const in_order = c.random.coin();
  c.describe("n ", s.n, " ", s.kind, "; ", name_of(options.solver), " ",
             name_of(options.preconditioner), " ", traits(options.precision).name, " tolerance ",
             options.tolerance, " restart ", options.restart, " limit ", options.max_iterations,
             " coarse ", options.amg.coarse_rows, " ranks ", ranks);
  auto const part = all.first(ranks);
  if (part) run(c, *part, s, options, in_order);
  all.barrier();
}

}  // namespace

int main(int argc, char** argv) {
#ifdef STRATA_ENABLE_MPI
  MPI_Init(&argc, &argv);
#endif
  int status = 0;
  {
    Kokkos::ScopeGuard const kokkos(argc, argv);
#ifdef STRATA_ENABLE_MPI
    Communicator const all(MPI_COMM_WORLD);
    auto const agree = [&](std::uint64_t value) {
      MPI_Bcast(&value, 1, MPI_UINT64_T, 0, all.mpi());
      return value;
    };
#else
    Communicator const all;
    auto const agree = [](std::uint64_t value) { return value; };
#endif
    status = test::fuzz(argc, argv, [&](FuzzCase& c) { one_case(c, all); }, agree);
  }
#ifdef STRATA_ENABLE_MPI
  MPI_Finalize();
#endif
  return status;
}
