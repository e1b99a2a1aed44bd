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
  std::vector<double> rows, scaled_rows, columns;
  bool operator==(Sums const&) const = default;
};

Sums start(std::size_t n, std::size_t columns) {
  return {std::vector<double>(n, 0.5), std::vector<double>(n, 0.25),
          std::vector<double>(2 * columns, 3)};
}

/// Columns, one behind the other with a number between them.
struct Part {
  std::size_t rows, columns;
  std::vector<double> a, d, d_j;

  double& at(std::size_t i, std::size_t j) { return a[i + j * (rows + 1)]; }
  double at(std::size_t i, std::size_t j) const { return a[i + j * (rows + 1)]; }
};

Part part(std::size_t rows, std::size_t columns, bool is_scaled) {
  Part result{rows, columns, std::vector<double>((rows + 1) * columns), {}, {}};
  for (std::size_t k = 0; k < result.a.size(); ++k)
    result.a[k] = std::sin(static_cast<double>(3 * k + 1)) / 3;
  for (std::size_t i = 0; is_scaled && i < rows; ++i)
    result.d.push_back(std::ldexp(1, static_cast<int>(i % 9) - 4));
  for (std::size_t j = 0; is_scaled && j < columns; ++j)
    result.d_j.push_back(std::ldexp(1, -static_cast<int>(j)));
  return result;
}

// One number at a time. The column has eight partial sums that are added by halves; the last
// numbers, fewer than eight, go to the last sums. Fewer than eight rows are added one by one.
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

Sums reference(Part const& p) {
  Sums s = start(p.rows, p.columns);
  for (std::size_t j = 0; j < p.columns; ++j) {
    std::vector<double> terms, scaled_terms;
    for (std::size_t i = 0; i < p.rows; ++i) {
      double const x = std::abs(p.at(i, j));
      terms.push_back(x);
      s.rows[i] += x;
      if (p.d.empty()) continue;
      scaled_terms.push_back(x * p.d[i]);
      s.scaled_rows[i] += x * p.d_j[j];
    }
    s.columns[2 * j] = sum_of_column(s.columns[2 * j], terms);
    if (!p.d.empty()) s.columns[2 * j + 1] = sum_of_column(s.columns[2 * j + 1], scaled_terms);
  }
  return s;
}

Sums found(int bytes, Part const& p) {
  Sums s = start(p.rows, p.columns);
  bool const is_scaled = !p.d.empty();
  add_columns_part(bytes)({p.a.data(), static_cast<std::int64_t>(p.rows + 1),
                           is_scaled ? p.d.data() : nullptr, is_scaled ? p.d_j.data() : nullptr,
                           static_cast<std::int64_t>(p.rows), static_cast<int>(p.columns)},
                          s.rows.data(), s.scaled_rows.data(), s.columns.data());
  return s;
}

TEST_P(HostRowSums, HaveTheBitsOfOneNumberAtATime) {
  for (std::size_t const n : {0, 1, 7, 8, 9, 15, 16, 63, 64, 65, 70, 512})
    for (std::size_t columns = 1; columns <= ColumnsPart::most; ++columns)
      for (bool const is_scaled : {true, false}) {
        Part const p = part(n, columns, is_scaled);
        EXPECT_EQ(found(GetParam(), p), reference(p)) << n << ' ' << columns << ' ' << is_scaled;
      }
}

TEST_P(HostRowSums, KeepWhatIsNotFinite) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (double const bad : {std::nan(""), -inf})
    for (std::size_t const at : {0, 11, 15, 18}) {
      Part p = part(19, 3, true);
      p.at(at, 1) = bad;
      Sums const s = found(GetParam(), p);
      for (std::size_t c = 0; c < 6; ++c)
        EXPECT_EQ(std::isfinite(s.columns[c]), c / 2 != 1) << at << ' ' << c;
      for (std::size_t i = 0; i < 19; ++i) {
        EXPECT_EQ(std::isfinite(s.rows[i]), i != at) << at << ' ' << i;
        EXPECT_EQ(std::isfinite(s.scaled_rows[i]), i != at) << at << ' ' << i;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Bytes, HostRowSums, testing::Values(16, 32, 64),
                         [](auto const& bytes) { return std::to_string(bytes.param); });

}  // namespace
