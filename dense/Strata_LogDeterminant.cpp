// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <algorithm>
#include <cmath>
#include <core/Strata_Errors.hpp>
#include <core/detail/Strata_Instantiate.hpp>
#include <dense/Strata_LogDeterminant.hpp>
#include <dense/detail/Strata_BlockVectors.hpp>
#include <dense/detail/Strata_Tridiagonal.hpp>
#include <limits>
#include <utility>
#include <vector>

namespace strata::dense {

namespace {

/// What one probe v says of C: v' log(C) v, v' log(C)^2 v, and the ends of the Ritz values.
struct Quadrature {
  double logarithm = 0, square = 0;
  double lowest = INFINITY, highest = -INFINITY;
};

/// The Jacobi matrix that Lanczos builds from one probe.
struct Jacobi {
  std::vector<double> diagonal, below;
  bool complete = false;  ///< the Krylov space is invariant

  /// By the Gauss rule, which lies above v' log(C) v; NaN if C is not positive definite.
  Quadrature gauss() const { return of(diagonal); }

  /// v' log(C) v by the Gauss-Radau rule with a node at a > 0. It lies below where no eigenvalue does;
  /// -infinity where a Ritz value is not above a.
  double radau(double a) const {
    if (complete) return gauss().logarithm;
    double pivot = INFINITY, square = 0;
    for (std::size_t i = 0; i < diagonal.size(); ++i) {
      pivot = diagonal[i] - a - square / pivot;
      if (!(pivot > 0)) return -INFINITY;
      square = below[i] * below[i];
    }
    auto longer = diagonal;
    longer.push_back(a + square / pivot);
    return of(longer).logarithm;
  }

  /// ||(C - I) v||^2, from the first step.
  double deviation() const {
    double const first = diagonal.front() - 1;
    return first * first + below.front() * below.front();
  }

 private:
  Quadrature of(std::vector<double> const& alpha) const {
    auto const rule = detail::gauss_rule(alpha, below);
    Quadrature result;
    for (std::size_t i = 0; i < rule.nodes.size(); ++i) {
      double const logarithm = std::log(rule.nodes[i]);
      result.logarithm += rule.weights[i] * logarithm;
      result.square += rule.weights[i] * logarithm * logarithm;
      result.lowest = std::min(result.lowest, rule.nodes[i]);
      result.highest = std::max(result.highest, rule.nodes[i]);
    }
    return result;
  }
};

/// Lanczos on C = L^-1 A L^-T from all probes in lock step.
template <class Exec>
class Lanczos {
 public:
  using Kernels = detail::BlockVectors<Exec>;
  using Block = typename Kernels::Block;
  using Scalars = typename Kernels::Scalars;

  Lanczos(Exec const& exec, std::int64_t n, std::int64_t probes, std::int64_t steps,
          LogDeterminantOperators<Exec> const& operators)
      : operators_(operators),
        kernels_(exec, n, probes, steps),
        V_(kernels_.allocate("strata::dense::log_determinant::V", probes, steps + 1)),
        W_(kernels_.allocate("strata::dense::log_determinant::W", probes)),
        matrices_(static_cast<std::size_t>(probes)) {}

  /// The probes: unit vectors, or +-n^(-1/2).
  Block probes() const { return vector(0); }
  Kernels& kernels() { return kernels_; }
  std::vector<Jacobi> const& matrices() const { return matrices_; }

  /// V = (C - I) V; takes the room of the later vectors.
  void subtract_identity(Block const& V) {
    std::pair const columns(std::size_t(0), V.extent(1));
    auto const W = Kokkos::subview(W_, Kokkos::ALL, columns),
               U = Kokkos::subview(vector(1), Kokkos::ALL, columns);
    Scalars const ones(V.extent(1), 1.0);
    kernels_.scale(ones, V, W);
    operators_.backward(W);
    operators_.apply(W, U);
    operators_.forward(U);
    kernels_.add(Scalars(V.extent(1), -1.0), V, U);
    kernels_.scale(ones, U, V);
  }

