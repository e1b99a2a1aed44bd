// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// cholesky, solve, condition and log_determinant of random systems, easy ones and hostile ones,
// against long double.
#include "StrataFuzz_Dense.hpp"
#include <dense/Strata_Cholesky.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;
using Wide = long double;
using Factor = CholeskyFactor<FuzzSpace>;

double power_of_ten(FuzzRandom& random, std::int64_t most) {
  return std::pow(10.0, static_cast<double>(random.integer(-most, most)));
}

// ---- the matrix ----
enum class Kind { GradedDiagonal, Kernel, Hilbert, Diagonal, NearPairs, Ones, Count };
enum class Damage {
  None,
  NegativeDiagonal,
  ZeroDiagonal,
  LargeEntry,
  BarelyIndefinite,
  NotFinite,
  Count
};

template <class Enum>
Enum any(FuzzRandom& random) {
  return static_cast<Enum>(random.integer(0, static_cast<std::int64_t>(Enum::Count) - 1));
}

/// What long double says of a matrix: the first minor that is not positive, and by how much.
struct Truth {
  std::int64_t order = 0;  ///< order of that minor; 0: positive definite
  double margin = 1;       ///< smallest pivot before it, of its diagonal entry
  double failure = 0;      ///< its pivot, likewise
  Wide log_determinant = 0;
  std::vector<Wide> L;  ///< column by column
};

class System {
 public:
  explicit System(FuzzCase& one)
      : kind(any<Kind>(one.random)),
        n(any_order(one.random, kind)),
        A(one.random, n, n, one.random.coin()),
        scaling_(n, 1.0) {
    FuzzRandom& random = one.random;
    double const condition = power_of_ten(random, 14);
    fill(random, kind, std::max(condition, 1 / condition));
    scale(random);
    damage = random.coin() ? Damage::None : any<Damage>(random);
    spoil(random);
    one.describe("n ", n, " kind ", static_cast<int>(kind), " damage ", static_cast<int>(damage),
                 " condition ", condition, " size ", size_);
  }

  Kind const kind;
  std::int64_t const n;
  StoredMatrix<double> A;
  Damage damage;

  /// Looked at each time, in half of the cases with the choices of the library.
  bool is_asked() const { return kind == Kind::NearPairs || kind == Kind::Ones; }

  double entry(std::int64_t i, std::int64_t j) const { return i >= j ? A(i, j) : A(j, i); }
  /// What the numbers of row i were multiplied by.
  double scaling(std::int64_t i) const { return scaling_[static_cast<std::size_t>(i)]; }
  /// What all numbers were multiplied by.
  double size() const { return size_; }
  /// The power of two that equilibrates row i.
  Wide equilibration(std::int64_t i) const {
    return std::exp2(-std::floor(0.5 * std::log2(entry(i, i)) + 0.5));
  }
  Wide norm(bool equilibrated = false) const {
    Wide norm = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      Wide sum = 0;
      for (std::int64_t j = 0; j < n; ++j)
        sum += std::abs(static_cast<Wide>(entry(i, j))) *
               (equilibrated ? equilibration(i) * equilibration(j) : 1);
      norm = sum <= norm ? norm : sum;  // NaN stays
      if (!std::isfinite(norm)) return norm;
    }
    return norm;
  }
  Truth truth() const;
  /// ||H||_1 ||H^-1||_1 of the equilibrated matrix, or of A.
  Wide condition(Truth const& truth, bool equilibrated) const;

 private:
  static std::int64_t any_order(FuzzRandom& random, Kind kind) {
    if (kind == Kind::Ones && random.coin()) return random.integer(300, 450);  // long leaves
    return random.once_in(6) ? random.integer(0, 3) : random.integer(1, 160);
  }
  void fill(FuzzRandom& random, Kind kind, double condition);
  void scale(FuzzRandom& random);
  void spoil(FuzzRandom& random);

  std::vector<double> scaling_;
  double size_ = 1;
};

