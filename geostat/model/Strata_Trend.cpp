// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/model/Strata_Trend.hpp>

#include <core/Strata_Errors.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace strata::geostat {

namespace {

long double dot(double const* a, double const* b, std::int64_t n) {
  long double sum = 0;
  for (std::int64_t i = 0; i < n; ++i)
    sum += static_cast<long double>(a[i]) * static_cast<long double>(b[i]);
  return sum;
}

// A power of two about a column's largest number, by which squares are in range.
double unit_of(std::vector<double> const& column) {
  double largest = 0;
  for (double const x : column) largest = std::max(largest, std::abs(x));
  return largest > 0 ? std::ldexp(1.0, std::ilogb(largest)) : 1;
}

void check_column(std::vector<double> const& column, std::string const& name) {
  for (std::size_t i = 0; i < column.size(); ++i)
    STRATA_REQUIRE(ValueError, std::isfinite(column[i]), "trend: ", name, " is ", column[i],
                   " at observation ", i + 1, ", must be finite");
}

}  // namespace

Trend::Trend(Mean mean, Criterion criterion) : criterion_(criterion) {
  if (mean == Mean::None) return;
  names_ = {"constant"};
  R_ = {1};
}

Trend::Trend(std::vector<std::vector<double>> const& columns, std::vector<std::string> names,
             Criterion criterion)
    : rows_(columns.empty() ? -1 : static_cast<std::int64_t>(columns.front().size())),
      names_(std::move(names)),
      R_(columns.size() * columns.size(), 0),
      criterion_(criterion) {
  if (names_.empty())
    for (std::size_t j = 1; j <= columns.size(); ++j)
      names_.push_back("column " + std::to_string(j));
  STRATA_REQUIRE(ShapeError, names_.size() == columns.size(), "trend: ", names_.size(),
                 " names of ", columns.size(), " columns");
  auto const k = static_cast<std::int64_t>(columns.size());
  STRATA_REQUIRE(ShapeError, k == 0 || rows_ > k, "trend: ", k, " columns for ", rows_,
                 " observations, must be fewer");
  for (std::int64_t j = 0; j < k; ++j) {
    auto const& column = columns[static_cast<std::size_t>(j)];
    auto const& name = names_[static_cast<std::size_t>(j)];
    STRATA_REQUIRE(ShapeError, static_cast<std::int64_t>(column.size()) == rows_, "trend: ", name,
                   " has ", column.size(), " numbers, ", names_.front(), " has ", rows_);
    check_column(column, name);
    Q_.insert(Q_.end(), column.begin(), column.end());
    orthonormalise(j);
  }
}

// Gram and Schmidt's way, twice, with sums in long double.
void Trend::orthonormalise(std::int64_t j) {
  std::int64_t const n = rows_;
  double* const q = Q_.data() + j * n;
  double const unit = unit_of({q, q + n});
  for (std::int64_t i = 0; i < n; ++i) q[i] /= unit;
  double const whole = std::sqrt(static_cast<double>(dot(q, q, n)));
  for (int pass = 0; pass < 2; ++pass)
    for (std::int64_t k = 0; k < j; ++k) {
      double const* const before = Q_.data() + k * n;
      long double const along = dot(before, q, n);
      for (std::int64_t i = 0; i < n; ++i)
        q[i] = static_cast<double>(static_cast<long double>(q[i]) - along * before[i]);
      R(k, j) += static_cast<double>(along) * unit;
    }
  double const left = std::sqrt(static_cast<double>(dot(q, q, n)));
  STRATA_REQUIRE(ValueError, left > 0x1p-52 * static_cast<double>(n) * whole,
                 "trend: ", names_[static_cast<std::size_t>(j)],
                 whole > 0 ? " is a combination of " + combination(j) : std::string(" is 0"),
                 ": leave it out");
  for (std::int64_t i = 0; i < n; ++i) q[i] /= left;
  R(j, j) = left * unit;
}

// Those before column j that it is made of.
std::string Trend::combination(std::int64_t j) const {
  std::vector<double> c(static_cast<std::size_t>(j));
  double largest = 0;
  for (std::int64_t i = j - 1; i >= 0; --i) {
    double sum = R(i, j);
    for (std::int64_t k = i + 1; k < j; ++k) sum -= R(i, k) * c[static_cast<std::size_t>(k)];
    c[static_cast<std::size_t>(i)] = sum / R(i, i);
  }
  auto const part = [&](std::int64_t i) {
    double square = 0;
    for (std::int64_t k = 0; k <= i; ++k) square += R(k, i) * R(k, i);
    return std::abs(c[static_cast<std::size_t>(i)]) * std::sqrt(square);
  };
  for (std::int64_t i = 0; i < j; ++i) largest = std::max(largest, part(i));
  std::string text;
  for (std::int64_t i = 0; i < j; ++i)
    if (part(i) > 1e-8 * largest)
      text += (text.empty() ? "" : ", ") + names_[static_cast<std::size_t>(i)];
  return text;
}