  /// v_{k+1} = (C v_k - V V' C v_k) / its length, orthogonalised twice.
  void step(std::int64_t k) {
    Block const U = vector(k + 1);
    kernels_.scale(Scalars(matrices_.size(), 1.0), vector(k), W_);
    operators_.backward(W_);
    operators_.apply(W_, U);
    operators_.forward(U);
    Scalars const h = kernels_.project(V_, k + 1, U);
    kernels_.combine(-1, V_, k + 1, h, U);
    Scalars const again = kernels_.project(V_, k + 1, U);
    kernels_.combine(-1, V_, k + 1, again, U);
    auto const rest = kernels_.norms(Scalars(matrices_.size(), 1.0), U);
    Scalars unit(matrices_.size(), 0.0);
    for (std::size_t c = 0; c < matrices_.size(); ++c) {
      Jacobi& T = matrices_[c];
      if (T.complete) continue;
      std::size_t const diagonal =
          static_cast<std::size_t>(k) + c * static_cast<std::size_t>(k + 1);
      double const alpha = h[diagonal] + again[diagonal], beta = std::sqrt(rest[c].sum[0]);
      T.diagonal.push_back(alpha);
      T.below.push_back(beta);
      T.complete = !(beta > 0x1p-50 * std::abs(alpha));  // NaN as well
      if (!T.complete) unit[c] = 1 / beta;
    }
    kernels_.scale(unit, U, U);
  }

 private:
  Block vector(std::int64_t k) const { return Kokkos::subview(V_, Kokkos::ALL, Kokkos::ALL, k); }

  LogDeterminantOperators<Exec> const& operators_;
  Kernels kernels_;
  typename Kernels::Basis V_;
  Block W_;
  std::vector<Jacobi> matrices_;
};

/// What all columns say: the first `apart` for themselves, the others, random probes, on average; each times
/// its weight, the square of the length that v had.
struct Sample {
  double mean = 0;              ///< of v' log(C) v, by Gauss
  double standard_error = 0;    ///< of the mean
  double quadrature_error = 0;  ///< bound of Gauss' error in the mean
};

class Sampling {
 public:
  Sampling(std::vector<Jacobi> const& matrices, std::vector<double> const& weights,
           std::size_t apart, double n)
      : matrices_(matrices), weights_(weights), apart_(apart), n_(n) {}

  Sample operator()() const {
    Quadrature all;
    for (std::size_t c = 0; c < matrices_.size(); ++c) {
      if (share(c) == 0) continue;
      auto const one = matrices_[c].gauss();
      all.logarithm += share(c) * one.logarithm;
      if (c >= apart_) all.square += share(c) * one.square;
      all.lowest = std::min(all.lowest, one.lowest);
      all.highest = std::max(all.highest, one.highest);
    }
    Sample result{.mean = all.logarithm};
    if (probes() == 0) return result;  // the steps go on until nothing is left out
    result.standard_error = std::sqrt(2 * all.square / probes());
    double const a = below_spectrum(all);
    double below = a > 0 ? 0 : -INFINITY;
    for (std::size_t c = 0; a > 0 && c < matrices_.size(); ++c)
      if (share(c) > 0) below += share(c) * matrices_[c].radau(a);
    result.quadrature_error = std::max(0.0, all.logarithm - below);
    return result;
  }

 private:
  double probes() const { return static_cast<double>(matrices_.size() - apart_); }
  double share(std::size_t c) const { return c < apart_ ? weights_[c] : weights_[c] / probes(); }

  /// A number that the eigenvalues of C exceed, by the Ritz values of the steps that were made.
  double below_spectrum(Quadrature const& all) const {
    auto const steps = static_cast<double>(matrices_.back().diagonal.size());
    // The extreme Ritz values of one probe are off by more than eps (lambda_max - lambda_min) with
    // probability 1.648 n^(1/2) exp(-eps^(1/2) (2 steps - 1)) at most; of all probes in 1e-4.
    double const root =
        std::log(1.648 * std::sqrt(n_) / std::pow(1e-4, 1 / probes())) / (2 * steps - 1);
    double const eps = root * root;
    double const by_ritz =
        eps < 0.25 ? all.lowest - eps / (1 - 2 * eps) * (all.highest - all.lowest) : -INFINITY;
    double squares = 0;  // ||E||_F^2, which a mean of 16 chi-squares underestimates tenfold in 3e-6
    for (std::size_t c = 0; c < matrices_.size(); ++c)
      if (share(c) > 0) squares += share(c) * matrices_[c].deviation();
    return std::max(by_ritz, 1 - std::sqrt(10 * squares));
  }

