// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_FIT_VARIABLES_HPP
#define STRATA_FIT_VARIABLES_HPP

#include <geostat/Strata_LikelihoodGradient.hpp>
#include <geostat/fit/Strata_Fit.hpp>
#include <geostat/fit/detail/Strata_Scoring.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace strata::geostat::detail {

/// What a search varies: the nugget's share of the sill, and the logarithms of range and nu.
///
/// Where sigma2 is free, and the nugget is free or 0, S = s C with the sill s = sigma2 + nugget.
/// The s of the largest likelihood is rss / n, by REML rss / (n - k), rss = r' C^-1 r, so that C
/// alone is searched. The share is 0 at a nugget of 0 and the likelihood has a finite slope there;
/// the logarithm of a nugget would go on for ever. Other variances v have the variable v / (v + v0)
/// for the sill v0 of the start. Such are variances of which one is fixed, or whose bounds, which
/// are no box then, matter.
///
/// Directions are searched as kappa cos 2 angle and kappa sin 2 angle, with kappa = -log ratio,
/// beside the geometric means of both axes' ranges. The likelihood is smooth in these where there
/// are no directions, kappa = 0, too.
///
/// Where each coordinate has a range, the logarithms of these are searched instead.
///
/// A second structure has the share of the field sigma2 + sigma2_2 that is its own, from 0 on, and
/// logarithms of its range and nu. The bounds of sigma2 are then the field's. Where the second
/// sigma2 has a lower bound above 0, or an upper one below the first's, both are searched as
/// variances within their own bounds.
class FitVariables {
 public:
  /// Throws   ValueError as `fit` does.
  explicit FitVariables(FitOptions const& options, bool may_have_sill = true);

  /// How many there are.
  std::size_t size() const { return kinds_.size(); }
  /// Whether the sill follows from the others.
  bool has_sill() const { return has_sill_; }
  /// Which of them is the nugget's share of the sill.
  std::optional<std::size_t> share() const { return find(Kind::Share); }
  /// Which of them is the nugget, or its share.
  std::optional<std::size_t> nugget() const { return share() ? share() : find(Kind::Nugget); }
  /// The nugget at such a value.
  double nugget_at(double x, double sill) const { return share() ? sill * x : unit_ * x / (1 - x); }
  /// Bounds.
  std::vector<double> const& lower() const { return lower_; }
  std::vector<double> const& upper() const { return upper_; }
  /// Steps that a search without derivatives begins with.
  std::vector<double> steps(double first_step) const;
  /// Towards a covariance matrix that is far from singular.
  std::vector<double> safe() const;

  /// The variables of a covariance, within the bounds.
  std::vector<double> at(MaternCovariance const& theta) const;
  /// The covariance that is factored; with a sill that follows, its sill is 1.
  MaternCovariance shape(std::span<double const> x) const;
  /// The best sill within the bounds of sigma2 and nugget; 1 if it does not follow.
  double sill(MaternCovariance const& shape, double rss, std::int64_t degrees) const;
  /// Whether that is one of its bounds.
  bool sill_is_held(MaternCovariance const& shape, double sill) const;
  /// sill C.
  MaternCovariance theta(MaternCovariance const& shape, double sill) const;

  /// Derivatives that `model` needs.
  Wanted wanted() const;
  /// The log-likelihood about x by derivatives by the shape's parameters at this sill.
  Quadratic model(MaternCovariance const& shape, double sill, double rss, std::int64_t degrees,
                  LikelihoodDerivatives const& derivatives) const;

  /// Marks parameters that are on their bounds, or no further from them than `slack`.
  std::array<bool, 4> at_bound(std::span<double const> x, MaternCovariance const& theta,
                               double slack) const;
  /// The same of a second structure's sigma2, range and nu.
  std::array<bool, 3> second_at_bound(std::span<double const> x, double slack) const;
  /// The same of the ranges of y and further coordinates, where there are such.
  std::vector<bool> axis_at_bound(std::span<double const> x, double slack) const;

 private:
  // Second is the second structure's share of the field, or its variance.
  enum class Kind : std::uint8_t {
    Share,
    Sigma2,
    Range,
    Nu,
    Nugget,
    Second,
    Range2,
    Nu2,
    East,
    Diagonal,
    Axis  // the range of a coordinate beyond x, in their order
  };
  void add_second();
  // The second structure at some variables, of a field of this variance.
  void take_second(std::span<double const> x, Covariance& shape) const;
  // The ranges of coordinates beyond x, which are the last variables.
  void take_axes(std::span<double const> x, Covariance& shape) const;
  std::size_t first_axis() const { return size() - model_.axes.size(); }
  void add(Kind kind, double lower, double upper);
  std::optional<std::size_t> find(Kind kind) const;
  // Least and largest sill, and the derivative of log sill by the share where the one that is asked
  // for holds.
  struct Sills {
    double least, largest, by_share_at_least, by_share_at_largest;
  };
  Sills sills(MaternCovariance const& shape) const;
  // d shape / d variable, for all of them.
  std::vector<OfEach> jacobian(MaternCovariance const& shape) const;

  Covariance model_;                    // of this family
  Parameters start_, least_, largest_;  // of the parameters
  std::array<bool, 4> fixed_;
  std::array<bool, 3> fixed_second_;
  std::optional<SecondStructure> lower_second_, upper_second_;
  bool has_sill_;
  double unit_;  // v0
  bool directions_;
  std::vector<Kind> kinds_;
  std::vector<double> lower_, upper_;
};

/// Distance above a variable's value that 95 % of the estimates don't contradict. There the
/// quadratic has fallen by half of 3.84, the other variables at their best. The function must fall
/// from the value on.
double reach_above(Quadratic const& model, std::size_t variable);

}  // namespace strata::geostat::detail

#endif