// The upper triangle keeps its garbage.
void System::fill(FuzzRandom& random, Kind kind, double condition) {
  std::vector<double> w(static_cast<std::size_t>(2 * n));
  for (double& number : w) number = random.normal();
  double const range = random.number(1, 60);
  Stations const at(random, n);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = j; i < n; ++i) {
      auto const wi = static_cast<std::size_t>(2 * i), wj = static_cast<std::size_t>(2 * j);
      double value = 0;
      if (kind == Kind::GradedDiagonal)
        value = w[wi] * w[wj] + w[wi + 1] * w[wj + 1] +
                (i == j ? 3 * std::pow(condition, -random.number(0, 1)) : 0);
      if (kind == Kind::Kernel)
        value = std::exp(-std::pow(static_cast<double>(i - j) / range, 2)) +
                (i == j ? 1 / condition : 0);
      if (kind == Kind::Hilbert)
        value = 1 / static_cast<double>(i + j + 1) + (i == j ? 1 / condition : 0);
      if (kind == Kind::NearPairs) value = at.covariance(i, j);
      if (kind == Kind::Ones) value = 1 + (i == j ? 1 / condition : 0);
      if (kind == Kind::Diagonal && i == j) value = std::pow(condition, -random.number(0, 1));
      A(i, j) = value;
    }
}

// Rows and columns by factors, and all by one that brings it to the ends of fp64's range.
void System::scale(FuzzRandom& random) {
  switch (random.integer(0, 5)) {
    case 0:
      for (double& s : scaling_) s = power_of_ten(random, 6);
      break;
    case 1:
      for (double& s : scaling_) s = power_of_ten(random, 60);
      break;
    case 2:
      for (double& s : scaling_) s = std::ldexp(1.0, static_cast<int>(random.integer(-200, 200)));
      break;
    case 3:
      size_ = random.one_of({1e-320, 1e-310, 1e-307, 1e-300, 1e-200, 1e200, 1e300, 1e304});
      break;
    default:
      break;
  }
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = j; i < n; ++i) A(i, j) *= scaling(i) * scaling(j) * size_;
}

void System::spoil(FuzzRandom& random) {
  if (n == 0) {
    damage = Damage::None;
    return;
  }
  std::int64_t const k = random.integer(0, n - 1), l = random.integer(0, n - 1);
  std::int64_t const i = std::max(k, l), j = std::min(k, l);
  if (damage == Damage::NegativeDiagonal) A(k, k) *= -std::pow(10.0, -random.number(0, 12));
  if (damage == Damage::ZeroDiagonal) A(k, k) = 0;
  if (damage == Damage::LargeEntry && i != j)
    A(i, j) = std::sqrt(std::abs(A(i, i))) * std::sqrt(std::abs(A(j, j))) * random.number(1, 1e3);
  if (damage == Damage::BarelyIndefinite) {  // the last pivot changes its sign
    double const last = A(n - 1, n - 1);
    A(n - 1, n - 1) = -last;
    double const taken = -truth().failure - 1;  // by the other columns, of `last`
    A(n - 1, n - 1) = last * taken * (1 - std::pow(10.0, -random.number(1, 9)));
  }
  if (damage == Damage::NotFinite) A(i, j) = random.coin() ? fuzz_nan : -fuzz_infinity;
}

Truth System::truth() const {
  std::vector<Wide> L(static_cast<std::size_t>(n * n));
  auto const at = [&](std::int64_t i, std::int64_t j) -> Wide& {
    return L[static_cast<std::size_t>(i + j * n)];
  };
  Truth truth;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = j; i < n; ++i) {
      Wide sum = A(i, j);
      for (std::int64_t k = 0; k < j; ++k) sum -= at(i, k) * at(j, k);
      at(i, j) = sum;
    }
    Wide const pivot = at(j, j), size = std::abs(static_cast<Wide>(A(j, j)));
    auto const part = static_cast<double>(size > 0 ? pivot / size : 0);
    if (!(pivot > 0)) {
      truth.order = j + 1;
      truth.failure = part;
      return truth;
    }
    truth.margin = std::min(truth.margin, part);
    truth.log_determinant += std::log(pivot);
    Wide const root = std::sqrt(pivot);
    for (std::int64_t i = j; i < n; ++i) at(i, j) /= root;
  }
  truth.L = std::move(L);
  return truth;
}

