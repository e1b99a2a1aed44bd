// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_NORM_ESTIMATE_HPP
#define STRATA_DETAIL_NORM_ESTIMATE_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace strata::dense::detail {

/// ||M||_1 from below, and how often M was applied.
struct NormEstimate {
  double value = 0;
  std::int64_t applications = 0;
};

/// V = M V for a symmetric M of order n; V: its columns one after the other.
using Symmetric = std::function<void(std::vector<double>& V)>;

/// Estimate ||M||_1 of a symmetric M that can only be applied.
///
/// Result   infinity where M gives what is not finite. n >= 1. At most 7 applications, the first to two vectors;
///          `on_progress` hears after each what part of them is done.
/// Source   Higham, ACM Trans. Math. Softw. 14 (1988), doi:10.1145/50063.214386, algorithm 4.1; deviation: the vector
///          of alternating signs, which catches what the iteration misses, goes first, along with the start.
inline NormEstimate estimate_norm(std::int64_t n, Symmetric const& apply_once,
                                  std::function<void(double)> const& on_progress = {}) {
  constexpr int most_steps = 3, most = 1 + 2 * most_steps;
  auto const size = static_cast<std::size_t>(n);
  auto const norm = [](auto begin, auto end) {
    double sum = 0;
    for (auto y = begin; y != end; ++y) sum += std::abs(*y);
    return std::isfinite(sum) ? sum : std::numeric_limits<double>::infinity();
  };
  NormEstimate result;
  auto const apply = [&](std::vector<double>& vectors) {
    apply_once(vectors);
    ++result.applications;
    if (on_progress) on_progress(static_cast<double>(result.applications) / most);
  };
  std::vector<double> V(2 * size);
  double alternating = 0;
  for (std::size_t i = 0; i < size; ++i) {
    V[i] = 1 / static_cast<double>(n);
    double const grows = 1 + (n > 1 ? static_cast<double>(i) / static_cast<double>(n - 1) : 0);
    V[size + i] = i % 2 == 0 ? grows : -grows;
    alternating += grows;
  }
  apply(V);
  auto const half = V.begin() + static_cast<std::ptrdiff_t>(size);
  result.value = std::max(norm(V.begin(), half), norm(half, V.end()) / alternating);
  double reached = norm(V.begin(), half);
  V.resize(size);
  std::vector<double> signs(size, 0.0);
  for (int step = 0; step < most_steps && std::isfinite(result.value); ++step) {
    bool same = true;
    for (std::size_t i = 0; i < size; ++i) {
      double const sign = V[i] < 0 ? -1 : 1;
      same = same && sign == signs[i];
      signs[i] = V[i] = sign;
    }
    if (same) break;
    apply(V);  // the gradient: its largest entry tells the column to look at
    auto const larger = [](double a, double b) { return std::abs(a) < std::abs(b); };
    auto const column = std::max_element(V.begin(), V.end(), larger) - V.begin();
    if (!std::isfinite(V[static_cast<std::size_t>(column)])) break;
    std::fill(V.begin(), V.end(), 0.0);
    V[static_cast<std::size_t>(column)] = 1;
    apply(V);
    double const found = norm(V.begin(), V.end());
    result.value = std::max(result.value, found);
    if (!(found > reached)) break;
    reached = found;
  }
  return result;
}

}  // namespace strata::dense::detail

#endif
