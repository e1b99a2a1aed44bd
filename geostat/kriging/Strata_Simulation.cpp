// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/kriging/Strata_Simulation.hpp>

#include <comm/Strata_Together.hpp>
#include <core/Strata_MatrixRef.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/problems/Strata_Random.hpp>
#include <geostat/kriging/Strata_Prediction.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace strata::geostat {

double detail::normal_number(std::uint64_t seed, std::int64_t place, std::int64_t field) {
  auto const i = static_cast<std::uint64_t>(place), j = 2 * static_cast<std::uint64_t>(field);
  return std::sqrt(-2 * std::log(uniform(seed, i, 6 + j))) *
         std::cos(2 * std::numbers::pi * uniform(seed, i, 7 + j));
}

namespace {

template <class Exec, class Block>
void clear_above_diagonal(Exec const& exec, Block const& L) {
  for_each_element(
      "strata::geostat::simulate::clear", exec, static_cast<std::int64_t>(L.extent(0)),
      static_cast<std::int64_t>(L.extent(1)), KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        if (i < j) L(i, j) = 0;
      });
}

template <class Exec, class Block>
void add_to_diagonal(Exec const& exec, Block const& K, double ridge) {
  for_each_element(
      "strata::geostat::simulate::ridge", exec, static_cast<std::int64_t>(K.extent(0)), 1,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t) { K(i, i) += ridge; });
}

// The mean and the covariance of the field at new locations, given the observations.
template <class Exec>
class Conditional {
 public:
  using Block = typename CovarianceFactor<Exec>::Block;

  Conditional(Exec const& exec, CovarianceFactor<Exec>& factor, std::span<double const> values,
              Locations const& at, Trend const& trend, std::vector<double> const& F,
              NuggetIs nugget)
      : exec_(exec), factor_(factor), at_(at), nugget_(nugget), blas_(exec) {
    auto const weights = detail::weights(exec, factor, values, trend);
    std::int64_t const n = factor.order(), N = at.size(), k = trend.columns();
    CovarianceEntries<typename Exec::memory_space> const entries(exec, factor.covariance(),
                                                                 factor.locations(), at, nugget);
    V_ = allocate<Block>(exec, "strata::geostat::simulate::V", n, N);
    entries.fill(exec, 0, 0, V_);
    auto const forms = allocate<Block>(exec, "strata::geostat::simulate::forms", N, k + 1);
    blas_.gemm(Op::Trans, Op::NoTrans, 1, matrix_ref(V_), matrix_ref(weights.both), 0,
               matrix_ref(forms));
    factor.half_solve(exec, Op::NoTrans, V_);
    HostMatrix const host = allocate_host_matrix("strata::geostat::simulate::host", N, k + 1);
    Kokkos::deep_copy(exec, host, forms);
    exec.fence("strata::geostat::simulate::forms");
    // Means, and rows of D (F' S^-1 F)^-1/2.
    std::vector<double> f(static_cast<std::size_t>(k));
    for (std::int64_t i = 0; i < N; ++i) {
      double mean = host(i, 0);
      for (std::int64_t l = 0; l < k; ++l) {
        f[static_cast<std::size_t>(l)] = F[static_cast<std::size_t>(i + l * N)];
        mean += f[static_cast<std::size_t>(l)] * weights.coefficients[static_cast<std::size_t>(l)];
      }
      detail::substitute(weights.L, f);
      for (std::int64_t l = 0; l < k; ++l)
        host(i, l + 1) = f[static_cast<std::size_t>(l)] - host(i, l + 1);
      means.push_back(mean);
    }
    Kokkos::deep_copy(exec, forms, host);
    D_ = Kokkos::subview(forms, Kokkos::ALL, std::pair(std::int64_t{1}, k + 1));
    K_ = allocate<Block>(exec, "strata::geostat::simulate::K", N, N);
    exec.fence("strata::geostat::simulate::begun");
  }