Wide System::condition(Truth const& truth, bool equilibrated) const {
  auto const d = [&](std::int64_t i) { return equilibrated ? equilibration(i) : 1; };
  auto const L = [&](std::int64_t i, std::int64_t j) {
    return truth.L[static_cast<std::size_t>(i + j * n)];
  };
  Wide largest = 0;
  std::vector<Wide> x(static_cast<std::size_t>(n));
  auto const at = [&](std::int64_t i) -> Wide& { return x[static_cast<std::size_t>(i)]; };
  for (std::int64_t c = 0; c < n; ++c) {
    std::fill(x.begin(), x.end(), 0);
    at(c) = 1 / d(c);
    for (std::int64_t i = c; i < n; ++i) {
      at(i) /= L(i, i);
      for (std::int64_t k = i + 1; k < n; ++k) at(k) -= L(k, i) * at(i);
    }
    Wide sum = 0;
    for (std::int64_t i = n - 1; i >= 0; --i) {
      for (std::int64_t k = i + 1; k < n; ++k) at(i) -= L(k, i) * at(k);
      at(i) /= L(i, i);
      sum += std::abs(at(i) / d(i));
    }
    largest = std::max(largest, sum);
  }
  return norm(equilibrated) * largest;
}

// ---- a right-hand side, its solution, and what is known of them ----

struct Vectors {
  std::int64_t m;
  bool in_place, finite = true, has_size_of_matrix;
  StoredMatrix<double> B, X;

  Vectors(FuzzCase& one, System const& system)
      : m(one.random.once_in(5) ? one.random.integer(0, 1) : one.random.integer(1, 9)),
        in_place(one.random.once_in(4)),
        has_size_of_matrix(system.size() == 1 || one.random.coin()),
        B(one.random, system.n, m, one.random.coin()),
        X(one.random, system.n, m, one.random.coin()) {
    FuzzRandom& random = one.random;
    bool const unlike = random.once_in(4), to_scale = random.coin();
    int const decades = has_size_of_matrix ? 120 : 250;  // where X need not be representable
    for (std::int64_t j = 0; j < m; ++j) {
      double const size = random.once_in(8) ? 0 : unlike ? power_of_ten(random, decades) : 1;
      for (std::int64_t i = 0; i < system.n; ++i)
        B(i, j) = size * random.normal() * (to_scale ? system.scaling(i) : 1) *
                  (has_size_of_matrix ? system.size() : 1);
    }
    if (system.n > 0 && m > 0 && random.once_in(12))
      B(random.integer(0, system.n - 1), random.integer(0, m - 1)) =
          random.coin() ? fuzz_nan : fuzz_infinity;
    for (std::int64_t j = 0; j < m; ++j)  // sizes may have overflowed as well
      for (std::int64_t i = 0; i < system.n; ++i) finite = finite && std::isfinite(B(i, j));
    one.describe("| m ", m, in_place ? " in place" : "", finite ? "" : " not finite",
                 unlike ? " unlike columns" : "");
  }

  StoredMatrix<double>& result() { return in_place ? B : X; }
  double right_hand_side(std::int64_t i, std::int64_t j) const { return B.before(i, j); }
};

/// max_j ||b_j - A x_j|| / (||A|| ||x_j|| + ||b_j||), of D A D if it is equilibrated; infinite if X
/// is not finite.
double backward_error(System const& system, Vectors& vectors, bool equilibrated) {
  StoredMatrix<double> const& X = vectors.result();
  Wide const norm = system.norm(equilibrated);
  Wide worst = 0;
  for (std::int64_t j = 0; j < vectors.m; ++j) {
    Wide largest_r = 0, largest_x = 0, largest_b = 0;
    for (std::int64_t i = 0; i < system.n; ++i) {
      if (!std::isfinite(X(i, j))) return fuzz_infinity;
      Wide const b = vectors.right_hand_side(i, j);
      Wide r = b;
      for (std::int64_t k = 0; k < system.n; ++k)
        r -= static_cast<Wide>(system.entry(i, k)) * X(k, j);
      Wide const d = equilibrated ? system.equilibration(i) : 1;
      largest_r = std::max(largest_r, std::abs(d * r));
      largest_x = std::max(largest_x, std::abs(X(i, j) / d));
      largest_b = std::max(largest_b, std::abs(d * b));
    }
    if (largest_r > 0) worst = std::max(worst, largest_r / (norm * largest_x + largest_b));
  }
  return static_cast<double>(worst);
}

