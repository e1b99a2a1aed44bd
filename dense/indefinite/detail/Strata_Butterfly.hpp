// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_BUTTERFLY_HPP
#define STRATA_DETAIL_BUTTERFLY_HPP

#include <core/Strata_MatrixRef.hpp>
#include <dense/indefinite/detail/Strata_SymmetricLines.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::dense::detail {

/// A random butterfly of depth two, U = diag(B1, B2) B0 with B = [R0 R1; R0 -R1] / sqrt(2) and
/// random diagonals R0 and R1 near one. It mixes four rows that are a quarter of the order apart,
/// so that U^T H U has no pivots that are zero by H's structure.
///
/// The order is rounded up to a multiple of four: H is followed by the identity.
/// Source   Baboulin, Becker and Dongarra, IPDPS 2012, doi:10.1109/IPDPS.2012.12; entries
///          exp(t / 10) with t uniform in (-1/2, 1/2): Parker, UCLA CSD-950023, 1995.
template <class ExecutionSpace>
class Butterfly {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  /// Some vectors, column by column.
  using Block = Kokkos::View<double**, Kokkos::LayoutLeft, memory_space>;

  /// A butterfly for vectors of order n; fixed seed. Enqueued.
  Butterfly(ExecutionSpace const& exec, std::int64_t n);

  /// The order with what is added.
  std::int64_t padded() const { return 4 * quarter_; }
  /// M = U^T D A D U, the lower triangle, in fp64 or fp32, where 2^exponents is D.
  ///
  /// Result   the largest magnitude in M. Fences `exec`.
  double load(ExecutionSpace const& exec, SymmetricLines const& A,
              Kokkos::View<int const*, memory_space> const& exponents,
              MatrixRef<memory_space> const& M) const;
  /// W = U^T V, V: n x m, W: padded() x m of fp64 or fp32. Enqueued.
  void apply_transposed(ExecutionSpace const& exec, Block const& V,
                        MatrixRef<memory_space> const& W) const;
  /// V = U W. Enqueued.
  void apply(ExecutionSpace const& exec, ConstMatrixRef<memory_space> const& W,
             Block const& V) const;
  /// log |det U|. Fences `exec`.
  double log_determinant(ExecutionSpace const& exec) const;

 private:
  std::int64_t n_, quarter_;
  Kokkos::View<double* [2], Kokkos::LayoutLeft, memory_space> r_;  // inner and outer diagonals
};

}  // namespace strata::dense::detail

#endif