  // The factor of the covariance and a ridge, or nothing.
  bool refactor(double ridge) {
    CovarianceEntries<typename Exec::memory_space> const entries(exec_, factor_.covariance(), at_,
                                                                 at_, nugget_);
    entries.fill(exec_, 0, 0, K_);
    add_to_diagonal(exec_, K_, ridge);
    blas_.syrk(Uplo::Lower, Op::Trans, -1, matrix_ref(V_), 1, matrix_ref(K_));
    if (D_.extent(1) > 0)
      blas_.syrk(Uplo::Lower, Op::NoTrans, 1, matrix_ref(D_), 1, matrix_ref(K_));
    auto const info =
        allocate_zeros<typename LeafBlas<Exec>::InfoView>(exec_, "strata::geostat::simulate::info");
    blas_.potrf(Uplo::Lower, matrix_ref(K_), 0, info);
    std::int64_t minor = 0;
    Kokkos::deep_copy(exec_, minor, info);
    exec_.fence("strata::geostat::simulate::factored");
    return minor == 0;
  }

  HostMatrix draw(std::int64_t count, std::uint64_t seed) {
    std::int64_t const N = at_.size();
    HostMatrix const fields = allocate_host_matrix("strata::geostat::simulate::fields", N, count);
    for (std::int64_t j = 0; j < count; ++j)
      for (std::int64_t i = 0; i < N; ++i) fields(i, j) = detail::normal_number(seed, i, j);
    auto const g = allocate<Block>(exec_, "strata::geostat::simulate::g", N, count),
               x = allocate<Block>(exec_, "strata::geostat::simulate::x", N, count);
    Kokkos::deep_copy(exec_, g, fields);
    clear_above_diagonal(exec_, K_);
    blas_.gemm(Op::NoTrans, Op::NoTrans, 1, matrix_ref(K_), matrix_ref(g), 0, matrix_ref(x));
    Kokkos::deep_copy(exec_, fields, x);
    exec_.fence("strata::geostat::simulate::drawn");
    for (std::int64_t j = 0; j < count; ++j)
      for (std::int64_t i = 0; i < N; ++i) fields(i, j) += means[static_cast<std::size_t>(i)];
    return fields;
  }

  std::vector<double> means;

 private:
  Exec const& exec_;
  CovarianceFactor<Exec>& factor_;
  Locations const& at_;
  NuggetIs nugget_;
  LeafBlas<Exec> blas_;
  Block V_, D_, K_;
};

void check_simulation(std::int64_t n, std::int64_t N, SimulationOptions const& options,
                      bool is_mixed) {
  STRATA_REQUIRE(ValueError, options.count >= 1, "simulate: ", options.count,
                 " fields, must be at least 1");
  STRATA_REQUIRE(ValueError, !is_mixed, "simulate: the factor has tiles below fp64");
  (void)dense_bytes("simulate", N, N + n + 2 * options.count, options.max_bytes);
}

}  // namespace

template <class Exec>
Simulation simulate(Exec const& exec, CovarianceFactor<Exec>& factor,
                    std::span<double const> values, Locations const& new_locations,
                    Trend const& trend, SimulationOptions const& options) {
  Region const region(exec, "strata::geostat::simulate");
  auto const F = together(factor.comm(), [&] {
    check_simulation(factor.order(), new_locations.size(), options, factor.map().is_mixed());
    detail::check_variation(factor.locations(), values, factor.covariance(), options.nugget);
    return trend.rows(new_locations.size(), options.trend_columns);
  });
  Simulation result;
  if (new_locations.size() == 0) return result;
  Conditional<Exec> conditional(exec, factor, values, new_locations, trend, F, options.nugget);
  for (double const ridge : {0.0, 1e-12, 1e-10, 1e-8}) {
    result.ridge = ridge;
    if (!conditional.refactor(ridge * factor.covariance().field())) continue;
    result.fields = conditional.draw(options.count, options.seed);
    return result;
  }
  throw Error(strata::detail::message("simulate: the covariance of ", new_locations.size(),
                                      " locations has no factor, nor with 1e-8 of sigma2 added"));
}

#define STRATA_INSTANTIATE(Exec)                                                              \
  template Simulation simulate<Exec>(Exec const&, CovarianceFactor<Exec>&,                    \
                                     std::span<double const>, Locations const&, Trend const&, \
                                     SimulationOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