// ---- one case ----

RefinementOptions any_refinement(FuzzCase& one) {
  RefinementOptions options;
  FuzzRandom& random = one.random;
  options.refine = random.coin() ? Refine::Automatic : random.one_of(enum_values<Refine>);
  if (random.once_in(6)) options.tolerance = std::pow(10.0, -random.number(1, 14));
  if (random.once_in(10)) options.max_iterations = static_cast<int>(random.integer(1, 5));
  one.describe(name_of(options.refine), " tolerance ", options.tolerance, " iterations ",
               options.max_iterations);
  return options;
}

CholeskyOptions any_choices(FuzzCase& one, bool by_default) {
  CholeskyOptions options;
  if (by_default) return options;
  FuzzRandom& random = one.random;
  options.leaf_size = random.once_in(8) ? 0 : random.integer(1, 80);
  options.equilibrate = !random.once_in(5);
  options.ladder = !random.once_in(5);
  options.shift = random.once_in(8) ? random.number(0, 0.1) : 0;
  if (random.once_in(8))
    options.block_scaling = random.coin() ? BlockScaling::DownOnly : BlockScaling::None;
  one.describe("leaf ", options.leaf_size, options.equilibrate ? "" : " not equilibrated",
               options.ladder ? "" : " no ladder", " shift ", options.shift, " scaling ",
               static_cast<int>(options.block_scaling));
  return options;
}

SolveReport solve(Factor& factor, FuzzCase& one, Vectors& vectors,
                  RefinementOptions const& options) {
  FuzzSpace const exec;
  auto const B = vectors.B.send(), other = vectors.X.send(), X = vectors.in_place ? B : other;
  if (vectors.m == 1 && one.random.coin())
    return factor.solve(exec, Kokkos::subview(B, Kokkos::ALL, 0),
                        Kokkos::subview(X, Kokkos::ALL, 0), options);
  return factor.solve(exec, B, X, options);
}

/// The text of the ValueError of `action`; empty without one.
template <class Action>
std::string refusal(Action const& action) {
  try {
    action();
  } catch (ValueError const& error) {
    return error.what();
  }
  return {};
}

/// What must hold of the order that a factorisation or a solve gave for a minor.
void check_order(FuzzCase& one, System const& system, CholeskyOptions const& choices,
                 Truth const& truth, Info const& info) {
  std::int64_t const n = system.n;
  if (info.ok()) return;
  one.expect(info.order() >= 1 && info.order() <= n, "the order of the minor is ", info.order());
  double const doubt = 1e-13 * static_cast<double>(n + 1);
  bool const certain = truth.margin > doubt && (truth.order == 0 || truth.failure < -doubt);
  if (choices.ladder && certain)
    one.expect(info.order() == truth.order, "the minor of order ", info.order(),
               " is said not to be positive; of order ", truth.order, " it is (margin ",
               truth.margin, ")");
}

