// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_LAPACK_CALL_HPP
#define STRATA_C_LAPACK_CALL_HPP

#include <c/detail/Strata_Call.hpp>
#include <c/detail/Strata_Options.hpp>
#include <c/strata.h>

#include <cstdint>

namespace strata::c::detail {

/// LAPACK's first argument.
inline Uplo require_triangle(char uplo) {
  auto const triangle = uplo_of(uplo);
  require_argument(triangle.has_value(), 1, "uplo is '", uplo, "', must be 'L' or 'U'");
  return *triangle;
}

inline void require_order(char const* name, std::int64_t value, int position) {
  require_argument(value >= 0, position, name, " is ", value, ", must be >= 0");
}

/// The arguments that potrs, posv and dsposv share, at LAPACK's positions.
template <class T>
void require_system(std::int64_t n, std::int64_t nrhs, T const* A, std::int64_t lda, T const* B,
                    std::int64_t ldb) {
  require_order("n", n, 2);
  require_order("nrhs", nrhs, 3);
  require_matrix("A", A, n, n, lda, sizeof(T), 4, 5);
  require_matrix("B", B, n, nrhs, ldb, sizeof(T), 6, 7);
}

/// Runs f(order), which sets `order` to the order of a minor that is not positive; *info is
/// LAPACK's.
template <class Function>
strata_status lapack_call(char const* name, std::int64_t* info, Function const& f) noexcept {
  return call(name, [&]() -> Outcome {
    if (info == nullptr) throw ValueError("info is a null pointer");
    *info = 0;
    try {
      f(*info);
    } catch (WrongArgument const& error) {
      *info = error.info;
      throw;
    }
    return *info == 0 ? Outcome{} : not_positive_definite(*info);
  });
}

}  // namespace strata::c::detail

#endif
