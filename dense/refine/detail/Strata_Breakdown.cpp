// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/refine/detail/Strata_Breakdown.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace strata::dense {

namespace {

std::string short_number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0e", x);
  return text;
}

}  // namespace

NonFiniteEntry::NonFiniteEntry(std::int64_t i, std::int64_t j)
    : ValueError(
          strata::detail::message("cholesky: A(", i, ", ", j, ") is not finite (indices from 0)")),
      row(i),
      col(j) {}

std::string describe(Breakdown const& breakdown) {
  auto const start = strata::detail::message("the leading minor of order ", breakdown.order,
                                             " is not positive: A is ");
  if (!breakdown.numerical)
    return start + "not positive definite, or not symmetric, or holds a NaN";
  std::string text =
      strata::detail::message(start, "numerically not positive definite (condition about ",
                              short_number(breakdown.condition), " or more). ");
  constexpr double alike = 1e-5;
  if (breakdown.apart <= alike && breakdown.row != breakdown.other_row)
    text += strata::detail::message(
        "Rows ", breakdown.other_row, " and ", breakdown.row, " (from 0) are equal to within ",
        breakdown.apart > 0 ? short_number(breakdown.apart) : "rounding",
        ": leave one of them out. ");
  return strata::detail::message(text, "A ridge or nugget of about ", short_number(breakdown.ridge),
                                 " of the mean diagonal makes it positive definite, which the "
                                 "choice jitter finds; a covariance of samples has no factor "
                                 "where there are fewer samples than variables");
}

namespace detail {

// Errors of rounding in a pivot are some n u, times what the pivots before it magnify them by.
void judge(std::int64_t n, double norm, Breakdown& breakdown) {
  constexpr double unit = 0x1p-53, units = 8;
  double const error = units * static_cast<double>(n) * unit, least = breakdown.least_pivot;
  double const size = std::isnan(breakdown.pivot) ? 0 : std::abs(breakdown.pivot);
  bool const is_known = !std::isnan(breakdown.pivot);
  breakdown.numerical = is_known && size <= error * (1 + 1 / std::max(least, unit));
  if (!breakdown.numerical) return;
  double const smallest = std::max(std::min(least, std::max(size, error)), unit);
  breakdown.condition = norm / smallest;
  breakdown.ridge = std::pow(10, std::ceil(std::log10(std::max(error, 2 * size))));
}

template <class ExecutionSpace>
void find_twins(ExecutionSpace const& exec, Uplo uplo,
                ConstMatrixRef<typename ExecutionSpace::memory_space> const& A,
                Breakdown& breakdown) {
  std::int64_t const n = A.rows;
  if (n < 2) return;
  std::int64_t const down = uplo == Uplo::Lower ? 1 : A.ld, across = uplo == Uplo::Lower ? A.ld : 1;
  auto const* const a = A.template as<double>();
  using Reducer = Kokkos::MinLoc<double, std::int64_t>;
  typename Reducer::value_type found;
  Kokkos::parallel_reduce(
      "strata::dense::cholesky::twins",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, n - 1),
      KOKKOS_LAMBDA(std::int64_t j, typename Reducer::value_type& best) {
        double const ajj = a[j * (down + across)];
        for (std::int64_t i = j + 1; i < n; ++i) {
          double const aii = a[i * (down + across)], aij = a[i * down + j * across];
          double const apart = 0.5 * aii + (0.5 * ajj - Kokkos::abs(aij));
          double const part = (apart > 0 ? apart : 0) / (0.5 * aii + 0.5 * ajj);
          if (part < best.val) best.val = part, best.loc = i * n + j;
        }
      },
      Reducer(found));
  if (!(found.val <= 1)) return;
  breakdown.row = found.loc / n, breakdown.other_row = found.loc % n;
  breakdown.apart = std::sqrt(found.val);
}

#define STRATA_INSTANTIATE(Exec)                                                               \
  template void find_twins<Exec>(Exec const&, Uplo, ConstMatrixRef<Exec::memory_space> const&, \
                                 Breakdown&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace detail

}  // namespace strata::dense
