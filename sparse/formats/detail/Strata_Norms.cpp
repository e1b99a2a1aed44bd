// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/formats/detail/Strata_Norms.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace strata::sparse::detail {
namespace {

// ||factor x||^2 over the ranks.
template <class Exec, class Scalar>
double square_of(Exec const& exec, Communicator const& comm, double factor,
                 Vector<Scalar, typename Exec::memory_space> const& x, std::int64_t rows) {
  double square = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::norm", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, double& sum) {
        double const value = factor * static_cast<double>(x(i));
        sum += value * value;
      },
      square);
  exec.fence("strata::sparse::norm");
  wait_for_ranks(comm, [&] { comm.sum(std::span(&square, 1)); });
  return square;
}

template <class Exec>
void multiply_by(Exec const& exec, double factor,
                 Vector<double, typename Exec::memory_space> const& x, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::scale_by_power", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { x(i) *= factor; });
}

}  // namespace

template <class Exec, class Scalar>
double max_norm(Exec const& exec, Communicator const& comm,
                Vector<Scalar, typename Exec::memory_space> const& x, std::int64_t rows) {
  double most = 0;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Kokkos::parallel_reduce(
      "strata::sparse::max_norm", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, double& value) {
        double const size = Kokkos::abs(static_cast<double>(x(i)));
        // a reduction's maximum may lose a NaN, which is larger than nothing
        value = size != size ? infinity : size > value ? size : value;
      },
      Kokkos::Max<double>(most));
  exec.fence("strata::sparse::max_norm");
  wait_for_ranks(comm, [&] { most = comm.max(rows > 0 ? most : 0); });
  return most;
}

template <class Exec, class Scalar>
double norm(Exec const& exec, Communicator const& comm,
            Vector<Scalar, typename Exec::memory_space> const& x, std::int64_t rows) {
  constexpr double least = 0x1p-900, most = 0x1p1000;
  double const square = square_of(exec, comm, 1, x, rows);
  if ((square >= least && square <= most) || std::isnan(square)) return std::sqrt(square);
  double const size = max_norm(exec, comm, x, rows);
  if (size == 0 || std::isinf(size)) return size;
  int const exponent = std::clamp(std::ilogb(size), -1000, 1000);
  return std::ldexp(std::sqrt(square_of(exec, comm, std::ldexp(1.0, -exponent), x, rows)),
                    exponent);
}

template <class Exec>
void scale_by_power(Exec const& exec, int exponent,
                    Vector<double, typename Exec::memory_space> const& x, std::int64_t rows) {
  constexpr int most = 1000;  // 2^-1000 and 2^1000 have no zero and no infinity beside them
  for (int left = exponent; left != 0;) {
    int const step = std::clamp(left, -most, most);
    multiply_by(exec, std::ldexp(1.0, step), x, rows);
    left -= step;
  }
}

double backward_error(double norm_A, double norm_x, double norm_b, double norm_r) {
  if (norm_r == 0) return 0;
  bool const is_finite = std::isfinite(norm_A) && std::isfinite(norm_x) && std::isfinite(norm_b) &&
                         std::isfinite(norm_r);
  if (!is_finite) return std::numeric_limits<double>::quiet_NaN();
  bool const has_product = norm_A > 0 && norm_x > 0;
  if (!has_product && norm_b == 0) return std::numeric_limits<double>::infinity();
  int of_A = 0, of_x = 0, of_b = 0, of_r = 0;
  double const A = std::frexp(norm_A, &of_A), x = std::frexp(norm_x, &of_x),
               b = std::frexp(norm_b, &of_b), r = std::frexp(norm_r, &of_r);
  int const of_Ax = of_A + of_x, top = !has_product  ? of_b
                                       : norm_b == 0 ? of_Ax
                                                     : std::max(of_Ax, of_b);
  return std::ldexp(r / (std::ldexp(A * x, of_Ax - top) + std::ldexp(b, of_b - top)), of_r - top);
}

#define STRATA_INSTANTIATE_NORMS_SCALAR(Space, Scalar)                                \
  template double max_norm(Space const&, Communicator const&,                         \
                           Vector<Scalar, Space::memory_space> const&, std::int64_t); \
  template double norm(Space const&, Communicator const&,                             \
                       Vector<Scalar, Space::memory_space> const&, std::int64_t);
#define STRATA_INSTANTIATE_NORMS(Space)                                                     \
  STRATA_INSTANTIATE_NORMS_SCALAR(Space, fp64)                                              \
  STRATA_INSTANTIATE_NORMS_SCALAR(Space, fp32)                                              \
  template void scale_by_power(Space const&, int, Vector<fp64, Space::memory_space> const&, \
                               std::int64_t);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_NORMS)

}  // namespace strata::sparse::detail
