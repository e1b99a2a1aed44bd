// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATAPERF_MATRICES_HPP
#define STRATAPERF_MATRICES_HPP

#include <core/Strata_Precision.hpp>
#include <core/blas/Strata_LeafBlas.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace strata::perf {

using Exec = Kokkos::DefaultExecutionSpace;
using Matrix = MatrixRef<Exec::memory_space>;
using MatrixView = Kokkos::View<double**, Kokkos::LayoutLeft, Exec::memory_space>;

/// An uninitialised matrix of a run-time precision, and its memory.
class OwnedMatrix {
 public:
  OwnedMatrix(Exec const& exec, std::int64_t rows, std::int64_t cols, Precision precision);
  Matrix const& ref() const { return ref_; }
  void free() { *this = OwnedMatrix(); }

 private:
  OwnedMatrix() = default;
  Kokkos::View<std::byte*, Exec::memory_space> bytes_;
  Matrix ref_;
};
MatrixView fp64_matrix(Exec const& exec, std::int64_t rows, std::int64_t cols);

/// A = uniform numbers of (low, 1), rounded to A's type. Enqueued.
void fill_uniform(Exec const& exec, Matrix const& A, double low, std::uint64_t seed);
/// A = 0. Enqueued.
void fill_zero(Exec const& exec, Matrix const& A);
/// Sets the lower triangle of A (fp64 or fp32) as in paper A's matrix, and the strictly upper
/// triangle to 0.
void fill_lower(Exec const& exec, Matrix const& A);

/// A symmetric positive definite test matrix that is made where it is used, in O(n) more memory.
///
/// "dominant" is paper A's: uniform numbers, n added on the diagonal. "geometric" is C S C^T. S has
/// the eigenvalues K^-((i-1)/(n-1)) in random order, and C is the orthonormal discrete cosine
/// transform. So a_ij = h(i - j) + h(i + j + 1), h(d) = (s_0 / 2 + sum_k s_k cos(pi k d / n)) / n.
/// Its diagonal is nearly constant, so that equilibration makes it no easier.
class SpdMatrix {
 public:
  /// Throws   ValueError for another kind.
  SpdMatrix(Exec const& exec, std::string const& kind, std::int64_t n, double condition);
  /// Both triangles; enqueued.
  void fill(Exec const& exec, MatrixView const& A) const;

 private:
  using Table = Kokkos::View<double*, Exec::memory_space>;
  Table h_;  // h(0) to h(n); empty for "dominant"
};

/// max_ij |a_ij| and ||A||_F of an fp64 matrix, the maximal column sum of its magnitudes. They
/// fence.
double max_abs(Exec const& exec, Matrix const& A);
double norm_frobenius(Exec const& exec, Matrix const& A);
double norm_one(Exec const& exec, Matrix const& A);

/// ||A X - B||_max / (||A||_inf ||X||_max + ||B||_max), for a symmetric A in fp64; B = B - A X.
double backward_error(LeafBlas<Exec>& blas, Matrix const& A, Matrix const& X, Matrix const& B);

/// ||Y - Z||_F / ||Z||_F for fp64 matrices; Y = Y - Z. The probes of products compare with it.
double relative_difference(Exec const& exec, Matrix const& Y, Matrix const& Z);

}  // namespace strata::perf

#endif
