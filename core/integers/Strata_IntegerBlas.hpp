// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_INTEGER_BLAS_HPP
#define STRATA_INTEGER_BLAS_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/integers/Strata_Residues.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace strata {

/// The magnitude that a sum of products modulo so many numbers must not exceed to be told from
/// others: P / 2 (1 - 2^-10) of their product P. For 6 to 16.
double largest_integer_sum(int moduli);

/// Products of fp64 matrices by integers modulo S numbers of 8 bits (Ozaki's scheme II), in parts.
///
/// Row i of an operand becomes integers z_ik = rint(a_ik / mu_i). int8 units sum a product of
/// integers modulo S coprime numbers p <= 256, with sums in int32. Its magnitude is less than half
/// of the product P of all p. So the Chinese remainder theorem tells it from these sums. Then C_ij
/// = mu_i mu_j X_ij, rounded once.
///
/// Range    |X_ij| <= ||z_i|| ||z_j||, and ||z_i|| <= ||a_i|| / mu_i + sqrt(k) / 2. mu_i is the
///          least m 2^e, m in 17 to 32, with mu_i >= ||a_i|| / (sqrt(P / 2) (1 - 2^-9)), so that
///          |X_ij| < P / 2 (1 - 2^-10) for any part of the k terms. In a Cholesky factorisation
///          ||a_i|| is not measured: row i of L has the norm sqrt(h_ii), for H = L L^T.
/// Error    with theta = 2^-b, b = (log2 P - 1) / 2 - 0.09, the largest mu_i / ||a_i||, an entry is
///          rounded by at most mu_i / 2, and |C_ij - exact| <= sqrt(k) theta ||a_i|| ||b_j|| (1 +
///          sqrt(k) theta / 4) + u |C_ij|; an alpha other than 1 and -1 rounds both terms of alpha
///          A B + beta C once more. Roundings are as if random: the error's standard deviation is
///          at most 0.41 theta ||a_i|| ||b_j||, for all k. Units are not less than 2^-1022.
/// Bits     units, integers, remainders and X are exact, or go by sums of integers. So C is the
///          same on every backend, by every library, and for every cut of rows, columns and terms.
/// Sync     every call is enqueued on the instance, and none fences, with two exceptions. The first
///          product on a device is checked against the host's. A library's algorithm is chosen by
///          time once for products of a kind.
/// Source   Ozaki, Uchino, Imamura, Ozaki scheme II: a GEMM-oriented emulation of floating-point
///          matrix multiplication using an integer modular technique, arXiv:2504.08009; deviations:
///          units of five bits from exact norms rather than powers of two from an estimate,
///          rounding to nearest rather than truncation, and a reconstruction in three exact parts.
/// Throws   ValueError for another number of moduli than 6 to 16; VendorError.
template <class ExecutionSpace>
class IntegerBlas {
 public:
  using memory_space = typename ExecutionSpace::memory_space;  ///< memory of all operands
  using Matrix = MatrixRef<memory_space>;                      ///< a matrix in fp64, without scale
  using ConstMatrix = ConstMatrixRef<memory_space>;            ///< the same, to be read
  using Planes = ResiduePlanes<memory_space>;                  ///< an operand modulo S numbers
  using Sums = ModularSums<memory_space>;                      ///< a product modulo S numbers

  /// The most terms of a sum in int32: 128 * 128 of p = 256 each, less what is added to a reduced
  /// sum.
  static constexpr std::int64_t most_depth = 130816;

  /// `library`: whether a vendor's is asked, where it has such products.
  explicit IntegerBlas(ExecutionSpace const& exec, bool library = true);
  ~IntegerBlas();
  IntegerBlas(IntegerBlas&&) noexcept;
  IntegerBlas& operator=(IntegerBlas&&) noexcept;

  /// units[i] for rows of norm sqrt(h_ii) of a matrix H.
  void bound_units(ConstMatrix const& H, int moduli, RowUnit* units);
  /// The same of n rows and the diagonal h_11, h_22, ... of H.
  void bound_units(double const* diagonal, std::int64_t n, int moduli, RowUnit* units);

  /// units[i] for the rows of op(A), whose norms are measured: by sums of integers, in any order.
  void measure_units(ConstMatrix const& A, Op op, int moduli, RowUnit* units);

  /// The remainders of op(A) in its rows' units. Reads 8 and writes S bytes for each number.
  ///
  /// Result   numbers that are not finite, or too large, become ones that `check` finds. Zeros
  ///          behind a row up to the next multiple of 16.
  void residues(ConstMatrix const& A, Op op, RowUnit const* units, Planes const& planes,
                RowCheck const& check = {});

  /// C = A B^T, or with `accumulate` C = C + A B^T, modulo each number. Cost 2 S m n k operations.
  void multiply(Planes const& A, Planes const& B, Sums& C, bool accumulate);

  /// C = alpha X + beta C of the sums X and the units of their rows and columns; beta = 0
  /// overwrites. Reads 4 S bytes for each number.
  void combine(Sums const& X, RowUnit const* rows, RowUnit const* cols, SumScaling const& scaling,
               Matrix const& C);

  /// Whether the device's products of integers were found to be exact; without a library they are.
  bool is_exact();

  /// The rows or terms that planes hold for so many: a multiple of 16.
  static constexpr std::int64_t padded(std::int64_t count) { return (count + 15) / 16 * 16; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata

#endif
