// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/multigrid/detail/Strata_SymmetricInverse.hpp>

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

namespace strata::sparse::detail {
namespace {

template <class Exec>
using DenseRows = Vector<double, typename Exec::memory_space>;

template <class Exec>
bool is_symmetric_matrix(Exec const& exec, DenseRows<Exec> const& A, std::int64_t n) {
  std::int64_t apart = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::invert_symmetric::compare", RowPolicy<Exec>(exec, 0, n),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t& count) {
        for (std::int64_t j = 0; j < i; ++j) {
          double const size = Kokkos::abs(A(i * n + i)) + Kokkos::abs(A(j * n + j));
          count += !(Kokkos::abs(A(i * n + j) - A(j * n + i)) <= 1e-12 * size);
        }
      },
      apart);
  exec.fence("strata::sparse::invert_symmetric::compared");
  return apart == 0;
}

// Row and column k before step k; the row over the pivot, of which the smallest is kept.
template <class Exec>
void take_pivot(Exec const& exec, DenseRows<Exec> const& A, std::int64_t n, std::int64_t k,
                DenseRows<Exec> const& row, DenseRows<Exec> const& column,
                DenseRows<Exec> const& least) {
  Kokkos::parallel_for(
      "strata::sparse::invert_symmetric::pivot", RowPolicy<Exec>(exec, 0, n),
      KOKKOS_LAMBDA(std::int64_t j) {
        double const pivot = A(k * n + k);
        row(j) = (j == k ? 1 : A(k * n + j)) / pivot;
        column(j) = j == k ? 0 : A(j * n + k);
        if (j == k && !(pivot > least(0))) least(0) = pivot;
      });
}

KOKKOS_INLINE_FUNCTION double eliminated(double a, double row, double column, bool in_pivot_row,
                                         bool in_pivot_column) {
  return in_pivot_row ? row : (in_pivot_column ? 0 : a) - column * row;
}

template <class Exec>
void eliminate(Exec const& exec, DenseRows<Exec> const& A, std::int64_t n, std::int64_t k,
               DenseRows<Exec> const& row, DenseRows<Exec> const& column) {
  if constexpr (runs_on_host<Exec>) {
    Kokkos::parallel_for(
        "strata::sparse::invert_symmetric::rows", RowPolicy<Exec>(exec, 0, n),
        KOKKOS_LAMBDA(std::int64_t i) {
          double* const mine = A.data() + i * n;
          double const* const pivots = row.data();
          double const factor = column(i);
          if (i != k) mine[k] = 0;
          for (std::int64_t j = 0; j < n; ++j)
            mine[j] = i == k ? pivots[j] : mine[j] - factor * pivots[j];
        });
  } else {
    Kokkos::parallel_for(
        "strata::sparse::invert_symmetric::entries", RowPolicy<Exec>(exec, 0, n * n),
        KOKKOS_LAMBDA(std::int64_t at) {
          std::int64_t const i = at / n, j = at - i * n;
          A(at) = eliminated(A(at), row(j), column(i), i == k, j == k);
        });
  }
}

template <class Exec>
void make_symmetric(Exec const& exec, DenseRows<Exec> const& A, std::int64_t n) {
  Kokkos::parallel_for(
      "strata::sparse::invert_symmetric::mean", RowPolicy<Exec>(exec, 0, n),
      KOKKOS_LAMBDA(std::int64_t i) {
        for (std::int64_t j = 0; j < i; ++j)
          A(i * n + j) = A(j * n + i) = 0.5 * (A(i * n + j) + A(j * n + i));
      });
}

}  // namespace

template <class Exec>
bool invert_symmetric(Exec const& exec, Vector<double, typename Exec::memory_space> const& A,
                      std::int64_t n) {
  constexpr double least_pivot = 1e-10;
  if (!is_symmetric_matrix(exec, A, n)) return false;
  auto const row = allocate<DenseRows<Exec>>(exec, "strata::sparse::invert_symmetric::row", n),
             column =
                 allocate<DenseRows<Exec>>(exec, "strata::sparse::invert_symmetric::column", n),
             least = allocate<DenseRows<Exec>>(exec, "strata::sparse::invert_symmetric::least", 1);
  Kokkos::deep_copy(exec, least, 1.0);
  for (std::int64_t k = 0; k < n; ++k) {
    take_pivot(exec, A, n, k, row, column, least);
    eliminate(exec, A, n, k, row, column);
  }
  make_symmetric(exec, A, n);
  double smallest = 0;
  Kokkos::deep_copy(
      exec, Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(&smallest, 1), least);
  exec.fence("strata::sparse::invert_symmetric::done");
  return smallest > least_pivot;
}

#define STRATA_INSTANTIATE_INVERSE(Space)                                                  \
  template bool invert_symmetric(Space const&, Vector<double, Space::memory_space> const&, \
                                 std::int64_t);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_INVERSE)

}  // namespace strata::sparse::detail
