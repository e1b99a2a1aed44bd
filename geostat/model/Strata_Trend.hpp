// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TREND_HPP
#define STRATA_TREND_HPP

#include <core/Strata_EnumNames.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace strata::geostat {

/// What is known of the mean of the observations.
enum class Mean : std::uint8_t {
  None,      ///< it is zero
  Constant,  ///< it is one number, estimated with the covariance: (1' S^-1 y) / (1' S^-1 1)
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(Mean) {
  return enum_names<Mean>("mean", {{Mean::None, "none"}, {Mean::Constant, "constant"}});
}

/// What becomes of a trend's coefficients in a likelihood.
enum class Criterion : std::uint8_t {
  ML,    ///< their best values take their place
  REML,  ///< the likelihood of contrasts, on which the coefficients have no influence
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(Criterion) {
  return enum_names<Criterion>("likelihood", {{Criterion::ML, "ml"}, {Criterion::REML, "reml"}});
}
using strata::name_of;

/// The columns F of the mean of observations, E y = F b, whose coefficients b are estimated with
/// the covariance.
///
/// Work is with an orthonormal Q of F = Q R, so that columns of any unit, and powers of
/// coordinates, cost no digits. A constant alone is the column of ones itself.
class Trend {
 public:
  /// No column or one of ones, whatever the number of observations.
  Trend(Mean mean = Mean::Constant, Criterion criterion = Criterion::ML);
  /// These columns, each with a number for each observation; without names they are called "column
  /// 1", ...
  ///
  /// Throws   ShapeError if columns differ in length, or names in number from them, or there are
  ///          not more observations than columns; ValueError for a number that is not finite, and
  ///          for a column that is 0 or, to rounding, a combination of those before it, which are
  ///          named.
  explicit Trend(std::vector<std::vector<double>> const& columns,
                 std::vector<std::string> names = {}, Criterion criterion = Criterion::ML);

  /// How many columns there are.
  std::int64_t columns() const { return static_cast<std::int64_t>(names_.size()); }
  /// What they are called.
  std::vector<std::string> const& names() const { return names_; }
  /// Whether it is one of ones, and was made as such.
  bool is_constant() const { return rows_ < 0 && !names_.empty(); }
  /// What becomes of the coefficients.
  Criterion criterion() const { return criterion_; }
  /// Observations less the coefficients that REML takes away.
  std::int64_t degrees(std::int64_t n) const {
    return criterion_ == Criterion::REML ? n - columns() : n;
  }
  /// Throws   ShapeError if it is of another number of observations, or REML has none left.
  void check(std::int64_t n) const;

  /// Q, n x k by columns; of a constant ones.
  std::vector<double> basis(std::int64_t n) const;
  /// log det Q'Q: 0, or of a constant log n.
  double log_det_of_basis(std::int64_t n) const;
  /// log det F'F.
  double log_det_of_columns(std::int64_t n) const;
  /// R^-1 b: the coefficients of F by the coefficients of Q.
  std::vector<double> coefficients(std::span<double const> of_basis) const;
  /// R^-1 C R^-T: their covariances, k x k.
  std::vector<double> covariances(std::vector<double> const& of_basis) const;
  /// The rows of Q where F has these columns; of a constant `count` ones, whatever is given.
  ///
  /// Throws   ShapeError if there are not as many columns or numbers; ValueError for one that is
  ///          not finite.
  std::vector<double> rows(std::int64_t count,
                           std::vector<std::vector<double>> const& columns) const;
  /// y - Q Q'y: what least squares leaves.
  std::vector<double> residuals(std::span<double const> values) const;

 private:
  double& R(std::int64_t i, std::int64_t j) {
    return R_[static_cast<std::size_t>(i + j * columns())];
  }
  double R(std::int64_t i, std::int64_t j) const {
    return R_[static_cast<std::size_t>(i + j * columns())];
  }
  void orthonormalise(std::int64_t j);
  std::string combination(std::int64_t j) const;

  std::int64_t rows_ = -1;  // -1: any number
  std::vector<std::string> names_;
  std::vector<double> Q_, R_;
  Criterion criterion_;
};

}  // namespace strata::geostat

#endif
