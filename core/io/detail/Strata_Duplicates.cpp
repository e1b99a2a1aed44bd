// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Errors.hpp>
#include <core/io/Strata_MatrixMarket.hpp>
#include <core/io/detail/Strata_MatrixMarketStream.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace strata::detail {

namespace {

// The entries by columns, those at one position in the file's order; nothing if no position occurs
// twice for certain.
std::vector<std::size_t> by_position(CoordinateMatrix const& A) {
  auto const count = A.value.size();
  bool by_columns = true, by_rows = true;
  for (std::size_t k = 1; k < count && (by_columns || by_rows); ++k) {
    by_columns &= std::pair(A.col[k - 1], A.row[k - 1]) < std::pair(A.col[k], A.row[k]);
    by_rows &= std::pair(A.row[k - 1], A.col[k - 1]) < std::pair(A.row[k], A.col[k]);
  }
  if (by_columns || by_rows) return {};
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t(0));
  auto const key = [&A](std::size_t k) { return std::tuple(A.col[k], A.row[k], k); };
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
}

bool are_together(CoordinateMatrix const& A, std::size_t a, std::size_t b) {
  return A.row[a] == A.row[b] && A.col[a] == A.col[b];
}

}  // namespace

std::optional<std::pair<std::size_t, std::size_t>> find_duplicate(CoordinateMatrix const& A) {
  auto const order = by_position(A);
  for (std::size_t k = 1; k < order.size(); ++k)
    if (are_together(A, order[k - 1], order[k])) return std::pair(order[k - 1], order[k]);
  return {};
}

std::optional<std::pair<std::int64_t, std::int64_t>> add_duplicates(CoordinateMatrix& A) {
  auto const order = by_position(A);
  std::vector<bool> is_added(order.size());
  std::size_t first = 0;
  for (std::size_t k = 1; k < order.size(); ++k) {
    auto const at = order[first], other = order[k];
    if (!are_together(A, at, other)) {
      first = k;
      continue;
    }
    A.value[at] += A.value[other];
    if (!std::isfinite(A.value[at])) return std::pair(A.row[at], A.col[at]);
    is_added[other] = true;
    ++A.added;
  }
  if (A.added == 0) return {};
  std::size_t kept = 0;
  for (std::size_t k = 0; k < is_added.size(); ++k) {
    if (is_added[k]) continue;
    A.row[kept] = A.row[k], A.col[kept] = A.col[k], A.value[kept] = A.value[k];
    ++kept;
  }
  A.row.resize(kept), A.col.resize(kept), A.value.resize(kept);
  return {};
}

void take_duplicates(std::string const& path, CoordinateMatrix& A, std::int64_t listed,
                     ReadOptions const& options) {
  if (auto const place = add_duplicates(A))
    throw IoError(message(path, ": the sum of the entries at (", place->first + 1, ", ",
                          place->second + 1, ") is not finite"));
  if (A.added > 0 && options.on_remark)
    options.on_remark(message(path, ": ", A.added, " of ", listed,
                              " entries are at positions listed before; their values were added"));
}

}  // namespace strata::detail