void Trend::check(std::int64_t n) const {
  STRATA_REQUIRE(ShapeError, rows_ < 0 || rows_ == n, "trend: its columns are of ", rows_,
                 " observations, there are ", n);
  STRATA_REQUIRE(ShapeError, degrees(n) > 0, "trend: REML of ", columns(), " coefficients and ", n,
                 " observations leaves none of them");
}

std::vector<double> Trend::basis(std::int64_t n) const {
  check(n);
  return is_constant() ? std::vector<double>(static_cast<std::size_t>(n), 1) : Q_;
}

double Trend::log_det_of_basis(std::int64_t n) const {
  return is_constant() ? std::log(static_cast<double>(n)) : 0;
}

double Trend::log_det_of_columns(std::int64_t n) const {
  double sum = log_det_of_basis(n);
  for (std::int64_t j = 0; j < columns(); ++j) sum += 2 * std::log(std::abs(R(j, j)));
  return sum;
}

std::vector<double> Trend::coefficients(std::span<double const> of_basis) const {
  std::vector<double> b(of_basis.begin(), of_basis.end());
  for (std::int64_t j = columns() - 1; j >= 0; --j) {
    auto const at = static_cast<std::size_t>(j);
    b[at] /= R(j, j);
    for (std::int64_t i = 0; i < j; ++i) b[static_cast<std::size_t>(i)] -= R(i, j) * b[at];
  }
  return b;
}

std::vector<double> Trend::covariances(std::vector<double> const& of_basis) const {
  auto const k = static_cast<std::size_t>(columns());
  std::vector<double> half(k * k), result(k * k);
  auto const solve_columns = [&](std::vector<double> const& from, std::vector<double>& to) {
    for (std::size_t j = 0; j < k; ++j) {
      auto const column = coefficients({from.data() + j * k, k});
      for (std::size_t i = 0; i < k; ++i) to[j + i * k] = column[i];  // transposed
    }
  };
  solve_columns(of_basis, half);
  solve_columns(half, result);
  return result;
}

std::vector<double> Trend::rows(std::int64_t count,
                                std::vector<std::vector<double>> const& columns) const {
  if (is_constant()) return std::vector<double>(static_cast<std::size_t>(count), 1);
  auto const k = static_cast<std::size_t>(this->columns());
  STRATA_REQUIRE(ShapeError, columns.size() == k, "trend: ", columns.size(),
                 " columns at the new places, there are ", k, " at the observations");
  for (std::size_t j = 0; j < k; ++j)
    STRATA_REQUIRE(ShapeError, static_cast<std::int64_t>(columns[j].size()) == count,
                   "trend: ", names_[j], " has ", columns[j].size(), " numbers at ", count,
                   " new places");
  std::vector<double> result;
  for (std::size_t j = 0; j < k; ++j) {
    check_column(columns[j], names_[j]);
    result.insert(result.end(), columns[j].begin(), columns[j].end());
  }
  // x R = f, from the first column on.
  auto const m = static_cast<std::size_t>(count);
  for (std::size_t j = 0; j < k; ++j)
    for (std::size_t i = 0; i < m; ++i) {
      long double sum = result[i + j * m];
      for (std::size_t l = 0; l < j; ++l)
        sum -= static_cast<long double>(result[i + l * m]) * R_[l + j * k];
      result[i + j * m] = static_cast<double>(sum / R_[j + j * k]);
    }
  return result;
}

std::vector<double> Trend::residuals(std::span<double const> values) const {
  auto const n = static_cast<std::int64_t>(values.size());
  auto const Q = basis(n);
  std::vector<double> result(values.begin(), values.end());
  for (int pass = 0; pass < 2; ++pass)
    for (std::int64_t j = 0; j < columns(); ++j) {
      double const* const q = Q.data() + j * n;
      long double const along = dot(q, result.data(), n) / dot(q, q, n);
      for (std::int64_t i = 0; i < n; ++i)
        result[static_cast<std::size_t>(i)] -= static_cast<double>(along * q[i]);
    }
  return result;
}

}  // namespace strata::geostat
