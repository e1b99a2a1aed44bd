// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/log_determinant/Strata_LogDeterminant.hpp>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/log_determinant/detail/Strata_Jacobi.hpp>
#include <dense/log_determinant/detail/Strata_Probes.hpp>
#include <dense/vectors/detail/Strata_BlockVectors.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace strata::dense {

namespace {

using detail::Jacobi, detail::Quadrature;
constexpr double infinity = std::numeric_limits<double>::infinity();

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

/// What all probes say.
struct Sample {
  double mean = 0;              ///< mean of n v' log(C) v, by Gauss
  double standard_error = 0;    ///< standard error of the mean
  double quadrature_error = 0;  ///< bound of Gauss' error in the mean
  double lowest = 1;            ///< lowest of the Ritz values
};

constexpr double small_error = 1e-3;  // of the quadrature, beside the standard error

/// What part of the steps is done: by their number, or by the digits that they took off the
/// quadrature error.
class Way {
 public:
  double part(Sample const& now, double taken) {
    double const above =
        std::log(now.quadrature_error / (small_error * now.standard_error));  // of the goal
    if (std::isfinite(above)) first_ = std::max(first_, above);
    double const gone = std::isfinite(above) && first_ > 0 ? 1 - above / first_ : 0;
    return done_ = std::min(1.0, std::max({done_, taken, gone}));
  }

 private:
  double first_ = 0, done_ = 0;
};

Sample sample(std::vector<Jacobi> const& matrices, double n, bool exact) {
  double const weight = n / static_cast<double>(matrices.size());
  Quadrature all;
  for (Jacobi const& T : matrices) {
    auto const one = T.gauss();
    all.logarithm += weight * one.logarithm;
    all.square += weight * one.square;
    all.lowest = std::min(all.lowest, one.lowest);
    all.highest = std::max(all.highest, one.highest);
  }
  Sample result{.mean = all.logarithm, .lowest = std::min(1.0, all.lowest)};
  if (exact) return result;  // the steps go on until nothing is left out
  result.standard_error = std::sqrt(2 * all.square / static_cast<double>(matrices.size()));
  double const a = detail::below_spectrum(matrices, n, all);
  double below = a > 0 ? 0 : -infinity;
  if (a > 0)
    for (Jacobi const& T : matrices) below += weight * T.radau(a);
  result.quadrature_error = std::max(0.0, all.logarithm - below);
  return result;
}

void require(std::int64_t n, LogDeterminantOptions const& options) {
  STRATA_REQUIRE(ValueError, n >= 0, "log_determinant: n is ", n, ", must be >= 0");
  STRATA_REQUIRE(ValueError, options.probes >= 2, "log_determinant: probes is ", options.probes,
                 ", must be >= 2");
  STRATA_REQUIRE(ValueError, options.steps >= 1, "log_determinant: steps is ", options.steps,
                 ", must be >= 1");
}

/// Unit vectors if there are no more than probes, else random signs; of this length.
template <class Exec, class Block>
void set_probes(Exec const& exec, LogDeterminantOptions const& options, double length,
                Block const& V) {
  auto const n = static_cast<double>(V.extent(0));
  if (n <= options.probes)
    detail::unit_vectors(exec, length, V);
  else
    detail::random_signs(exec, options.seed, 1 / std::sqrt(n) * length, V);
}

// x' y in partial sums, which fill a host's vectors.
KOKKOS_INLINE_FUNCTION double dot(std::int64_t n, double const* x, double const* y) {
  constexpr int lanes = 16;
  double parts[lanes] = {};
  std::int64_t k = 0;
  for (; k + lanes <= n; k += lanes)
    for (int lane = 0; lane < lanes; ++lane) parts[lane] += x[k + lane] * y[k + lane];
  for (int lane = 0; k < n; ++k, ++lane) parts[lane] += x[k] * y[k];
  double sum = 0;
  for (double const part : parts) sum += part;
  return sum;
}

/// products(i, d) = w_i' w_(i-d) of columns of W, 0 where there is no column i - d.
template <class Exec, class Block>
void multiply_columns(Exec const& exec, Block const& W, Block const& products) {
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  auto const rows = static_cast<std::int64_t>(W.extent(0)),
             cols = static_cast<std::int64_t>(products.extent(0));
  Kokkos::parallel_for(
      "strata::dense::log_determinant::products",
      Policy(exec, static_cast<int>(products.size()), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        std::int64_t const i = team.league_rank() % cols, d = team.league_rank() / cols;
        double product = 0;
        std::int64_t const count = d <= i ? rows : 0;
        double const *const x = &W(0, i), *const y = &W(0, d <= i ? i - d : i);
        if constexpr (strata::runs_on_host<Exec>)
          product = dot(count, x, y);
        else
          Kokkos::parallel_reduce(
              Kokkos::TeamVectorRange(team, count),
              [&](std::int64_t k, double& sum) { sum += x[k] * y[k]; }, product);
        Kokkos::single(Kokkos::PerTeam(team), [&] { products(i, d) = product; });
      });
}

/// ||M^-1||_F^2 by W = L^-1 V. If V are unit vectors, the products w_i' w_j are the entries of
/// M^-1. If they are random signs of length 1, those with i != j have the mean square ||M^-1||_F^2
/// / n^2: for half of the solves that M^-1 V takes, many samples.
template <class Exec, class Block>
double squared_norm_of_inverse(Exec const& exec, Block const& W, bool are_units) {
  constexpr std::size_t neighbours =
      16;  // of a column that it is multiplied with, if there are many
  std::size_t const cols = W.extent(1),
                    distances = are_units ? cols : std::min(cols, neighbours + 1);
  Block const products =
      allocate<Block>(exec, "strata::dense::log_determinant::products", cols, distances);
  multiply_columns(exec, W, products);
  using HostBlock = Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
  auto const found =
      allocate_on_host<HostBlock>("strata::dense::log_determinant::host_products", cols, distances);
  Kokkos::deep_copy(exec, found, products);
  exec.fence("strata::dense::log_determinant: read the products");
  double diagonal = 0, below = 0, pairs = 0;
  for (std::size_t d = 0; d < distances; ++d)
    for (std::size_t i = d; i < cols; ++i) {
      (d == 0 ? diagonal : below) += found(i, d) * found(i, d);
      pairs += d == 0 ? 0 : 1;
    }
  double const n = static_cast<double>(W.extent(0));
  return are_units ? diagonal + 2 * below : n * n * below / pairs;
}

}  // namespace

