// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Integers modulo S numbers multiplied, and made numbers again.
#include <core/integers/detail/Strata_Moduli.hpp>
#include <core/integers/detail/Strata_ResidueKernels.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>

namespace strata::detail {
namespace {

constexpr int edge = 4;  // of the block of sums that a thread makes

/// A block of sums of one modulus; rows and columns beyond the last are the last again.
template <class Exec>
struct BlockOfSums {
  ResiduePlanes<typename Exec::memory_space> A, B;
  ModularSums<typename Exec::memory_space> C;
  bool accumulate;
  std::int64_t row_blocks, col_blocks;

  KOKKOS_FUNCTION void operator()(std::int64_t t) const {
    std::int64_t const i0 = t % row_blocks * edge, j0 = t / row_blocks % col_blocks * edge,
                       s = t / (row_blocks * col_blocks);
    std::int8_t const *a[edge], *b[edge];
    for (int x = 0; x < edge; ++x) {
      a[x] = A.data + s * A.plane + least(i0 + x, A.rows - 1) * A.ld;
      b[x] = B.data + s * B.plane + least(j0 + x, B.rows - 1) * B.ld;
    }
    for (int y = 0; y < edge && j0 + y < C.cols; ++y)
      for (int x = 0; x < edge && i0 + x < C.rows; ++x) {
        std::int32_t sum = 0;
        for (std::int64_t k = 0; k < A.depth; ++k)
          sum += static_cast<std::int16_t>(a[x][k]) * static_cast<std::int16_t>(b[y][k]);
        std::int32_t& c = C.data[s * C.plane + i0 + x + (j0 + y) * C.ld];
        c = accumulate ? c + sum : sum;
      }
  }

  KOKKOS_FORCEINLINE_FUNCTION static std::int64_t least(std::int64_t a, std::int64_t b) {
    return a < b ? a : b;
  }
};

// g (high + low), g = alpha mu_i mu_j, as precisely unless g or the result is near the ends of
// fp64's range.
KOKKOS_FORCEINLINE_FUNCTION TwoNumbers scaled(TwoNumbers const& x, double alpha, double row,
                                              double col) {
  double const g = alpha * (row * col), y = x.high * g;
  constexpr double least = 0x1p-960, most = 0x1p1000;
  double const size = Kokkos::abs(g);
  if (!(size >= least && Kokkos::abs(y) <= most)) return {x.high * row * col * alpha, 0};
  return {y, Kokkos::fma(x.low, g, Kokkos::fma(x.high, g, -y))};
}

}  // namespace

template <class Exec>
void multiply_residues(Exec const& exec, ResiduePlanes<typename Exec::memory_space> const& A,
                       ResiduePlanes<typename Exec::memory_space> const& B,
                       ModularSums<typename Exec::memory_space> const& C, bool accumulate) {
  std::int64_t const row_blocks = (C.rows + edge - 1) / edge,
                     col_blocks = (C.cols + edge - 1) / edge;
  Kokkos::parallel_for("strata::core::integers::multiply",
                       Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(
                           exec, 0, row_blocks * col_blocks * C.moduli),
                       BlockOfSums<Exec>{A, B, C, accumulate, row_blocks, col_blocks});
}

template <class Exec>
void reduce_sums(Exec const& exec, ModularSums<typename Exec::memory_space> const& X) {
  Moduli const m = moduli_table(X.moduli);
  for_each_element(
      "strata::core::integers::reduce", exec, X.rows, X.cols,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        for (int s = 0; s < m.count; ++s) {
          std::int32_t& sum = X.data[s * X.plane + i + j * X.ld];
          sum = remainder_of_sum(sum, m.of[s]);
        }
      });
}

template <class Exec>
void combine_sums(Exec const& exec, ModularSums<typename Exec::memory_space> const& X,
                  RowUnit const* rows, RowUnit const* cols, SumScaling const& scaling,
                  MatrixRef<typename Exec::memory_space> const& C) {
  Moduli const m = moduli_table(X.moduli);
  auto* const c = C.template as<double>();
  for_each_element(
      "strata::core::integers::combine", exec, C.rows, C.cols,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        if ((scaling.part == Triangle::Lower && i < j) ||
            (scaling.part == Triangle::Upper && i > j))
          return;
        std::int32_t const* const sums = X.data + i + j * X.ld;
        TwoNumbers const x = chinese_remainder(
            m, [&](int s) { return remainder_of_sum(sums[s * X.plane], m.of[s]); });
        double const alpha = scaling.alpha * (scaling.scale_a ? *scaling.scale_a : 1.0) *
                             (scaling.scale_b ? *scaling.scale_b : 1.0);
        TwoNumbers const y = scaled(x, alpha, rows[i].unit, cols[j].unit);
        double& element = c[i + j * C.ld];
        if (scaling.beta == 0) {
          element = y.high + y.low;
          return;
        }
        double const old = scaling.beta == 1    ? element
                           : scaling.beta == -1 ? -element
                                                : scaling.beta * element;
        TwoNumbers const sum = two_sum(old, y.high);
        element = sum.high + (sum.low + y.low);
      });
}

#define STRATA_INSTANTIATE(Space)                                                                 \
  template void multiply_residues<Space>(Space const&, ResiduePlanes<Space::memory_space> const&, \
                                         ResiduePlanes<Space::memory_space> const&,               \
                                         ModularSums<Space::memory_space> const&, bool);          \
  template void reduce_sums<Space>(Space const&, ModularSums<Space::memory_space> const&);        \
  template void combine_sums<Space>(Space const&, ModularSums<Space::memory_space> const&,        \
                                    RowUnit const*, RowUnit const*, SumScaling const&,            \
                                    MatrixRef<Space::memory_space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::detail
