// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_FACTOR_KERNELS_HPP
#define STRATA_DETAIL_FACTOR_KERNELS_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace strata::dense::detail {

/// A number on the device.
template <class ExecutionSpace>
using DeviceNumber = Kokkos::View<double, typename ExecutionSpace::memory_space,
                                  Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// What one kernel takes of a factor's leaves.
template <class MemorySpace>
using SomeBlocks = Kokkos::Array<ConstMatrixRef<MemorySpace>, 16>;

/// x = m 2^e, about 1 / sqrt(2) <= m <= sqrt(2), exactly.
KOKKOS_INLINE_FUNCTION double rounded_exponent(double x) { return Kokkos::round(Kokkos::log2(x)); }

/// sums[k] = sum_i log l_ii of each of `count` blocks, its scale applied: of products of sixteen,
/// without their powers of two, which are summed exactly. Sums of n equal logarithms would have n
/// roundings to one side. Enqueued.
template <class T, class ExecutionSpace>
void log_some_diagonals(ExecutionSpace const& exec,
                        SomeBlocks<typename ExecutionSpace::memory_space> const& blocks, int count,
                        double* sums) {
  using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  launch_teams(
      "strata::dense::log_determinant::leaves", exec, count, 0, KOKKOS_LAMBDA(Member const& team) {
        for (int k = team.league_rank(); k < count; k += team.league_size()) {
          auto const& block = blocks[k];
          T const* const l = static_cast<T const*>(block.data);
          double const scale = block.scale ? *block.scale : 1.0;
          std::int64_t const stride = block.ld + 1;
          constexpr std::int64_t factors = 16;
          double sum = 0, exponents = 0;
          Kokkos::parallel_reduce(
              Kokkos::TeamThreadRange(team, (block.rows + factors - 1) / factors),
              [&](std::int64_t chunk, double& part) {
                double product = 1;
                std::int64_t const last = Kokkos::min(block.rows, (chunk + 1) * factors);
                for (std::int64_t i = chunk * factors; i < last; ++i) {
                  double const x = scale * static_cast<double>(l[i * stride]);
                  product *= x * Kokkos::exp2(-rounded_exponent(x));
                }
                part += Kokkos::log(product);
              },
              sum);
          Kokkos::parallel_reduce(
              Kokkos::TeamThreadRange(team, block.rows),
              [&](std::int64_t i, double& part) {
                part += rounded_exponent(scale * static_cast<double>(l[i * stride]));
              },
              exponents);
          Kokkos::single(Kokkos::PerTeam(team),
                         [&] { sums[k] = sum + Kokkos::numbers::ln2 * exponents; });
        }
      });
}

/// range[2 k], range[2 k + 1] = the smallest and the largest l_ii of each of `count` blocks.
/// Enqueued.
template <class T, class ExecutionSpace>
void range_of_some_diagonals(ExecutionSpace const& exec,
                             SomeBlocks<typename ExecutionSpace::memory_space> const& blocks,
                             int count, double* range) {
  using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  launch_teams(
      "strata::dense::cholesky::pivots", exec, count, 0, KOKKOS_LAMBDA(Member const& team) {
        for (int k = team.league_rank(); k < count; k += team.league_size()) {
          auto const& block = blocks[k];
          T const* const l = static_cast<T const*>(block.data);
          double const scale = block.scale ? *block.scale : 1.0;
          std::int64_t const stride = block.ld + 1;
          double low = 0, high = 0;
          Kokkos::parallel_reduce(
              Kokkos::TeamThreadRange(team, block.rows),
              [&](std::int64_t i, double& least, double& most) {
                double const x = scale * static_cast<double>(l[i * stride]);
                least = x < least ? x : least;
                most = x > most ? x : most;
              },
              Kokkos::Min<double>(low), Kokkos::Max<double>(high));
          Kokkos::single(Kokkos::PerTeam(team), [&] {
            double* const both = range + 2 * std::int64_t{k};
            both[0] = low, both[1] = high;
          });
        }
      });
}

