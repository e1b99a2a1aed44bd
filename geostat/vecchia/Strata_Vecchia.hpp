// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_VECCHIA_HPP
#define STRATA_VECCHIA_HPP

#include <geostat/Strata_FisherInformation.hpp>
#include <geostat/Strata_Likelihood.hpp>
#include <geostat/Strata_LikelihoodGradient.hpp>
#include <geostat/neighbours/Strata_ConditioningBlocks.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace strata::geostat {

/// How a likelihood is approximated.
struct VecchiaOptions {
  std::int64_t neighbours = 30;  ///< neighbours of each location, earlier ones; 0 to 1000
  /// Whether locations with nearly the same neighbours share them, which is faster and no less
  /// accurate.
  bool grouped = true;
};

/// What the approximation consists of.
struct VecchiaReport {
  std::int64_t neighbours = 0;  ///< neighbours of each location, at least, where there are so many
  std::int64_t blocks = 0;      ///< small covariance matrices
  std::int64_t largest = 0;     ///< order of the largest
  double conditioned_on = 0;    ///< locations that one is conditioned on, the mean
  double order_seconds = 0, neighbour_seconds = 0, block_seconds = 0;  ///< time to make them
};

/// Blocks of locations in maximin order.
struct VecchiaBlocks {
  ConditioningBlocks blocks;  ///< blocks and their members
  VecchiaReport report;       ///< what they consist of
};

/// The blocks for these options.
///
/// Throws   ValueError if the neighbours are not 0 to 1000; what `check_locations` throws.
template <class ExecutionSpace>
VecchiaBlocks vecchia_blocks(ExecutionSpace const& exec, Locations const& locations,
                             VecchiaOptions const& options = {});
/// The same for another order, which is a permutation of the locations.
template <class ExecutionSpace>
VecchiaBlocks vecchia_blocks(ExecutionSpace const& exec, Locations const& locations,
                             std::span<std::int64_t const> order, VecchiaOptions const& options);
/// The same by distances in which a covariance has no directions: the nearest are then the most
/// correlated.
///
/// Throws   ValueError if it has directions, and the locations are on the sphere.
template <class ExecutionSpace>
VecchiaBlocks vecchia_blocks(ExecutionSpace const& exec, Locations const& locations,
                             Covariance const& covariance, VecchiaOptions const& options);

namespace detail {
template <class MemorySpace>
struct VecchiaData;

/// Sums over all responses, of S = C, by which likelihoods and derivatives are made.
struct VecchiaSums {
  std::int64_t info = 0;
  double log_det = 0, rounding = 0, form_rounding = 0;
  std::vector<double> G;                                   // [y Q]' S^-1 [y Q], q x q
  OfEach log_det_by{};                                     // derivatives of log_det
  std::array<std::vector<double>, derivative_count> G_by;  // and of G; empty: not wanted
  OfEachTwo information{};                                 // expected
};

/// The likelihood of S = sill C, and what else the best coefficients of the trend's basis tell.
struct VecchiaProfile {
  Likelihood likelihood;
  double form_of_shape = 0;  // quadratic form of C
  double sill = 1;
  std::vector<double> basis_coefficients;  // b
  std::vector<double> L;                   // L L' = Q' C^-1 Q
};
}  // namespace detail

/// Vecchia's approximation of a Gaussian likelihood, for many observations. The density is a
/// product of conditional densities: each observation given all before. The approximation
/// conditions each on a few neighbours instead,
///   l(theta) = sum_i log p(y_i | y_j for neighbours j of i).
///
/// Each location, or group, takes one small covariance matrix with its Cholesky factor. The result
/// is a proper likelihood of a Gaussian field near theta's. With all locations as neighbours it is
/// the exact one. A large nugget, or a smooth field, asks for more neighbours.
///
/// Memory   4 m + 8 (q + 3) bytes for each of n locations with m neighbours and q - 1 columns of a
///          trend, and 8 (2 + q) bytes an evaluation, with derivatives 8 (16 + 5 q), by directions
///          too 8 (29 + 7 q).
/// Source   Vecchia, J. R. Stat. Soc. B 50 (1988), doi:10.1111/j.2517-6161.1988.tb01729.x;
///          Guinness, Technometrics 60 (2018), doi:10.1080/00401706.2018.1437476; derivatives:
///          Guinness, Stat. Comput. 31 (2021), doi:10.1007/s11222-021-09999-1.
template <class ExecutionSpace>
class Vecchia {
 public:
  /// Observations, and the blocks of their locations.
  ///
  /// Sync     fences `exec`.
  /// Throws   ShapeError, ValueError as `log_likelihood` throws for values, locations and trend, or
  ///          if the blocks have not so many locations.
  Vecchia(ExecutionSpace const& exec, Locations const& locations, std::span<double const> values,
          Trend const& trend, ConditioningBlocks const& blocks);
  ~Vecchia();
  Vecchia(Vecchia&&) noexcept;
  Vecchia& operator=(Vecchia&&) noexcept;

  /// How many observations there are.
  std::int64_t size() const;
  /// Where they are.
  Locations const& locations() const;
  /// What their mean is.
  Trend const& trend() const;

  /// The approximate log-likelihood, the trend's coefficients at their best.
  ///
  /// Result   as of the exact one, but for its factor's facts. `info` is 1 + the position of the
  ///          first location whose variance given its neighbours is not positive. The errors are
  ///          rounding's: each entry of a small matrix is off by an ulp, and a variance that is
  ///          small beside the sill by so much more.
  /// Sync     fences `exec`.
  /// Throws   what `check_covariance` throws; ValueError if two locations coincide and there is
  ///          neither a nugget nor a known error everywhere.
  /// Cost     n m^3 / 3 flops and n m^2 / 2 entries; in groups half as many.
  [[nodiscard]] Likelihood log_likelihood(ExecutionSpace const& exec,
                                          MaternCovariance const& covariance) const;
  /// Its exact gradient; contract as above. The derivative by nu is NaN where it is not wanted, or
  /// the family has none. Angle and ratio have derivatives if the covariance has directions, single
  /// ranges if each coordinate has one.
  [[nodiscard]] LikelihoodGradient gradient(ExecutionSpace const& exec,
                                            MaternCovariance const& covariance,
                                            std::array<bool, 4> const& wanted = {true, true, true,
                                                                                 true}) const;
  /// The expected information of the approximate likelihood by ML: by REML it differs by a part of
  /// the order of k / n for k columns.
  [[nodiscard]] FisherInformation information(
      ExecutionSpace const& exec, MaternCovariance const& covariance,
      std::array<bool, 4> const& wanted = {true, true, true, true}, bool directions = false) const;

  /// For fits and predictions.
  [[nodiscard]] detail::VecchiaSums sums(ExecutionSpace const& exec, MaternCovariance const& shape,
                                         bool derivatives, bool by_nu,
                                         bool by_directions = false) const;
  /// The likelihood of S = sill C.
  [[nodiscard]] detail::VecchiaProfile profile(detail::VecchiaSums const& sums, double sill) const;
  /// Its derivatives by the parameters of C, whose shape it is.
  [[nodiscard]] detail::LikelihoodDerivatives derivatives(detail::VecchiaSums const& sums,
                                                          detail::VecchiaProfile const& profile,
                                                          MaternCovariance const& shape,
                                                          detail::Wanted const& wanted) const;
  /// The data where kernels read them.
  detail::VecchiaData<typename ExecutionSpace::memory_space> const& data() const { return *data_; }

 private:
  std::unique_ptr<detail::VecchiaData<typename ExecutionSpace::memory_space>> data_;
};

}  // namespace strata::geostat

#endif
