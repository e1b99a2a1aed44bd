// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_REFINEMENT_MEMORY_HPP
#define STRATA_DETAIL_REFINEMENT_MEMORY_HPP

#include <dense/refine/Strata_Refinement.hpp>
#include <dense/vectors/detail/Strata_BlockVectors.hpp>

#include <cstdint>

namespace strata::dense::detail {

/// Vectors and partial sums of refined solves of one order, for up to so many columns, on one
/// instance: the next solve allocates nothing.
template <class Exec>
class RefinementMemory {
 public:
  using Kernels = BlockVectors<Exec>;
  using Block = typename Kernels::Block;
  /// The last two are what a solve scales its B to, and refines.
  enum Vector : std::int64_t { Iterate, Residual, Correction, Right, Solution };
  static constexpr std::int64_t of_refinement = Right,
                                of_solve = Solution + 1;  ///< vectors of a solve

  RefinementMemory(Exec const& exec, std::int64_t rows, std::int64_t cols, std::int64_t vectors)
      : cols_(cols), vectors_(vectors), kernels_(exec, rows, cols, 1, vectors) {}

  Exec const& exec() const { return kernels_.exec(); }
  std::int64_t cols() const { return cols_; }
  std::int64_t vectors() const { return vectors_; }
  bool fits(Exec const& exec, std::int64_t rows) const {
    return exec == kernels_.exec() && rows == kernels_.rows();
  }

  Kernels& kernels() { return kernels_; }

  /// Its first columns, in memory of this object. Without values; the same memory each time.
  Block vector(Vector which, std::int64_t cols) const { return kernels_.block(which, cols); }

  /// Whether all this memory is small beside a matrix.
  bool is_worth_keeping() const {
    constexpr std::int64_t few = 16;
    return cols_ <= few;
  }

 private:
  std::int64_t cols_, vectors_;
  Kernels kernels_;
};

/// A system A X = B as given, where a refinement is to scale it and to solve (D A D) (D^-1 X) = D
/// B.
struct GivenSystem {
  StridedMatrix<double const> B;
  StridedMatrix<double> X;
  /// The largest Finding in B. With NotFinite the refinement ends there: after the first solve at
  /// most, and X is not written.
  std::int64_t found = Nothing;
  /// X is what the first solve led to, and no number of it is beyond the range. Nothing of B is
  /// read after X is written, nor is X where something was found in B.
  bool holds = false;
};

/// `dense::refine` in memory that lives longer.
///
/// A refinement that `is_cut_short` has `max_iterations` that cost less than another way. It takes
/// classical steps and CG alone where the method is automatic, and ends as soon as it sees that
/// they will not do.
///
/// With a `given` system B, which is written, is D times its B. Its X, if it has data, may be
/// written after the first solve. Where it then holds the solution, and is good enough
/// (`outer_iterations` is 0), the X here may be without values.
template <class Exec>
RefinementReport refine(Exec const& exec, RefinementMemory<Exec>& memory,
                        RefinementOperators<Exec> const& operators,
                        typename RefinementOperators<Exec>::Block const& B,
                        typename RefinementOperators<Exec>::Block const& X,
                        RefinementOptions const& options, bool is_cut_short = false,
                        GivenSystem* given = nullptr);

}  // namespace strata::dense::detail

#endif
