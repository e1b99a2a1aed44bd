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

/// Mean and its standard error over the probes of `scale` * v' log(C) v.
Sample sample(std::vector<Jacobi> const& matrices, double scale) {
  std::vector<double> values;
  for (Jacobi const& T : matrices) values.push_back(scale * T.logarithm());
  double const count = static_cast<double>(values.size());
  Sample result;
  for (double const value : values) result.mean += value / count;
  for (double const value : values) {
    double const deviation = value - result.mean;
    result.standard_error += deviation * deviation / (count * std::max(count - 1, 1.0));
  }
  result.standard_error = std::sqrt(result.standard_error);
  return result;
}

}  // namespace

template <class ExecutionSpace>
LogDeterminantEstimate log_determinant(ExecutionSpace const& exec, std::int64_t n, double log_det_M,
                                       LogDeterminantOperators<ExecutionSpace> const& operators,
                                       LogDeterminantOptions const& options) {
  Kokkos::Profiling::ScopedRegion region("strata::dense::log_determinant");
  STRATA_REQUIRE(ValueError, n >= 0, "log_determinant: n is ", n, ", must be >= 0");
  STRATA_REQUIRE(ValueError, options.probes >= 2, "log_determinant: probes is ", options.probes,
                 ", must be >= 2");
  STRATA_REQUIRE(ValueError, options.steps >= 1, "log_determinant: steps is ", options.steps,
                 ", must be >= 1");
  if (n == 0) return {.value = log_det_M};
  STRATA_REQUIRE(ValueError, operators.apply && operators.forward && operators.backward,
                 "log_determinant: the operators apply, forward and backward must all be given");
  bool const exact = n <= options.probes;
  auto const probes = exact ? n : options.probes;
  auto const steps = std::min<std::int64_t>(exact ? n : options.steps, n);
  Lanczos<ExecutionSpace> lanczos(exec, n, probes, steps, operators);
  if (exact) {
    lanczos.kernels().unit_vectors(lanczos.probes());
  } else {
    lanczos.kernels().random_signs(options.seed, 1 / std::sqrt(static_cast<double>(n)),
                                   lanczos.probes());
  }
  LogDeterminantEstimate result;
  Sample now;
  bool settled = false;
  while (result.steps < steps && !settled) {
    lanczos.step(result.steps++);
    Sample const before = std::exchange(now, sample(lanczos.matrices(), static_cast<double>(n)));
    result.quadrature_error = std::abs(now.mean - before.mean);
    // Further steps can't be seen beside the scatter of the probes.
    settled = !exact && result.quadrature_error <= 1e-3 * now.standard_error;
    settled = settled || std::ranges::all_of(lanczos.matrices(), &Jacobi::complete) ||
              std::isnan(now.mean);
  }
  result.correction = now.mean;
  result.value = log_det_M + now.mean;
  result.standard_error = exact ? 0 : now.standard_error;
  if (exact || result.steps == n) result.quadrature_error = 0;
  return result;
}

#define STRATA_INSTANTIATE(Exec)                                                              \
  template LogDeterminantEstimate log_determinant<Exec>(Exec const&, std::int64_t, double,    \
                                                        LogDeterminantOperators<Exec> const&, \
                                                        LogDeterminantOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
