// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/refine/detail/Strata_HostRowSums.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace strata::dense::detail;

/// For vectors of 16, 32 and 64 bytes, as far as the processor has them.
class HostRowSums : public testing::TestWithParam<int> {};

struct Sums {
  std::vector<double> rows, scaled_rows;
  double column[2];
  bool operator==(Sums const&) const = default;
};

Sums start(std::size_t n) {
  return {std::vector<double>(n, 0.5), std::vector<double>(n, 0.25), {3, 7}};
}

// One number at a time: eight partial sums of the column, which the last numbers go to as the last of eight, and which are
// added by halves; of fewer than eight rows one after the other.
double sum_of_column(double sum, std::vector<double> const& terms) {
  std::size_t const n = terms.size(), whole = n / 8 * 8;
  double parts[8] = {};
  for (std::size_t i = 0; i < n && n >= 8; ++i) parts[i < whole ? i % 8 : i + 8 - n] += terms[i];
  for (std::size_t half : {4, 2, 1})
    for (std::size_t lane = 0; lane < half; ++lane) parts[lane] += parts[lane + half];
  sum += parts[0];
  for (std::size_t i = 0; i < n && n < 8; ++i) sum += terms[i];
  return sum;
}

Sums reference(std::vector<double> const& a, std::vector<double> const& d, double d_j) {
  std::size_t const n = a.size();
  Sums s = start(n);
  std::vector<double> terms, scaled_terms;
  for (std::size_t i = 0; i < n; ++i) {
    terms.push_back(std::abs(a[i]));
    s.rows[i] += std::abs(a[i]);
    if (d.empty()) continue;
    scaled_terms.push_back(std::abs(a[i]) * d[i]);
    s.scaled_rows[i] += std::abs(a[i]) * d_j;
  }
  s.column[0] = sum_of_column(s.column[0], terms);
  s.column[1] = sum_of_column(s.column[1], scaled_terms);
  return s;
}

Sums found(int bytes, std::vector<double> const& a, std::vector<double> const& d, double d_j) {
  Sums s = start(a.size());
  add_column_part(bytes)(
      {a.data(), d.empty() ? nullptr : d.data(), d_j, static_cast<std::int64_t>(a.size())},
      s.rows.data(), s.scaled_rows.data(), s.column);
  return s;
}

TEST_P(HostRowSums, HaveTheBitsOfOneNumberAtATime) {
  for (std::size_t const n : {0, 1, 7, 8, 9, 15, 16, 63, 64, 65, 70, 512}) {
    std::vector<double> a(n), d(n);
    for (std::size_t i = 0; i < n; ++i) {
      a[i] = std::sin(static_cast<double>(3 * i + 1)) / 3;
      d[i] = std::ldexp(1, static_cast<int>(i % 9) - 4);
    }
    EXPECT_EQ(found(GetParam(), a, d, 0.125), reference(a, d, 0.125)) << n;
    EXPECT_EQ(found(GetParam(), a, {}, 1), reference(a, {}, 1)) << n;
  }
}

TEST_P(HostRowSums, KeepWhatIsNotFinite) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (double const bad : {std::nan(""), -inf})
    for (std::size_t const at : {0, 11, 15, 18}) {
      std::vector<double> const d(19, 1);
      std::vector<double> a(19, -1);
      a[at] = bad;
      Sums const s = found(GetParam(), a, d, 1);
      EXPECT_FALSE(std::isfinite(s.column[0])) << at;
      EXPECT_FALSE(std::isfinite(s.column[1])) << at;
      EXPECT_FALSE(std::isfinite(s.rows[at])) << at;
      EXPECT_EQ(s.rows[at == 0 ? 1 : 0], 1.5) << at;
    }
}

INSTANTIATE_TEST_SUITE_P(Bytes, HostRowSums, testing::Values(16, 32, 64),
                         [](auto const& bytes) { return std::to_string(bytes.param); });

}  // namespace
