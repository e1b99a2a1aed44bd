// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/kriging/Strata_SyntheticField.hpp>

#include <comm/Strata_Together.hpp>
#include <core/Strata_Errors.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/problems/Strata_Random.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <string>

namespace strata::geostat {

namespace {

// Box and Muller, Ann. Math. Statist. 29 (1958): on the host, so that every backend gets the same.
std::vector<double> normal_numbers(std::int64_t n, std::uint64_t seed) {
  std::vector<double> z(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < z.size(); ++i)
    z[i] = std::sqrt(-2 * std::log(uniform(seed, i, 3))) *
           std::cos(2 * std::numbers::pi * uniform(seed, i, 4));
  return z;
}

template <class Exec>
using Square = Kokkos::View<double**, Kokkos::LayoutLeft, typename Exec::memory_space>;

// For S and its factor.
template <class Exec>
Square<Exec> allocate_matrix(Exec const& exec, std::int64_t n) {
  try {
    auto const size = static_cast<std::size_t>(n);
    return Square<Exec>(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing,
                                           std::string("strata::geostat::synthetic_field::L")),
                        size, size);
  } catch (std::exception const& failure) {
    throw MemoryError(
        strata::detail::message("synthetic field: a covariance matrix of order ", n, " needs ",
                                8 * static_cast<double>(n) * static_cast<double>(n),
                                " bytes in the memory of ", Exec::name(), ": ", failure.what()));
  }
}

void require_positive_definite(std::int64_t order, MaternCovariance const& covariance,
                               std::int64_t n) {
  STRATA_REQUIRE(ValueError, order == 0, "synthetic field: the covariance matrix of ",
                 to_string(covariance), " at these ", n,
                 " locations is not positive definite: ", "the leading minor of order ", order,
                 " is not positive");
}

// y += L z, of a tile on the diagonal by its lower triangle.
void add_product(ConstMatrixRef<Kokkos::HostSpace> const& L, bool is_triangle, double const* z,
                 double* y) {
  auto const* const numbers = L.as<double>();
  for (std::int64_t j = 0; j < L.cols; ++j)
    for (std::int64_t i = is_triangle ? j : 0; i < L.rows; ++i)
      y[i] += numbers[i + j * L.ld] * z[j];
}

}  // namespace

template <class Exec>
std::vector<double> synthetic_field(Exec const& exec, MaternCovariance const& covariance,
                                    Locations const& locations, std::uint64_t seed,
                                    std::function<void(double)> const& on_progress) {
  using Memory = typename Exec::memory_space;
  using Vector = Kokkos::View<double*, Memory>;
  using HostVector =
      Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Region const region(exec, "strata::geostat::synthetic_field");
  check_covariance(covariance, locations);
  std::int64_t const n = locations.size();
  auto const L = allocate_matrix(exec, n);
  fill_covariance(exec, covariance, locations, L, Triangle::Lower, on_progress);
  LeafBlas<Exec> blas(exec);
  typename LeafBlas<Exec>::InfoView const info(
      Kokkos::view_alloc(exec, std::string("strata::geostat::synthetic_field::info")));
  blas.potrf(Uplo::Lower, matrix_ref(L), 0, info);
  std::int64_t order = 0;
  Kokkos::deep_copy(exec, order, info);
  exec.fence("strata::geostat::synthetic_field::factored");
  require_positive_definite(order, covariance, n);
  std::vector<double> values = normal_numbers(n, seed);
  HostVector const host(values.data(), values.size());
  Vector const z(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing,
                                    std::string("strata::geostat::synthetic_field::z")),
                 n),
      y(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing,
                           std::string("strata::geostat::synthetic_field::y")),
        n);
  Kokkos::deep_copy(exec, z, host);
  Kokkos::parallel_for(
      "strata::geostat::synthetic_field::multiply",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, n),
      KOKKOS_LAMBDA(std::int64_t i) {
        double sum = 0;
        for (std::int64_t j = 0; j <= i; ++j) sum += L(i, j) * z(j);
        y(i) = sum;
      });
  Kokkos::deep_copy(exec, host, y);
  exec.fence("strata::geostat::synthetic_field::done");
  return values;
}

// D y = L z for S = D^-1 L L' D^-1, column of tiles by column. One rank makes a tile's product.
// Each row adds up the products of its tiles in the order of the columns.
template <class Exec>
std::vector<double> synthetic_field(CovarianceFactor<Exec> const& factor, std::uint64_t seed) {
  Communicator const* const comm = factor.comm();
  std::int64_t const n = factor.order();
  std::vector<double> z, y, products;
  together(comm, [&] {
    require_positive_definite(factor.info().order(), factor.covariance(), n);
    STRATA_REQUIRE(ValueError, !factor.map().is_mixed(),
                   "synthetic field: the factor has tiles below fp64");
    (void)factor.factor();  // or throws
    name_bad_alloc("synthetic field", [&] {
      z = normal_numbers(n, seed);
      y.assign(z.size(), 0);
      products = y;
    });
  });
  auto const& matrix = factor.factor().matrix();
  for (std::int64_t k = 0; k < matrix.tiles(); ++k) {
    std::int64_t const first = k * matrix.tile_size();
    together(comm, [&] {
      std::fill(products.begin() + first, products.end(), 0);
      for (std::int64_t i = k; i < matrix.tiles(); ++i)
        if (matrix.has_tile(i, k))
          add_product(matrix.tile(i, k), i == k, z.data() + first,
                      products.data() + i * matrix.tile_size());
    });
    auto const rows = std::span(products).subspan(static_cast<std::size_t>(first));
    if (comm) comm->sum(rows);  // of one number and zeros
    for (std::size_t i = 0; i < rows.size(); ++i) y[static_cast<std::size_t>(first) + i] += rows[i];
  }
  auto const& scaling = matrix.scaling();
  for (std::size_t i = 0; i < scaling.size(); ++i) y[i] /= scaling[i];
  return y;
}

#define STRATA_INSTANTIATE(Exec)                                                           \
  template std::vector<double> synthetic_field<Exec>(Exec const&, MaternCovariance const&, \
                                                     Locations const&, std::uint64_t,      \
                                                     std::function<void(double)> const&);  \
  template std::vector<double> synthetic_field<Exec>(CovarianceFactor<Exec> const&, std::uint64_t);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