/// The same of any number of square blocks of one precision. Enqueued, a kernel for each sixteen.
template <class ExecutionSpace>
void range_of_diagonals(
    ExecutionSpace const& exec,
    std::span<ConstMatrixRef<typename ExecutionSpace::memory_space> const> blocks, double* range) {
  SomeBlocks<typename ExecutionSpace::memory_space> some;
  for (std::size_t first = 0; first < blocks.size(); first += some.size()) {
    auto const part = blocks.subspan(first, std::min(some.size(), blocks.size() - first));
    std::ranges::copy(part, some.data());
    with_type(some[0].precision, [&]<class T>(std::type_identity<T>) {
      range_of_some_diagonals<T>(exec, some, static_cast<int>(part.size()), range + 2 * first);
    });
  }
}

/// The same of any number of square blocks of one precision. Enqueued, a kernel for each sixteen.
template <class ExecutionSpace>
void log_diagonals(ExecutionSpace const& exec,
                   std::span<ConstMatrixRef<typename ExecutionSpace::memory_space> const> blocks,
                   double* sums) {
  SomeBlocks<typename ExecutionSpace::memory_space> some;
  for (std::size_t first = 0; first < blocks.size(); first += some.size()) {
    auto const part = blocks.subspan(first, std::min(some.size(), blocks.size() - first));
    std::ranges::copy(part, some.data());
    with_type(some[0].precision, [&]<class T>(std::type_identity<T>) {
      log_some_diagonals<T>(exec, some, static_cast<int>(part.size()), sums + first);
    });
  }
}

/// The mean of a diagonal. Fences `exec`.
template <class ExecutionSpace, class Block>
double mean_diagonal(ExecutionSpace const& exec, Block const& A) {
  auto const n = static_cast<std::int64_t>(A.extent(0));
  double sum = 0;
  Kokkos::parallel_reduce(
      "strata::dense::cholesky::mean_diagonal",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, n),
      KOKKOS_LAMBDA(std::int64_t i, double& part) { part += A(i, i) / static_cast<double>(n); },
      sum);
  return sum;
}

/// b_ii = a_ii + more. Enqueued.
template <class ExecutionSpace, class View, class Block>
void set_diagonal(ExecutionSpace const& exec, View const& A, double more, Block const& B) {
  Kokkos::parallel_for(
      "strata::dense::cholesky::set_diagonal",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(
          exec, 0, static_cast<std::int64_t>(A.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) { B(i, i) = A(i, i) + more; });
}

/// sum = sum_i log2 d_i of powers of two, exactly. Enqueued.
template <class ExecutionSpace, class ScalingView>
void sum_of_exponents(ExecutionSpace const& exec, ScalingView const& d,
                      DeviceNumber<ExecutionSpace> const& sum) {
  Kokkos::parallel_reduce(
      "strata::dense::log_determinant::scaling",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, d.extent(0)),
      KOKKOS_LAMBDA(std::int64_t i, double& part) { part += Kokkos::round(Kokkos::log2(d(i))); },
      sum);
}

template <class ExecutionSpace, class ScalingView, class T>
void unscale_rows(ExecutionSpace const& exec, ScalingView const& d, T* l, std::int64_t n,
                  std::int64_t ld) {
  strata::for_each_element(
      "strata::dense::factor::unscale", exec, n, n, KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        if (i >= j) l[i + j * ld] = static_cast<T>(static_cast<double>(l[i + j * ld]) / d(i));
      });
}

/// Lower triangle of L: l_ij / d_i, so that L L^T undoes an equilibration by d.
template <class ExecutionSpace, class ScalingView>
void unscale_factor(ExecutionSpace const& exec, ScalingView const& d,
                    MatrixRef<typename ExecutionSpace::memory_space> const& L) {
  with_arithmetic_type(L.precision, [&]<class T>(std::type_identity<T>) {
    unscale_rows(exec, d, L.template as<T>(), L.rows, L.ld);
  });
}

}  // namespace strata::dense::detail

#endif
