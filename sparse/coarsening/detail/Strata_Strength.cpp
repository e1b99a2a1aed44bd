// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/coarsening/detail/Strata_Strength.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>

namespace strata::sparse::detail {
namespace {

template <class Exec, class Space>
void find_largest(Exec const& exec, std::int64_t rows, CsrRef<Space> const& A,
                  Vector<double, Space> const& largest) {
  constexpr double dominated = 0.2;
  Kokkos::parallel_for(
      "strata::sparse::strong_graph::largest", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        double most = 0, sum = 0, diagonal = 0;
        A(i, [&](std::int64_t j, double a) {
          double const size = Kokkos::abs(a);
          diagonal += j == i ? a : 0;
          sum += j == i ? 0 : size;
          most = j != i && size > most ? size : most;
        });
        largest(i) = sum < dominated * Kokkos::abs(diagonal) ? 0 : most;
      });
}

/// Whether an entry is strong.
template <class Space>
struct IsStrong {
  Vector<double, Space> largest;
  Vector<std::int32_t, Space> component;
  double bound;  // of a_ij^2 / (m_i m_j)

  KOKKOS_FUNCTION bool operator()(std::int64_t i, std::int64_t j, double a) const {
    if (i == j) return false;
    if (component.extent(0) > 0 && component(i) != component(j)) return false;
    double const size = largest(i) * largest(j);
    return size > 0 && a * a > bound * size;
  }
};

}  // namespace

template <class Exec>
StrongGraph<Exec> strong_graph(Exec const& exec, LocalCsr<Exec> const& A,
                               Components<Exec> const& component, double strength,
                               Border<Exec> const& border) {
  using Space = typename Exec::memory_space;
  constexpr double tie = 1 + 0x1p-16;
  Region const region(exec, "strata::sparse::strong_graph");
  auto const largest = border.agree([&] {
    return PooledVector<double, Exec>(exec, "strata::sparse::strong_graph::largest",
                                      border.all(A.rows));
  });
  find_largest(exec, A.rows, A.ref(), largest.view());
  border.fill(exec, largest.view());
  IsStrong<Space> const is_strong{largest, component, strength * strength * tie * tie};
  return border.agree([&] { return graph_of(exec, A, is_strong); });
}

#define STRATA_INSTANTIATE_STRENGTH(Space)                                       \
  template StrongGraph<Space> strong_graph(Space const&, LocalCsr<Space> const&, \
                                           Components<Space> const&, double,     \
                                           Border<Space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_STRENGTH)

}  // namespace strata::sparse::detail
