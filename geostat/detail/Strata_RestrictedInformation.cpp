// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/detail/Strata_RestrictedInformation.hpp>

#include <core/Strata_MatrixRef.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace strata::geostat::detail {

namespace {

constexpr std::size_t sigma2 = 0, range = 1, nu = 2, nugget = 3;

// Columns of S_range and S_nu from number `first` on.
template <class Exec, class Block>
void fill_columns(Exec const& exec, CovarianceGradient<typename Exec::memory_space> const& gradient,
                  std::int64_t first, Block const& by_range, Block const& by_nu) {
  for_each_element(
      "strata::geostat::restricted_information::columns", exec,
      static_cast<std::int64_t>(by_range.extent(0)), static_cast<std::int64_t>(by_range.extent(1)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        auto const entry = gradient(i, first + j);
        by_range(i, j) = entry.of[range];
        by_nu(i, j) = entry.of[nu];
      });
}

// A = (A - N B) / scale, N the diagonal of nugget and known errors, if there are any.
template <class Exec, class Block, class Errors>
void subtract_and_scale(Exec const& exec, Block const& A, double nugget, Errors const& errors,
                        Block const& B, double scale) {
  bool const has_errors = errors.extent(0) > 0;
  for_each_element(
      "strata::geostat::restricted_information::by_sigma2", exec,
      static_cast<std::int64_t>(A.extent(0)), static_cast<std::int64_t>(A.extent(1)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        A(i, j) = (A(i, j) - (nugget + (has_errors ? errors(i) : 0)) * B(i, j)) / scale;
      });
}

// S_k T for the four parameters.
template <class Exec, class Block>
std::array<Block, 4> products(Exec const& exec, CovarianceFactor<Exec>& factor, Block const& T,
                              bool by_nu) {
  std::int64_t const n = factor.order(), k = static_cast<std::int64_t>(T.extent(1)),
                     width = std::min<std::int64_t>(n, 256);
  std::array<Block, 4> D;
  for (Block& one : D)
    one = allocate_zeros<Block>(exec, "strata::geostat::restricted_information::D", n, k);
  factor.apply(exec, T, D[sigma2]);
  auto const errors = copy_of<typename Exec::memory_space>(
      exec, factor.locations().error_variances, "strata::geostat::restricted_information::errors");
  subtract_and_scale(exec, D[sigma2], factor.covariance().nugget, errors, T,
                     factor.covariance().sigma2);
  Kokkos::deep_copy(exec, D[nugget], T);
  CovarianceGradient<typename Exec::memory_space> const gradient(exec, factor.covariance(),
                                                                 factor.locations(), by_nu);
  LeafBlas<Exec> blas(exec);
  auto const columns = [&] {
    return allocate<Block>(exec, "strata::geostat::restricted_information::block", n, width);
  };
  Block const of_range = columns(), of_nu = columns();
  for (std::int64_t first = 0; first < n; first += width) {
    std::int64_t const count = std::min(width, n - first);
    auto const now = std::pair(std::int64_t{0}, count);
    Block const A = Kokkos::subview(of_range, Kokkos::ALL, now),
                B = Kokkos::subview(of_nu, Kokkos::ALL, now);
    fill_columns<Exec>(exec, gradient, first, A, B);
    auto const t = matrix_ref(T).block(first, 0, count, k);
    blas.gemm(Op::NoTrans, Op::NoTrans, 1, matrix_ref(A), t, 1, matrix_ref(D[range]));
    if (by_nu) blas.gemm(Op::NoTrans, Op::NoTrans, 1, matrix_ref(B), t, 1, matrix_ref(D[nu]));
  }
  exec.fence("strata::geostat::restricted_information::products");
  return D;
}

template <class Exec, class Block>
HostMatrix on_host(Exec const& exec, Block const& A) {
  auto const copy = allocate_host_matrix("strata::geostat::restricted_information::host",
                                         static_cast<std::int64_t>(A.extent(0)),
                                         static_cast<std::int64_t>(A.extent(1)));
  Kokkos::deep_copy(exec, copy, A);
  exec.fence("strata::geostat::restricted_information::copied");
  return copy;
}

double column_product(HostMatrix const& A, std::size_t i, HostMatrix const& B, std::size_t j) {
  double sum = 0;
  for (std::size_t l = 0; l < A.extent(0); ++l) sum += A(l, i) * B(l, j);
  return sum;
}

}  // namespace

template <class Exec>
std::array<Parameters, 4> restricted_information(Exec const& exec, CovarianceFactor<Exec>& factor,
                                                 Trend const& trend,
                                                 std::array<bool, 4> const& asked,
                                                 ManySolves& solves) {
  auto wanted = asked;
  wanted[nu] = wanted[nu] && has_shape(factor.covariance().family);
  std::vector<double> const nothing(static_cast<std::size_t>(factor.order()), 0);
  auto const of_trend = weights(exec, factor, nothing, trend);
  auto const D = products(exec, factor, of_trend.trend, wanted[nu]);
  HostMatrix const T = on_host(exec, of_trend.trend);
  std::array<HostMatrix, 4> d, e;  // S_k T and S^-1 S_k T
  for (std::size_t k = 0; k < 4; ++k) {
    if (!wanted[k] || !factor.info().ok()) continue;
    d[k] = on_host(exec, D[k]);
    solve_in_place(exec, factor, D[k], solves);
    e[k] = on_host(exec, D[k]);
  }
  std::array<Parameters, 4> result{};
  for (std::size_t j = 0; j < 4; ++j)
    for (std::size_t k = 0; k < 4; ++k) {
      if (e[j].extent(0) == 0 || e[k].extent(0) == 0) continue;
      for (std::size_t a = 0; a < T.extent(1); ++a) {
        result[j][k] -= column_product(d[j], a, e[k], a);
        for (std::size_t b = 0; b < T.extent(1); ++b)
          result[j][k] += column_product(T, a, d[j], b) * column_product(T, b, d[k], a) / 2;
      }
    }
  return result;
}

#define STRATA_INSTANTIATE(Exec)                                                      \
  template std::array<Parameters, 4> restricted_information<Exec>(                    \
      Exec const&, CovarianceFactor<Exec>&, Trend const&, std::array<bool, 4> const&, \
      ManySolves&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat::detail
