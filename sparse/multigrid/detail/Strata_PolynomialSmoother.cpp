// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/multigrid/detail/Strata_PolynomialSmoother.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/matrix/detail/Strata_SliceRows.hpp>
#include <sparse/multigrid/detail/Strata_LargestEigenvalue.hpp>

#include <cmath>
#include <limits>

namespace strata::sparse::detail {
namespace {

template <class Exec>
using Iterate = Vector<double, typename Exec::memory_space>;

// D^-1 of either kind, and the largest ratio of a row's absolute sum to its diagonal; infinity
// where one is not positive. Fences.
template <class Exec, class Matrix>
double invert_rows(Exec const& exec, Matrix const& A, bool of_sums, Iterate<Exec> const& inverse) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  using Sums = RowSums<Matrix, rows_of_item<Exec>>;
  double ratio = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::PolynomialSmoother::invert", RowPolicy<Exec>(exec, 0, Sums::items(A)),
      KOKKOS_LAMBDA(std::int64_t item, double& most) {
        Sums const of(A, item);
        for (int r = 0; r < of.count; ++r) {
          double const diagonal = of.diagonal[r], sum = of.size[r];
          double const own = diagonal > 0 ? sum / diagonal : infinity;
          most = own > most ? own : most;
          double const divisor = of_sums ? (diagonal < 0 ? -sum : sum) : diagonal;
          inverse(of.first + r) = 1 / divisor;
        }
      },
      Kokkos::Max<double>(ratio));
  exec.fence("strata::sparse::PolynomialSmoother::inverted");
  return A.rows() > 0 ? ratio : 0;
}

template <class Exec, class From, class To>
void copy_in_type(Exec const& exec, From const& from, To const& to) {
  Kokkos::parallel_for(
      "strata::sparse::PolynomialSmoother::convert",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(to.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) {
        to(i) = static_cast<typename To::non_const_value_type>(from(i));
      });
}

template <class Exec, class Inverse, class Vec>
void take_step(Exec const& exec, double keep, double take, Inverse const& inverse,
               Vec const& residual, Vec const& step, Vec const& x, bool from_zero) {
  using Scalar = typename Vec::non_const_value_type;
  using Number = LaneOf<Scalar>;
  auto const a = static_cast<Number>(keep), b = static_cast<Number>(take);
  bool const keeps = keep != 0;
  Kokkos::parallel_for(
      "strata::sparse::PolynomialSmoother::step",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(inverse.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) {
        Scalar const s = (keeps ? a * step(i) : Scalar(Number(0))) + b * inverse(i) * residual(i);
        step(i) = s;
        x(i) = from_zero ? s : x(i) + s;
      });
}

}  // namespace

template <class Exec, class Scalar>
PolynomialSmoother<Exec, Scalar>::PolynomialSmoother(Exec const& exec,
                                                     DistributedMatrix<Exec> const& D,
                                                     DistributedMatrix<Exec> const& A,
                                                     Smoother kind, int steps, double largest,
                                                     double least_part) {
  constexpr double dominated = 2 + 1e-12;
  bool const is_chebyshev = kind == Smoother::Chebyshev;
  auto const& comm = A.comm();
  auto const wide = comm.agree([&] {
    inverse_ = strata::allocate<Vec>(exec, "strata::sparse::PolynomialSmoother::inverse", A.rows());
    step_ = strata::allocate<Vec>(exec, "strata::sparse::PolynomialSmoother::step", A.rows());
    return strata::allocate<Iterate<Exec>>(exec, "strata::sparse::PolynomialSmoother::wide",
                                           A.rows());
  });
  double const ratio = comm.max(
      std::visit([&](auto const& stored) { return invert_rows(exec, stored, !is_chebyshev, wide); },
                 D.stored()));
  if (is_chebyshev && !std::isfinite(ratio)) {  // a diagonal that is not positive
    *this = PolynomialSmoother(exec, D, A, Smoother::L1Jacobi, steps);
    return;
  }
  copy_in_type(exec, wide, inverse_);
  keep_.assign(static_cast<std::size_t>(steps), 0);
  take_.assign(static_cast<std::size_t>(steps), 1);
  if (is_chebyshev)
    set_steps(largest > 0          ? largest
              : ratio <= dominated ? 2
                                   : largest_eigenvalue(exec, A, wide),
              least_part);
  exec.fence("strata::sparse::PolynomialSmoother::set_up");
}

template <class Exec, class Scalar>
void PolynomialSmoother<Exec, Scalar>::set_steps(double largest, double least_part) {
  constexpr double safety = 1.05;
  double const high = safety * largest, low = least_part * largest;
  double const middle = 0.5 * (high + low), half = 0.5 * (high - low);
  double rho = half / middle;
  take_[0] = 1 / middle;
  for (std::size_t k = 1; k < take_.size(); ++k) {
    double const next = 1 / (2 * middle / half - rho);
    keep_[k] = next * rho;
    take_[k] = 2 * next / half;
    rho = next;
  }
}

template <class Exec, class Scalar>
PolynomialSmoother<Exec, Scalar>::PolynomialSmoother(Exec const& exec,
                                                     PolynomialSmoother<Exec, fp64> const& other)
    : keep_(other.keep_), take_(other.take_) {
  auto const rows = static_cast<std::int64_t>(other.inverse_.extent(0));
  inverse_ = strata::allocate<decltype(inverse_)>(
      exec, "strata::sparse::PolynomialSmoother::inverse", rows);
  step_ = strata::allocate<Vec>(exec, "strata::sparse::PolynomialSmoother::step", rows);
  copy_in_type(exec, other.inverse_, inverse_);
}

template <class Exec, class Scalar>
std::int64_t PolynomialSmoother<Exec, Scalar>::bytes() const {
  return static_cast<std::int64_t>(inverse_.extent(0) * sizeof(LaneOf<Scalar>) +
                                   step_.extent(0) * sizeof(Scalar));
}

template <class Exec, class Scalar>
void PolynomialSmoother<Exec, Scalar>::apply(Exec const& exec, DistributedMatrix<Exec> const& A,
                                             Vec const& r, Vec const& x, Vec const& residual,
                                             Guess guess) const {
  for (std::size_t k = 0; k < take_.size(); ++k) {
    bool const from_zero = k == 0 && guess == Guess::Zero;
    if (!from_zero) A.residual(exec, r, x, residual);
    take_step(exec, keep_[k], take_[k], inverse_, from_zero ? r : residual, step_, x, from_zero);
  }
}

#define STRATA_INSTANTIATE_STEPS_ABREAST(Space, Number)                            \
  template PolynomialSmoother<Space, Abreast<Number>>::PolynomialSmoother(         \
      Space const&, PolynomialSmoother<Space, fp64> const&);                       \
  template std::int64_t PolynomialSmoother<Space, Abreast<Number>>::bytes() const; \
  template void PolynomialSmoother<Space, Abreast<Number>>::apply(                 \
      Space const&, DistributedMatrix<Space> const&,                               \
      Vector<Abreast<Number>, Space::memory_space> const&,                         \
      Vector<Abreast<Number>, Space::memory_space> const&,                         \
      Vector<Abreast<Number>, Space::memory_space> const&, Guess) const;
#define STRATA_INSTANTIATE_POLYNOMIAL(Space)      \
  template class PolynomialSmoother<Space, fp64>; \
  template class PolynomialSmoother<Space, fp32>; \
  STRATA_INSTANTIATE_STEPS_ABREAST(Space, double) \
  STRATA_INSTANTIATE_STEPS_ABREAST(Space, float)
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_POLYNOMIAL)

}  // namespace strata::sparse::detail
