// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/krylov/detail/Strata_ConditionBound.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <sparse/formats/detail/Strata_Norms.hpp>

#include <algorithm>
#include <cmath>

namespace strata::sparse::detail {
namespace {

// s = wide = factor z
template <class Exec, class Scalar>
void take(Exec const& exec, double factor, Vector<Scalar, typename Exec::memory_space> const& z,
          Vector<Scalar, typename Exec::memory_space> const& s,
          Vector<double, typename Exec::memory_space> const& wide, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::condition_bound::take", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        s(i) = static_cast<Scalar>(factor * static_cast<double>(z(i)));
        wide(i) = static_cast<double>(s(i));
      });
}

}  // namespace

template <class Exec, class Scalar>
double condition_bound(Exec const& exec, DistributedMatrix<Exec> const& A, double norm_A,
                       Preconditioner<Exec, Scalar> const& M, int steps) {
  auto const& comm = A.comm();
  auto const vector = [&]<class Number>(Number) {
    return comm.agree(
        [&] { return A.template allocate<Number>(exec, "strata::sparse::condition_bound"); });
  };
  auto const s = vector(Scalar()), z = vector(Scalar());
  auto const d = vector(double()), image = vector(double());
  double condition = 1;
  Kokkos::deep_copy(exec, s, Scalar(1));
  for (int step = 0; step < steps; ++step) {
    M.apply(exec, s, z);
    double const size = max_norm(exec, comm, z, A.rows());
    if (!(size > 0) || !std::isfinite(size)) break;
    take(exec, 1 / size, z, s, d, A.rows());
    A.multiply(exec, d, image);
    double const size_d = max_norm(exec, comm, d, A.rows()),
                 size_image = max_norm(exec, comm, image, A.rows());
    if (size_image > 0 && std::isfinite(norm_A))
      condition = std::max(condition, norm_A * size_d / size_image);
  }
  return condition;
}

#define STRATA_INSTANTIATE_CONDITION_BOUND(Space)                                        \
  template double condition_bound(Space const&, DistributedMatrix<Space> const&, double, \
                                  Preconditioner<Space, fp64> const&, int);              \
  template double condition_bound(Space const&, DistributedMatrix<Space> const&, double, \
                                  Preconditioner<Space, fp32> const&, int);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_CONDITION_BOUND)

}  // namespace strata::sparse::detail
