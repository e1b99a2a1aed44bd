// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_WHOLE_FACTOR_HPP
#define STRATA_WHOLE_FACTOR_HPP

#include <core/Strata_Errors.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/log_determinant/Strata_LogDeterminant.hpp>
#include <dense/refine/Strata_SpdSolve.hpp>
#include <geostat/Strata_Matern.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace strata::geostat::detail {

/// The Cholesky factor of a covariance matrix S that lies whole in the memory of one device, in
/// fp64.
///
/// H = S / 4^k is factored, k such that its diagonal is in [1/2, 2). Products with S evaluate its
/// entries anew, some columns at a time. All work runs on the instance that it was made with. Not
/// to be used by two threads at once.
template <class ExecutionSpace>
class WholeFactor final : public dense::SpdFactor<ExecutionSpace> {
 public:
  using Space = typename ExecutionSpace::memory_space;
  using Block = typename dense::RefinementOperators<ExecutionSpace>::Block;

  /// Bytes of a factor of order n, and of the columns that a product evaluates at a time.
  static std::size_t bytes_needed(std::int64_t n);

  /// Memory for order n. Throws MemoryError.
  WholeFactor(ExecutionSpace const& exec, std::int64_t n);

  /// Fill the matrix and factor it. Fences. After an exception there is no factor. `on_fill` hears
  /// 1 once it is filled.
  ///
  /// Throws   what `check_covariance` and `on_fill` throw.
  void refactor(MaternCovariance const& covariance, Locations const& locations,
                std::function<void(double)> const& on_fill = {});

  /// Whether there is a factor, or was: the leading minor that is not positive.
  Info info() const { return info_; }
  /// Whether `refactor` has ended.
  bool is_filled() const { return entries_.has_value(); }
  /// ||S||_inf.
  double norm_inf() const { return norm_inf_; }
  /// Times of the last `refactor`.
  double fill_seconds() const { return fill_seconds_; }
  double factor_seconds() const { return factor_seconds_; }

  /// log det S = 2 sum_i log l_ii.
  double log_determinant() const;
  /// What rounding may do to it, as `TileFactor::rounding_error`. Fences.
  double rounding_error(dense::LogDeterminantOptions const& options);

  /// X = S^-1 B. Shape: n x m. Fences.
  [[nodiscard]] dense::SolveReport solve(Block const& B, Block const& X);
  /// V = L^-1 V, or V = L^-T V, its rows from `first_row` on, before which V is 0. Shape: n x m.
  /// Fences.
  void half_solve(Op op, Block const& V, std::int64_t first_row);
  /// Y = S X; X may be Y. Shape: n x m. Fences.
  void apply(Block const& X, Block const& Y);

  // --- for `dense::solve` ---
  std::int64_t order() const override { return static_cast<std::int64_t>(H_.extent(0)); }
  Kokkos::View<double const*, Space> scaling() const override { return {}; }
  dense::RefinementOperators<ExecutionSpace> operators(ExecutionSpace const& exec) override;
  bool at_the_top() const override { return true; }
  dense::Patience patience() const override { return {40}; }
  bool climb(dense::Climb /*how*/) override { return false; }
  void end_ladder() override {}

 private:
  void multiply(Block const& X, Block const& Y);
  void substitute(Block const& R);
  void measure();
  long double log_scaling() const;
  void take_diagonal();

  ExecutionSpace exec_;
  LeafBlas<ExecutionSpace> blas_;
  Block H_;        // its factor
  Block columns_;  // of H, that a product evaluates
  Block vectors_;  // two
  typename LeafBlas<ExecutionSpace>::InfoView minor_;
  std::optional<CovarianceEntries<Space>> entries_;  // of H
  int exponent_ = 0;                                 // k
  Info info_ = Info::success();
  std::vector<double> diagonal_;  // of the factor
  double norm_inf_ = 0, fill_seconds_ = 0, factor_seconds_ = 0;
};

}  // namespace strata::geostat::detail

#endif