  std::vector<Jacobi> const& matrices_;
  std::vector<double> const& weights_;
  std::size_t apart_;
  double n_;
};

void require(std::int64_t n, LogDeterminantOptions const& options) {
  STRATA_REQUIRE(ValueError, n >= 0, "log_determinant: n is ", n, ", must be >= 0");
  STRATA_REQUIRE(ValueError, options.probes >= 2, "log_determinant: probes is ", options.probes,
                 ", must be >= 2");
  STRATA_REQUIRE(ValueError, options.steps >= 1, "log_determinant: steps is ", options.steps,
                 ", must be >= 1");
}

/// Unit vectors if there are no more than probes (`exact`), else random signs; of length 1.
template <class Exec>
void set_probes(detail::BlockVectors<Exec>& kernels, LogDeterminantOptions const& options,
                std::int64_t n, typename detail::BlockVectors<Exec>::Block const& V) {
  if (n <= options.probes)
    kernels.unit_vectors(V);
  else
    kernels.random_signs(options.seed, 1 / std::sqrt(static_cast<double>(n)), V);
}

/// How many directions in which C is far from the identity are taken apart.
std::int64_t directions(LogDeterminantOptions const& options) {
  return std::max<std::int64_t>(1, options.probes / 4);
}

/// The first columns of V become orthonormal and span (C - I) times random signs, the others orthogonal to them; all of
/// length 1. What the squares of their lengths were goes into `weights`.
template <class Exec>
void set_apart(Lanczos<Exec>& lanczos, std::int64_t n, std::int64_t apart,
               std::vector<double>& weights) {
  auto& kernels = lanczos.kernels();
  using Range = std::pair<std::int64_t, std::int64_t>;
  auto const all = lanczos.probes();
  auto const first = Kokkos::subview(all, Kokkos::ALL, Range(0, apart));
  lanczos.subtract_identity(first);
  auto const Q = kernels.allocate("strata::dense::log_determinant::Q", 1, apart);
  for (std::int64_t c = 0; c < static_cast<std::int64_t>(weights.size()); ++c) {
    auto const column = Kokkos::subview(all, Kokkos::ALL, Range(c, c + 1));
    std::int64_t const before = std::min(c, apart);
    double const start = kernels.norms({1}, column)[0].sum[0];
    for (int twice = 0; twice < 2 && before > 0; ++twice)
      kernels.combine(-1, Q, before, kernels.project(Q, before, column), column);
    double const left = kernels.norms({1}, column)[0].sum[0];
    bool const nothing = !(left > 0x1p-80 * start);  // NaN as well
    kernels.scale({nothing ? 0 : 1 / std::sqrt(left)}, column, column);
    auto& weight = weights[static_cast<std::size_t>(c)];
    weight = nothing ? 0 : c < apart ? 1 : static_cast<double>(n) * left;
    if (c < apart) kernels.scale({1}, column, Kokkos::subview(Q, Kokkos::ALL, Kokkos::ALL, c));
  }
}

/// ||M^-1||_F from the mean of ||M^-1 v||^2 over the probes; V is overwritten.
template <class Exec>
double inverse_norm(detail::BlockVectors<Exec>& kernels,
                    LogDeterminantOperators<Exec> const& operators, std::int64_t n,
                    typename detail::BlockVectors<Exec>::Block const& V) {
  operators.forward(V);
  operators.backward(V);
  auto const found = kernels.norms(std::vector<double>(V.extent(1), 1.0), V);
  double sum = 0;
  for (auto const& column : found) sum += column.sum[0] / static_cast<double>(found.size());
  return std::sqrt(static_cast<double>(n) * sum);
}

double rounding(std::int64_t n, double inverse_norm, double diagonal, double log_det_M) {
  double const root = std::sqrt(static_cast<double>(n));  // of terms in a sum of random signs
  return 0x1p-53 * ((root + 8) * inverse_norm * diagonal + root * std::abs(log_det_M));
}

}  // namespace

template <class ExecutionSpace>
double log_determinant_rounding(ExecutionSpace const& exec, std::int64_t n, double log_det_M,
                                LogDeterminantOperators<ExecutionSpace> const& operators,
                                LogDeterminantOptions const& options) {
  require(n, options);
  if (n == 0) return 0;
  auto const probes = std::min<std::int64_t>(n, options.probes);
  detail::BlockVectors<ExecutionSpace> kernels(exec, n, probes);
  auto const V = kernels.allocate("strata::dense::log_determinant::V", probes);
  set_probes(kernels, options, n, V);
  return rounding(n, inverse_norm(kernels, operators, n, V), operators.diagonal, log_det_M);
}

template <class ExecutionSpace>
LogDeterminantEstimate log_determinant(ExecutionSpace const& exec, std::int64_t n, double log_det_M,
                                       LogDeterminantOperators<ExecutionSpace> const& operators,
                                       LogDeterminantOptions const& options) {
  Kokkos::Profiling::ScopedRegion region("strata::dense::log_determinant");
  require(n, options);
  if (n == 0) return {.value = log_det_M};
  STRATA_REQUIRE(ValueError, operators.apply && operators.forward && operators.backward,
                 "log_determinant: the operators apply, forward and backward must all be given");
  bool const exact = n <= options.probes;
  std::int64_t const apart = exact ? 0 : directions(options);
  auto const probes = exact ? n : options.probes + apart;
  auto const steps = std::min<std::int64_t>(exact ? n : options.steps, n);
  Lanczos<ExecutionSpace> lanczos(exec, n, probes, steps, operators);
  set_probes(lanczos.kernels(), options, n, lanczos.probes());
  double const of_factor = inverse_norm(lanczos.kernels(), operators, n, lanczos.probes());
  set_probes(lanczos.kernels(), options, n, lanczos.probes());
  std::vector<double> weights(static_cast<std::size_t>(probes), 1.0);
  if (!exact) set_apart(lanczos, n, apart, weights);
  Sampling const sample(lanczos.matrices(), weights,
                        exact ? weights.size() : static_cast<std::size_t>(apart),
                        static_cast<double>(n));
  LogDeterminantEstimate result;
  Sample now;
  bool settled = false;
  while (result.steps < steps && !settled) {
    lanczos.step(result.steps++);
    now = sample();
    // Further steps can't be seen beside the scatter of the probes, which one step does not see.
    settled = !exact && result.steps > 1 && now.quadrature_error <= 1e-3 * now.standard_error;
    settled = settled || std::ranges::all_of(lanczos.matrices(), &Jacobi::complete) ||
              std::isnan(now.mean);
  }
  result.correction = now.mean;
  result.value = log_det_M + now.mean;
  bool const known = !std::isnan(now.mean);
  result.standard_error = known ? now.standard_error : INFINITY;
  result.quadrature_error = known ? now.quadrature_error : INFINITY;
  // ||A^-1|| <= ||M^-1|| / the smallest eigenvalue of C = L^-1 A L^-T
  double smallest = 1;
  for (std::size_t c = 0; c < weights.size(); ++c)
    if (weights[c] > 0) smallest = std::min(smallest, lanczos.matrices()[c].gauss().lowest);
  result.rounding_error = rounding(n, of_factor / smallest, operators.diagonal, result.value);
  return result;
}

#define STRATA_INSTANTIATE(Exec)                                                              \
  template LogDeterminantEstimate log_determinant<Exec>(Exec const&, std::int64_t, double,    \
                                                        LogDeterminantOperators<Exec> const&, \
                                                        LogDeterminantOptions const&);        \
  template double log_determinant_rounding<Exec>(Exec const&, std::int64_t, double,           \
                                                 LogDeterminantOperators<Exec> const&,        \
                                                 LogDeterminantOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
