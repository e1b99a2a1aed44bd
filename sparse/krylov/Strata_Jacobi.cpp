// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/krylov/Strata_Jacobi.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <sparse/formats/detail/Strata_Extents.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/matrix/Strata_MatrixProperties.hpp>

namespace strata::sparse {
namespace {

template <class Exec, class From, class To>
void invert(Exec const& exec, From const& from, To const& to) {
  Kokkos::parallel_for(
      "strata::sparse::Jacobi::invert",
      detail::RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(to.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) {
        to(i) = static_cast<typename To::non_const_value_type>(1 / from(i));
      });
}

}  // namespace

template <class Exec, class Scalar>
Jacobi<Exec, Scalar>::Jacobi(Exec const& exec, DistributedMatrix<Exec> const& A) {
  auto const kind = kind_of_diagonal(exec, A);
  auto const d = diagonal(exec, A);
  A.comm().agree([&] {
    STRATA_REQUIRE(ValueError, kind.zero == 0, "Jacobi: ", kind.zero,
                   " diagonal entries are 0 or missing; the first row that is not positive is ",
                   kind.first + 1, " of ", A.global_rows());
    inverse_ =
        strata::allocate<decltype(inverse_)>(exec, "strata::sparse::Jacobi::inverse", A.rows());
    invert(exec, d, inverse_);
  });
}

template <class Exec, class Scalar>
void Jacobi<Exec, Scalar>::apply(Exec const& exec, Vector<Scalar, MemorySpace> const& r,
                                 Vector<Scalar, MemorySpace> const& z) const {
  auto const& inverse = inverse_;
  auto const rows = static_cast<std::int64_t>(inverse.extent(0));
  detail::require_entries("Jacobi", "r", r, rows);
  detail::require_entries("Jacobi", "z", z, rows);
  Kokkos::parallel_for(
      "strata::sparse::Jacobi::apply", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { z(i) = inverse(i) * r(i); });
}

#define STRATA_INSTANTIATE_JACOBI(Space)         \
  template class Jacobi<Space, fp64>;            \
  template class Jacobi<Space, fp32>;            \
  template class Jacobi<Space, Abreast<double>>; \
  template class Jacobi<Space, Abreast<float>>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_JACOBI)

}  // namespace strata::sparse
