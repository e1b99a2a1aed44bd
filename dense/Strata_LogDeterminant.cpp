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

/// The Jacobi matrix that Lanczos builds from one probe.
struct Jacobi {
  std::vector<double> diagonal, below;
  bool complete = false;  ///< the Krylov space is invariant

  /// The Gauss rule for v' log(C) v; NaN if C is not positive definite.
  double logarithm() const {
    auto const rule = detail::gauss_rule(diagonal, below);
    double sum = 0;
    for (std::size_t i = 0; i < rule.nodes.size(); ++i)
      sum += rule.weights[i] * std::log(rule.nodes[i]);
    return sum;
  }
  /// The smallest eigenvalue of C that it knows of.
  double smallest() const { return std::ranges::min(detail::gauss_rule(diagonal, below).nodes); }
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

struct Sample {
  double mean = 0, standard_error = 0;
};

/// The sum over the first `apart` columns of v' log(C) v, plus the mean over the others and its standard error; each
/// times its weight, the square of the length that v had.
Sample sample(std::vector<Jacobi> const& matrices, std::vector<double> const& weights,
              std::size_t apart) {
  Sample result;
  std::vector<double> values;
  for (std::size_t c = 0; c < matrices.size(); ++c) {
    double const value = weights[c] == 0 ? 0 : weights[c] * matrices[c].logarithm();
    if (c < apart)
      result.mean += value;
    else
      values.push_back(value);
  }
  double const count = static_cast<double>(values.size());
  double mean = 0;
  for (double const value : values) mean += value / count;
  for (double const value : values) {
    double const deviation = value - mean;
    result.standard_error += deviation * deviation / (count * std::max(count - 1, 1.0));
  }
  result.standard_error = std::sqrt(result.standard_error);
  result.mean += mean;
  return result;
}

/// What is left of a series whose last terms these are, in magnitude: its last one, or the rest of a geometric series
/// that falls as these do; twice, for it may fall more slowly later.
double rest_of(std::vector<double> const& changes) {
  std::size_t const count = changes.size();
  double const last = changes.back();
  if (count < 2 || last == 0) return last;
  std::size_t const back = std::min<std::size_t>(5, count - 1);
  double const falls = std::pow(last / changes[count - 1 - back], 1 / static_cast<double>(back));
  double const ratio = std::min(falls, 0.95);
  return last * std::max(1.0, 2 * ratio / (1 - ratio));
}

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
void set_apart(Lanczos<Exec>& lanczos, LogDeterminantOptions const& options, std::int64_t n,
               std::int64_t apart, std::vector<double>& weights) {
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
  return 0x1p-53 * (2 * (root + 8) * inverse_norm * diagonal + root * std::abs(log_det_M));
}

/// Student's t for three standard deviations, by the first terms of its expansion in 1 / degrees of freedom.
double deviations(std::int64_t probes) {
  auto const degrees = static_cast<double>(probes - 1);
  return 3 + 30 / (4 * degrees) + 1656 / (96 * degrees * degrees);
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
  if (!exact) set_apart(lanczos, options, n, apart, weights);
  LogDeterminantEstimate result;
  Sample now;
  std::vector<double> changes;
  bool settled = false;
  while (result.steps < steps && !settled) {
    lanczos.step(result.steps++);
    Sample const before =
        std::exchange(now, sample(lanczos.matrices(), weights,
                                  exact ? weights.size() : static_cast<std::size_t>(apart)));
    changes.push_back(std::abs(now.mean - before.mean));
    result.quadrature_error = rest_of(changes);
    // Further steps can't be seen beside the scatter of the probes.
    settled = !exact && result.quadrature_error <= 1e-3 * now.standard_error;
    settled = settled || std::ranges::all_of(lanczos.matrices(), &Jacobi::complete) ||
              std::isnan(now.mean);
  }
  result.correction = now.mean;
  result.value = log_det_M + now.mean;
  result.standard_error = exact ? 0 : now.standard_error;
  result.deviations = deviations(options.probes);
  if (exact || result.steps == n) result.quadrature_error = 0;
  // ||A^-1|| <= ||M^-1|| / the smallest eigenvalue of C = L^-1 A L^-T
  double smallest = 1;
  for (std::size_t c = 0; c < weights.size(); ++c)
    if (weights[c] > 0) smallest = std::min(smallest, lanczos.matrices()[c].smallest());
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
