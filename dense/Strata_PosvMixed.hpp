// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_POSV_MIXED_HPP
#define STRATA_POSV_MIXED_HPP

#include <core/Strata_Errors.hpp>
#include <core/Strata_MatrixRef.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/tree/Strata_Layers.hpp>
#include <dense/tree/detail/Strata_ColumnMajor.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace strata::dense {

/// Choices of a solve that may overwrite A.
struct MixedOptions {
  /// What is tried before fp64; none: what suits the device and n, or nothing where fp64 is faster.
  std::optional<LayerList> layers = {};
  std::int64_t leaf_size = 0;  ///< leaf size of the factor in layers; 0: automatic
  /// most iterations of a refinement; 0: about what the next factorisation costs
  int max_iterations = 0;
  std::function<void()> before_overwrite = {};  ///< called before fp64 overwrites A
};

/// What it took.
struct MixedReport {
  Info info = Info::success();            ///< the minor of A that is not positive: there is no X
  std::vector<CholeskyAttempt> attempts;  ///< fp64 in place the last, where it was needed
  std::int64_t iterations = 0;  ///< refinements of the X of a factor in layers, after its first
  bool overwritten = false;     ///< A's triangle holds its fp64 factor, or what is left of one
};

/// Solve A X = B with a factor in layers, A left as it is; where that fails, with A's fp64 factor
/// in its place: LAPACK's dsposv.
///
/// Shape    A: n x n, of which the triangle `uplo` is read; B, X: n x m. fp64, unscaled; none
///          overlaps another.
/// Result   X, of a refinement only with ||r|| <= sqrt(n) 2^-53 ||A|| ||x|| for each column, the
///          max norm of x and the infinity norm of A: LAPACK's bound. The attempts say why fp64 had
///          to do it; its X is not refined, and its breakdown is `info`. A or B with numbers that
///          are not finite are left to fp64.
/// Sync     fences the instance of `blas`.
/// Memory   `cholesky` and its `solve`; fp64 takes 8 bytes of scratch.
/// Throws   ShapeError if B or X do not fit; ValueError if two of the three overlap, or for options
///          out of range; MemoryError, VendorError: A is as it was unless before_overwrite was
///          called.
/// Source   Langou et al., Exploiting the performance of 32 bit floating point arithmetic, SC 2006,
///          doi:10.1145/1188455.1188573; deviation: layers below fp32, equilibration, CG and GMRES
///          where the refinement does not contract.
template <class ExecutionSpace>
[[nodiscard]] MixedReport posv_mixed(LeafBlas<ExecutionSpace>& blas, Uplo uplo,
                                     MatrixRef<typename ExecutionSpace::memory_space> const& A,
                                     ConstMatrixRef<typename ExecutionSpace::memory_space> const& B,
                                     MatrixRef<typename ExecutionSpace::memory_space> const& X,
                                     MixedOptions const& options = {});

/// The same of Views of double, A in LayoutLeft or LayoutRight, B and X with contiguous columns.
template <class ExecutionSpace, class MatrixView, class InView, class OutView>
  requires Kokkos::is_execution_space_v<ExecutionSpace>
[[nodiscard]] MixedReport posv_mixed(ExecutionSpace const& exec, Uplo uplo, MatrixView const& A,
                                     InView const& B, OutView const& X,
                                     MixedOptions const& options = {}) {
  auto const columns = detail::column_major<ExecutionSpace>(A);
  LeafBlas<ExecutionSpace> blas(exec);
  return posv_mixed(blas, columns.of(uplo), columns.matrix, matrix_ref(B), matrix_ref(X), options);
}

}  // namespace strata::dense

#endif
