// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_GENERATORS_HPP
#define STRATA_GENERATORS_HPP

#include <core/Strata_EnumNames.hpp>
#include <core/Strata_Errors.hpp>
#include <core/io/Strata_HostMatrix.hpp>
#include <core/problems/Strata_Random.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace strata {

/// Families of symmetric positive definite test matrices; i and j count from 1, K is `condition`.
enum class MatrixKind : std::uint8_t {
  Geometric,   ///< eigenvalues K^-((i-1)/(n-1)): LAPACK latms mode 3, SLATE and MAGMA poev_geo
  Arithmetic,  ///< eigenvalues 1 - (i-1)/(n-1) (1 - 1/K): mode 4, poev_arith
  Cluster0,    ///< one eigenvalue 1, the others 1/K: mode 1, poev_cluster0
  Cluster1,    ///< one eigenvalue 1/K, the others 1: mode 2, poev_cluster1
  LogRandom,   ///< log-uniform in (1/K, 1), with both ends taken: mode 5, poev_logrand
  Dominant,    ///< uniform in (0, 1), n added on the diagonal: paper A's; timing only, K about 1.5
  MinIJ,       ///< min(i, j); condition about 1.6 n^2
  Lehmer,      ///< min(i, j) / max(i, j); condition between n and 4 n^2
  Moler,  ///< min(i, j) - 2, i on the diagonal; least eigenvalue about 4^-n: singular from n = 30
  Kms,    ///< correlation^|i-j| (Kac, Murdock, Szego)
};

/// Parameters of `generate`; a kind ignores those that it has no use for.
struct GeneratorOptions {
  double condition = 100;      ///< 2-norm condition number of a prescribed spectrum; >= 1
  std::uint64_t seed = 1;      ///< seed of everything random
  double diagonal_spread = 1;  ///< see `spread_diagonal`
  double correlation = 0.5;    ///< correlation of neighbours for Kms, in (0, 1)
  /// Hears what part of the matrix is made, 0 to 1, from any thread, but from one at a time.
  std::function<void(double)> on_progress = {};
};

/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(MatrixKind) {
  return enum_names<MatrixKind>("matrix kind", {{MatrixKind::Geometric, "geometric"},
                                                {MatrixKind::Arithmetic, "arithmetic"},
                                                {MatrixKind::Cluster0, "cluster0"},
                                                {MatrixKind::Cluster1, "cluster1"},
                                                {MatrixKind::LogRandom, "logrand"},
                                                {MatrixKind::Dominant, "dominant"},
                                                {MatrixKind::MinIJ, "minij"},
                                                {MatrixKind::Lehmer, "lehmer"},
                                                {MatrixKind::Moler, "moler"},
                                                {MatrixKind::Kms, "kms"}});
}

/// True for the kinds whose spectrum is prescribed (the first five).
constexpr bool has_spectrum(MatrixKind kind) { return kind <= MatrixKind::LogRandom; }

/// The eigenvalues that `generate` gives such a kind before `diagonal_spread`, descending.
///
/// Throws   ValueError for a kind without a prescribed spectrum, or a condition that is not finite
///          or less than 1; ShapeError if n < 0.
std::vector<double> spectrum(MatrixKind kind, std::int64_t n, GeneratorOptions const& options = {});

/// A symmetric positive definite n x n matrix, both triangles stored and equal to the last bit.
///
/// A prescribed spectrum S gets the eigenvectors Q = H S3 H S2 H S1. S1, S2, S3 are random signs. H
/// is a fast orthogonal mixing: a Walsh-Hadamard transform if n is a power of two. Every entry of Q
/// has a size of about n^-1/2, and the diagonal of A is nearly constant, as with Haar's measure. So
/// neither sparsity nor equilibration makes the matrix easier than its condition number. Cost O(n^2
/// log n); LAPACK's dlatms needs O(n^3) for Haar's own Q.
///
/// Result   depends on the arguments only, not on threads. Between platforms libm's pow and exp
///          may differ in the last bit; what is random is the same everywhere.
/// Memory   8 n^2 bytes, the result itself.
/// Throws   ValueError for an option outside its range; ShapeError if n < 0; MemoryError if
///          8 n^2 bytes can't be had; what `on_progress` throws.
/// Error    eigenvalues right to 8 (1 + log2 n) eps ||A||_2 (tested against dsyev).
/// Source   kinds: Demmel & McKenney, LAPACK Working Note 9; Higham, Accuracy and Stability,
///          ch. 28. Mixing: Yu et al., Orthogonal random features, NIPS 2016, arXiv:1610.09072.
[[nodiscard]] HostMatrix generate(MatrixKind kind, std::int64_t n,
                                  GeneratorOptions const& options = {});

/// A = D A D with d_i^2 log-uniform in [1/spread, spread]: the same matrix in bad units.
///
/// Shape    A: n x n, both triangles stored.
/// Throws   ValueError if `spread` is not finite or less than 1; ShapeError if A is not square.
void spread_diagonal(HostMatrix const& A, double spread, std::uint64_t seed = 1);

/// A known solution for right-hand sides B = A X: n x nrhs numbers, uniform in (-1, 1).
///
/// Throws   ShapeError if n < 0 or nrhs < 0; MemoryError.
[[nodiscard]] HostMatrix known_solution(std::int64_t n, std::int64_t nrhs = 1,
                                        std::uint64_t seed = 1);

/// Fill A with the matrix of kind Dominant where it lives; the same numbers as `generate`, rounded
/// to A's type.
///
/// Shape    A: n x n, any layout and stride, accessible to `exec`.
/// Sync     enqueued on `exec`.
/// Throws   ShapeError if A is not square.
template <class ExecutionSpace, class MatrixView>
void generate_dominant(ExecutionSpace const& exec, MatrixView const& A, std::uint64_t seed = 1) {
  static_assert(MatrixView::rank() == 2, "a matrix is a View of rank 2");
  using Scalar = typename MatrixView::non_const_value_type;
  STRATA_REQUIRE(ShapeError, A.extent(0) == A.extent(1), "generate_dominant: A is ", A.extent(0),
                 " x ", A.extent(1), ", must be square");
  auto const n = static_cast<std::int64_t>(A.extent(0));
  using Policy =
      Kokkos::MDRangePolicy<ExecutionSpace, Kokkos::Rank<2>, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "strata::generate_dominant", Policy(exec, {0, 0}, {n, n}),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        double const entry = uniform(seed, Kokkos::max(i, j), Kokkos::min(i, j));
        A(i, j) = static_cast<Scalar>(i == j ? entry + static_cast<double>(n) : entry);
      });
}

}  // namespace strata

#endif
