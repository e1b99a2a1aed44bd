// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_COVARIANCE_FACTOR_HPP
#define STRATA_COVARIANCE_FACTOR_HPP

#include <Kokkos_Core.hpp>
#include <array>
#include <core/Strata_Errors.hpp>
#include <core/Strata_HostMatrix.hpp>
#include <core/Strata_Matern.hpp>
#include <cstddef>
#include <cstdint>
#include <dense/Strata_LogDeterminant.hpp>
#include <dense/Strata_Refinement.hpp>
#include <memory>
#include <ooc/Strata_PrecisionMap.hpp>
#include <utility>

namespace strata::ooc {

/// How a covariance matrix is factored.
struct CovarianceFactorOptions {
  CovarianceFactorOptions(PrecisionRule how = {}) : rule(std::move(how)) {}
  PrecisionRule rule;                               ///< rule.accuracy 0: fp64 throughout
  std::int64_t tile_size = 0;                       ///< 0: chosen for the order
  std::size_t max_bytes = physical_memory_bytes();  ///< refuse more memory than this
};

/// What it took.
struct CovarianceFactorReport {
  std::int64_t n = 0, tile_size = 0;
  std::array<std::int64_t, 4> tiles{};  ///< in fp64, fp32, fp16 and fp8_e4m3
  std::size_t bytes = 0;                ///< of the matrix and its factor
  double fill_seconds = 0, factor_seconds = 0;
};

/// The Cholesky factor M = L L^T of a covariance matrix S, and all that a Gaussian likelihood asks of it.
///
/// M is S but for the rounding of its tiles; solves are refined with S to fp64 accuracy.
template <class ExecutionSpace>
class CovarianceFactor {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using Block = Kokkos::View<double**, Kokkos::LayoutLeft, memory_space>;

  /// Fill the covariance matrix of observations at `locations`, and factor it.
  ///
  /// Sync     runs on `exec` and fences it.
  /// Memory   `bytes_needed`.
  /// Throws   what `check_covariance` throws; MemoryError with the bytes needed and allowed, before
  ///          anything is allocated; ValueError for options out of range; VendorError.
  CovarianceFactor(ExecutionSpace const& exec, MaternCovariance const& covariance,
                   Locations const& locations, CovarianceFactorOptions const& options = {});
  ~CovarianceFactor();
  CovarianceFactor(CovarianceFactor&&) noexcept;
  CovarianceFactor& operator=(CovarianceFactor&&) noexcept;

  /// Bytes of the matrix and its factor; no options need more.
  static std::size_t bytes_needed(std::int64_t n);

  MaternCovariance const& covariance() const;
  Locations const& locations() const;
  std::int64_t order() const { return locations().size(); }

  /// Whether there is a factor, else the leading minor that is not positive. Without one the calls below throw
  /// ValueError.
  Info info() const;
  CovarianceFactorReport const& report() const;

  /// log det M = 2 sum_i log l_ii.
  double factor_log_determinant() const;
  /// Of S: with the correction that M needs, and its standard error; log det M itself where all is fp64.
  [[nodiscard]] dense::LogDeterminantEstimate log_determinant(ExecutionSpace const& exec);

  /// X = S^-1 B, refined. Shape: n x m. Fences `exec`.
  [[nodiscard]] dense::RefinementReport solve(ExecutionSpace const& exec, Block const& B,
                                              Block const& X);
  /// R = M^-1 R.
  void precondition(ExecutionSpace const& exec, Block const& R);
  /// Y = S X in fp64.
  void apply(ExecutionSpace const& exec, Block const& X, Block const& Y);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace strata::ooc

#endif
