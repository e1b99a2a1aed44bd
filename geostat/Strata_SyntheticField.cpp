// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/Strata_SyntheticField.hpp>

#include <core/Strata_Errors.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/problems/Strata_Random.hpp>

#include <cmath>
#include <numbers>
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
using Covariance = Kokkos::View<double**, Kokkos::LayoutLeft, typename Exec::memory_space>;

// For S and its factor.
template <class Exec>
Covariance<Exec> allocate_matrix(Exec const& exec, std::int64_t n) {
  try {
    auto const size = static_cast<std::size_t>(n);
    return Covariance<Exec>(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing,
                                               std::string("strata::geostat::synthetic_field::L")),
                            size, size);
  } catch (std::exception const& failure) {
    throw MemoryError(
        strata::detail::message("synthetic field: a covariance matrix of order ", n, " needs ",
                                8 * static_cast<double>(n) * static_cast<double>(n),
                                " bytes in the memory of ", Exec::name(), ": ", failure.what()));
  }
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
  STRATA_REQUIRE(ValueError, order == 0, "synthetic field: the covariance matrix of ",
                 to_string(covariance), " at these ", n,
                 " locations is not positive definite: ", "the leading minor of order ", order,
                 " is not positive");
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

#define STRATA_INSTANTIATE(Exec)                                                           \
  template std::vector<double> synthetic_field<Exec>(Exec const&, MaternCovariance const&, \
                                                     Locations const&, std::uint64_t,      \
                                                     std::function<void(double)> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
