// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_FACTOR_KERNELS_HPP
#define STRATA_DETAIL_FACTOR_KERNELS_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::dense::detail {

/// A number on the device.
template <class ExecutionSpace>
using DeviceNumber = Kokkos::View<double, typename ExecutionSpace::memory_space,
                                  Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// sum = sum_i log l_ii of a leaf, its scale applied. Enqueued.
template <class T, class ExecutionSpace>
void log_diagonal(ExecutionSpace const& exec,
                  ConstMatrixRef<typename ExecutionSpace::memory_space> const& leaf,
                  DeviceNumber<ExecutionSpace> const& sum) {
  T const* const l = leaf.template as<T>();
  double const* const scale = leaf.scale;
  std::int64_t const stride = leaf.ld + 1;
  Kokkos::parallel_reduce(
      "strata::dense::log_determinant::leaf",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, leaf.rows),
      KOKKOS_LAMBDA(std::int64_t i, double& part) {
        part += Kokkos::log((scale ? *scale : 1.0) * static_cast<double>(l[i * stride]));
      },
      sum);
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
