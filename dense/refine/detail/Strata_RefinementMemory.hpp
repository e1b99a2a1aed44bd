// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_REFINEMENT_MEMORY_HPP
#define STRATA_DETAIL_REFINEMENT_MEMORY_HPP

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <dense/refine/Strata_Refinement.hpp>
#include <dense/refine/detail/Strata_BlockVectors.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace strata::dense::detail {

/// Vectors, partial sums and lists of refined solves of one order on one instance: the next solve of as many columns
/// allocates nothing.
template <class Exec>
class RefinementMemory {
 public:
  using Kernels = BlockVectors<Exec>;
  using Block = typename Kernels::Block;
  using Indices = typename Kernels::Indices;
  enum Vector { Right, Solution, Iterate, Residual, Correction, vectors };

  RefinementMemory(Exec const& exec, std::int64_t rows, std::int64_t cols)
      : exec_(exec), rows_(rows), kernels_(exec, rows, cols) {}

  Exec const& exec() const { return exec_; }
  bool fits(Exec const& exec, std::int64_t rows) const { return exec == exec_ && rows == rows_; }

  Kernels& kernels(std::int64_t cols) {
    kernels_.reserve(cols, 1);
    return kernels_;
  }

  /// Without values. Enqueued; the same memory each time unless there are more columns.
  Block vector(Vector which, std::int64_t cols) {
    constexpr std::array labels{"strata::dense::solve::B", "strata::dense::solve::X",
                                "strata::dense::refine::W", "strata::dense::refine::R",
                                "strata::dense::refine::D"};
    Block& block = blocks_[which];
    if (static_cast<std::int64_t>(block.extent(1)) < cols) {
      block = {};
      block = strata::allocate<Block>(exec_, labels[which], rows_, cols);
    }
    return Kokkos::subview(block, Kokkos::ALL, std::pair<std::int64_t, std::int64_t>(0, cols));
  }

  /// 0, 1, ..., count - 1. Fences where it grows.
  Indices first_columns(std::int64_t count) {
    if (static_cast<std::int64_t>(first_columns_.extent(0)) < count) {
      std::vector<std::int64_t> list(static_cast<std::size_t>(count));
      std::iota(list.begin(), list.end(), 0);
      first_columns_ = kernels_.indices(list);
    }
    return Kokkos::subview(first_columns_, std::pair<std::int64_t, std::int64_t>(0, count));
  }

  /// Whether all of it is small beside a matrix.
  bool is_worth_keeping() const {
    constexpr std::size_t few = 16;
    return blocks_[Right].extent(1) <= few && blocks_[Iterate].extent(1) <= few;
  }

 private:
  Exec exec_;
  std::int64_t rows_;
  Kernels kernels_;
  std::array<Block, vectors> blocks_;
  Indices first_columns_;
};

/// A system A X = B as given, where a refinement is to scale it and to solve (D A D) (D^-1 X) = D B.
struct GivenSystem {
  StridedMatrix<double const> B;
  StridedMatrix<double> X;
  /// The largest Finding in B. With NotFinite the refinement ends there: after the first solve at most, and X is not written.
  std::int64_t found = Nothing;
  /// X is what the first solve led to, and no number of it is beyond the range. Nothing of B is read after X is written,
  /// nor is X where something was found in B.
  bool holds = false;
};

/// `dense::refine` in memory that lives longer.
///
/// One that `is_cut_short` has `max_iterations` of what costs less than another way, by classical steps and CG alone where the
/// method is automatic, and ends as soon as it sees that they will not do.
///
/// With a `given` system B, which is written, is D times its B. Its X, if it has data, may be written, after the first solve; where it
/// then holds the solution, and is good enough (`outer_iterations` is 0), the X here may be without values.
template <class Exec>
RefinementReport refine(Exec const& exec, RefinementMemory<Exec>& memory,
                        RefinementOperators<Exec> const& operators,
                        typename RefinementOperators<Exec>::Block const& B,
                        typename RefinementOperators<Exec>::Block const& X,
                        RefinementOptions const& options, bool is_cut_short = false,
                        GivenSystem* given = nullptr);

}  // namespace strata::dense::detail

#endif
