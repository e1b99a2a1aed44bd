// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_SYMMETRIC_SCALING_HPP
#define STRATA_DETAIL_SYMMETRIC_SCALING_HPP

#include <dense/indefinite/detail/Strata_SymmetricLines.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::dense::detail {

/// D with H = D A D, of whose rows the largest magnitude is about one, where D's range allows it.
template <class MemorySpace>
struct SymmetricScaling {
  Kokkos::View<int*, MemorySpace> exponents;  ///< D's, from -1000 to 1000
  Kokkos::View<double*, MemorySpace> d;       ///< powers of two
  int smallest = 0, largest = 0;              ///< exponents of D
  double sum_of_exponents = 0;
  double norm = 0, scaled_norm = 0;  ///< ||A||_inf and ||D A D||_inf
};

/// Scale rows and columns alike by powers of two until the largest magnitude of each row is in
/// [1/2, 4), or 20 times. A row of zeros stays. Exponents end at -1000 and 1000, and the rows that
/// would need more keep another magnitude.
///
/// Sync     fences `exec` once a sweep and at the end. Cost: two or three passes over A.
/// Throws   NonFiniteEntry with the first entry that is not finite; ValueError if the sum of a row
///          overflows; MemoryError.
/// Source   Ruiz and Ucar, Trans. Inst. Math. Appl. 1 (2014); deviation: powers of two.
template <class ExecutionSpace>
SymmetricScaling<typename ExecutionSpace::memory_space> scale_symmetric(ExecutionSpace const& exec,
                                                                        SymmetricLines const& A);

}  // namespace strata::dense::detail

#endif
