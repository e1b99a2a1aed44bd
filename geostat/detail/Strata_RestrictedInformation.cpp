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

template <class Block>
using AllBlocks = Kokkos::Array<Block, derivative_count>;

// Columns of S_k from number `first` on, for those that have some.
template <class Exec, class Block>
void fill_columns(Exec const& exec, CovarianceGradient<typename Exec::memory_space> const& gradient,
                  std::int64_t first, std::int64_t rows, std::int64_t count,
                  AllBlocks<Block> const& by) {
  for_each_element(
      "strata::geostat::restricted_information::columns", exec, rows, count,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        auto const entry = gradient(i, first + j);
        for (int k = 0; k < derivative_count; ++k)
          if (by[k].extent(1) > 0) by[k](i, j) = entry.of[k];
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

// S_k T for all derivatives. That of sigma2 is what S leaves without nugget and errors, if there is
// no second structure.
template <class Exec, class Block>
AllBlocks<Block> products(Exec const& exec, CovarianceFactor<Exec>& factor, Block const& T,
                          Wanted const& wanted) {
  std::int64_t const n = factor.order(), k = static_cast<std::int64_t>(T.extent(1)),
                     width = std::min<std::int64_t>(n, 256);
  bool const has_second = factor.covariance().second.has_value();
  AllBlocks<Block> D, columns;
  auto const is_filled = [&](std::size_t j) {
    return wanted[j] && j != By::nugget && (j != By::sigma2 || has_second);
  };
  for (std::size_t j = 0; j < wanted.size(); ++j) {
    D[j] = allocate_zeros<Block>(exec, "strata::geostat::restricted_information::D", n, k);
    if (is_filled(j))
      columns[j] =
          allocate<Block>(exec, "strata::geostat::restricted_information::block", n, width);
  }
  if (!has_second) {
    factor.apply(exec, T, D[By::sigma2]);
    auto const errors =
        copy_of<typename Exec::memory_space>(exec, factor.locations().error_variances,
                                             "strata::geostat::restricted_information::errors");
    subtract_and_scale(exec, D[By::sigma2], factor.covariance().nugget, errors, T,
                       factor.covariance().sigma2);
  }
  Kokkos::deep_copy(exec, D[By::nugget], T);
  CovarianceGradient<typename Exec::memory_space> const gradient(exec, factor.covariance(),
                                                                 factor.locations(), wanted);
  LeafBlas<Exec> blas(exec);
  for (std::int64_t first = 0; first < n; first += width) {
    std::int64_t const count = std::min(width, n - first);
    fill_columns<Exec, Block>(exec, gradient, first, n, count, columns);
    auto const t = matrix_ref(T).block(first, 0, count, k);
    for (std::size_t j = 0; j < wanted.size(); ++j)
      if (is_filled(j))
        blas.gemm(Op::NoTrans, Op::NoTrans, 1, matrix_ref(columns[j]).block(0, 0, n, count), t, 1,
                  matrix_ref(D[j]));
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
OfEachTwo restricted_information(Exec const& exec, CovarianceFactor<Exec>& factor,
                                 Trend const& trend, Wanted const& wanted, ManySolves& solves) {
  std::vector<double> const nothing(static_cast<std::size_t>(factor.order()), 0);
  auto const of_trend = weights(exec, factor, nothing, trend);
  auto const D = products(exec, factor, of_trend.trend, wanted);
  HostMatrix const T = on_host(exec, of_trend.trend);
  std::array<HostMatrix, derivative_count> d, e;  // S_k T and S^-1 S_k T
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    if (!wanted[k] || !factor.info().ok()) continue;
    d[k] = on_host(exec, D[k]);
    solve_in_place(exec, factor, D[k], solves);
    e[k] = on_host(exec, D[k]);
  }
  OfEachTwo result{};
  for (std::size_t j = 0; j < wanted.size(); ++j)
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      if (e[j].extent(0) == 0 || e[k].extent(0) == 0) continue;
      for (std::size_t a = 0; a < T.extent(1); ++a) {
        result[j][k] -= column_product(d[j], a, e[k], a);
        for (std::size_t b = 0; b < T.extent(1); ++b)
          result[j][k] += column_product(T, a, d[j], b) * column_product(T, b, d[k], a) / 2;
      }
    }
  return result;
}

#define STRATA_INSTANTIATE(Exec)                                                        \
  template OfEachTwo restricted_information<Exec>(Exec const&, CovarianceFactor<Exec>&, \
                                                  Trend const&, Wanted const&, ManySolves&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat::detail
