// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_SYMMETRIC_STATE_HPP
#define STRATA_DETAIL_SYMMETRIC_STATE_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/indefinite/Strata_SymmetricFactor.hpp>
#include <dense/indefinite/detail/Strata_Butterfly.hpp>
#include <dense/indefinite/detail/Strata_PivotedLdlt.hpp>
#include <dense/indefinite/detail/Strata_SymmetricLines.hpp>
#include <dense/indefinite/detail/Strata_SymmetricScaling.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace strata::dense {

/// What a factor consists of: the matrix as it was scaled, the rungs, and the factor of the rung
/// that held.
template <class ExecutionSpace>
struct SymmetricFactor<ExecutionSpace>::State final : SpdFactor<ExecutionSpace> {
  using Block = Kokkos::View<double**, Kokkos::LayoutLeft, memory_space>;
  using Matrix = MatrixRef<memory_space>;
  using Sizes = Kokkos::View<double*, memory_space>;
  struct Step {
    SymmetricRung rung;
    LayerList layers;
  };
  /// Pivots of the factor on the host: those of order two are [d e; e d'].
  struct Diagonal {
    std::vector<double> d, e;
    std::vector<std::int64_t> order;  ///< empty: all are of order one
    std::int64_t added = 0;           ///< rows that the butterfly added
  };
  /// What eight random vectors tell of F = I - M^-1 H.
  struct Difference {
    double largest = 0;      ///< image of a vector, in the 2-norm
    double trace = 0;        ///< mean of z' F z
    double trace_error = 0;  ///< its standard error
    double frobenius2 = 0;   ///< mean of |F z|^2
    double bound() const { return 20 * largest; }
  };

  State(ExecutionSpace const& space, MatrixView const& matrix, SymmetricOptions const& options);

  // --- the ladder (Strata_SymmetricFactor.cpp) ---

  std::vector<Step> steps_for(SymmetricOptions const& options) const;
  /// Factor on the next rung that holds; false if none does. A MemoryError leaves the one before.
  bool climb();
  bool climb_on();
  bool climb(Climb how) override;
  bool at_the_top() const override { return next_step >= steps.size(); }
  void end_ladder() override { next_step = steps.size(); }
  Patience patience() const override;
  /// Factor on one rung; false if it broke down.
  bool attempt(Step const& step);
  bool factor_on(Step const& step, SymmetricAttempt& tried);
  bool factor_mixed(Step const& step, SymmetricAttempt& tried);
  bool factor_pivoted(SymmetricAttempt& tried);
  Matrix make_room(std::int64_t order, Precision precision);
  void need_factor(char const* function) const;
  /// Continue on another instance.
  void use(ExecutionSpace const& other);
  /// Says why there is no factor.
  void refuse(std::string reason);

  // --- the solve (Strata_SymmetricSolve.cpp) ---

  std::int64_t order() const override { return n; }
  Kokkos::View<double const*, memory_space> scaling() const override { return scaled.d; }
  RefinementOperators<ExecutionSpace> operators(ExecutionSpace const&) override;
  Block block(std::int64_t cols, char const* label) const;
  /// Y = H X.
  void apply_scaled(Block const& X, Block const& Y);
  /// R = M^-1 R.
  void precondition(Block const& R);
  /// ||H|| ||Y|| / ||D B||, which the condition is not below, of the worst column; `of_b` holds
  /// ||D b|| of each. Fences.
  double growth_of(Sizes const& of_b, StridedMatrix<double> const& X) const;
  /// Decides whether an answer so large is one; false: A is refused.
  bool has_digits();

  // --- what the signs tell (Strata_SymmetricSigns.cpp) ---

  Difference difference();
  /// The same of a rung of fp64 that decides, or the last.
  Difference decisive_difference(bool in_fp64);
  Diagonal diagonal() const;
  /// ||M^-1||_1, estimated with the factor alone.
  double inverse_norm();
  void apply_to_host(std::vector<double>& V, std::function<void(Block const&)> const& work);

  ExecutionSpace exec;
  MatrixView view;  // keeps A alive
  std::int64_t n;
  ConstMatrixRef<memory_space> A;
  Uplo uplo;
  detail::SymmetricLines lines;
  LeafBlas<ExecutionSpace> blas;
  detail::SymmetricScaling<memory_space> scaled;
  std::optional<detail::Butterfly<ExecutionSpace>> butterfly;
  Kokkos::View<std::byte*, memory_space> memory_of_factor;
  Matrix M;                             // the factor
  detail::Pivots<memory_space> pivots;  // exchanges of the rung with pivoting
  Block work, image;                    // room of `precondition` and of `apply_scaled`
  std::vector<Step> steps;
  std::size_t next_step = 0;
  bool factored = false;
  std::optional<Difference> known;  // of the present factor
  double largest_growth = 0;        // largest growth_of any solution
  SymmetricReport report;
};

}  // namespace strata::dense

#endif