void check_solve(FuzzCase& one, System const& system, CholeskyOptions const& choices,
                 Truth const& truth, Factor& factor) {
  Vectors vectors(one, system);
  auto const refinement = any_refinement(one);
  std::optional<SolveReport> found;
  auto const refused = refusal([&] { found = solve(factor, one, vectors, refinement); });
  vectors.B.fetch(), vectors.X.fetch();
  if (!vectors.finite || !refused.empty()) {
    one.expect(!vectors.finite && !refused.empty(), "B is ", vectors.finite ? "" : "not ",
               "finite, and solve says: ", refused);
    one.expect(vectors.B.changed().empty() && vectors.X.changed().empty(),
               "a refused solve wrote something");
    return;
  }
  auto const around_X = vectors.result().changed([](auto, auto) { return true; });
  auto const of_other = (vectors.in_place ? vectors.X : vectors.B).changed();
  one.expect(around_X.empty() && of_other.empty(), "solve: ", around_X, of_other);
  double const order = static_cast<double>(system.n);
  double const error = backward_error(system, vectors, false);
  double const rounding = 0x1p-52 * std::sqrt(order);
  one.expect(std::isfinite(error), "X is not finite");
  if (found->converged) {  // by default D A D meets the tolerance, and A as given HPL's threshold
    bool const by_default = refinement.tolerance == 0;
    double const refined = backward_error(system, vectors, by_default && choices.equilibrate);
    one.expect(refined <= std::max(refinement.tolerance, rounding) * 1.01 + rounding &&
                   (!by_default || error <= hpl_threshold * 1.01 * order * 0x1p-52),
               "converged, but the backward error is ", error, ", of D A D ", refined);
  }
  check_order(one, system, choices, truth, factor.info());
  if (!factor.info().ok()) return;
  one.expect(std::abs(error - found->backward_error) <= 0.01 * error + 2 * rounding,
             "the backward error is ", error, ", the report says ", found->backward_error);
  bool const must = choices.ladder && truth.order == 0 && truth.margin > 1e-9 &&
                    refinement.refine != Refine::None && refinement.max_iterations == 0 &&
                    vectors.has_size_of_matrix &&  // else X may not be representable
                    refinement.tolerance == 0;
  one.expect(!must || found->converged, "did not converge, margin ", truth.margin, " error ",
             error);
}

void check_log_determinant(FuzzCase& one, Truth const& truth, Factor& factor) {
  auto const found = factor.log_determinant(FuzzSpace());
  auto const expected = static_cast<double>(truth.log_determinant);
  one.expect(std::isfinite(found.value) && found.error() >= 0, "log det ", found.value, " +- ",
             found.error());
  if (truth.order != 0 || truth.margin < 1e-14) return;  // long double knows it
  one.expect(std::abs(found.value - expected) <= 2 * found.error(), "log det ", found.value, " +- ",
             found.error(), ", not ", expected);
}

void check_condition(FuzzCase& one, System const& system, CholeskyOptions const& choices,
                     Truth const& truth, Factor& factor) {
  auto const found = factor.condition(FuzzSpace());
  if (truth.order != 0 || truth.margin < 1e-12 || system.n == 0 || !found.converged) return;
  auto const expected = static_cast<double>(system.condition(truth, choices.equilibrate));
  if (!(expected < 1e13 / static_cast<double>(system.n))) return;
  one.expect(found.value >= expected / 10 && found.value <= 3 * expected, "condition ", found.value,
             ", not ", expected);
}

void one_case(FuzzCase& one) {
  System system(one);
  bool const by_default = system.is_asked() && one.random.coin();
  auto const layers = by_default ? LayerList{Precision::fp64} : any_layers(one.random);
  one.describe(layers.name());
  auto const choices = any_choices(one, by_default);
  auto const A = system.A.send();
  std::optional<Factor> factor;
  auto const refused = refusal([&] { factor.emplace(cholesky(FuzzSpace(), A, layers, choices)); });
  system.A.fetch();
  one.expect(system.A.changed().empty(), "A: ", system.A.changed());
  bool const finite = std::isfinite(system.norm());
  if (!finite || !refused.empty()) {
    one.expect(!finite && !refused.empty(), "A is ", finite ? "" : "not ",
               "finite, and cholesky says: ", refused);
    return;
  }
  Truth const truth = system.truth();
  check_order(one, system, choices, truth, factor->info());
  for (auto solves = one.random.integer(0, 3); factor->info().ok() && solves > 0; --solves)
    check_solve(one, system, choices, truth, *factor);
  if (!factor->info().ok()) return;
  if (one.random.once_in(3) || system.is_asked()) check_log_determinant(one, truth, *factor);
  if (one.random.once_in(3) || system.is_asked())
    check_condition(one, system, choices, truth, *factor);
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos;
  return fuzz(argc, argv, one_case);
}
