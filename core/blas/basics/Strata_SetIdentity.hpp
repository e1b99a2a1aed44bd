// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SET_IDENTITY_HPP
#define STRATA_SET_IDENTITY_HPP

#include <core/Strata_Precision.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace strata {

namespace detail {

template <class T, class Exec, class Matrix>
void set_identity_of(Exec const& exec, Matrix const& A) {
  T* const a = A.template as<T>();
  std::int64_t const ld = A.ld;
  for_each_element(
      "strata::core::set_identity", exec, A.rows, A.cols,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) { a[i + j * ld] = T(i == j); });
}

}  // namespace detail

/// A = I. Enqueued on `exec`.
template <class Exec, class Matrix>
void set_identity(Exec const& exec, Matrix const& A) {
  with_arithmetic_type(
      A.precision, [&]<class T>(std::type_identity<T>) { detail::set_identity_of<T>(exec, A); });
}

}  // namespace strata

#endif
