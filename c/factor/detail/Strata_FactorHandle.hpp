// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_FACTOR_HANDLE_HPP
#define STRATA_C_FACTOR_HANDLE_HPP

#include <c/detail/Strata_Call.hpp>
#include <c/detail/Strata_Options.hpp>
#include <c/runtime/Strata_Held.hpp>
#include <c/runtime/Strata_Operand.hpp>
#include <c/runtime/Strata_Runtime.hpp>
#include <c/strata.h>
#include <dense/Strata_Cholesky.hpp>

#include <cstddef>
#include <cstdint>

/// What the handle of strata.h is.
struct strata_factor {
  strata_factor(strata::Uplo uplo, std::int64_t order, double const* data, std::int64_t ld,
                strata::c::detail::Choices const& options)
      : refinement(options.refinement), held(strata::c::detail::with_checked_options([&] {
          return strata::dense::in_terms_of_triangle(uplo == strata::Uplo::Upper, [&] {
            return strata::c::Held<strata::c::DenseFactor>(uplo, order, data, ld, options.layers,
                                                           options.cholesky);
          });
        })) {}
  strata::c::DenseFactor& work() const { return held.work(); }
  std::int64_t order() const { return work().factor.report().n; }

  strata::dense::RefinementOptions refinement;
  strata::c::Held<strata::c::DenseFactor> held;
};

namespace strata::c::detail {

using Work = DenseFactor;
using Columns =
    Kokkos::View<double**, Kokkos::LayoutStride, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// A caller's columns as the library takes them.
inline Columns columns(Operand<double> const& operand) {
  auto const a = operand.matrix();
  auto const extent = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  Kokkos::LayoutStride const layout(extent(a.rows), 1, extent(a.cols), extent(a.ld));
  return Columns(static_cast<double*>(a.data), layout);
}

inline Outcome no_factor(Work const& work) {
  return {STRATA_NOT_POSITIVE_DEFINITE, describe(work.factor.report().breakdown)};
}

/// Throws   ValueError if X lies on the matrix that the factor reads.
inline void require_apart_from_A(Work const& work, MatrixRef<Memory> const& x) {
  auto const A = work.factor.matrix();
  auto const n = static_cast<std::int64_t>(A.extent(0));
  require(!dense::share_memory({A.data(), n, n, static_cast<std::int64_t>(A.stride(0)),
                                static_cast<std::int64_t>(A.stride(1))},
                               {static_cast<double const*>(x.data), x.rows, x.cols, 1, x.ld}),
          "X overlaps A");
}

}  // namespace strata::c::detail

#endif