template <class ExecutionSpace>
double log_determinant_rounding(ExecutionSpace const& exec, std::int64_t n, double log_det_M,
                                LogDeterminantOperators<ExecutionSpace> const& operators,
                                LogDeterminantOptions const& options) {
  require(n, options);
  if (n == 0) return 0;
  auto const probes = std::min<std::int64_t>(n, options.probes);
  using Block = typename LogDeterminantOperators<ExecutionSpace>::Block;
  auto const V = allocate<Block>(exec, "strata::dense::log_determinant::V", n, probes);
  // M^-1 times the diagonal's size is in range where M^-1 need not be.
  set_probes(exec, options, std::sqrt(operators.diagonal), V);
  operators.forward(V);
  double const squares = squared_norm_of_inverse(exec, V, n <= options.probes);
  double const root = std::sqrt(static_cast<double>(n));  // of terms in a sum of random signs
  double const norm = std::sqrt(squares), size = std::abs(log_det_M);
  // Else twice that: on a grid, rows of a stationary process are alike, and so are their
  // roundings.
  double const error =
      operators.rounding_units > 0
          ? 0x1p-53 * (operators.rounding_units * norm + 4 * size + root * root * root / 4)
          : 0x1p-52 * (2 * (root + 8) * norm + root * size);
  return std::isnan(error) ? infinity : error;
}

template <class ExecutionSpace>
LogDeterminantEstimate log_determinant(ExecutionSpace const& exec, std::int64_t n, double log_det_M,
                                       LogDeterminantOperators<ExecutionSpace> const& operators,
                                       LogDeterminantOptions const& options) {
  Region const region(exec, "strata::dense::log_determinant");
  require(n, options);
  if (n == 0) return {.value = log_det_M};
  STRATA_REQUIRE(ValueError, operators.apply && operators.forward && operators.backward,
                 "log_determinant: the operators apply, forward and backward must all be given");
  bool const exact = n <= options.probes;
  auto const probes = exact ? n : options.probes;
  auto const steps = std::min<std::int64_t>(exact ? n : options.steps, n);
  Lanczos<ExecutionSpace> lanczos(exec, n, probes, steps, operators);
  set_probes(exec, options, 1, lanczos.probes());
  LogDeterminantEstimate result;
  Sample now;
  Way way;
  bool settled = false;
  while (result.steps < steps && !settled) {
    lanczos.step(result.steps++);
    now = sample(lanczos.matrices(), static_cast<double>(n), exact);
    // Further steps can't be seen beside the scatter of the probes, which one step does not see.
    settled =
        !exact && result.steps > 1 && now.quadrature_error <= small_error * now.standard_error;
    settled = settled || std::ranges::all_of(lanczos.matrices(), &Jacobi::complete) ||
              std::isnan(now.mean);
    double const taken = static_cast<double>(result.steps) / static_cast<double>(steps);
    if (options.on_progress) options.on_progress(settled ? 1 : way.part(now, taken));
  }
  bool const known = !std::isnan(now.mean);
  result.correction = known ? now.mean : 0;
  result.lowest = now.lowest;
  result.value = log_det_M + result.correction;
  result.standard_error = known ? now.standard_error : infinity;
  result.quadrature_error = known ? now.quadrature_error : infinity;
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
