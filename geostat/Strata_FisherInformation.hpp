// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_FISHER_INFORMATION_HPP
#define STRATA_FISHER_INFORMATION_HPP

#include <core/io/Strata_HostMatrix.hpp>
#include <geostat/Strata_CovarianceFactor.hpp>
#include <geostat/model/Strata_StandardErrors.hpp>
#include <geostat/model/Strata_Trend.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace strata::geostat {

/// What of the information is wanted.
struct FisherOptions {
  std::array<bool, 4> wanted = {true, true, true, true};  ///< rows and columns of these parameters
  bool directions = false;  ///< stretch and shear are wanted, too, or the
                            ///< ranges of single coordinates
  std::size_t max_bytes =
      physical_memory_bytes();  ///< refuse more host memory than this, of each rank
  /// Hears, after each block of 512 columns of S^-1, what part of them is done; what it throws ends
  /// the call.
  std::function<void(double)> on_progress = {};
  /// trend of an estimate by REML, whose information is less by what the trend takes
  Trend trend = Mean::None;
};

/// The expected information of a Gaussian likelihood at the factor's parameters,
///   I_jk = 1/2 trace(S^-1 S_j S^-1 S_k),   S_k = d S / d theta_k.
///
/// It depends on locations and parameters, not on values. A trend that is estimated is independent
/// of the parameters to this order, so that I is the same with and without one by maximum
/// likelihood. By REML P = S^-1 - S^-1 F (F' S^-1 F)^-1 F' S^-1 takes the place of S^-1.
///
/// Result   see FisherInformation; its `info` says if S is not positive definite.
/// Sync     fences `exec`.
/// Memory   `fisher_bytes_needed` on the host, and 2048 n numbers in the memory of `exec`. Cost: 2
///          n^3 flops for S^-1 and for each of range and nu that is wanted, as six factorisations,
///          and n^2 evaluations of entries. With tiles below fp64 all solves are refined with S.
/// Ranks    of a factor that several ranks hold share the solves, the evaluations and what is kept
///          of S^-1 S_range and S^-1 S_nu; each has the 2048 n numbers. All get the information,
///          with the bits of one rank's. They give the same options but for max_bytes and
///          on_progress. What one rank throws all throw, as an AgreedError.
/// Throws   MemoryError, before anything is done, if that is more than max_bytes, or can't be had;
///          ValueError if an exception left no factor.
/// Error    the error of S^-1 by backward stable fp64 solves, whatever the tiles' precision;
///          relative to sqrt(I_jj I_kk) tested against long double. With a nugget well above sigma2
///          the error of sigma2's entries grows as nugget / sigma2.
/// Source   Mardia and Marshall, Biometrika 71 (1984), doi:10.1093/biomet/71.1.135.
template <class ExecutionSpace>
[[nodiscard]] FisherInformation fisher_information(ExecutionSpace const& exec,
                                                   CovarianceFactor<ExecutionSpace>& factor,
                                                   FisherOptions const& options = {});

/// Bytes on the host for each of range and nu that is wanted, and with known error variances of
/// sigma2; with several ranks the most that one of them needs. `further` are derivatives beside
/// these. A second structure takes sigma2's as errors do. Up to 512 observations take 8 n^2. Many
/// take about 2 n^2 / ranks, as they are kept in squares of 512 x 512, but no less than 2048 n.
///
/// Throws   MemoryError if the matrices' bytes do not fit 64 bits; ShapeError if n < 0; ValueError
///          if ranks < 1.
std::size_t fisher_bytes_needed(std::int64_t n,
                                std::array<bool, 4> const& wanted = {true, true, true, true},
                                int ranks = 1, bool with_errors = false, int further = 0);

}  // namespace strata::geostat

#endif
