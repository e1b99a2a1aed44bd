// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_VENDOR_SYTRF_HPP
#define STRATA_VENDOR_SYTRF_HPP

#include <core/Strata_MatrixRef.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::dense::vendor {

/// Bunch and Kaufman's factorisation of the lower triangle of M by the vendor's library, pivots in
/// LAPACK's form. Returns false, with nothing done, where the build has no such routine.
///
/// Result   info: 0, or the first pivot, from 1, that is 0.
/// Sync     fences `exec`.
/// Throws   VendorError; ValueError if n exceeds 32 bits; MemoryError.
template <class ExecutionSpace>
bool sytrf(ExecutionSpace const& exec, MatrixRef<typename ExecutionSpace::memory_space> const& M,
           Kokkos::View<std::int64_t*, typename ExecutionSpace::memory_space> const& pivots,
           std::int64_t& info);

}  // namespace strata::dense::vendor

#endif
